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
        key="recall.neighbor_characters",
        default=600,
        description="How many characters of what was said around a short memory of a session are"
        " shown with it; 0 shows none.",
        minimum=0,
        maximum=4000,
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
            default=True,
            description=f"Whether the {cycle} cycle runs by itself.",
        )
        for cycle in CYCLES
    ),
    *(
        Policy(
            key=f"consolidation.{cycle}.cadence_hours",
            default=24 if cycle == "decay" else 168,
            description=f"The time between two runs of the {cycle} cycle.",
            minimum=1,
            maximum=_YEAR_HOURS,
        )
        for cycle in CYCLES
    ),
)

declare(
    Policy(
        key="consolidation.creative.quantile",
        default=0.999,
        description="Two memories are tied when they are more alike than this share of pairs that"
        " are taken at random.",
        minimum=0.5,
        maximum=1,
    ),
    Policy(
        key="consolidation.creative.maximum_ties",
        default=3,
        description="How many ties of the creative cycle a memory has at most.",
        minimum=1,
        maximum=20,
    ),
    Policy(
        key="consolidation.cluster.policy",
        default="propose",
        description="What becomes of near duplicates: put before people, or merged at once.",
        choices=("propose", "merge"),
    ),
    Policy(
        key="consolidation.cluster.similarity",
        default=0.95,
        description="How alike near duplicates are, whose numbers, names and negations are equal.",
        minimum=0.8,
        maximum=1,
    ),
    Policy(
        key="consolidation.summarize.minimum_members",
        default=5,
        description="How many memories a topic has at least to get a summary.",
        minimum=3,
        maximum=100,
    ),
    Policy(
        key="consolidation.summarize.session_tokens",
        default=8_000,
        description="From how many tokens on the memories of a session fold into a summary tree.",
        minimum=500,
        maximum=1_000_000,
    ),
    Policy(
        key="consolidation.summarize.leaf_tokens",
        default=6_000,
        description="How many tokens of originals one summary at the bottom of a tree is made of.",
        minimum=200,
        maximum=24_000,
    ),
    Policy(
        key="consolidation.summarize.leaf_summary_tokens",
        default=1_200,
        description="How long a summary of originals is at most.",
        minimum=50,
        maximum=4_000,
    ),
    Policy(
        key="consolidation.summarize.condensed_summary_tokens",
        default=2_000,
        description="How long a summary of summaries is at most.",
        minimum=50,
        maximum=4_000,
    ),
    Policy(
        key="consolidation.forget.threshold",
        default=0.2,
        description="The retention below which a memory may be archived.",
        minimum=0,
        maximum=1,
    ),
    Policy(
        key="consolidation.forget.unused_days",
        default=90,
        description="How long nobody must have recalled a memory that is archived.",
        minimum=1,
        maximum=3660,
    ),
    Policy(
        key="consolidation.forget.minimum_age_days",
        default=30,
        description="How old a memory that is archived must be.",
        minimum=1,
        maximum=3660,
    ),
    Policy(
        key="consolidation.forget.maximum_share",
        default=0.1,
        description="The share of a namespace's memories that one run archives at most.",
        minimum=0,
        maximum=1,
    ),
    Policy(
        key="consolidation.forget.dry_days",
        default=7,
        description="For how long after its first run forgetting only says what it would do; 0:"
        " from the first run on it archives.",
        minimum=0,
        maximum=366,
    ),
    Policy(
        key="consolidation.undo_days",
        default=90,
        description="For how long a run can be undone.",
        minimum=1,
        maximum=366,
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

declare(
    Policy(
        key="handoffs.automatic",
        default=True,
        description="Whether a session that ends leaves a handoff to its user's next one.",
    ),
    Policy(
        key="handoffs.share",
        default=False,
        description="Whether automatic handoffs are offered to every member, not to their user"
        " alone.",
    ),
    Policy(
        key="handoffs.expire_days",
        default=14,
        description="How long a handoff is offered.",
        minimum=1,
        maximum=366,
    ),
)

declare(
    Policy(
        key="capture.mode",
        default="full",
        description="What is kept of agents' sessions: all that hooks tell, only which tools were"
        " used on which files, or nothing. A repository may keep less.",
        choices=("full", "metadata", "off"),
    ),
    Policy(
        key="capture.ignored_paths",
        default=".env,.env.*,*.pem,*.key,id_rsa*,id_ed25519*,.ssh/,.aws/,.gnupg/,secrets/",
        description="Globs, separated by commas, of files of which nothing is captured.",
    ),
    Policy(
        key="capture.is_shared",
        default=False,
        description="Whether sessions that begin from now on may be read by every member.",
    ),
    Policy(
        key="capture.retention_days",
        default=30,
        description="How long what was captured is kept; what was learned from it stays.",
        minimum=1,
        maximum=3660,
    ),
    Policy(
        key="capture.prompt_injection",
        default=False,
        description="Whether up to three memories that fit a prompt are named beside it, unasked.",
    ),
    Policy(
        key="capture.prompt_injection_floor",
        default=0.75,
        description="How relevant a memory must be to be named beside a prompt.",
        minimum=0,
        maximum=1,
    ),
    Policy(
        key="capture.rules_of_files",
        default=True,
        description="Whether approved rules and own preferences that cite a file are told once in"
        " a session, before the file is edited.",
    ),
)

declare(
    Policy(
        key="failures.shared",
        default=True,
        description="Whether what failed in a member's session is known to all who use the"
        " repository: the command, the error without values and the files, never a prompt.",
    ),
)
