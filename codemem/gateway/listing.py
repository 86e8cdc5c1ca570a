"""What an agent is shown of the tools: the sets it asks for, in schemas as short as can be.

What is listed costs every session its context, so constraints that the server checks anyway, empty
defaults and repeated descriptions are left out. Every tool can be called, listed or not, and takes
all of its arguments; the core set names the usual ones, and leaves where a call is meant to the
connection, the instructions and the error that asks for it.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from codemem.gateway import tool
from codemem.gateway.errors import ArgumentsInvalid
from codemem.gateway.tool import Tool, Toolset

DEFAULT: Final = frozenset({Toolset.MEMORY, Toolset.CODE, Toolset.REVIEW, Toolset.SESSIONS})

_CORE = "core"
_ALL = "all"
# What every tool takes; the server's instructions say it once.
_PLACES = ("namespace", "repository", "ref")
_CHECKED_BY_US = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
_DEFINITION = "#/$defs/"
_BOUNDS = frozenset({"minimum", "maximum"})
_RANGE = re.compile(r"(?:[A-Z][a-z ]+, )?\d+ to \d")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tools a connection is shown: some sets, or the core ones in their shortest form."""

    toolsets: frozenset[Toolset] = DEFAULT
    is_core: bool = False


def selection_of(text: str | None) -> Selection:
    """Read the URL's `toolsets`, names with commas between; raise ArgumentsInvalid.

    `core` alone is about ten tools with their usual arguments, for clients that load everything;
    beside other sets it adds nothing that they do not say better.
    """
    names = [name.strip().lower() for name in (text or "").split(",") if name.strip()]
    if not names:
        return Selection()
    if names == [_CORE]:
        return Selection(is_core=True)
    if _ALL in names:
        return Selection(frozenset(Toolset))
    unknown = [name for name in names if name != _CORE and name not in set(Toolset)]
    if unknown:
        raise ArgumentsInvalid(
            f"There is no toolset {unknown[0][:40]!r}; there are: {', '.join(Toolset)}, and"
            f" {_CORE} or {_ALL}."
        )
    return Selection(frozenset(Toolset(name) for name in names if name != _CORE))


@lru_cache(maxsize=64)
def listed(selection: Selection) -> tuple[dict[str, Any], ...]:
    """Return the wire form of the tools of a selection, in a fixed order."""
    if selection.is_core:
        core = (item for item in tool.registry().values() if item.is_core)
        return tuple(_wire(item, names=item.core) for item in core)
    return tuple(
        _wire(item, names=())
        for item in tool.registry().values()
        if item.toolset in selection.toolsets
    )


def _wire(item: Tool, *, names: tuple[str, ...]) -> dict[str, Any]:
    """Return a tool as it is listed, with these arguments, or with all and where it is meant."""
    wire: dict[str, Any] = {
        "name": item.name,
        "description": item.description,
        "inputSchema": _schema(item.input_schema, names),
        "annotations": _annotations(item.annotations),
    }
    if item.is_core:
        wire["_meta"] = {"anthropic/alwaysLoad": True}
    return wire


def _annotations(annotations: dict[str, bool]) -> dict[str, bool]:
    if not annotations["readOnlyHint"]:
        return annotations
    # The two others mean something only where something is written.
    return {name: annotations[name] for name in ("readOnlyHint", "openWorldHint")}


def _schema(schema: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    definitions = {
        name: {key: value for key, value in definition.items() if key != "description"}
        for name, definition in schema.get("$defs", {}).items()
    }
    properties = {
        name: _short(value, definitions)
        for name, value in schema.get("properties", {}).items()
        if name in names or not names
    }
    # Places last, and without a word: an agent rarely needs them.
    places = {name: {"type": "string"} for name in _PLACES if properties.pop(name, None)}
    short = {key: value for key, value in schema.items() if key in {"type", "required"}}
    return {**short, "properties": properties | places}


def _short(node: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema without what an agent need not be told, its definitions in their places."""
    if isinstance(node, list):
        return [_short(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        definition = definitions[node["$ref"].removeprefix(_DEFINITION)]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _short({**definition, **beside}, definitions)
    # Some clients drop bounds from schemas; where the description names them, once is enough.
    is_said = bool(_RANGE.match(str(node.get("description", ""))))
    return {
        key: {name: _short(part, definitions) for name, part in value.items()}
        if key == "properties"
        else _short(value, definitions)
        for key, value in node.items()
        if not (_is_left_out(key, value) or (is_said and key in _BOUNDS))
    }


def _is_left_out(key: str, value: Any) -> bool:
    if key in _CHECKED_BY_US or (key, value) == ("format", "uuid"):
        return True
    return (key == "default" and value in ([], "", False)) or (
        key == "additionalProperties" and value is False
    )
