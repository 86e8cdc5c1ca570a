"""What a namespace may decide about its reviews."""

from codemem.policies import Policy, declare
from indexing.missing.values import LEAST_PROBABILITY
from indexing.risk.model import HIGH_FROM, MEDIUM_FROM

declare(
    Policy(
        key="reviews.retention_days",
        default=365,
        description="How long the record of a review is kept after it was last run.",
        minimum=1,
        maximum=3660,
    ),
    Policy(
        key="review.risk_medium_from",
        default=MEDIUM_FROM,
        description="The probability of a later fix from which a change is called a medium risk.",
        minimum=0,
        maximum=1,
    ),
    Policy(
        key="review.risk_high_from",
        default=HIGH_FROM,
        description="The probability of a later fix from which a change is called a high risk: what"
        " a gate stops at.",
        minimum=0,
        maximum=1,
    ),
    Policy(
        key="review.missing_from",
        default=LEAST_PROBABILITY,
        description="The probability from which a file is named as perhaps forgotten by a change;"
        " with 1 none ever is.",
        minimum=0,
        maximum=1,
    ),
)
