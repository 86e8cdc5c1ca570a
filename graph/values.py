"""Frozen facts about code, shared by what produces them (indexing) and what reads them (graph).

Knows nothing of files on disk, of rows or of queries: only names, identities and spans.
Inside the server a node is its vertex: one integer, unique in the installation (`graph_id`). At
the edge it is a text id, unique inside one repository (`file_id`, `symbol_id`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, IntFlag, StrEnum
from typing import Final, NamedTuple
from uuid import UUID

LEAST_CONFIDENCE_OF_A_CALL: Final = 0.5
"""A call that is less certain than this is kept as MAY_CALL: a candidate, not a fact."""

VERTEX_KEY_BITS: Final = 48

LINK_LABEL: Final = "RELATES_TO"
"""The label of all edges that people and agents tie; which relation it is, is a property."""


class VertexLabel(IntEnum):
    """The label of a vertex; its number is AGE's label id, the same in every graph."""

    SYMBOL = 3
    FILE = 4
    PACKAGE = 5
    EXTERNAL = 6
    ENDPOINT = 7
    TOPIC = 8
    COMMIT = 9
    PULL_REQUEST = 10
    MEMORY = 11

    @property
    def title(self) -> str:
        """The name of the label in AGE: `PullRequest`."""
        return self.name.title().replace("_", "")

    @property
    def node_kind(self) -> "NodeKind":
        """The kind of the nodes under this label; those of SYMBOL have kinds of their own."""
        return NodeKind[self.name]


# Calling the enum takes four times as long, and walks ask it of every node.
_LABELS: Final = {label.value: label for label in VertexLabel}


class NodeKind(StrEnum):
    """What a node of the graph is. A file's own definitions are the first eleven after FILE."""

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
    DOCUMENT = "document"
    PACKAGE = "package"
    EXTERNAL = "external"
    ENDPOINT = "endpoint"
    TOPIC = "topic"
    COMMIT = "commit"
    PULL_REQUEST = "pull_request"
    MEMORY = "memory"


class EdgeKind(StrEnum):
    """The verb between two nodes: source VERB target.

    Producers never say MAY_CALL: it is where calls of low confidence are kept.
    """

    CALLS = "CALLS"
    MAY_CALL = "MAY_CALL"
    REFERENCES = "REFERENCES"
    IMPORTS = "IMPORTS"
    INHERITS = "INHERITS"
    IMPLEMENTS = "IMPLEMENTS"
    CONTAINS = "CONTAINS"
    OVERRIDES = "OVERRIDES"
    TYPE_OF = "TYPE_OF"
    # Across repositories and services: found after a push, from what several of them say.
    DEPENDS_ON = "DEPENDS_ON"
    HANDLES = "HANDLES"
    HTTP_CALLS = "HTTP_CALLS"
    PUBLISHES_TO = "PUBLISHES_TO"
    SUBSCRIBES_TO = "SUBSCRIBES_TO"
    # History: permanent, of no snapshot.
    MODIFIED_BY = "MODIFIED_BY"
    PART_OF = "PART_OF"
    CO_CHANGED = "CO_CHANGED"


SNAPSHOT_KINDS: Final = (
    EdgeKind.CALLS,
    EdgeKind.MAY_CALL,
    EdgeKind.REFERENCES,
    EdgeKind.IMPORTS,
    EdgeKind.INHERITS,
    EdgeKind.IMPLEMENTS,
    EdgeKind.CONTAINS,
    EdgeKind.OVERRIDES,
    EdgeKind.TYPE_OF,
)
"""What a snapshot says, in layers and by revision; written by graph.services.put only."""

CROSSING_KINDS: Final = (
    EdgeKind.DEPENDS_ON,
    EdgeKind.HANDLES,
    EdgeKind.HTTP_CALLS,
    EdgeKind.PUBLISHES_TO,
    EdgeKind.SUBSCRIBES_TO,
)
"""What follows from several snapshots: live or not, the same in every view."""

LINEAGE_KINDS: Final = (EdgeKind.MODIFIED_BY, EdgeKind.PART_OF, EdgeKind.CO_CHANGED)
"""What history says: never ends, and is read only when it is asked for by name."""


class Direction(StrEnum):
    """Which edges of a node are meant: those that leave it, those that arrive, or all."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


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
    parameters: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    cyclomatic: int = 0
    cognitive: int = 0

    @property
    def id(self) -> str:
        return symbol_id(path=self.path, local_name=self.local_name, ordinal=self.ordinal)


class EdgeSource(IntFlag):
    """Which layer of analysis says that an edge exists.

    CROSSING marks edges of SNAPSHOT_KINDS that lead into another repository and that no snapshot
    brought: `put` leaves them alone.
    """

    SYNTAX = 1
    SCIP = 2
    CROSSING = 4


class EdgeFact(NamedTuple):
    """One resolved relation; `source` and `target` are text ids, `line` is where it was first seen.

    `rule` names the resolution rule that found the target and `confidence` (0..1) is the precision
    that rule was measured to have. `sources` says which layers agree on it.
    """

    kind: EdgeKind
    source: str
    target: str
    confidence: float
    rule: str
    line: int
    sources: int = EdgeSource.SYNTAX


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityFact:
    """Something that code refers to and no file of it defines: an external symbol, a package.

    Its key is unique among the entities of one label in the namespace, and is its text id:
    `pkg:<manager>:<name>`, `ext:<manager>:<package>:<descriptors>`.
    """

    label: VertexLabel
    key: str
    name: str
    data: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.key


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
    entities: tuple[EntityFact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What differs from a graph that is known: whole files, and paths that are no more.

    A restated file comes with all its symbols and all edges that leave it. Edges may lead to nodes
    outside of the delta, which are then those that the graph shows. `returned` are paths of an
    overlay that say again what its base says.
    """

    commit: str
    committed_at: int
    files: tuple[FileFact, ...] = ()
    symbols: tuple[SymbolFact, ...] = ()
    edges: tuple[EdgeFact, ...] = ()
    entities: tuple[EntityFact, ...] = ()
    removed: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a reader sees of the graph: the live default branches, or through a branch's overlay.

    An overlay (`layer` above 0) shows its own rows, and of the default branch the rows that were
    live at `revision` in files that it does not restate. Layer 0 with a revision is the default
    branch as it was then. The default view is the live graph.
    """

    repository_id: UUID | None = None
    layer: int = 0
    revision: int | None = None

    @property
    def is_live(self) -> bool:
        return self.revision is None


LIVE: Final = View()

WORK_TREE: Final = "worktree:"
"""What the names of private overlays begin with: no Git ref can, because of the colon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionValue:
    """One write of the graph: which commit it shows since then, in which layer."""

    id: int
    repository_id: UUID
    layer: int
    commit: str
    committed_at: int
    made_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerValue:
    """An overlay: of a branch, or of a user's work tree when it has an owner."""

    id: int
    repository_id: UUID
    ref_name: str
    owner_id: int | None
    base: RevisionValue
    commit: str
    made_at: datetime
    used_at: datetime
    expires_at: datetime | None

    @property
    def view(self) -> View:
        return View(repository_id=self.repository_id, layer=self.id, revision=self.base.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChanges:
    """How many rows one kind of fact cost: begun and ended."""

    opened: int = 0
    closed: int = 0

    @property
    def total(self) -> int:
        return self.opened + self.closed


@dataclass(frozen=True, slots=True, kw_only=True)
class PutReport:
    """What writing a snapshot changed; all zero when the graph showed it already.

    Rows are never corrected: whatever differs, if only by a line, counts as one closed and one
    opened. `revision` is the one that was made, None when nothing was.
    """

    files: RowChanges
    symbols: RowChanges
    edges: RowChanges
    revision: int | None = None

    @property
    def is_unchanged(self) -> bool:
        return not (self.files.total or self.symbols.total or self.edges.total)

    @property
    def has_changed(self) -> bool:
        return not self.is_unchanged

    def counts(self) -> dict[str, int]:
        """Return the counts as flat numbers: `edges_opened` and so on."""
        kinds = {"files": self.files, "symbols": self.symbols, "edges": self.edges}
        return {
            f"{kind}_{change}": getattr(rows, change)
            for kind, rows in kinds.items()
            for change in ("opened", "closed")
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRow:
    """One commit as Git tells it, to be kept."""

    sha: str
    parents: tuple[str, ...]
    author_name: str
    author_email: str
    authored_at: datetime
    committed_at: datetime
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryValue:
    """A repository as readers see it."""

    id: UUID
    namespace_id: UUID
    name: str
    url: str
    default_branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefState:
    """Which commit of a ref the graph shows; `behind_by` is None when nobody has counted.

    `ref` is the ref that answers: the default branch when none was requested. A ref that was
    never seen has no head commit.
    """

    requested_ref: str | None
    ref: str
    indexed_commit: str | None
    head_commit: str | None
    behind_by: int | None
    indexed_at: datetime | None
    view: View = LIVE

    @property
    def is_known(self) -> bool:
        return self.head_commit is not None

    @property
    def is_indexed(self) -> bool:
        return self.indexed_commit is not None

    @property
    def is_pending(self) -> bool:
        """Tell whether the head is one that the graph does not show yet."""
        return self.is_known and self.indexed_commit != self.head_commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One file or symbol: where it is and what it says of itself.

    A file's name is its base name, its qualified name is its path. Of an entity (a package, an
    endpoint) there is only a kind, an id and a name: it has no repository and no path.
    """

    vertex: int
    id: str
    repository_id: UUID | None
    kind: NodeKind
    name: str
    local_name: str
    qualified_name: str
    path: str
    language: str
    start_line: int
    end_line: int
    signature: str = ""
    doc: str = ""
    visibility: Visibility = Visibility.PUBLIC
    is_test: bool = False
    parameters: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    cyclomatic: int = 0
    cognitive: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How central a node is: `rank` sums to 1 over its repository, `percentile` is 0..1.

    `betweenness` is the share (0..1) of shortest ways that lead through it; `layer` is how high its
    file stands, 0 where it depends on no other.
    """

    vertex: int
    rank: float
    percentile: float
    in_degree: int
    betweenness: float = 0.0
    layer: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredNode:
    """A node and its score, None until its repository was ranked."""

    node: Node
    score: Score | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One live edge between two vertices.

    `kind` is an EdgeKind, or the relation that a memory's link names. `line` is where the source
    mentions the target first, None for links. A link's confidence is its weight. `sources` are the
    layers of analysis that agree on it (EdgeSource), 0 for links.
    """

    kind: str
    source: int
    target: int
    confidence: float
    rule: str = ""
    line: int | None = None
    sources: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbor:
    """An edge seen from one of its ends; `node` is None where the other end is no code."""

    edge: Edge
    origin: int
    vertex: int
    node: Node | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighborhood:
    """Neighbors of some nodes, code of higher confidence first."""

    neighbors: tuple[Neighbor, ...]
    is_truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependent:
    """A node that depends on what was asked about, `depth` steps away (1 is direct)."""

    node: Node
    depth: int
    score: Score | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependents:
    """Dependents nearest first, then by rank; truncated when there are more than were asked for."""

    dependents: tuple[Dependent, ...]
    is_truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One step of a traversal: the vertex, and the edge and vertex it was reached by.

    `node` is None for a vertex that is no code: a memory, known here by its number only.
    """

    vertex: int
    depth: int
    node: Node | None
    reached_from: int | None
    edge: Edge | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traversal:
    """Visits in the order they were made; the starts are the visits of depth 0."""

    visits: tuple[Visit, ...]
    is_truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A directory, file or symbol with what it contains; `id` of a directory is `pkg:<path>/`.

    `symbol_count` counts all symbols below it, shown or not; `rank` is the sum of their ranks and
    its own.
    """

    id: str
    kind: str
    name: str
    symbol_count: int
    rank: float
    children: tuple["TreeNode", ...]
    is_truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCounts:
    """How much some namespaces hold now: nodes by kind, edges by label, links by relation."""

    repositories: int
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    links: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolText:
    """A symbol where a view shows it, and what it says, as far as somebody asked to read."""

    id: str
    path: str
    local_name: str
    start_line: int
    end_line: int
    is_test: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingTask:
    """A text that has no vector of the current model, and the digest it is stored under."""

    digest: bytes
    text: str


def graph_id(*, label: VertexLabel, key: int) -> int:
    """Return the vertex of a row: AGE's label number above the row's primary key."""
    return label << VERTEX_KEY_BITS | key


def label_of(vertex: int) -> VertexLabel:
    return _LABELS[vertex >> VERTEX_KEY_BITS]


def key_of(vertex: int) -> int:
    """Return the primary key of a vertex's row: for a memory, its number."""
    return vertex & (1 << VERTEX_KEY_BITS) - 1


def file_id(path: str) -> str:
    """Text id of a file, unique inside one repository."""
    return f"file:{path}"


def symbol_id(*, path: str, local_name: str, ordinal: int) -> str:
    """Text id of a symbol, unique inside one repository: `sym:src/user.ts#User.save~1`."""
    suffix = f"~{ordinal}" if ordinal else ""
    return f"sym:{path}#{local_name}{suffix}"
