"""Failures of sessions: learned from what was captured, told before they are repeated."""

from memory.failures.learning import Learned, is_lesson, learn
from memory.failures.lookup import (
    Attempt,
    KnownFailure,
    PriorFailures,
    failures_seen_in,
    list_failures,
    prior_failures,
)
from memory.failures.warning import FailureWarning, warnings_before

__all__ = [
    "Attempt",
    "FailureWarning",
    "KnownFailure",
    "Learned",
    "PriorFailures",
    "failures_seen_in",
    "is_lesson",
    "learn",
    "list_failures",
    "prior_failures",
    "warnings_before",
]
