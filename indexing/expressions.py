"""Receivers and types as text: reduce them while parsing, take them apart while resolving.

An expression is kept only as its *chain*: names joined by dots, `()` for a call and `[]` for an
index, arguments forgotten (`self.pool(size)[0].run` -> `self.pool()[].run`), and `{n}` for what the
nth parameter of a function may be (`indexing.patterns`). Knows no file, no scope and no language
beyond what C-like languages and Python share.
"""

import re
from functools import lru_cache

_NAME = re.compile(r"#?[A-Za-z_$\u0080-\U0010ffff][\w$]*")
_PLAIN_CHAIN = re.compile(r"#?[A-Za-z_$][\w$]*(?:\.#?[A-Za-z_$][\w$]*)*")
_TYPE_ARGUMENTS = re.compile(r"<[^()]*?>+(?=[(.]|$)")
_PREFIX = re.compile(r"(?:await\s+|new\s+|[&*])+")
_STEP = re.compile(r"[^.()\[\]{}]+|\(\)|\[\]|\{\d*\}")
_OPENERS = "([{"
_QUOTES = "\"'`"

OWN_OBJECT = "{}"
"""The chain of an object whose members are defined where it stands."""

OR = "|"
"""Stands between the chains one of which a value is."""

RESULT = "return"
"""The chain of what the function around returns."""

TRANSPARENT_TYPES = frozenset(
    {
        "Optional",
        "Annotated",
        "ClassVar",
        "Final",
        "Required",
        "NotRequired",
        "ReadOnly",
        "Awaitable",
        "Promise",
        "PromiseLike",
        "Readonly",
        "Partial",
        "NonNullable",
        "Omit",
        "Pick",
        "type",
        "Type",
        "Ref",
        "ContextManager",
        "AbstractContextManager",
    }
)
"""Generic types whose value can be used like their first argument."""

_WRAPPERS = frozenset(
    """
    Option Result Box Rc Arc Cell RefCell Mutex RwLock Cow Pin unique_ptr shared_ptr weak_ptr
    optional reference_wrapper Task ValueTask Lazy Nullable Future CompletableFuture Provider
    """.split()
)
"""Generic types that give their first argument sooner or later, or may be a type of one's own."""

DOTTED_NAME = re.compile(r"[A-Za-z_$\u0080-\U0010ffff][\w$]*(?:\.[A-Za-z_$][\w$]*)*")
_GENERIC = re.compile(r"(?P<head>[\w$.]+)\s*(?:[\[<](?P<arguments>.*)[\]>])?", re.DOTALL)
_LIFETIME = re.compile(r"'[a-z_]\w*(?!['\w])")
_TYPE_PREFIX = re.compile(
    r"(?:[&*?]|'\w+\s+|(?:mut|dyn|impl|const|readonly|final|inout|ref|out|in|params|vararg"
    r"|struct|volatile|unsafe|some|any|typename|enum|class)\s+|\s)+"
)
_TYPE_SUFFIX = re.compile(r"(?:[&*?!]|\bconst\b|\s)+$")
_MAX_UNION_MEMBERS = 3


@lru_cache(maxsize=16384)
def chain_of(text: str) -> str:
    """Reduce an expression to its chain, or to "" when it is anything else than a chain."""
    if _PLAIN_CHAIN.fullmatch(text):
        return text
    text = text.strip()
    prefix = _PREFIX.match(text)
    if prefix:
        text = text[prefix.end() :].lstrip()
    if text.startswith("("):
        end = _end_of_group(text, 0)
        head, position = chain_of(text[1 : end - 1]), end
    else:
        name = _NAME.match(text)
        head, position = (name.group(), name.end()) if name else ("", 0)
    return head + tail if head and (tail := _tail_of(text, position)) is not None else ""


@lru_cache(maxsize=65536)
def steps_of(chain: str) -> tuple[str, ...]:
    """Split a chain into its names, calls and indexes: `a.b()[]` -> `("a", "b", "()", "[]")`."""
    return tuple(_STEP.findall(chain))


def names_in_type(text: str) -> list[str]:
    """Return every dotted name that a type annotation mentions, in order."""
    return list(dict.fromkeys(DOTTED_NAME.findall(_LIFETIME.sub("", text))))


@lru_cache(maxsize=65536)
def names_of_value(annotation: str) -> tuple[str, ...]:
    """Return the types that a value annotated so may have; containers' elements do not count."""
    annotation = _LIFETIME.sub("", annotation)
    names = [name for part in _union_members(annotation) for name in _names_of_member(part)]
    return tuple(names[:_MAX_UNION_MEMBERS])


def _tail_of(text: str, position: int) -> str | None:
    """Reduce what follows a chain's first name; None when it is not a chain."""
    tail = []
    while position < len(text):
        character = text[position]
        if character in _OPENERS:
            position = _end_of_group(text, position)
            tail.append("[]" if character == "[" else "()")
        elif character == "." and (name := _NAME.match(text, _after_dots(text, position))):
            tail.append("." + name.group())
            position = name.end()
        elif character == "<" and (arguments := _TYPE_ARGUMENTS.match(text, position)):
            position = arguments.end()
        elif character in "!?" or character.isspace() or text.startswith(".(", position):
            position += 1
        else:
            return None
    return "".join(tail)


def _after_dots(text: str, position: int) -> int:
    while position < len(text) and (text[position] in ".?!" or text[position].isspace()):
        position += 1
    return position


def _end_of_group(text: str, start: int) -> int:
    """Position after the bracket that closes the one at `start`; the end of a cut-off text."""
    depth, position = 0, start
    while position < len(text):
        character = text[position]
        if character in _QUOTES:
            closing = text.find(character, position + 1)
            position = closing if closing > 0 else len(text)
        elif character in _OPENERS:
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    return len(text)


def _union_members(annotation: str) -> list[str]:
    members, depth, current = [], 0, ""
    for character in annotation:
        depth += (character in "[<({") - (character in "]>)}")
        if character == "|" and depth == 0:
            members.append(current)
            current = ""
        elif character not in "\"'":
            current += character
    return [*members, current]


def _names_of_member(text: str) -> list[str]:
    text = _TYPE_SUFFIX.sub("", _TYPE_PREFIX.sub("", text, count=1))
    if "+" in text and not text.startswith(("(", "{")):
        text = text.partition("+")[0].rstrip()  # the first of several bounds
    generic = _GENERIC.fullmatch(text)
    if not generic or text.endswith("[]"):
        return []
    head, arguments = generic["head"], generic["arguments"]
    name = head.rpartition(".")[2]
    inner = list(names_of_value(_first_argument(arguments))) if arguments else []
    if name in TRANSPARENT_TYPES:
        return inner
    own = [head] if DOTTED_NAME.fullmatch(head) else []
    return own + inner if name in _WRAPPERS else own


def _first_argument(arguments: str) -> str:
    depth = 0
    for position, character in enumerate(arguments):
        depth += (character in "[<({") - (character in "]>)}")
        if character == "," and depth == 0:
            return arguments[:position]
    return arguments
