"""How right the graph's calls are: against compilers' indexes, and against cases made by hand."""
