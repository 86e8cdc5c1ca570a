"""Repositories and what their code is: rows and constraints; the edges live in AGE (see cypher.py).

Repository, alias, ref and commit are canonical. Files, symbols, versions and scores are derived:
they may lag behind Git and can be rebuilt from the mirror at any time.

A vertex of the AGE graph is the identity of a row here: its graph id is the label's number in the
upper 16 bits and the row's primary key below (`values.graph_id`), so no look-up table is needed.
Times of validity are commit times in whole seconds since the epoch.
"""

from graph.models.code import FileVersion, SourceFile, Symbol, SymbolVersion
from graph.models.history import Commit, PullRequest
from graph.models.repositories import DEFAULT_LAYER, Ref, Repository, RepositoryAlias
from graph.models.scores import NodeScore

__all__ = [
    "DEFAULT_LAYER",
    "Commit",
    "FileVersion",
    "NodeScore",
    "PullRequest",
    "Ref",
    "Repository",
    "RepositoryAlias",
    "SourceFile",
    "Symbol",
    "SymbolVersion",
]
