"""What is said of a model before it is opened: which one, where, how texts are dressed for it."""

import hashlib
from dataclasses import asdict, dataclass, field
from typing import Any, Final

MOST_DIMENSIONS: Final = 4_000
"""The most that an index of half-precision vectors can hold."""

_LONGEST_FINGERPRINT: Final = 100  # the columns that keep it


@dataclass(frozen=True, slots=True, kw_only=True)
class Specification:
    """A provider and what it needs to know. `described` is all of it that may be written down.

    A prefix stands before each text, with a space between; it is part of what a vector is.
    `dimensions` 0 means the model's own length. Only HTTP providers read what stands below it.
    """

    provider: str = "local"
    model: str = ""
    dimensions: int = 0
    precision: str = ""
    query_prefix: str = ""
    document_prefix: str = ""
    base_url: str = ""
    batch_size: int = 32
    timeout_seconds: float = 30.0
    retries: int = 3
    api_key: str = field(default="", repr=False)

    def described(self) -> dict[str, Any]:
        """Return everything but the key, as it is kept beside the vectors."""
        return {name: value for name, value in asdict(self).items() if name != "api_key"}

    @classmethod
    def read(cls, described: dict[str, Any], *, api_key: str) -> "Specification":
        """Return what `described` was made of, with a key."""
        return cls(**described, api_key=api_key)

    def dressed(self, text: str, *, kind: str) -> str:
        """Return a text as the model wants it on its side of a search."""
        prefix = self.query_prefix if kind == "query" else self.document_prefix
        return f"{prefix} {text}" if prefix else text

    def fingerprint(self, *identity: object) -> str:
        """Return the text that is equal only for vectors that may be compared with each other.

        `identity` is what makes the model this one. A long name is cut; its hash tells it apart.
        """
        prefixes = _short_hash(f"{self.query_prefix}\0{self.document_prefix}")
        dressing = f"prefix-{prefixes}" if self.query_prefix or self.document_prefix else "plain"
        whole = ":".join(str(part) for part in (self.provider, *identity, dressing))
        if len(whole) <= _LONGEST_FINGERPRINT:
            return whole
        return f"{whole[: _LONGEST_FINGERPRINT - 9]}:{_short_hash(whole)}"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
