"""Frozen values that pass between the analyses: what the head holds, what was found, what counted.

No rows, no Git: analyses are functions of these.
"""

import hashlib
import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from graph.values import NodeKind, Visibility, file_id

CALLABLE_KINDS = frozenset({NodeKind.FUNCTION, NodeKind.METHOD})
_SAMPLES = re.compile(
    r"(^|/)(docs?|examples?|samples?|demos?|tutorials?|benchmarks?|fixtures|notebooks)/"
)
TYPE_KINDS = frozenset({NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM, NodeKind.TYPE})


class Severity(IntEnum):
    """How much a finding matters; the number orders, the title is what people read."""

    INFO = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    @property
    def title(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One finding as a rule makes it. `evidence` is what tells it from its like in one symbol."""

    rule: str
    path: str
    line: int
    end_line: int
    message: str
    severity: Severity
    confidence: float
    symbol: str = ""
    evidence: str = ""

    def within(self, symbol: str) -> "Found":
        """Return the same finding, said to stand in a symbol (a text id)."""
        return replace(self, symbol=symbol)


@dataclass(frozen=True, slots=True)
class Measured:
    """One number about a node (a text id, blank for the repository)."""

    node: str
    name: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadFile:
    """One file of the head."""

    vertex: int
    path: str
    blob: str
    lines: int
    language: str
    is_test: bool

    @property
    def id(self) -> str:
        return file_id(self.path)

    @property
    def is_aside(self) -> bool:
        """Tell whether it is no part of what is shipped: a test, an example, documentation."""
        return self.is_test or is_sample_path(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadSymbol:
    """One symbol of the head, as far as the analyses look at it."""

    vertex: int
    id: str
    path: str
    name: str
    local_name: str
    kind: NodeKind
    language: str
    start_line: int
    end_line: int
    visibility: Visibility
    is_test: bool
    has_doc: bool
    # Its class names a base or an interface, whose methods somebody else may call.
    has_bases: bool = False
    parameters: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    cyclomatic: int = 0
    cognitive: int = 0

    @property
    def lines(self) -> int:
        return self.end_line - self.start_line + 1

    @property
    def is_aside(self) -> bool:
        return self.is_test or is_sample_path(self.path)

    @property
    def is_callable(self) -> bool:
        return self.kind in CALLABLE_KINDS

    @property
    def is_public(self) -> bool:
        """Tell whether others may use it: no part of its name is marked as private."""
        return self.visibility is Visibility.PUBLIC and not any(
            part.startswith("_") for part in self.local_name.split(".")
        )


@dataclass(frozen=True, slots=True)
class Uses:
    """Who uses whom, as columns: vertex `sources[i]` depends on vertex `targets[i]`."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """That a commit changed a file; the path is the one that it has at the head."""

    commit: str
    author: str
    committed_at: datetime
    path: str
    lines_added: int
    lines_removed: int
    files_in_commit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which findings are meant; None means all."""

    rules: tuple[str, ...] | None = None
    severity_at_least: Severity | None = None
    states: tuple[str, ...] = ("open",)
    path_prefix: str | None = None
    symbol: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """One finding as people and agents see it."""

    id: UUID
    rule: str
    severity: str
    confidence: float
    path: str
    line: int
    end_line: int
    symbol: str
    message: str
    state: str
    first_seen_commit: str
    first_seen_at: datetime
    last_seen_commit: str
    resolved_commit: str
    resolved_at: datetime | None
    dismissed_by: str
    dismissed_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingPage:
    """Findings, the worst first, and how many there are of each rule and severity in all."""

    findings: tuple[FindingView, ...]
    total: int
    by_rule: dict[str, int] = field(default_factory=dict)
    by_severity: dict[str, int] = field(default_factory=dict)


def is_sample_path(path: str) -> bool:
    """Tell whether a file is an example or documentation."""
    return _SAMPLES.search(path) is not None


def fingerprint(found: Found, *, occurrence: int) -> bytes:
    """Return the identity of a finding; `occurrence` counts equal ones in one symbol."""
    parts = (found.rule, found.path, found.symbol, found.evidence, str(occurrence))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).digest()
