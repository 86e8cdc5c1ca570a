"""What is said of a review outside of it, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final


class Forge(StrEnum):
    """The git hosts whose pull requests are known."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    FORGEJO = "forgejo"


class Level(StrEnum):
    """How much a remark matters; as annotations and SARIF have it."""

    WARNING = "warning"
    NOTICE = "notice"


class RemarkKind(StrEnum):
    """What a remark is about: the `rule` of SARIF and Code Quality."""

    MISSING = "missing-change"
    DEPENDENTS = "dependents-left-behind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing in a pull request that somebody should look at, and may dismiss.

    `key` is the same after every push while the thing is the same. `path` is where to look, `line`
    is None where no line of it is meant.
    """

    key: str
    kind: RemarkKind
    level: Level
    path: str
    line: int | None
    message: str
    probability: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissal:
    """That somebody said a remark does not matter. `via`: comment, api or console."""

    by: str
    via: str
    at: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is reviewed: a pull request of a forge, or a commit alone."""

    head_commit: str
    forge: Forge | None = None
    number: int | None = None
    url: str = ""
    title: str = ""

    @property
    def key(self) -> str:
        if self.forge is None or self.number is None:
            return f"commit:{self.head_commit}"
        return f"{self.forge}:{self.number}"


NOTHING_DISMISSED: Final[Mapping[str, Dismissal]] = {}
