"""Failures of sessions: learned from what was captured, told before they are repeated."""

from memory.failures.learning import Learned, is_lesson, learn
from memory.failures.reading import (
    FailureWarning,
    KnownFailure,
    PriorFailures,
    prior_failures,
    warnings_before,
)

__all__ = [
    "FailureWarning",
    "KnownFailure",
    "Learned",
    "PriorFailures",
    "is_lesson",
    "learn",
    "prior_failures",
    "warnings_before",
]
