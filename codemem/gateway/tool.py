"""The tool registry: a tool is one function with a docstring and two Pydantic models.

MCP and REST both loop over `registry()` and run tools through `run`; neither names a tool.
"""

import json
import math
import time
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar, get_type_hints

import sentry_sdk
import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codemem import metrics
from codemem.accounts.values import Caller
from codemem.gateway import statistics
from codemem.gateway.errors import ArgumentsInvalid, ErrorReport, ToolUnknown, translate

log = structlog.get_logger(__name__)

_DEEPEST_ARGUMENT = 16


class Toolset(StrEnum):
    """What a tool is for: an agent is shown the sets that its connection asks for."""

    MEMORY = "memory"  # recall, store, correct
    CODE = "code"  # find symbols, who depends on whom
    SESSIONS = "sessions"  # prior failures, checkpoints, handoffs, work that goes on
    REVIEW = "review"  # a diff, its tests, its findings
    HISTORY = "history"  # what changed, as of when
    ARCHITECTURE = "architecture"  # groups, cycles, services, Cypher
    CURATION = "curation"  # merge, split, tie, decide what is proposed
    ADMINISTRATION = "administration"  # namespaces, the server


class Arguments(BaseModel):
    """What every tool takes: where the call is meant, if not where it came in."""

    # Strict about names and types: a misspelt or mistyped argument must never be ignored.
    model_config = ConfigDict(extra="forbid", strict=True)

    namespace: str | None = Field(None, description="Namespace; default: the connection's.")
    repository: str | None = Field(None, description="Repository; default: the connection's.")


class CodeArguments(Arguments):
    ref: str | None = Field(
        None,
        description="Branch, or worktree:<name> for what you edit; default: the default branch.",
    )


class Result(BaseModel):
    """What a tool answers; nulls are left out of the wire form."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a call came in: what the URL and the headers name."""

    namespace: str | None = None
    repository: str | None = None
    ref: str | None = None
    remote: str | None = None
    root_commit: str | None = None
    head: str | None = None


def _stays() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Call:
    """One call: who asks, from where, when, by which agent; and whether they have gone since."""

    caller: Caller
    address: Address
    now: datetime
    is_abandoned: Callable[[], bool] = _stays
    agent: str = ""  # the client that calls, such as "claude-code 2.1"; blank: not known


@dataclass(frozen=True, slots=True)
class Tool:
    """A declared tool and its wire form."""

    name: str
    description: str
    arguments: type[Arguments]
    result: type[Result]
    function: Callable[[Call, Any], Result]
    input_schema: dict[str, Any]
    annotations: dict[str, bool]
    toolset: Toolset
    core: tuple[str, ...]  # the usual arguments, which the core set lists; none: not in it

    @property
    def is_core(self) -> bool:
        return bool(self.core)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave: the structured result, or the error that the caller can act on."""

    content: dict[str, Any]
    error: ErrorReport | None = None

    @property
    def text(self) -> str:
        """The content as every surface writes it, byte for byte."""
        return dumps(self.content)


_REGISTRY: dict[str, Tool] = {}
ToolFunction = TypeVar("ToolFunction", bound=Callable[[Call, Any], Result])


def tool(
    toolset: Toolset,
    *,
    reads_only: bool,
    destructive: bool = False,
    idempotent: bool = True,
    core: tuple[str, ...] = (),
) -> Callable[[ToolFunction], ToolFunction]:
    """Declare the function as a tool: its name, docstring and type hints are the declaration.

    `core` names the arguments of a tool of the core set that most calls need.
    """

    def declare(function: ToolFunction) -> ToolFunction:
        hints = get_type_hints(function)
        name = function.__name__
        if not function.__doc__:
            raise TypeError(f"Tool {name} has no docstring.")
        if unknown := set(core) - set(hints["arguments"].model_fields):
            raise TypeError(f"Tool {name} has no arguments {', '.join(sorted(unknown))}.")
        if name in _REGISTRY:
            raise TypeError(f"Tool {name} is declared twice.")
        _REGISTRY[name] = Tool(
            name=name,
            description=" ".join(function.__doc__.split()),
            arguments=hints["arguments"],
            result=hints["return"],
            function=function,
            input_schema=_compact(hints["arguments"].model_json_schema()),
            annotations={
                "readOnlyHint": reads_only,
                "destructiveHint": destructive,
                "idempotentHint": idempotent,
                "openWorldHint": False,
            },
            toolset=toolset,
            core=core,
        )
        return function

    return declare


def registry() -> Mapping[str, Tool]:
    """Return every tool by name, in a fixed order."""
    return types.MappingProxyType(dict(sorted(_REGISTRY.items())))


def find_tool(name: object) -> Tool:
    """Return the tool; raise ToolUnknown."""
    found = _REGISTRY.get(name) if isinstance(name, str) else None
    if found is None:
        raise ToolUnknown(f"There is no tool named {str(name)[:100]!r}.", hint="See tools/list.")
    return found


def run(tool: Tool, *, arguments: object, call: Call) -> Outcome:
    """Validate, run, time and count one call; errors come back as an Outcome.

    An error that nobody anticipated goes to Sentry and the log, and the caller gets a sentence.
    """
    started = time.perf_counter()
    outcome = _run(tool, arguments=arguments, call=call)
    seconds = time.perf_counter() - started
    label = outcome.error.code if outcome.error else "ok"
    metrics.TOOL_CALLS.labels(tool.name, label).observe(seconds)
    statistics.note(tool=tool.name, seconds=seconds, is_error=outcome.error is not None)
    log.info(
        "tool_called",
        tool=tool.name,
        outcome=label,
        user=call.caller.username,
        milliseconds=round(seconds * 1000, 1),
    )
    return outcome


def _run(tool: Tool, *, arguments: object, call: Call) -> Outcome:
    try:
        result = tool.function(call, _validate(tool, arguments, call))
    except Exception as error:  # noqa: BLE001  what nobody anticipated is an answer, too
        report = translate(error) or _report_defect(tool, error)
        return Outcome(content=report.body, error=report)
    return Outcome(content=result.model_dump(mode="json", exclude_none=True, by_alias=True))


def _report_defect(tool: Tool, error: Exception) -> ErrorReport:
    sentry_sdk.capture_exception(error)
    log.error("tool_failed", tool=tool.name, exc_info=error)
    return ErrorReport(
        "internal_error", 500, "The server met an error of its own; it has been reported."
    )


def _validate(tool: Tool, arguments: object, call: Call) -> Arguments:
    if not isinstance(arguments, dict):
        raise ArgumentsInvalid("The arguments must be a JSON object.")
    _refuse_what_cannot_be_kept(arguments)
    try:
        # As JSON: ISO text is a time and a string an enum, but "3" is never 3.
        return tool.arguments.model_validate_json(json.dumps(arguments), context=call)
    except ValidationError as error:
        raise ArgumentsInvalid(sentence_of(error)) from None


def _refuse_what_cannot_be_kept(arguments: dict[str, Any]) -> None:
    """Refuse what JSON can say and Postgres cannot: NUL, halves of a character, infinity."""
    waiting: list[tuple[str, Any, int]] = [(key, value, 1) for key, value in arguments.items()]
    while waiting:
        where, value, depth = waiting.pop()
        if depth > _DEEPEST_ARGUMENT:
            raise ArgumentsInvalid(f"{_shown(where)}: nested too deeply.")
        if isinstance(value, dict):
            waiting += [(where, part, depth + 1) for item in value.items() for part in item]
        elif isinstance(value, list):
            waiting += [(where, part, depth + 1) for part in value]
        elif isinstance(value, str) and "\0" in value:
            raise ArgumentsInvalid(f"{_shown(where)}: a NUL character cannot be stored or found.")
        elif isinstance(value, str) and not _is_unicode(value):
            raise ArgumentsInvalid(f"{_shown(where)}: half of a surrogate pair is no character.")
        elif isinstance(value, float) and not math.isfinite(value):
            raise ArgumentsInvalid(f"{_shown(where)}: must be a finite number.")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(name: str) -> str:
    """Return a name that a caller made up in a form that any answer can carry."""
    return name[:100].encode("ascii", "backslashreplace").decode().replace("\0", "\\0")


def sentence_of(error: ValidationError) -> str:
    """Return what is wrong with arguments, each name with its reason."""
    parts = []
    for problem in error.errors(include_url=False, include_input=False, include_context=False):
        where = _shown(".".join(str(part) for part in problem["loc"])) or "arguments"
        parts.append(f"{where}: {problem['msg'][:200]}")
    return "; ".join(parts[:10]) + "."


def dumps(payload: object) -> str:
    """Return compact JSON, as it is served."""
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False)


def _compact(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop what costs an agent's context and says nothing: titles and null defaults."""

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        kept = {
            key: walk(value) if key != "properties" else _properties(value)
            for key, value in node.items()
            if key != "title" and not (key == "default" and value is None)
        }
        return _without_null(kept)

    def _properties(properties: dict[str, Any]) -> dict[str, Any]:
        # A property may itself be named "title".
        return {name: walk(value) for name, value in properties.items()}

    result: dict[str, Any] = walk(schema)
    result.pop("description", None)
    return result


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    # `str | None` is "may be left out": the null alternative only costs tokens.
    options = node.get("anyOf")
    if not isinstance(options, list):
        return node
    rest = [option for option in options if option != {"type": "null"}]
    if len(rest) != 1 or len(rest) == len(options):
        return node
    return {**{key: value for key, value in node.items() if key != "anyOf"}, **rest[0]}
