"""Types that are written out, taken apart as text: `(job: Job) => void`, `{ run: Job }`, `Job[]`.

TypeScript's notation. Texts may be cut off at their end and have no literals; what cannot be read
says nothing. Knows no file and no scope.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

CUT = "?"
"""Stands at the end of a text that was cut off, so that its last name is nobody's."""

_OPENERS, _CLOSERS = "([{<", ")]}>"
_MAX_PARTS = 6

_WORDS = re.compile(
    r"^(?:(?:readonly|new|abstract|unique|public|private|protected|override|asserts|infer)\s+)+"
)
_GENERIC = re.compile(r"(?P<head>[A-Za-z_$][\w$.]*)\s*<(?P<arguments>.*)>", re.DOTALL)
_MEMBER = re.compile(
    r"(?:(?:readonly|get|set)\s+)*(?P<name>[\w$]+)\s*\??\s*(?P<rest>[:(<].*)", re.DOTALL
)
_CONDITIONAL = re.compile(r"[^(<{=]*\sextends\s.*\?", re.DOTALL)
_INDEXED = re.compile(r"\{\s*(?:readonly\s+)?\[")
_NOTHING = frozenset({"", "undefined", "null", "void", "never", "unknown", "any"})
_LISTS = frozenset(
    """
    Array ReadonlyArray Iterable IterableIterator Iterator AsyncIterable AsyncIterableIterator
    AsyncIterator Generator AsyncGenerator Set ReadonlySet
    """.split()
)

_PLATFORM = {
    "Array": (
        "E",
        """{
        forEach(f: (e: E) => void): void; map(f: (e: E) => unknown): unknown[];
        flatMap(f: (e: E) => unknown): unknown[]; filter(f: (e: E) => boolean): E[];
        find(f: (e: E) => boolean): E; findLast(f: (e: E) => boolean): E; at(i: number): E;
        findIndex(f: (e: E) => boolean): number; some(f: (e: E) => boolean): boolean;
        every(f: (e: E) => boolean): boolean; sort(f: (a: E, b: E) => number): E[];
        toSorted(f: (a: E, b: E) => number): E[]; reduce(f: (r: unknown, e: E) => unknown): unknown;
        pop(): E; shift(): E; slice(): E[]; concat(): E[]; reverse(): E[]; values(): E[]; next(): E
        }""",
    ),
    "Map": (
        "K V",
        """{
        get(k: K): V; forEach(f: (v: V, k: K) => void): void; values(): V[]; keys(): K[];
        set(k: K, v: V): Map<K, V>
        }""",
    ),
}
"""What of the platform's containers leads to what they hold."""
_SAME_AS = {"WeakMap": "Map", "ReadonlyMap": "Map"} | dict.fromkeys(_LISTS, "Array")


class Signature(NamedTuple):
    """How a type is called: the types of its parameters, and of its result."""

    parameters: tuple[str, ...]
    has_rest: bool
    result: str

    def parameter(self, place: int) -> str:
        """Return the type of the parameter at a place, which the last one may repeat."""
        if self.has_rest and place >= len(self.parameters) - 1:
            return element_of(self.parameters[-1]) or ""
        return self.parameters[place] if place < len(self.parameters) else ""


@lru_cache(maxsize=16384)
def alternatives(text: str) -> tuple[str, ...]:
    """Return the types one of which a value has, without those that have no members."""
    text = _unwrapped(text)
    if _CONDITIONAL.match(text):
        return ()
    parts = [_unwrapped(part) for part in _split(text, "|")]
    if len(parts) == 1:
        return () if parts[0] in _NOTHING else (parts[0],)
    found = [inner for part in parts for inner in alternatives(part)]
    return tuple(found[:_MAX_PARTS])


@lru_cache(maxsize=16384)
def ingredients(text: str) -> tuple[str, ...]:
    """Return the types all of which a value has: `A & B`."""
    return tuple(part for written in _split(text, "&") if (part := _unwrapped(written)))


@lru_cache(maxsize=16384)
def signature_of(text: str) -> Signature | None:
    """Read `(a: A, ...b: B[]) => R`, or the same with a colon for the arrow."""
    text = _without_type_parameters(_WORDS.sub("", text.strip()))
    if not text.startswith("("):
        return None
    end = _end_of(text, 0)
    tail = text[end:].lstrip()
    if not tail.startswith(("=>", ":")) and end < len(text):
        return None
    written = [part for part in _split(text[1 : end - 1], ",") if part]
    if written and re.match(r"this\s*:", written[0]):
        written = written[1:]
    parameters = tuple(annotation_of(part) for part in written)
    has_rest = bool(written) and written[-1].startswith("...")
    return Signature(parameters, has_rest, tail.removeprefix("=>").removeprefix(":").strip())


def declared(parameters: tuple[str, ...]) -> Signature:
    """Return the signature of a definition from its parameters as written; no result."""
    if parameters and re.match(r"this\s*:", parameters[0]):
        parameters = parameters[1:]
    types = tuple(annotation_of(parameter) for parameter in parameters)
    return Signature(types, bool(parameters) and parameters[-1].startswith("..."), "")


def annotation_of(parameter: str) -> str:
    """Return the type in `name?: Type = value`, or ""."""
    _, *rest = _split(parameter, ":", times=1)
    return _split(rest[0], "=", times=1)[0] if rest else ""


@lru_cache(maxsize=16384)
def member_of(text: str, name: str) -> str:
    """Return the type of a member of an object's type, or of a container of the platform's."""
    if text.startswith("{"):
        return _members(text).get(name, "")
    head, arguments = generic_of(text)
    element = element_of(text)
    if element:
        head, arguments = "Array", (element,)
    names, members = _PLATFORM.get(_SAME_AS.get(head, head), ("", ""))
    found = _members(members).get(name, "") if members else ""
    held = dict(zip(names.split(), arguments, strict=False))
    return re.sub(r"\b[EKV]\b", lambda place: held.get(place[0], "unknown"), found)


@lru_cache(maxsize=16384)
def element_of(text: str) -> str | None:
    """Return the type of a list's elements, None for what is no list."""
    text = _unwrapped(text)
    if text.endswith("[]"):
        return None if signature_of(text) else text[:-2].strip()
    head, arguments = generic_of(text)
    return arguments[0] if head in _LISTS and arguments else None


@lru_cache(maxsize=16384)
def indexed(text: str) -> str | None:
    """Return the type of what `[...]` gives of a value; None when nothing is said of it."""
    head, arguments = generic_of(text)
    if head == "Record":
        return arguments[-1]
    index = _INDEXED.match(text)
    if index:
        end = _end_of(text, index.end() - 1)
        return (_split(text[end:].lstrip().lstrip("?:"), ";,}") or [""])[0]
    return element_of(text)


@lru_cache(maxsize=16384)
def generic_of(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a type's name and its arguments: `Map<K, V>` -> `Map`, (`K`, `V`)."""
    found = _GENERIC.fullmatch(text)
    if not found:
        return text, ()
    return found["head"], tuple(_split(found["arguments"], ","))


def is_written_out(text: str) -> bool:
    """Tell a type that has no name of its own in the repository, and still has parts."""
    if len(ingredients(text)) > 1:
        return True
    if text.startswith(("(", "{", "<", "new ")) or indexed(text) is not None:
        return True
    head, _ = generic_of(text)
    return _SAME_AS.get(head, head) in _PLATFORM


@lru_cache(maxsize=4096)
def _members(text: str) -> dict[str, str]:
    inner = text[1 : _end_of(text, 0) - 1]
    found: dict[str, str] = {}
    for part in _split(inner, ";,\n"):
        member = _MEMBER.fullmatch(part)
        if member:
            rest = member["rest"]
            found.setdefault(member["name"], rest[1:].strip() if rest[0] == ":" else rest)
    return found


def _unwrapped(text: str) -> str:
    """Strip words that change nothing, and parentheses around the whole."""
    text = _WORDS.sub("", text.strip()) if not text.lstrip().startswith("new") else text.strip()
    while text.startswith("(") and _end_of(text, 0) == len(text) and text.endswith(")"):
        text = text[1:-1].strip()
    return text


def _without_type_parameters(text: str) -> str:
    return text[_end_of(text, 0) :].lstrip() if text.startswith("<") else text


def _end_of(text: str, start: int) -> int:
    """Return where the bracket that opens at `start` has been closed; the end if it is not."""
    depth = 0
    for position in range(start, len(text)):
        depth += _step(text, position)
        if depth == 0:
            return position + 1
    return len(text)


def _split(text: str, separators: str, times: int = -1) -> list[str]:
    return list(_pieces(text, separators, times))


def _pieces(text: str, separators: str, times: int) -> Iterator[str]:
    """Yield what stands between separators outside of brackets; a function's result is its own."""
    depth, start = 0, 0
    for position, character in enumerate(text):
        if depth == 0 and text.startswith("=>", position):
            if separators in "|&":
                break  # `(a) => B | C` is one function
        elif depth == 0 and character in separators and times:
            yield text[start:position].strip()
            start, times = position + 1, times - 1
        depth += _step(text, position)
    yield text[start:].strip()


def _step(text: str, position: int) -> int:
    character = text[position]
    if character == ">" and text[position - 1 : position] == "=":
        return 0  # an arrow
    return (character in _OPENERS) - (character in _CLOSERS)
