"""How likely a change is followed by a fix: a calibrated probability, with the parts it is made of.

`past` (what happened to files before), `evidence` (what is known of a change, as numbers), `model`
(weights and probability): pure. `knowledge` reads the past, `assessing` is the whole of it.
"""
