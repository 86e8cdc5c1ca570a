"""What an agent's hook tells, in one vocabulary: the adapters write it, sessions read it. Pure.

Every client spells its events its own way; `codemem/gateway/adapters` maps them onto these. Texts
are as the client sent them: not redacted, not capped, not trusted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class EventKind(StrEnum):
    """What happened. The values are kept in rows and spoken over REST."""

    SESSION_START = "session_start"
    PROMPT = "prompt"
    TOOL_START = "tool_start"  # before a tool runs: the time to warn
    TOOL_USE = "tool_use"
    TOOL_FAILURE = "tool_failure"
    STOP = "stop"  # the agent has answered; the session goes on
    SUBAGENT_START = "subagent_start"
    SUBAGENT_STOP = "subagent_stop"
    COMPACTION_START = "compaction_start"
    COMPACTION_END = "compaction_end"  # with the client's own summary
    NOTIFICATION = "notification"
    SESSION_END = "session_end"
    OTHER = "other"  # known to the client, of no use here


class Start(StrEnum):
    """Why a session starts, in the words of the clients that tell."""

    STARTUP = "startup"
    RESUME = "resume"
    CLEAR = "clear"
    COMPACT = "compact"
    FORK = "fork"


class Doing(StrEnum):
    """What a tool does to the work tree, whatever the client calls it."""

    READ = "read"  # looks: read, search, list, fetch
    EDIT = "edit"  # changes files
    RUN = "run"  # runs a command
    DELEGATE = "delegate"  # starts a subagent
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """Where the agent works, as the client says: a proposal, looked up among what one may see."""

    directory: str = ""
    remote: str = ""
    root_commit: str = ""
    branch: str = ""
    head: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One use of a tool. `name` is the client's; paths are as it wrote them."""

    name: str
    doing: Doing
    use_id: str = ""
    paths: tuple[str, ...] = ()
    command: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)
    output: str = ""
    is_failure: bool = False
    is_interrupted: bool = False
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """One event of one client's session. A batch of tool uses is several of these."""

    agent: str
    kind: EventKind
    session_id: str
    source_event: str  # the client's own name of it
    checkout: Checkout = Checkout()
    agent_version: str = ""
    model: str = ""
    start: Start | None = None
    prompt: str = ""
    tool: ToolUse | None = None
    text: str = ""  # the last answer, a summary, a notification
    reason: str = ""
    subagent_id: str = ""
    subagent_type: str = ""
    event_id: str = ""  # the client's id of the turn it is of, where there is one
    happened_at: datetime | None = None  # by the client's clock, when it had to wait in a spool


@dataclass(frozen=True, slots=True, kw_only=True)
class HookAnswer:
    """What a client may show to its model, in no client's form yet.

    `context` is the opening context or what fits a prompt, `warning` what went wrong before with
    what the agent is about to do. Both are fenced as data. Without a session nothing was captured,
    and `reason` says why.
    """

    context: str = ""
    warning: str = ""
    session_id: UUID | None = None
    reason: str = ""
