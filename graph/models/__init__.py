"""Repositories and what their code is: rows and constraints; the edges live in AGE (see cypher.py).

Repository, alias, ref and commit are canonical. Files, symbols, versions and scores are derived:
they may lag behind Git and can be rebuilt from the mirror at any time.

A vertex of the AGE graph is the identity of a row here: its graph id is the label's number in the
upper 16 bits and the row's primary key below (`values.graph_id`), so no look-up table is needed.
Validity is counted in revisions (`layers.Revision`), not in times.
"""

from graph.models.code import FileVersion, SourceFile, Symbol, SymbolVersion
from graph.models.entities import Entity
from graph.models.history import Commit, PullRequest
from graph.models.layers import Layer, Revision
from graph.models.layouts import Layout
from graph.models.repositories import DEFAULT_LAYER, Ref, Repository, RepositoryAlias
from graph.models.scores import Analysis, Community, NamespaceScore, NodeScore

__all__ = [
    "DEFAULT_LAYER",
    "Analysis",
    "Commit",
    "Community",
    "Entity",
    "FileVersion",
    "Layer",
    "Layout",
    "NamespaceScore",
    "NodeScore",
    "PullRequest",
    "Ref",
    "Repository",
    "RepositoryAlias",
    "Revision",
    "SourceFile",
    "Symbol",
    "SymbolVersion",
]
