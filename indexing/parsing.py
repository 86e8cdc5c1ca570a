"""One blob's bytes -> its facts, with tree-sitter. Knows one file's text, never a path's meaning.

`capturing` runs the language's query, `describing` makes definitions of what it found (with
`complexity`), `referring` gives references, bindings and sites their scopes.

Native hazards that shape this module: `QueryCursor.matches` with a progress callback crashes the
process, and `Parser.parse` honors one only when it reads through a callback. So the query's
quadratic time in a flat error node is avoided by looking at the tree's shape first.
"""

import re
import time

from tree_sitter import Parser, Point, Tree

from indexing.capturing import Capture
from indexing.describing import MAX_DEPTH, contained, definitions_of
from indexing.facts import BlobFacts
from indexing.languages import Language, grammar_of
from indexing.referring import bindings_of, imports_of, references_of, sites_of

__all__ = [
    "MAX_DEFINITIONS",
    "MAX_DEPTH",
    "MAX_SOURCE_BYTES",
    "extract",
    "is_hopeless",
    "parsed",
    "skip_reason",
]

MAX_SOURCE_BYTES = 1_000_000
MAX_DEFINITIONS = 20_000
PARSE_SECONDS = 3.0
MAX_ERROR_CHILDREN = 10_000
"""Children of an erroneous root above which the query would take more than a second."""

_MINIFIED_MIN_BYTES = 20_000
_MINIFIED_MEAN_LINE_BYTES = 500
_BINARY_PROBE_BYTES = 8000

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_VENDORED = re.compile(r"(^|/)(node_modules|bower_components|vendor|site-packages|\.venv)/")
_MINIFIED_NAME = re.compile(r"[.-]min\.[a-z]+$")


def skip_reason(path: str, source: bytes | int) -> str | None:
    """Say why a file's contents are not worth reading, or None; give its size before its bytes."""
    if isinstance(source, int):
        return _skip_reason_of_path(path) or ("too-large" if source > MAX_SOURCE_BYTES else None)
    return skip_reason(path, len(source)) or _skip_reason_of_text(source)


def extract(language: Language, source: bytes) -> BlobFacts:
    """Return what `source` says; never raises for its contents, see `BlobFacts.gave_up`."""
    tree = parsed(grammar_of(language).parser, source)
    lines = source.count(b"\n") + (not source.endswith(b"\n")) if source else 0
    if tree is None:
        return BlobFacts(language=language.name, lines=lines, has_error=True, gave_up="parse-time")
    if is_hopeless(tree):
        return BlobFacts(language=language.name, lines=lines, has_error=True, gave_up="errors")
    capture = Capture(language, source)
    capture.read(tree.root_node)
    return _facts(capture, lines=lines, has_error=tree.root_node.has_error)


def parsed(parser: Parser, source: bytes, *, like: Tree | None = None) -> Tree | None:
    """Return the tree of a source, or None if that takes too long.

    `like` is the tree of another version, edited to say where this one differs: its parts are used.
    """
    deadline = time.monotonic() + PARSE_SECONDS

    def part(offset: int, _point: Point) -> bytes:
        return source[offset : offset + 65536]

    def is_late(*_: object) -> bool:
        return time.monotonic() > deadline

    try:
        if like is None:
            return parser.parse(part, progress_callback=is_late)
        return parser.parse(part, like, progress_callback=is_late)
    except ValueError:
        parser.reset()
        return None


def is_hopeless(tree: Tree) -> bool:
    """Tell whether nothing should be asked of a tree: its root is one long list of errors."""
    return tree.root_node.has_error and tree.root_node.child_count > MAX_ERROR_CHILDREN


def _skip_reason_of_path(path: str) -> str | None:
    if _VENDORED.search(path):
        return "vendored"
    return "minified" if _MINIFIED_NAME.search(path) else None


def _skip_reason_of_text(source: bytes) -> str | None:
    if b"\0" in source[:_BINARY_PROBE_BYTES]:
        return "binary"
    if source.startswith(_LFS_POINTER):
        return "lfs"
    mean_line_bytes = len(source) / (source.count(b"\n") + 1)
    if len(source) > _MINIFIED_MIN_BYTES and mean_line_bytes > _MINIFIED_MEAN_LINE_BYTES:
        return "minified"
    return None


def _facts(capture: Capture, *, lines: int, has_error: bool) -> BlobFacts:
    found, is_whole = contained(capture, limit=MAX_DEFINITIONS)
    definitions = tuple(definitions_of(capture, found))
    if capture.is_generated:
        return BlobFacts(
            language=capture.language.name,
            lines=lines,
            package=capture.package,
            definitions=definitions,
            exports=tuple(capture.exports),
            has_error=has_error,
            gave_up="generated",
        )
    bindings = bindings_of(capture, found)
    return BlobFacts(
        language=capture.language.name,
        lines=lines,
        package=capture.package,
        definitions=definitions,
        references=tuple(references_of(capture, found, bindings)),
        imports=imports_of(capture, found),
        exports=tuple(dict.fromkeys(capture.exports)),
        bindings=bindings,
        sites=tuple(sites_of(capture, found)),
        has_error=has_error,
        gave_up=_gave_up(capture, is_whole=is_whole),
    )


def _gave_up(capture: Capture, *, is_whole: bool) -> str | None:
    if not is_whole:
        return "definitions"
    return None if capture.is_whole else "matches"
