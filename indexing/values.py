"""What a review says, as frozen values. Knows nothing of how it was found or how it is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar
from uuid import UUID

from graph.impact import Risk
from graph.values import Edge, EdgeKind, Node, NodeKind, Visibility
from indexing.changes import SymbolStatus
from indexing.crossing.values import AffectedRepository, AffectedService
from indexing.diffs import ChangeStatus
from indexing.missing.values import MissingChange
from indexing.owners import Owner
from memory.anchors import AnchorState
from memory.values import MemoryType

Item = TypeVar("Item")

MEMORY_CHARACTERS: Final = 500
"""What a review shows of one memory; the whole is a question to the memory itself."""

USES_SHOWN: Final = 5
"""How many uses of another repository are shown; the rest is a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[Item]):
    """The first of some things, and how many there are; without `is_exact` there are more."""

    items: Sequence[Item]
    total: int
    is_exact: bool = True

    @property
    def omitted(self) -> int:
        return self.total - len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedFile:
    """One file of the diff. `language` is None where codemem does not read it."""

    path: str
    old_path: str | None
    status: ChangeStatus
    language: str | None
    lines_added: int
    lines_removed: int
    is_binary: bool
    changes_module: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSymbol:
    """One symbol that the diff changes, where it is now, or was if it is gone.

    `old_id` is what it was called where it is renamed or moved. `old_signature` and
    `old_visibility` are there when they are others; `defaults_changed` says that the parameters
    are the same but for what they default to. `dependents` counts direct ones, tests too,
    but not what changes as well; None where nobody asked: it is new, or its change is trivial.
    `percentile` is 0..1, None when the graph does not rank it; `is_tested` says whether a test is
    among its dependents, None when nobody can tell (new, gone, or not in the graph).
    """

    id: str
    path: str
    name: str
    kind: NodeKind
    start_line: int
    end_line: int
    status: SymbolStatus
    visibility: Visibility
    signature: str
    old_signature: str | None
    signature_changed: bool | None
    visibility_changed: bool | None
    is_trivial: bool
    old_id: str | None = None
    old_visibility: Visibility | None = None
    defaults_changed: bool | None = False
    dependents: int | None
    percentile: float | None
    is_tested: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How a direct dependent uses what changed: the surest edge to each changed node."""

    changed_id: str
    kind: EdgeKind
    line: int | None
    confidence: float
    rule: str

    @classmethod
    def of(cls, edge: Edge, *, changed_id: str) -> "Use":
        return cls(
            changed_id=changed_id,
            kind=EdgeKind(edge.kind),
            line=edge.line,
            confidence=edge.confidence,
            rule=edge.rule,
        )

    @property
    def verb(self) -> str:
        return _VERBS.get(self.kind, "uses")


_VERBS: Final = {
    EdgeKind.CALLS: "calls",
    EdgeKind.REFERENCES: "mentions",
    EdgeKind.IMPORTS: "imports",
    EdgeKind.INHERITS: "inherits from",
    EdgeKind.IMPLEMENTS: "implements",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedDependent:
    """A node that depends on the change; `uses` are empty beyond depth 1.

    `confidence` is that of the surest way to the change. `is_in_change`: the diff touches its file.
    """

    node: Node
    depth: int
    percentile: float | None
    confidence: float
    is_in_change: bool
    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedPath:
    """A file or a directory that dependents are in, and how many."""

    path: str
    dependents: int


class Role(StrEnum):
    """What a memory is to a change."""

    DECISION = "decision"
    FAILURE = "failure"
    RULE = "rule"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenAnchor:
    """Something that a memory cites and that is not as it was after the change.

    `path` is of the file that it cites, before the change. `state` is drifted or missing, or ok for
    what only stands elsewhere.
    """

    path: str
    cites: str
    state: AnchorState
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedMemory:
    """A memory about the code that changes, what it is to the change, and why it is shown.

    `contradiction` says how the change may go against it; blank where nothing speaks for that.
    """

    id: UUID
    memory_type: MemoryType
    content: str
    importance: float
    author: str
    state: str
    role: Role
    contradiction: str
    broken: tuple[BrokenAnchor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What a diff touches, who depends on that, and how risky it is.

    Dependents are those of the indexed commit; tests among them are listed apart. `containing` are
    ids of symbols that only hold a changed one. `missing` are files that such a change usually
    includes and this one does not, the likeliest first. `services` are endpoints and topics that
    the change reaches, `repositories` those of the namespace that use what changes. `owners` answer
    for the changed files. `notes` are sentences about what was not seen.
    """

    indexed_commit: str
    base_commit: str | None
    risk: Risk
    files: Listing[ReviewedFile]
    changed_symbols: Listing[ChangedSymbol]
    containing: Listing[str]
    dependents: Listing[ReviewedDependent]
    direct_dependents: int
    tests: Listing[ReviewedDependent]
    affected_files: Listing[AffectedPath]
    affected_modules: Listing[AffectedPath]
    memories: Listing[ReviewedMemory]
    missing: tuple[MissingChange, ...]
    notes: tuple[str, ...]
    services: Listing[AffectedService] = Listing(items=(), total=0)
    repositories: Listing[AffectedRepository] = Listing(items=(), total=0)
    owners: Listing[Owner] = Listing(items=(), total=0)
