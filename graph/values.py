"""Frozen facts about code, shared by what produces them (indexing) and what reads them (graph).

Knows nothing of files on disk, of rows or of queries: only names, identities and spans.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class NodeKind(StrEnum):
    """What a node of the graph is. A file's own definitions are the first ten after FILE."""

    FILE = "file"
    MODULE = "module"
    CLASS = "class"
    INTERFACE = "interface"
    ENUM = "enum"
    TYPE = "type"
    FUNCTION = "function"
    METHOD = "method"
    FIELD = "field"
    VARIABLE = "variable"
    MACRO = "macro"
    PACKAGE = "package"
    EXTERNAL = "external"
    ENDPOINT = "endpoint"
    TOPIC = "topic"
    COMMIT = "commit"
    PULL_REQUEST = "pull_request"
    MEMORY = "memory"


class EdgeKind(StrEnum):
    """The verb between two nodes: source VERB target."""

    CALLS = "CALLS"
    REFERENCES = "REFERENCES"
    IMPORTS = "IMPORTS"
    INHERITS = "INHERITS"
    IMPLEMENTS = "IMPLEMENTS"
    CONTAINS = "CONTAINS"


class Visibility(StrEnum):
    """Who may use a symbol, as its language or its naming convention says."""

    PUBLIC = "public"
    PROTECTED = "protected"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolFact:
    """One definition in one file at one commit.

    `(path, local_name, ordinal)` is the identity, never a line number; `ordinal` is 0 for the
    first definition of that local name in the file. Lines are 1-based and inclusive.
    `body_hash` ignores indentation, and for a class covers its header and fields but not its
    methods, so that a changed method is not also a changed class.
    """

    path: str
    name: str
    local_name: str
    qualified_name: str
    kind: NodeKind
    ordinal: int
    language: str
    parent: str | None
    start_line: int
    end_line: int
    signature: str
    doc: str
    visibility: Visibility
    is_test: bool
    body_hash: str
    source_text: str

    @property
    def id(self) -> str:
        return symbol_id(path=self.path, local_name=self.local_name, ordinal=self.ordinal)


class EdgeFact(NamedTuple):
    """One resolved relation; `source` and `target` are text ids, `line` is where it was first seen.

    `rule` names the resolution rule that found the target and `confidence` (0..1) is the precision
    that rule was measured to have.
    """

    kind: EdgeKind
    source: str
    target: str
    confidence: float
    rule: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFact:
    """One file of a commit; `skipped` says why its contents were not read, if they were not."""

    path: str
    blob: str
    size: int
    lines: int
    language: str | None
    skipped: str | None

    @property
    def id(self) -> str:
        return file_id(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The whole graph of one commit; `committed_at` is in seconds since the epoch."""

    commit: str
    committed_at: int
    files: tuple[FileFact, ...]
    symbols: tuple[SymbolFact, ...]
    edges: tuple[EdgeFact, ...]


def file_id(path: str) -> str:
    """Text id of a file, unique inside one repository."""
    return f"file:{path}"


def symbol_id(*, path: str, local_name: str, ordinal: int) -> str:
    """Text id of a symbol, unique inside one repository: `sym:src/user.ts#User.save~1`."""
    suffix = f"~{ordinal}" if ordinal else ""
    return f"sym:{path}#{local_name}{suffix}"
