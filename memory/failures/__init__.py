"""Failures of sessions: learned from what was captured, told before they are repeated."""

from memory.failures.learning import Learned, is_lesson, learn
from memory.failures.lookup import Attempt, KnownFailure, PriorFailures, prior_failures
from memory.failures.warning import FailureWarning, warnings_before

__all__ = [
    "Attempt",
    "FailureWarning",
    "KnownFailure",
    "Learned",
    "PriorFailures",
    "is_lesson",
    "learn",
    "prior_failures",
    "warnings_before",
]
