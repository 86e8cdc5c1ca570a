"""What is reviewed, as frozen values."""

from dataclasses import dataclass
from enum import StrEnum


class Forge(StrEnum):
    """The git hosts whose pull requests are known."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    FORGEJO = "forgejo"


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
