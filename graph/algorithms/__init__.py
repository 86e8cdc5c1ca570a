"""What the shape of a graph says, computed on plain columns: ranks, groups, cycles, layers.

Pure: numpy, scipy and scikit-network only. Where the columns come from and where the results are
kept is the business of graph.columns and graph.services.ranks.
"""
