"""What a namespace may decide about its reviews."""

from codemem.policies import Policy, declare

declare(
    Policy(
        key="reviews.retention_days",
        default=365,
        description="How long the record of a review is kept after it was last run.",
        minimum=1,
        maximum=3660,
    ),
)
