"""The outline of a content by its parse: names, kinds, lines and hashes, and nothing else.

What history compares costs a fraction of all facts: only a query's patterns of definitions are
run, and a version that is like the one read before it is parsed from that one's tree, so that
nearly nothing but what differs is looked at. Outlines are the same as those of whole facts.

`python -m indexing.history.outlining` is a child of `indexing.extraction` that answers with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tree_sitter import Point, Tree

from indexing import extraction_child
from indexing.capturing import Capture, Found
from indexing.describing import body_hash, contained
from indexing.history.outline import Row, packed
from indexing.history.revising import Hunk, hunks_between, merged, new_positions, touches
from indexing.languages import Language, definitions_grammar_of
from indexing.parsing import MAX_DEFINITIONS, is_hopeless, parsed

_LEAST_SHARE_IN_COMMON: Final = 0.5
_MOST_PARTS: Final = 12


@dataclass(slots=True)
class _Reading:
    """A version that was read: its text, tree, and what was captured, before containment."""

    source: bytes
    tree: Tree
    definitions: list[Found]
    attributes: dict[int, int]


class Outliner:
    """Reads contents one after the other; cheaply, where neighbors are versions of one file."""

    def __init__(self) -> None:
        self._last: dict[str, _Reading] = {}

    def rows(self, language: Language, source: bytes) -> list[Row]:
        """Return the rows of a content's outline; none where its facts would have none."""
        capture = Capture(language, source)
        reading = self._read(capture, self._last.pop(language.name, None))
        if reading is None:
            return []
        self._last[language.name] = reading
        # Containment writes into what it is given; the next version starts from what was found.
        capture.definitions = [_moved(one, 0) for one in reading.definitions]
        capture.attributes = reading.attributes
        found, _ = contained(capture, limit=MAX_DEFINITIONS)
        line_of, text = capture.text.line_of, capture.text
        return [
            Row(
                kind=one.kind,
                local_name=one.local_name,
                parent=one.parent,
                start_line=line_of(one.start),
                end_line=line_of(max(one.start, one.end - 1)),
                body_hash=body_hash(one, found, text) if one.kind is not None else "",
            )
            for one in found
        ]

    def _read(self, capture: Capture, last: _Reading | None) -> _Reading | None:
        source = capture.text.source
        hunks = _hunks(last, source)
        if last is not None and hunks is not None:
            reading = _read_again(capture, last, hunks)
            if reading is not None:
                return reading
        tree = parsed(definitions_grammar_of(capture.language).parser, source)
        if tree is None or is_hopeless(tree):
            return None
        return _read_parts(capture, tree, [(0, len(source))])


def _hunks(last: _Reading | None, source: bytes) -> list[Hunk] | None:
    """Return how a source differs from the one before, None where that does not help.

    What the parser makes of broken text depends on where it began.
    """
    if last is None or last.tree.root_node.has_error:
        return None
    hunks = hunks_between(last.source, source)
    different = sum(hunk.new_end - hunk.new_start for hunk in hunks)
    return hunks if different <= _LEAST_SHARE_IN_COMMON * len(source) else None


def _read_again(capture: Capture, last: _Reading, hunks: Sequence[Hunk]) -> _Reading | None:
    """Return the reading of a version that differs in some hunks; None where it is broken."""
    source = capture.text.source
    for hunk in reversed(hunks):
        _edit(last, hunk, source)
    tree = parsed(definitions_grammar_of(capture.language).parser, source, like=last.tree)
    if tree is None or tree.root_node.has_error:
        return None
    changed = [(one.start_byte, one.end_byte) for one in last.tree.changed_ranges(tree)]
    parts = merged([*((hunk.new_start, hunk.new_end) for hunk in hunks), *changed])
    if len(parts) > _MOST_PARTS:
        return _read_parts(capture, tree, [(0, len(source))])
    reading = _read_parts(capture, tree, parts)
    _keep_others(reading, last, hunks, parts)
    return reading


def _read_parts(capture: Capture, tree: Tree, parts: Sequence[tuple[int, int]]) -> _Reading:
    """Return the definitions that reach into some parts of a tree."""
    cursor, length = definitions_grammar_of(capture.language).cursor, len(capture.text.source)
    for start, end in parts:
        # What only adjoins a part may have become another thing, too.
        cursor.set_byte_range(max(0, start - 1), min(end + 1, length))
        capture.read(tree.root_node, cursor=cursor)
    return _Reading(
        capture.text.source,
        tree,
        [one for one in capture.definitions if touches(one.start, one.end, parts)],
        {end: start for end, start in capture.attributes.items() if touches(start, end, parts)},
    )


def _keep_others(
    reading: _Reading,
    last: _Reading,
    hunks: Sequence[Hunk],
    parts: Sequence[tuple[int, int]],
) -> None:
    """Add what nothing of what differs reaches, from where it was to where it is."""
    gone = [(hunk.start, hunk.end) for hunk in hunks]
    kept = [one for one in last.definitions if not touches(one.start, one.end, gone)]
    for one, start in zip(kept, new_positions([one.start for one in kept], hunks), strict=True):
        by = start - one.start
        if not touches(start, one.end + by, parts):
            reading.definitions.append(_moved(one, by) if by else one)
    attributes = [(start, end) for end, start in last.attributes.items()]
    attributes = [span for span in attributes if not touches(*span, gone)]
    starts = new_positions([start for start, _ in attributes], hunks)
    for (old_start, end), start in zip(attributes, starts, strict=True):
        if not touches(start, end + start - old_start, parts):
            reading.attributes[end + start - old_start] = start


def _moved(one: Found, by: int) -> Found:
    """Return a definition so many bytes further, as it was captured."""
    # A scope's name_start is a number below zero that tells it from the others.
    return Found(
        one.kind,
        one.name,
        one.name_start + (by if one.name_start >= 0 else -by),
        one.start + by,
        one.end + by,
        one.body_start + by if one.body_start is not None else None,
        one.receiver,
        one.is_container,
        one.parameters,
    )


def _edit(last: _Reading, hunk: Hunk, source: bytes) -> None:
    """Tell a tree what is different; of several hunks the last comes first."""
    start = _point(last.source, hunk.start)
    written = source[hunk.new_start : hunk.new_end]
    rows = written.count(b"\n")
    columns = len(written) - (written.rfind(b"\n") + 1)
    last.tree.edit(
        hunk.start,
        hunk.end,
        hunk.start + len(written),
        start,
        _point(last.source, hunk.end),
        Point(start.row + rows, columns if rows else start.column + columns),
    )


def _point(source: bytes, offset: int) -> Point:
    return Point(source.count(b"\n", 0, offset), offset - (source.rfind(b"\n", 0, offset) + 1))


if __name__ == "__main__":
    outliner = Outliner()
    extraction_child.main(lambda language, source: packed(outliner.rows(language, source)))
