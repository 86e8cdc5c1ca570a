"""One finding of `codemem doctor`."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Outcome(StrEnum):
    """What a check found; only FAIL makes the doctor exit with PROBLEMS_FOUND."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(NamedTuple):
    """One link and its state."""

    name: str
    outcome: Outcome
    message: str
    hint: str | None = None
