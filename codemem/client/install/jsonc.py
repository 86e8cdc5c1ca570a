"""Changes to a JSON file as a careful person makes them: only what is new is written.

Reads JSON with comments and trailing commas, and remembers where everything stands. An edit
replaces, inserts or takes out one value; every other byte stays, and the new text follows the
file's own indentation, line ends and habit of trailing commas.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codemem.client.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SPACE: Final = " \t\r\n"
_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD: Final = re.compile(r"[-+.\w]+")
_LINE_REST: Final = re.compile(r"[ \t]*(?://[^\n\r]*|/\*[^\n\r]*?\*/[ \t]*)?")
_DEEPEST: Final = 200


class Malformed(Failure):
    """The file is not what its name says, so nothing can be added to it."""

    code = "file_malformed"


class Node(NamedTuple):
    """A value and where it stands. An object has members, an array elements."""

    start: int
    end: int
    value: Any
    members: tuple[Member, ...] | None = None
    elements: tuple[Node, ...] | None = None


class Member(NamedTuple):
    """A name of an object with its value; it starts where the name does."""

    start: int
    key: str
    node: Node

    @property
    def end(self) -> int:
        return self.node.end


def value_of(text: str) -> Any:
    """Return what a text says, None for one without any value. Raises Malformed."""
    node = _parse(text)
    return None if node is None else node.value


def with_member(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with the member at a path, made or replaced. Raises Malformed."""
    *parents, name = path
    node = _parse(text)
    if node is None:
        return _fresh(text, _nested(path, value))
    for depth, parent in enumerate(parents):
        child = _member(node, parent, text)
        if child is None:
            return _insert(text, node, parent, _nested((*parents[depth + 1 :], name), value))
        node = child.node
    present = _member(node, name, text)
    if present is None:
        return _insert(text, node, name, value)
    if present.node.value == value:
        return text
    return _replaced(text, present.node, value)


def with_element(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with a value at the end of the array at a path, made if need be."""
    found = _find(text, path)
    if found is None:
        return with_member(text, path, [value])
    if found.elements is None:
        raise _wrong(text, found.start, f"{'.'.join(path)} is not a list")
    return _insert(text, found, None, value)


def without_member(text: str, path: Sequence[str]) -> str:
    """Return the text without the member at a path; one that is not there is gone already."""
    *parents, name = path
    node = _find(text, parents)
    if node is None or node.members is None:
        return text
    for number, member in enumerate(node.members):
        if member.key == name:
            return _cut(text, node, node.members, number)
    return text


def without_elements(text: str, path: Sequence[str], is_ours: Callable[[Any], bool]) -> str:
    """Return the text without those elements of the array at a path."""
    while (node := _find(text, path)) is not None and node.elements is not None:
        ours = (at for at, element in enumerate(node.elements) if is_ours(element.value))
        number = next(ours, None)
        if number is None:
            break
        text = _cut(text, node, node.elements, number)
    return text


# --- Reading -------------------------------------------------------------------------------------


def _parse(text: str) -> Node | None:
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if at == len(text):
        return None
    try:
        node = _value(text, at, 0)
    except ValueError as error:
        raise _wrong(text, at, str(error)) from error
    rest = _skip(text, node.end)
    if rest != len(text):
        raise _wrong(text, rest, "something stands after the end")
    return node


def _find(text: str, path: Sequence[str]) -> Node | None:
    node = _parse(text)
    for name in path:
        if node is None:
            return None
        member = _member(node, name, text)
        node = member.node if member else None
    return node


def _member(node: Node, name: str, text: str) -> Member | None:
    if node.members is None:
        raise _wrong(text, node.start, f"an object was expected around {name}")
    # The last one wins, as for everybody who reads JSON.
    return next((member for member in reversed(node.members) if member.key == name), None)


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise _wrong(text, at, "it is nested too deeply")
    match text[at : at + 1]:
        case "{":
            return _object(text, at, depth)
        case "[":
            return _array(text, at, depth)
        case '"':
            found = _STRING.match(text, at)
        case _:
            found = _WORD.match(text, at)
    if found is None:
        raise _wrong(text, at, "a value was expected")
    try:
        return Node(at, found.end(), json.loads(found[0]))
    except ValueError as error:
        raise _wrong(text, at, f"{found[0][:20]} is no value") from error


def _object(text: str, start: int, depth: int) -> Node:
    members: list[Member] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        found = _STRING.match(text, at)
        if found is None:
            raise _wrong(text, at, "a name in quotes was expected")
        colon = _skip(text, found.end())
        if text[colon : colon + 1] != ":":
            raise _wrong(text, colon, "a colon was expected")
        node = _value(text, _skip(text, colon + 1), depth + 1)
        members.append(Member(at, json.loads(found[0]), node))
        at = _after_comma(text, node.end, "}")
    value = {member.key: member.node.value for member in members}
    return Node(start, at + 1, value, members=tuple(members))


def _array(text: str, start: int, depth: int) -> Node:
    elements: list[Node] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "]":
        node = _value(text, at, depth + 1)
        elements.append(node)
        at = _after_comma(text, node.end, "]")
    return Node(start, at + 1, [one.value for one in elements], elements=tuple(elements))


def _after_comma(text: str, at: int, closing: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1)
    if text[at : at + 1] != closing:
        raise _wrong(text, at, f"a comma or {closing} was expected")
    return at


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _wrong(text: str, at: int, what: str) -> Malformed:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return Malformed(f"line {line}, column {column}: {what}")


# --- Writing -------------------------------------------------------------------------------------


def _fresh(text: str, value: object) -> str:
    line_end = _line_end(text)
    return f"{text}{_written(value, indent='', unit='  ', line_end=line_end)}{line_end}"


def _nested(path: Sequence[str], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _insert(text: str, container: Node, name: str | None, value: object) -> str:
    """Return the text with a new member (or, without a name, element) at the container's end."""
    siblings: Sequence[Member | Node]
    siblings = container.members if container.members is not None else container.elements or ()
    if name is not None and container.members is None:
        raise _wrong(text, container.start, f"an object was expected around {name}")
    line_end, unit = _line_end(text), _unit(text)
    label = "" if name is None else f"{json.dumps(name, ensure_ascii=False)}: "
    outer = _indent_at(text, container.start)
    if siblings and not _begins_line(text, siblings[0].start):
        written = json.dumps(value, ensure_ascii=False)
        return f"{text[: siblings[-1].end]}, {label}{written}{text[siblings[-1].end :]}"
    inner = _indent_at(text, siblings[0].start) if siblings else outer + unit
    new = label + _written(value, indent=inner, unit=unit, line_end=line_end)
    if not siblings:
        return _fill(text, container, f"{inner}{new}", outer=outer, line_end=line_end)
    last = siblings[-1].end
    comma = _skip(text, last)
    has_comma = text[comma : comma + 1] == ","
    after = comma + 1 if has_comma else last
    rest = _LINE_REST.match(text, after)
    place = rest.end() if rest and _ends_line(text, rest.end()) else after
    before = text[:place] if has_comma else f"{text[:last]},{text[last:place]}"
    return f"{before}{line_end}{inner}{new}{',' if has_comma else ''}{text[place:]}"


def _fill(text: str, container: Node, line: str, *, outer: str, line_end: str) -> str:
    """Return the text with the first line of an empty container, after comments in it."""
    inside = text[container.start + 1 : container.end - 1]
    kept = inside.rstrip(_SPACE)
    # What stood before the closing bracket stays there, so that taking ours out restores it.
    closing = inside[len(kept) :] if "\n" in inside[len(kept) :] else f"{line_end}{outer}"
    head = text[: container.start + 1] + kept
    return f"{head}{line_end}{line}{closing}{text[container.end - 1 :]}"


def _replaced(text: str, node: Node, value: object) -> str:
    indent = _indent_at(text, node.start)
    if "\n" in text[node.start : node.end] or not _is_container(node):
        new = _written(value, indent=indent, unit=_unit(text), line_end=_line_end(text))
    else:
        new = json.dumps(value, ensure_ascii=False)
    return f"{text[: node.start]}{new}{text[node.end :]}"


def _is_container(node: Node) -> bool:
    return node.members is not None or node.elements is not None


def _cut(text: str, container: Node, siblings: Sequence[Member | Node], number: int) -> str:
    """Return the text without one member or element, and without the comma it leaves over."""
    gone = siblings[number]
    comma = _skip(text, gone.end)
    has_comma = text[comma : comma + 1] == ","
    end = comma + 1 if has_comma else gone.end
    if len(siblings) == 1:
        return _empty(text, container, gone.start, end)
    if number == len(siblings) - 1:
        # The comma before it goes with it, unless this file ends its lists with commas.
        before = siblings[number - 1].end
        previous = _skip(text, before)
        between = text[previous + 1 : gone.start].rstrip(_SPACE)
        kept_comma = "," if has_comma else ""
        return f"{text[:before]}{text[before:previous]}{kept_comma}{between}{text[end:]}"
    following = siblings[number + 1].start
    return f"{text[: gone.start]}{text[following:]}"


def _empty(text: str, container: Node, start: int, end: int) -> str:
    before = text[container.start + 1 : start].rstrip(_SPACE)
    after = text[end : container.end - 1]
    if not before and not after.strip(_SPACE):
        after = ""
    return f"{text[: container.start + 1]}{before}{after}{text[container.end - 1 :]}"


def _written(value: object, *, indent: str, unit: str, line_end: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return f"{line_end}{indent}".join(lines)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """Return one step of indentation: that of the first indented line."""
    found = re.search(r"(?m)^([ \t]+)[^\s/*]", text)
    if found is None:
        return "  "
    return "\t" if found[1].startswith("\t") else found[1]


def _indent_at(text: str, at: int) -> str:
    begin = text.rfind("\n", 0, at) + 1
    line = text[begin:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _begins_line(text: str, at: int) -> bool:
    return "\n" in text[:at] and not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _ends_line(text: str, at: int) -> bool:
    return text[at : at + 1] in ("", "\n", "\r")
