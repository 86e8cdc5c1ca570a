"""A hook's payload as it came, read with care: any field may be missing, or of another kind."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory.events import Checkout, Doing, ToolUse
from memory.observed import storable

_EXIT_CODE = re.compile(
    r"(?im)^(?:error: |command |process )?(?:failed with )?"
    r"(?:exit(?: code| status)|exited with(?: exit)?(?: code| status)):?\s+(-?\d{1,5})\b"
)
_LOOKED_AT_CHARACTERS = 400
_PATH_NAMES = (
    "file_path", "filePath", "notebook_path", "path", "absolute_path", "dir_path", "target_file",
    "relative_workspace_path", "directory", "filename", "uri",
)  # fmt: skip
_ANSWER_NAMES = ("error", "content", "text", "output", "llmContent", "returnDisplay", "result")
_LIST_NAMES = ("paths", "file_paths", "filePaths", "files")
_PATCHED = re.compile(r"(?m)^\*\*\* (?:Add|Update|Delete|Move to)(?: File)?: (.+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One payload of one client, and what its request says beside it."""

    agent: str
    payload: Mapping[str, Any]
    event: str = ""  # of the address, for clients whose payloads do not name it
    checkout: Checkout = field(default_factory=Checkout)
    agent_version: str = ""
    happened_at: datetime | None = None
    names: tuple[str, ...] = ("hook_event_name", "hookEventName")

    @property
    def event_name(self) -> str:
        """The client's name of the event, of the payload or else of the address."""
        return self.text(*self.names) or self.event

    def text(self, *names: str) -> str:
        """Return the first of some fields that is a text or a number."""
        return text_of(self.payload, *names)

    def mapping(self, *names: str) -> Mapping[str, Any]:
        """Return the first of some fields that is an object; a text of JSON counts as one."""
        return mapping_of(self.payload, *names)

    def checkout_at(self, working: str) -> Checkout:
        """Return the checkout that the headers name, or the folder that the payload names."""
        known = self.checkout
        return Checkout(
            directory=known.directory or working,
            remote=known.remote,
            root_commit=known.root_commit,
            branch=known.branch,
            head=known.head,
        )


def text_of(payload: Mapping[str, Any], *names: str) -> str:
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return storable(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def mapping_of(payload: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value.startswith("{"):
            value = _decoded(value)
        if isinstance(value, Mapping):
            return value
    return {}


def objects_of(payload: Mapping[str, Any], *names: str) -> list[Mapping[str, Any]]:
    """Return the objects of the first of some fields that is a list; of others nothing."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, list):
            return [part for part in value[:200] if isinstance(part, Mapping)]
    return []


def output_of(value: object) -> str:
    """Return what a tool answered as text, whatever shape it came in."""
    match value:
        case None:
            return ""
        case str():
            return value
        case Mapping():
            streams = [value.get("stdout"), value.get("stderr")]
            if any(isinstance(stream, str) for stream in streams):
                return "\n".join(part for part in streams if isinstance(part, str) and part)
            for name in (
                "error",
                "content",
                "text",
                "output",
                "llmContent",
                "returnDisplay",
                "result",
            ):
                if value.get(name):
                    return output_of(value[name])
        case list():
            return "\n".join(output_of(part) for part in value[:100])
    return json.dumps(value, ensure_ascii=False, default=str)


def exit_code_in(text: str) -> int | None:
    """Return the exit code that a command's output begins or ends with."""
    for part in (text[:_LOOKED_AT_CHARACTERS], text[-_LOOKED_AT_CHARACTERS:]):
        if match := _EXIT_CODE.search(part):
            return int(match[1])
    return None


def paths_in(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the files that a tool's arguments name, also inside a patch."""
    found = [text_of(arguments, name) for name in _PATH_NAMES]
    for name in _LIST_NAMES:
        listed = arguments.get(name)
        if isinstance(listed, list):
            found += [part for part in listed[:50] if isinstance(part, str)]
    for name in ("patch", "input", "command"):
        patch = arguments.get(name)
        if isinstance(patch, Sequence) and not isinstance(patch, str):
            patch = "\n".join(part for part in patch if isinstance(part, str))
        if isinstance(patch, str) and "*** Begin Patch" in patch:
            found += _PATCHED.findall(patch)
    return tuple(dict.fromkeys(path for path in found if path))


def command_in(arguments: Mapping[str, Any]) -> str:
    """Return the command that a tool ran; a list of its words is joined."""
    command = arguments.get("command") or arguments.get("cmd") or arguments.get("command_line")
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    return storable(command) if isinstance(command, str) else ""


def tool_use(
    *,
    name: str,
    doing: Doing,
    use_id: str,
    arguments: Mapping[str, Any],
    output: object = None,
    has_failed: bool = False,
    is_interrupted: bool = False,
    exit_code: int | None = None,
) -> ToolUse:
    """Return one use of a tool; a command that ended with another code than 0 has failed."""
    text = output_of(output)
    # Where output comes apart from the rest, it is the command's own, whatever words are in it.
    is_apart = isinstance(output, Mapping) and "stdout" in output
    if doing is Doing.RUN and exit_code is None and not is_apart:
        exit_code = exit_code_in(text)
    return ToolUse(
        name=name,
        doing=doing,
        use_id=use_id,
        paths=paths_in(arguments),
        command=command_in(arguments) if doing is Doing.RUN else "",
        arguments=arguments,
        output=text,
        is_failure=(has_failed or bool(exit_code)) and not is_interrupted,
        is_interrupted=is_interrupted,
        exit_code=exit_code,
    )


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
