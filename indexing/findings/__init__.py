"""Analyses of a repository's code: what is complex, owned by one, untested, dangerous, dead.

Each analysis is a small module that computes; `analysis` knows their order, `services` keeps what
they found, `queries` reads it. Thresholds are data, in `rules`.
"""
