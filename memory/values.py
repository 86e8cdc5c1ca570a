"""What memory passes between modules: kinds, questions, answers and their scores, all frozen.

Knows nothing of rows, SQL or models.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory.anchors import Citation
from memory.times import ToldTime, told_times

MAXIMUM_HITS = 50
MAXIMUM_EXPANSION_DEPTH = 3


class MemoryType(StrEnum):
    """What kind of statement a memory is."""

    DECISION = "decision"
    PATTERN = "pattern"
    PREFERENCE = "preference"
    STYLE = "style"
    HABIT = "habit"
    INSIGHT = "insight"
    CONTEXT = "context"
    RULE = "rule"
    REQUIREMENT = "requirement"
    FAILURE = "failure"
    FIX = "fix"
    PROCEDURE = "procedure"
    QUESTION = "question"
    SUMMARY = "summary"


class Visibility(StrEnum):
    """Who is answered: the author alone, the memory's repository, or the whole namespace."""

    PRIVATE = "private"
    REPOSITORY = "repository"
    NAMESPACE = "namespace"


class RecallMode(StrEnum):
    """In what form recall answers."""

    FULL = "full"
    INDEX = "index"
    BRIEF = "brief"
    DIGEST = "digest"


class RelationshipKind(StrEnum):
    """The verbs an agent may put between two nodes: source VERB target. A closed vocabulary."""

    RELATES_TO = "RELATES_TO"
    LEADS_TO = "LEADS_TO"
    PART_OF = "PART_OF"
    REINFORCES = "REINFORCES"
    CONTRADICTS = "CONTRADICTS"
    EVOLVED_INTO = "EVOLVED_INTO"
    DERIVED_FROM = "DERIVED_FROM"
    INVALIDATED_BY = "INVALIDATED_BY"
    DEPENDS_ON = "DEPENDS_ON"
    IMPORTS = "IMPORTS"
    EXTENDS = "EXTENDS"
    CALLS = "CALLS"
    CONTAINS = "CONTAINS"
    SUPERSEDES = "SUPERSEDES"
    BLOCKS = "BLOCKS"
    IMPLEMENTS = "IMPLEMENTS"
    INHERITS = "INHERITS"
    SIMILAR_TO = "SIMILAR_TO"
    PRECEDED_BY = "PRECEDED_BY"
    EXEMPLIFIES = "EXEMPLIFIES"
    EXPLAINS = "EXPLAINS"
    SHARES_THEME = "SHARES_THEME"
    SUMMARIZES = "SUMMARIZES"
    CO_CHANGED = "CO_CHANGED"
    TYPE_DEFINITION = "TYPE_DEFINITION"
    READS = "READS"
    WRITES = "WRITES"
    OVERRIDES = "OVERRIDES"
    HTTP_CALLS = "HTTP_CALLS"
    PUBLISHES_TO = "PUBLISHES_TO"
    SUBSCRIBES_TO = "SUBSCRIBES_TO"
    MODIFIED_BY = "MODIFIED_BY"


class StoreAction(StrEnum):
    """What storing did."""

    CREATED = "created"
    UNCHANGED = "unchanged"  # it was there already
    UPDATED = "updated"  # it was there already, and has got new tags
    SUPERSEDED = "superseded"  # created, and it took the place of others
    CONFLICT = "conflict"  # created, and it contradicts others: somebody has to look
    QUEUED = "queued"  # kept as a proposal; it answers nothing until somebody approves it
    REJECTED = "rejected"  # one of a batch that cannot be stored


class Relation(StrEnum):
    """What a new statement is to one that is there."""

    SAME = "same"
    UPDATE = "update"
    CONFLICT = "conflict"
    SIMILAR = "similar"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A statement on its way in, as it was sent: nothing is checked or cleaned yet.

    `visibility` None: private for preferences, styles and habits, else the repository's, or the
    namespace's where no repository is named. `keep` says that it outlives its session,
    `is_distinct` that it is another statement however much it looks like one that is there, and
    `is_proposed` that somebody should approve it first. `supersedes` are memories whose place it
    takes. With an `idempotency_key`, storing it again gives the first answer again.
    """

    content: str
    memory_type: MemoryType | str
    repository_id: UUID | None = None
    branch: str = ""
    visibility: Visibility | str | None = None
    rationale: str = ""
    alternatives: Sequence[Mapping[str, str]] = ()
    acceptance_criteria: Sequence[str] = ()
    evidence: Sequence[Mapping[str, str]] = ()
    citations: Sequence[Citation] = ()
    tags: Sequence[str] = ()
    importance: float = 0.5
    confidence: float = 1.0
    is_pinned: bool = False
    is_proposed: bool = False
    is_distinct: bool = False
    links: Sequence[str] = ()
    auto_link: bool = True
    supersedes: Sequence[UUID] = ()
    expires_at: datetime | None = None
    ttl_hours: float | None = None
    keep: bool = False
    agent: str = ""
    model: str = ""
    session_id: str = ""
    source: str = "tool"
    idempotency_key: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kin:
    """A memory that is close to a new one, what the two are to each other, and why."""

    id: UUID
    relation: Relation
    similarity: float  # cosine of the vectors, else the share of words in common
    reason: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory:
    """One memory as readers see it. `state` is what holds now, also before the expiry sweep."""

    id: UUID
    number: int
    namespace_id: UUID
    namespace: str
    repository_id: UUID | None
    repository: str | None
    branch: str
    visibility: Visibility = Visibility.NAMESPACE
    memory_type: MemoryType
    content: str
    rationale: str = ""
    alternatives: tuple[Mapping[str, str], ...] = ()
    acceptance_criteria: tuple[str, ...] = ()
    evidence: tuple[Mapping[str, str], ...] = ()
    tags: tuple[str, ...]
    importance: float
    confidence: float
    is_pinned: bool = False
    state: str
    superseded_by: UUID | None = None
    author_id: int | None
    author: str
    agent: str = ""
    model: str = ""
    session_id: str = ""
    source: str = "tool"
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    ended_at: datetime | None = None
    retired_at: datetime | None
    retired_by: str
    is_embedded: bool
    version: int = 1

    @property
    def times(self) -> tuple[ToldTime, ...]:
        """What "yesterday" and the like mean in it; unknown once it was changed."""
        return told_times(self.content, at=self.created_at) if self.version == 1 else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCounts:
    """How many memories hold in a namespace, and how many of them still wait for a vector."""

    namespace_id: UUID
    namespace: str
    by_type: Mapping[MemoryType, int]
    not_embedded: int

    @property
    def total(self) -> int:
        return sum(self.by_type.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOutcome:
    """What storing did. When it was there already, the new tags and links went to `memory`.

    `superseded` memories do not hold any more; about `queued` ones somebody else decides.
    `redactions` counts what was taken out by rule, `flags` are the rules of orders it gives, and
    `notes` are sentences for who stored it.
    """

    memory: StoredMemory
    action: StoreAction
    linked: tuple[str, ...]
    added_tags: tuple[str, ...] = ()
    kin: tuple[Kin, ...] = ()
    superseded: tuple[UUID, ...] = ()
    queued: tuple[UUID, ...] = ()
    redactions: Mapping[str, int] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_replay: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemOutcome:
    """What became of one of a batch: stored in some way, or rejected for a reason."""

    outcome: StoreOutcome | None = None
    rejected: str = ""
    code: str = ""  # the name of the error


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """A question and where its answers may come from.

    With a repository, its memories and those of the namespace as a whole answer; without one, all
    of the namespaces do. A memory of a branch answers only for that branch. `tags` must all be
    there, none of `exclude_tags` may be. `include` names states that answer beside active ones;
    with `as_of` what held then answers, in the words of then. `since` and `until` bound when a
    memory was made; `author` is a name as it stands with the memory.
    """

    text: str
    namespace_ids: tuple[UUID, ...]
    repository_id: UUID | None = None
    branch: str = ""
    k: int = 10
    memory_types: frozenset[MemoryType] = frozenset()
    tags: frozenset[str] = frozenset()
    exclude_tags: frozenset[str] = frozenset()
    min_importance: float = 0.0
    min_confidence: float = 0.0
    include: frozenset[str] = frozenset()
    as_of: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    author: str = ""
    expand: bool = False
    expansion_depth: int = 1
    include_impact: bool = False
    neighbors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreParts:
    """The nine components of a score, each 0..1.

    `vector` is likeness, `text` the words in common, `temporal` whether the time fits the question,
    `tags` whether a tag or the author is named, `graph` what links and named code lend, `scope` how
    near the memory's place is; importance, confidence and recency are the memory's own.
    """

    vector: float
    text: float
    temporal: float
    tags: float
    graph: float
    scope: float
    importance: float
    confidence: float
    recency: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedSymbol:
    """A piece of code that a memory speaks of, and how much hangs on it.

    Rank and direct dependents are None until the repository was ranked.
    """

    id: str
    weight: float
    rank: float | None
    rank_percentile: float | None
    dependents: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbor:
    """What was said in a session before a hit (`steps` below zero) or after it: context, no answer.

    Its content may be cut, and is empty when the same answer tells it elsewhere.
    """

    id: UUID
    steps: int
    content: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallHit:
    """One answer. `relevance` is absolute evidence; `score` compares it to the other candidates.

    A memory that was reached over links (`expand`) has the way there in `path`, from the hit it
    belongs to, and half of that hit's score for each step. `found_by` names the generators,
    `anchors` is the worst state of what it cites, `neighbors` what was said around it, in order.
    """

    memory: StoredMemory
    score: float
    relevance: float
    parts: ScoreParts
    path: tuple[str, ...] = ()
    impact: tuple[LinkedSymbol, ...] = ()
    found_by: tuple[str, ...] = ()
    anchors: str | None = None
    neighbors: tuple[Neighbor, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallAnswer:
    """The hits, best first. Without `used_vectors` only words and links were compared.

    `trouble` is a sentence that says why.
    """

    hits: tuple[RecallHit, ...]
    used_vectors: bool
    candidates: int
    trouble: str = ""
