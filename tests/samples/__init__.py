"""Small projects of our own, one for each real indexer, with the indexes made of them."""
