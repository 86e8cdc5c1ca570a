"""What a text names, found without searching: paths, symbols, error signatures, packages.

Pure: a memory that is stored and a question about it go through the same functions, so that both
sides agree. Knows nothing of rows; `codemem.words.identifiers` tells names of code from prose.

Persons are not taken from texts: `@name` is a decorator, a scope of packages or a person, and a
text does not say which.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from codemem.words import identifiers

MAXIMUM_ENTITIES: Final = 60
MAXIMUM_KEY_CHARACTERS: Final = 400

_LONGEST_SIGNATURE = 200
_SHORTEST_PART = 4
_MOST_LINES = 2_000
_LONGEST_LINE = 1_000


class EntityKind(StrEnum):
    """What kind of thing is named."""

    PATH = "path"
    SYMBOL = "symbol"
    ERROR = "error"
    PACKAGE = "package"


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """One thing that a text names; `key` is normalized, so that two spellings are one."""

    kind: EntityKind
    key: str


def entities_of(*texts: str, limit: int = MAXIMUM_ENTITIES) -> tuple[Entity, ...]:
    """Return what texts name, each once, errors and packages first, at most `limit`.

    A dotted or scoped name counts as a whole and by its last part, a path as a whole and by its
    file name: whoever asks seldom writes all of it.
    """
    found: dict[Entity, None] = {}
    for text in texts:
        for signature in error_signatures(text):
            found[Entity(EntityKind.ERROR, signature)] = None
    for text in texts:
        for name in packages(text):
            found[Entity(EntityKind.PACKAGE, name)] = None
    for text in texts:
        for name in identifiers(text):
            found |= dict.fromkeys(_named(name))
    kept = (entity for entity in found if 0 < len(entity.key) <= MAXIMUM_KEY_CHARACTERS)
    return tuple(entity for _, entity in zip(range(limit), kept, strict=False))


def error_signatures(text: str) -> list[str]:
    """Return the signatures of the errors that a text quotes, each once, in order."""
    lines = (line[:_LONGEST_LINE] for line in text.splitlines()[:_MOST_LINES])
    found = (signature(match["message"]) for line in lines if (match := _ERROR.search(line)))
    return list(dict.fromkeys(key for key in found if key))


def signature(message: str) -> str:
    """Return what stays the same when an error comes again: `class: message` in lower case.

    Gone are paths, quoted values, numbers, addresses, what stands at the end, and runs of spaces.
    The class is one of index, undefined, type, syntax, missing file, permission, exit code, other.
    """
    kept = message
    for pattern, stand_in in _VARYING:
        kept = pattern.sub(stand_in, kept)
    kept = " ".join(kept.split()).strip(" .,:;!-'\"`()[]").lower()
    if not re.search(r"[^\W\d_]{2}", kept):
        return ""
    return f"{error_class(message)}: {kept}"[:_LONGEST_SIGNATURE].rstrip()


def error_class(message: str) -> str:
    """Return the kind of failure that a message tells of."""
    for name, pattern in _CLASSES:
        if pattern.search(message):
            return name
    return "other"


def packages(text: str) -> list[str]:
    """Return the packages that a text installs, pins, requires or imports, in lower case."""
    found: list[str] = []
    for match in _PACKAGE.finditer(text):
        installed = match["installed"]
        names = _listed(installed) if installed else [next(filter(None, match.groups()[1:]), "")]
        found += [key for name in names if (key := _package_name(name))]
    return list(dict.fromkeys(found))


def normal_path(path: str) -> str:
    """Return a path as it is compared: lower case, forward slashes, no `./` in front."""
    return path.replace("\\", "/").removeprefix("./").rstrip("/").lower()


def normal_symbol(name: str) -> str:
    """Return a symbol's name as it is compared: lower case, dots between its parts."""
    return re.sub(r"::|#|/", ".", name.removesuffix("()")).strip(".").lower()


def _named(name: str) -> Iterator[Entity]:
    if _is_path(name):
        key = normal_path(name)
        yield Entity(EntityKind.PATH, key)
        last = key.rpartition("/")[2]
        if last != key and "." in last:
            yield Entity(EntityKind.PATH, last)
        return
    key = normal_symbol(name)
    yield Entity(EntityKind.SYMBOL, key)
    last = key.rpartition(".")[2]
    if last != key and len(last) >= _SHORTEST_PART:
        yield Entity(EntityKind.SYMBOL, last)


def _is_path(name: str) -> bool:
    return "/" in name or "\\" in name or bool(_FILE.fullmatch(name))


def _listed(words: str) -> Iterator[str]:
    """Yield the packages behind a command, until a sentence goes on."""
    for word in words.split():
        if word.lower() in _SENTENCE:
            return
        yield word
        if word.endswith((",", ".", ":", ";")):
            return


def _package_name(name: str) -> str:
    """Return a package without its version, flags and paths; empty when it is none."""
    if name.startswith(("-", ".", "/", "$", "<")):
        return ""
    scope = "@" if name.startswith("@") else ""
    bare = re.split(r"[@=<>~!;\[]", name.removeprefix("@"), maxsplit=1)[0].strip("`'\".,:)")
    return (scope + bare).lower() if re.fullmatch(r"[\w][\w./-]*", bare) else ""


# A line that tells of a failure, from where its message begins.
_ERROR = re.compile(
    r"""(?P<message>
        \b[\w.]{0,80}(?:Error|Exception|Warning|Interrupt|Fault|Exit|Timeout)\b(?::\s|\s*\().*
      | \b(?:error|warning)(?:\[[A-Z]?\d+\]|\s(?:TS|CS|C|E)\d+):\s.*
      | \b(?:TS|CS|ORA-|SQLSTATE\W{0,2})\d{4,5}\b.*
      | \b(?:error|fatal|panic|FATAL|ERROR|PANIC|npm\ ERR!|E)(?::|\s{2,})\s*\S.*
      | \bE(?:NOENT|ACCES|EXIST|ADDRINUSE|CONNREFUSED|CONNRESET|PERM|ISDIR|MFILE|PIPE|TIMEDOUT)\b.*
      | (?i:segmentation\ fault|out\ of\ memory|core\ dumped|permission\ denied
          |no\ such\ file\ or\ directory|command\ not\ found|cannot\ find\ module
          |connection\ refused
          |undefined\ (?:reference|symbol|variable|method|is\ not)|deadlock\ detected
          |(?:exit|status)\ (?:code|status)\ \d+|exited\ with\ (?:code\ )?\d+).*
    )""",
    re.VERBOSE,
)
_VARYING: Final = (
    (re.compile(r"\x1b\[[\d;]*m"), ""),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "N"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b"), "N"),
    (
        re.compile(r"(?:(?<=\s)|(?<=^)|(?<=['\"`(=]))(?:[A-Za-z]:)?(?:[\\/][\w.@+-]+){2,}[\\/]?"),
        "PATH",
    ),
    (re.compile(r"(?<![\w/])(?:\.{1,2}/)?(?:[\w.@+-]+/)+[\w.@+-]+"), "PATH"),
    (re.compile(r"(['\"`\u2018\u2019\u201c\u201d])(?:(?!\1)[^\n]){0,200}\1"), "V"),
    (re.compile(r"\b[0-9a-f]{7,64}\b(?=[^\n]*)(?<=[0-9])"), "N"),
    (re.compile(r"[:(,]\s*(?:line|col(?:umn)?)\s+\d+"), ""),
    (re.compile(r"(?::\d+){1,2}\b"), ""),
    # Codes tell failures apart: TS2345, E0382, SQLSTATE 42703, exit code 137.
    (re.compile(r"(?<![\w-])(?<!code )(?<!status )(?<!sqlstate )(?<!SQLSTATE )\d[\d.,:]*"), "N"),
    (re.compile(r"\bPATH(?:\s*\(N(?:,\s*N)?\))?"), "PATH"),
)
_CLASSES: Final = tuple(
    (name, re.compile(pattern, re.IGNORECASE | re.VERBOSE))
    for name, pattern in (
        (
            "missing file",
            r"""no\ such\ file | ENOENT | FileNotFound | cannot\ find\ module | module\ ?not\ ?found
              | not\ found:""",
        ),
        (
            "permission",
            r"permission\ denied | EACCES | EPERM | PermissionError | forbidden | unauthorized",
        ),
        (
            "syntax",
            r"syntax\ ?error | unexpected\ token | parse\ error | invalid\ syntax | IndentationErr",
        ),
        (
            "index",
            r"IndexError | KeyError | out\ of\ (?:range|bounds) | index\ out | undefined\ index",
        ),
        (
            "undefined",
            r"""is\ not\ defined | NameError | ReferenceError | undefined | undeclared | unresolved
              | cannot\ find\ name | AttributeError | has\ no\ attribute | NullPointer
              | nil\ pointer | of\ null""",
        ),
        (
            "type",
            r"""TypeError | type\ mismatch | not\ assignable | mismatched\ types | cannot\ convert
              | ClassCast""",
        ),
        ("exit code", r"exit(?:ed)?\b.{0,20}\b(?:code|status) | exited\ with"),
    )
)
_SENTENCE: Final = frozenset(
    "a an and as at because before but by for from if in instead into is it of on once or so that"
    " the then this to until via was when where which with".split()
)
_FILE = re.compile(
    r"""Makefile | Dockerfile | Jenkinsfile | Procfile | Gemfile | Rakefile
      | \.?\w[\w.-]*\.(?:pyi?|ipynb|[mc]?[jt]sx?|vue|svelte|go|rs|java|kts?|scala|rb|php|cs|[ch]|cc
        |[ch]pp|swift|[bz]?a?sh|sql|scm|html|s?css|less|jsonl?|ya?ml|toml|ini|cfg|conf|env|lock|md
        |rst|txt|csv|xml|proto|graphql|tf|service|socket)""",
    re.VERBOSE,
)
_PACKAGE = re.compile(
    r"""\b(?:(?:pip3?|uv|pipx|npm|pnpm|yarn|bun|cargo|gem|go|poetry|apt(?:-get)?|brew|composer)\s+
          (?:pip\s+)?(?:install|add|i|get|require))
        (?P<installed>(?:[ \t]+[@\w<>=~!.:/\[\]^,-]+){1,8})
      | \bpkg:[a-z]+:(?P<node>[@\w./-]+)
      | (?<![\w@/.-])(?P<pinned>[A-Za-z][\w.-]*)(?:\[[\w,]*\])?(?:==|~=|>=|<=)\d[\w.]*
      | (?<![\w/])(?P<at>@[\w.-]+/[\w.-]+|[a-z][\w.-]+)@[~^]?\d+(?:\.[\w-]+)+
      | (?:^|\n)\s*(?:from|import)\s+(?P<python>[A-Za-z_]\w*)[\w.]*(?:\s+import\b|\s*$|\s+as\b)
      | \b(?:require\(|from\s+|import\s+)['"](?P<javascript>@?[a-z][\w.-]*(?:/[\w.-]+)?)['"]""",
    re.VERBOSE | re.MULTILINE,
)


def of_kind(entities: Iterable[Entity], kind: EntityKind) -> list[str]:
    """Return the keys of one kind, in order."""
    return [entity.key for entity in entities if entity.kind is kind]
