r"""The text of an import that names several things at once -> one import for each of them.

One notation with dialects: names joined by `::`, `.` or `\`, a group in braces, `*` or `_` for
everything, `as` or `=>` for another name. Rust, Java, Kotlin, Scala, C# and PHP write so.
"""

import re
from collections.abc import Iterator

from indexing.facts import Import, ImportKind

_LEADING_WORDS = re.compile(
    r"^(?:(?:import|use|using|static|global|function|const|type|given|pub(?:\([^)]*\))?)\s+)+"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SEPARATOR = re.compile(r"\s*(?:::|\.|\\)\s*")
_ALIAS = re.compile(r"(.+?)(?:\s+as\s+|\s*=>\s*)(\S+)", re.DOTALL)
_EVERYTHING = frozenset({"*", "_", "given"})
_SAME_MODULE = "self"
_MAX_NAMES = 500
_MAX_DEPTH = 10


def imports_of(text: str, line: int) -> list[Import]:
    """Return what an import statement brings in; modules and names are joined by dots."""
    text = _LEADING_WORDS.sub("", _COMMENT.sub(" ", text).strip()).rstrip(";").strip()
    found = []
    for path, alias in _leaves("", text, 0):
        found.append(_import(path, alias, line))
        if len(found) == _MAX_NAMES:
            break
    return found


def _leaves(prefix: str, text: str, depth: int) -> Iterator[tuple[str, str]]:
    for part in _parts(text):
        head, brace, group = part.partition("{")
        if brace and depth < _MAX_DEPTH:
            yield from _leaves(_joined(prefix, head), group.rpartition("}")[0], depth + 1)
            continue
        aliased = _ALIAS.fullmatch(part)
        path, alias = aliased.groups() if aliased else (part, "")
        yield _joined(prefix, path), alias


def _parts(text: str) -> Iterator[str]:
    """Split at the commas outside of braces."""
    depth, start = 0, 0
    for position, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            yield from filter(None, [text[start:position].strip()])
            start = position + 1
    yield from filter(None, [text[start:].strip()])


def _joined(prefix: str, path: str) -> str:
    names = [name for name in _SEPARATOR.split(path.strip()) if name]
    return ".".join(filter(None, [prefix, *names]))


def _import(path: str, alias: str, line: int) -> Import:
    module, _, name = path.rpartition(".")
    if name == _SAME_MODULE and module:
        module, _, name = module.rpartition(".")
    if name in _EVERYTHING:
        return Import(ImportKind.STAR, module, "", name, line)
    return Import(ImportKind.NAME, module, name, "" if alias == "_" else alias or name, line)
