"""What is kept of an event: its tier, its paths, its words, cleaned and capped. Pure.

Prompts, errors and long answers are kept in full up to 8 KB, edits and commands up to 2,000 bytes,
explorations only by what they looked at, bookkeeping not at all. Nothing is said here of rows.
"""

import hashlib
import json
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase

from codemem.words import tokens_text
from memory.events import Doing, EventKind, HookEvent, Start, ToolUse
from memory.safety import Screen

MAXIMUM_BYTES = 8_192
"""What one row holds at most."""

_MUTATION_BYTES = 2_000
_LOOK_BYTES = 300
_LONGEST_COMMAND = 2_000
_LONGEST_PATH = 1_000
_MOST_PATHS = 50
_MOST_TOKENS = 1_500
_LONG_ANSWER_CHARACTERS = 500
# The longest secret that rules know, a key of 4,096 bits: where a text was cut, so much of it may
# be the half of one that no rule recognizes.
_MARGIN = 4_096
_REPEATED_WITHIN = timedelta(minutes=30)
_ORDINALS = 32

# Plans and lists that an agent keeps for itself.
_BOOKKEEPING = frozenset(
    "todowrite todoread update_plan write_todos manage_todo_list exitplanmode enterplanmode"
    " taskcreate taskupdate tasklist taskget todo_write todo_read toolsearch".split()
)
_OWN_TOOLS = re.compile(r"(?i)(?:^|[_./:-])codemem(?:$|[_./:-])")
_DRIVE = re.compile(r"^[A-Za-z]:/")
_AGENT_WORK_TREE = re.compile(r"^\.claude/worktrees/[^/]+/")
_COMMAND_WORDS = re.compile(r"[\s'\"=;|&<>()`]+")
_UNTOLD = (EventKind.NOTIFICATION, EventKind.OTHER, EventKind.TOOL_START)


class Tier(StrEnum):
    """How much of an event is kept; the values are those of Observation.Tier."""

    SUBSTANCE = "S"
    MUTATION = "M"
    LOOK = "L"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What holds for the events of one session: where it works and what is kept of it."""

    root: str  # the work tree's top level, as the client spells it
    ignored: tuple[str, ...] = ()
    is_metadata: bool = False
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One event as it is kept. The first of `keys` that is free in its session is its own.

    An event with an id of the client's has one key. Of several keys the later ones are for the
    same thing happening again, which only time tells from the same event told twice.
    """

    keys: tuple[str, ...]
    kind: EventKind
    tier: Tier
    tool: str = ""
    doing: Doing | None = None
    tool_use_id: str = ""
    subagent_id: str = ""
    subagent_type: str = ""
    paths: tuple[str, ...] = ()
    command: str = ""
    content: str = ""
    is_failure: bool = False
    exit_code: int | None = None
    original_bytes: int = 0
    redactions: int = 0
    happened_at: datetime
    is_spooled: bool = False
    tokens: str = ""


def observe(event: HookEvent, *, rules: Rules, at: datetime) -> Observed | None:
    """Return what is kept of an event; None for what is not kept at all."""
    tool = event.tool
    if event.kind in _UNTOLD or _is_bookkeeping(tool) or not _says_anything(event):
        return None
    if tool is not None and _touches_ignored(tool, event, rules):
        return None
    screen = Screen()
    tier, text, limit = _substance(event)
    has_tail = tool is not None and (tool.is_failure or tool.doing is Doing.RUN)
    found = paths_of(tool, event, rules) if tool is not None else ()
    paths = tuple(screen.text(path) for path in found)
    is_bare = rules.is_metadata or _is_outside(tool, paths)
    content = "" if is_bare else _kept(screen, text, limit=limit, has_tail=has_tail)
    command = "" if is_bare or tool is None else _command(screen, tool)
    return Observed(
        keys=_keys(event, rules=rules, at=at),
        kind=event.kind,
        tier=tier,
        tool=tool.name[:100] if tool else "",
        doing=tool.doing if tool else None,
        tool_use_id=tool.use_id[:200] if tool else "",
        subagent_id=event.subagent_id[:200],
        subagent_type=event.subagent_type[:100],
        paths=paths,
        command=command,
        content=content,
        is_failure=event.kind is EventKind.TOOL_FAILURE or (tool is not None and tool.is_failure),
        exit_code=tool.exit_code if tool else None,
        original_bytes=_size(event),
        redactions=sum(screen.redactions.values()),
        happened_at=at,
        is_spooled=event.happened_at is not None,
        tokens=tokens_text(" ".join((*paths, command, content)), limit=_MOST_TOKENS),
    )


def paths_of(tool: ToolUse, event: HookEvent, rules: Rules) -> tuple[str, ...]:
    """Return a tool's paths relative to the work tree; what lies outside or is ignored is none."""
    working = event.checkout.directory or rules.root
    places = (relative_path(path, root=rules.root, working=working) for path in tool.paths)
    kept = [path for path in places if path and not is_ignored(path, rules.ignored)]
    return tuple(dict.fromkeys(kept))[:_MOST_PATHS]


def relative_path(path: str, *, root: str, working: str) -> str | None:
    """Return a path relative to `root`, or None when it lies elsewhere. Reads no file system."""
    top, here = _plain(root), _plain(working)
    full = _plain(path)
    if not full or full.startswith("~") or len(full) > _LONGEST_PATH:
        return None
    if not _is_absolute(full):
        if not top:
            return None if full.startswith("..") else full
        full = posixpath.normpath(posixpath.join(here or top, full))
    if not top or not (full + "/").casefold().startswith(top.casefold().rstrip("/") + "/"):
        return None
    # Letter case decides only on some file systems; of two spellings the client's is kept.
    inside = full[len(top.rstrip("/")) + 1 :]
    return _AGENT_WORK_TREE.sub("", inside) or None


def is_ignored(path: str, globs: Iterable[str]) -> bool:
    """Tell whether a glob names the file, or a folder that it lies in."""
    parts = path.split("/")
    return any(_matches(parts, glob) for glob in globs)


def title_of(prompt: str) -> str:
    """Return the first line of a prompt, cleaned, as the name of its session."""
    lines = (line.strip() for line in storable(prompt[: _MUTATION_BYTES + _MARGIN]).splitlines())
    first = next((line for line in lines if line), "")
    return Screen().text(first)[:200]


def storable(text: str) -> str:
    """Return a text that Postgres takes: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _substance(event: HookEvent) -> tuple[Tier, str, int]:
    """Return the tier of an event, what it says, and how many bytes of that are kept."""
    match event.kind:
        case EventKind.PROMPT:
            return Tier.SUBSTANCE, event.prompt, MAXIMUM_BYTES
        case EventKind.STOP if event.reason or len(event.text) >= _LONG_ANSWER_CHARACTERS:
            return Tier.SUBSTANCE, _joined(event.reason, event.text), MAXIMUM_BYTES
        case EventKind.STOP | EventKind.SUBAGENT_STOP:
            return Tier.MUTATION, event.text, _MUTATION_BYTES
        case EventKind.SESSION_START:
            return Tier.LOOK, event.start.value if event.start else "", _LOOK_BYTES
        case EventKind.TOOL_USE | EventKind.TOOL_FAILURE if event.tool is not None:
            return _substance_of_tool(event.tool)
    # A compaction's summary is kept as a checkpoint, once.
    return Tier.LOOK, event.reason, _LOOK_BYTES


def _substance_of_tool(tool: ToolUse) -> tuple[Tier, str, int]:
    if tool.is_failure:
        return Tier.SUBSTANCE, tool.output, MAXIMUM_BYTES
    if tool.doing is Doing.READ or _OWN_TOOLS.search(tool.name):
        return Tier.LOOK, _target(tool), _LOOK_BYTES
    match tool.doing:
        case Doing.EDIT:
            text = _change(tool.arguments)
        case Doing.RUN:
            text = tool.output
        case Doing.DELEGATE:
            # What comes back is told by the subagent's own end.
            text = _spelled(tool.arguments)
        case _:
            text = _joined(_spelled(tool.arguments), tool.output)
    return Tier.MUTATION, text, _MUTATION_BYTES


def _is_bookkeeping(tool: ToolUse | None) -> bool:
    return tool is not None and tool.name.lower() in _BOOKKEEPING


def _says_anything(event: HookEvent) -> bool:
    """Tell an event that says something from an empty prompt, answer or result."""
    tool = event.tool
    match event.kind:
        case EventKind.PROMPT:
            return bool(event.prompt.strip())
        case EventKind.STOP:
            return bool(event.text.strip() or event.reason)
        case EventKind.TOOL_USE | EventKind.TOOL_FAILURE:
            is_empty = tool is None or not (tool.output.strip() or tool.paths or tool.command)
            return not (is_empty and (tool is None or tool.doing is Doing.OTHER))
    return True


def _touches_ignored(tool: ToolUse, event: HookEvent, rules: Rules) -> bool:
    working = event.checkout.directory or rules.root
    named = list(tool.paths)
    if tool.command:
        named += [word for word in _COMMAND_WORDS.split(tool.command)[:500] if word]
    for path in named:
        inside = relative_path(path, root=rules.root, working=working)
        if is_ignored(inside or _plain(path).lstrip("/"), rules.ignored):
            return True
    return False


def _is_outside(tool: ToolUse | None, paths: Sequence[str]) -> bool:
    """Tell whether all that a tool touched lies outside, so that only its use is kept."""
    return tool is not None and bool(tool.paths) and not paths


def _command(screen: Screen, tool: ToolUse) -> str:
    raw = storable(tool.command[: _LONGEST_COMMAND + _MARGIN])
    clean = screen.text(raw)
    if len(tool.command) > len(raw):
        clean = clean[:-_MARGIN]
    return clean[:_LONGEST_COMMAND]


def _kept(screen: Screen, text: str, *, limit: int, has_tail: bool) -> str:
    """Return a text cleaned and cut to `limit` bytes; of output the end counts more than the start.

    Cleaned is more than what stays, so that no half of a secret stays where the text was cut.
    """
    window = limit + _MARGIN
    if len(text) <= 2 * window:
        return _shortened(screen.text(storable(text)), limit, has_tail=has_tail)
    head = screen.text(storable(text[:window]))[:-_MARGIN]
    if not has_tail:
        return _cut(head, limit)
    tail = screen.text(storable(text[-window:]))[_MARGIN:]
    return _shortened(f"{head}\n{tail}", limit, has_tail=True)


def _shortened(text: str, limit: int, *, has_tail: bool) -> str:
    raw = text.encode()
    if len(raw) <= limit:
        return text
    if not has_tail:
        return _cut(text, limit)
    mark = "\n[...]\n"
    start = limit // 4
    end = limit - start - len(mark)
    return _cut(text, start) + mark + raw[-end:].decode(errors="ignore")


def _cut(text: str, limit: int) -> str:
    return text.encode()[:limit].decode(errors="ignore")


def _keys(event: HookEvent, *, rules: Rules, at: datetime) -> tuple[str, ...]:
    tool = event.tool
    if tool is not None and tool.doing is Doing.READ and not tool.is_failure:
        # Accepted: a look on either side of a half hour's border counts twice.
        window = (at - rules.started_at) // _REPEATED_WITHIN
        looked = _digest(tool.name, *tool.paths, _spelled(tool.arguments))
        return (f"look:{looked}.{window}",)
    if tool is not None and tool.use_id:
        # Also when one hook calls it a use and another a failure.
        return (f"tool:{_digest(tool.use_id)}",)
    said = (event.prompt, event.text, event.reason, event.start or "", event.subagent_id)
    used = (tool.name, tool.command, *tool.paths, tool.output) if tool else ()
    base = f"{event.kind[:12]}:{_digest(event.kind, event.event_id, *said, *used)}"
    is_first = event.start is Start.STARTUP  # which a session has one of
    if tool is None and (event.event_id or event.subagent_id or is_first):
        return (base,)
    return tuple(f"{base}.{ordinal}" for ordinal in range(_ORDINALS))


def _digest(*parts: str) -> str:
    told = "\0".join(parts).encode("utf-8", "replace")
    return hashlib.sha256(told).hexdigest()[:40]


def _size(event: HookEvent) -> int:
    tool = event.tool
    told = [event.prompt, event.text]
    if tool is not None:
        told += [tool.command, tool.output, _spelled(tool.arguments)]
    return sum(len(text.encode("utf-8", "replace")) for text in told)


def _target(tool: ToolUse) -> str:
    """Return what was looked for, where it is not a file."""
    names = ("pattern", "query", "url", "glob", "prompt")
    sought = [str(tool.arguments[name])[:200] for name in names if tool.arguments.get(name)]
    return " ".join(sought)


def _change(arguments: Mapping[str, object]) -> str:
    """Return what an edit took away and put there, as far as its arguments say."""
    edits = arguments.get("edits")
    parts = edits if isinstance(edits, list) else [arguments]
    changes = [_marked(part) for part in parts[:100] if isinstance(part, Mapping)]
    return "\n".join(change for change in changes if change) or _spelled(arguments)


def _marked(arguments: Mapping[str, object]) -> str:
    before = _first(arguments, "old_string", "old_str", "oldString", "old_text")
    after = _first(
        arguments, "new_string", "new_str", "newString", "new_text", "content", "patch", "input"
    )
    taken, put = before.splitlines(), after.splitlines()
    return "\n".join([*(f"- {line}" for line in taken), *(f"+ {line}" for line in put)])


def _first(arguments: Mapping[str, object], *names: str) -> str:
    found = (arguments[name] for name in names if isinstance(arguments.get(name), str))
    return str(next(found, ""))


def _spelled(arguments: Mapping[str, object]) -> str:
    return json.dumps(arguments, ensure_ascii=False, default=str) if arguments else ""


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _plain(path: str) -> str:
    """Return a path with forward slashes, without `.` and `..` as far as they can be followed."""
    path = storable(path).strip().removeprefix("file://").replace("\\", "/")
    if not path:
        return ""
    # macOS shows the same folder with and without it.
    if path.startswith(("/private/tmp", "/private/var")):
        path = path.removeprefix("/private")
    return posixpath.normpath(path)


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or bool(_DRIVE.match(path))


def _matches(parts: Sequence[str], glob: str) -> bool:
    glob = glob.strip()
    if not glob:
        return False
    if glob.endswith("/"):
        folder = glob.rstrip("/")
        if "/" in folder:
            return "/".join(parts).startswith(glob.lstrip("/"))
        return any(fnmatchcase(part, folder) for part in parts[:-1])
    return fnmatchcase("/".join(parts), glob.lstrip("/")) or fnmatchcase(parts[-1], glob)
