"""What a namespace may decide about its memories: ranking, lifetimes, caution, upkeep."""

from dataclasses import asdict

from django.conf import settings

from codemem.policies import Policy, declare
from memory.scoring import WEIGHTS

CYCLES = ("decay", "creative", "cluster", "summarize", "forget")

_TEN_YEARS_HOURS = 24 * 366 * 10
_YEAR_HOURS = 24 * 366

declare(
    *(
        Policy(
            key=f"recall.weights.{component}",
            default=float(weight),
            description=f"What {component} counts for in a recall's score, relative to the others.",
            minimum=0,
            maximum=1,
        )
        for component, weight in asdict(WEIGHTS).items()
    ),
    Policy(
        key="recall.floor",
        default=float(settings.RELEVANCE_FLOOR),
        description="The relevance below which a memory is no answer; 0 answers everything.",
        minimum=0,
        maximum=1,
    ),
    Policy(
        key="recall.counts_as_access",
        default=True,
        description="Whether being recalled keeps a memory fresh for the decay cycle.",
    ),
    Policy(
        key="memory.session_ttl_hours",
        default=168,
        description="How long a memory that is of one session only lives.",
        minimum=1,
        maximum=_TEN_YEARS_HOURS,
    ),
    Policy(
        key="memory.branch_ttl_days",
        default=30,
        description="How long memories of a branch outlive it when it was not merged.",
        minimum=1,
        maximum=3660,
    ),
    Policy(
        key="memory.injection",
        default="queue",
        description="What becomes of a text that seems to give orders to agents: refuse it, keep"
        " it in the review queue, or store it with a mark.",
        choices=("refuse", "queue", "flag"),
    ),
)

declare(
    *(
        Policy(
            key=f"consolidation.{cycle}.enabled",
            default=cycle in {"decay", "cluster"},
            description=f"Whether the {cycle} cycle runs by itself.",
        )
        for cycle in CYCLES
    ),
    *(
        Policy(
            key=f"consolidation.{cycle}.cadence_hours",
            default=24 if cycle in {"decay", "cluster"} else 168,
            description=f"The time between two runs of the {cycle} cycle.",
            minimum=1,
            maximum=_YEAR_HOURS,
        )
        for cycle in CYCLES
    ),
)

declare(
    Policy(
        key="language.provider",
        default="none",
        description="The language model that may read this namespace's memories, to summarize"
        " them; none keeps every text on this server.",
        choices=("none", "anthropic", "openai", "ollama"),
        is_for_owners=True,
    ),
    Policy(
        key="language.daily_tokens",
        default=200_000,
        description="How many tokens language models may use for this namespace in a day.",
        minimum=0,
        maximum=1_000_000_000,
        is_for_owners=True,
    ),
)
