"""The literal arguments of calls and decorators, read the same way in every grammar.

Grammars differ in names only: whatever is called a string is one, whatever inside it is called an
interpolation becomes `{}`. Which calls matter is for the rules of `indexing.libraries` to say.
"""

import re
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Protocol

from tree_sitter import Node

from indexing.expressions import chain_of
from indexing.facts import Argument

_KEPT_WORDS = """
AsyncClient basic_consume basic_publish Client ClientSession connect Consume consume convertAndSend
execute Group include include_router mount produce ProduceAsync Publish publish
PublishWithContext QueueSubscribe register register_blueprint route send sendToQueue Subscribe
subscribe SubscribeTopics use
"""
_KEPT_BARE = frozenset(_KEPT_WORDS.split())
"""Names whose calls are kept without a literal argument too: what they are given is the point."""

_MAX_SPAN_BYTES = 20_000
_MAX_ARGUMENTS = 24
_MAX_TEXT_BYTES = 300
_MAX_LITERAL_DEPTH = 3

_QUOTE = re.compile(rb"[\"'`]")
_PLAIN_LITERAL = re.compile(r"-?\d[\w.]*|[Tt]rue|[Ff]alse|None|null|nil|undefined")
_HOLE_TYPES = re.compile(
    r"(template_|command_)?(interpolation|substitution)|interpolated_\w+|\w*variable\w*|\w+_expression"
)
# No grammar interpolates without one of these, and a search costs less than children.
_HOLE_MARK = re.compile(rb"[{$\\`]")
_PAIR_TYPES = frozenset(
    {
        "keyword_argument",
        "named_argument",
        "element_value_pair",
        "assignment_expression",
        "attribute_argument",
        "pair",
        "keyed_element",
        "array_element_initializer",
    }
)
_WRAPPER_TYPES = frozenset(
    {"argument", "value_argument", "attribute_argument", "literal_element", "expression"}
)
_MAP_TYPES = frozenset({"object", "dictionary", "hash"})
_LIST_TYPES = frozenset(
    {"list", "array", "tuple", "array_initializer", "element_value_array_initializer"}
    | {"collection_literal", "array_literal", "array_creation_expression"}
)
_COMPOSITE_TYPES = _PAIR_TYPES | _WRAPPER_TYPES | _MAP_TYPES | _LIST_TYPES


class _Source(Protocol):
    source: bytes

    def of(self, start: int, end: int, limit: int = ...) -> str: ...

    def of_node(self, node: Node, limit: int = ...) -> str: ...


def arguments_of_call(
    node: Node, name: str, text: _Source, *, asked_for: AbstractSet[str]
) -> tuple[Argument, ...]:
    """Return a call's arguments if rules about libraries may want them, () otherwise.

    That is, if its name is `asked_for`, and one of them is a string or the name says enough. Most
    calls hold no quote at all, which costs less to see than their children. A name that is more
    than a name (`a.b`, `$http`) may end like one that is asked for, and such are few.
    """
    if name not in asked_for and name.isidentifier():
        return ()
    start, end = node.start_byte, min(node.end_byte, node.start_byte + _MAX_SPAN_BYTES)
    is_kept = name in _KEPT_BARE
    if not is_kept and not _QUOTE.search(text.source, start, end):
        return ()
    found = arguments_of(node, text)
    return found if is_kept or any(one.is_literal for one in found) else ()


def arguments_of(node: Node, text: _Source) -> tuple[Argument, ...]:
    """Return the arguments that `node` holds, () when none of them is a literal or a name."""
    found: list[Argument] = []
    is_list = node.named_child_count and "string" not in node.type
    children = node.named_children if is_list else [node]  # a tagged template is its own argument
    for child in children[:_MAX_ARGUMENTS]:
        if not child.is_extra:
            _read(child, "", text, 0, found)
    return tuple(found[: 2 * _MAX_ARGUMENTS]) if any(one.text for one in found) else ()


def _read(node: Node, keyword: str, text: _Source, depth: int, found: list[Argument]) -> None:
    kind = node.type
    if depth > _MAX_LITERAL_DEPTH:
        return
    if kind in _COMPOSITE_TYPES:
        _read_composite(node, keyword, text, depth, found)
    else:  # most arguments
        found.append(_simple(node, kind, keyword, text))


def _read_composite(
    node: Node, keyword: str, text: _Source, depth: int, found: list[Argument]
) -> None:
    kind = node.type
    if kind in _PAIR_TYPES and (parts := _pair(node, text)):
        _read(parts[1], parts[0] or keyword, text, depth + 1, found)
    elif kind in _WRAPPER_TYPES and node.named_child_count == 1:
        _read(node.named_children[0], keyword, text, depth + 1, found)
    elif kind in _WRAPPER_TYPES and (parts := _pair(node, text)):
        _read(parts[1], parts[0], text, depth + 1, found)
    elif kind in _MAP_TYPES:
        found.append(Argument(keyword, "", is_literal=False))
        for child in node.named_children[:_MAX_ARGUMENTS]:
            if child.type in _PAIR_TYPES:
                _read(child, "", text, depth + 1, found)
    elif kind in _LIST_TYPES and node.named_child_count:
        for child in node.named_children[:_MAX_ARGUMENTS]:
            _read(child, keyword, text, depth + 1, found)
    else:
        found.append(_simple(node, kind, keyword, text))


def _simple(node: Node, kind: str, keyword: str, text: _Source) -> Argument:
    if _may_be_literal(kind):
        literal = _literal(node, text, 0)
        if literal is not None:
            return Argument(keyword, literal, is_literal=True)
    start, end = node.start_byte, node.end_byte
    if end - start > _MAX_TEXT_BYTES:
        return Argument(keyword, "", is_literal=False)
    written = text.of(start, end, _MAX_TEXT_BYTES)
    if _PLAIN_LITERAL.fullmatch(written):
        return Argument(keyword, written, is_literal=True)
    return Argument(keyword, chain_of(written), is_literal=False)


@lru_cache(maxsize=4096)
def _may_be_literal(kind: str) -> bool:
    return _is_joined(kind) or _is_string(kind)


def _is_joined(kind: str) -> bool:
    return "binary" in kind or kind in ("additive_expression", "concatenated_string")


def _is_string(kind: str) -> bool:
    return "string" in kind or kind in ("heredoc_body", "template_literal")


def _pair(node: Node, text: _Source) -> tuple[str, Node] | None:
    children = [child for child in node.named_children if not child.is_extra]
    if len(children) < 2:  # noqa: PLR2004
        return None
    key = text.of_node(children[0]).strip("\"'`:")
    return key, children[-1]


def _literal(node: Node, text: _Source, depth: int) -> str | None:
    """Return a string's value with `{}` for its holes; None for what is no string."""
    kind = node.type
    if _is_joined(kind):
        nested = node.named_children if depth <= _MAX_LITERAL_DEPTH else []
        parts = [_literal(child, text, depth + 1) for child in nested]
        if any(part is not None for part in parts):
            return "".join("{}" if part is None else part for part in parts)[:_MAX_TEXT_BYTES]
        return None
    return _string(node, text) if _is_string(kind) else None


def _string(node: Node, text: _Source) -> str:
    position = node.start_byte
    end = min(node.end_byte, position + _MAX_TEXT_BYTES)
    if not _HOLE_MARK.search(text.source, position, end):
        return _unquoted(text.of(position, end, _MAX_TEXT_BYTES))
    pieces = []
    for child in node.named_children:
        if child.start_byte >= end:
            break
        if _HOLE_TYPES.fullmatch(child.type):
            pieces.append(text.source[position : child.start_byte].decode("utf-8", "replace"))
            pieces.append("{}")
            position = child.end_byte
    pieces.append(text.source[position:end].decode("utf-8", "replace"))
    return _unquoted("".join(pieces))


_OPENING = re.compile(r"\A[A-Za-z@$#]{0,3}(\"\"\"|'''|[\"'`])")


def _unquoted(written: str) -> str:
    opening = _OPENING.match(written)
    if not opening:
        return written
    return written[opening.end() :].removesuffix(opening[1])
