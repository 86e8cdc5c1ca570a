"""What a cycle did, in figures: before, after, how many, and a few examples by id.

A report holds no text of memories, so that neither a purge nor a change of visibility has to look
for it here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAXIMUM_EXAMPLES = 10


@dataclass(slots=True, kw_only=True)
class Report:
    """One circle's part of a run's report."""

    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    changed: int = 0
    proposed: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    examples: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def leave_out(self, why: str, count: int = 1) -> None:
        if count:
            self.left_out[why] = self.left_out.get(why, 0) + count

    def show(self, **example: Any) -> None:
        if len(self.examples) < MAXIMUM_EXAMPLES:
            self.examples.append(example)

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def as_json(self) -> dict[str, Any]:
        return {
            "before": rounded(self.before),
            "after": rounded(self.after),
            "changed": self.changed,
            "proposed": self.proposed,
            "left_out": dict(self.left_out),
            "examples": list(self.examples),
            "notes": list(self.notes),
        }


def rounded(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in figures.items()}
