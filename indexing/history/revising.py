"""Where one version of a text differs from another, and which definitions that leaves as they were.

Pure. Finds the differences by lines that both versions have once (as Bram Cohen's patience diff
does), which for neighboring versions of a file costs less than reading one of them.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_LONG_MIDDLE_BYTES = 1_000


class Hunk(NamedTuple):
    """Bytes `start` to `end` of the old text are `new_start` to `new_end` of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


def hunks_between(old: bytes, new: bytes) -> list[Hunk]:
    """Return what differs, in the order of the text; not the least, but nothing that is equal."""
    head = _common_head(old, new)
    tail = _common_tail(old[head:], new[head:])
    whole = Hunk(head, len(old) - tail, head, len(new) - tail)
    if min(whole.end - whole.start, whole.new_end - whole.new_start) < _LONG_MIDDLE_BYTES:
        return [whole] if old != new else []
    return list(_by_lines(old, new, whole))


def new_positions(positions: Sequence[int], hunks: Sequence[Hunk]) -> list[int]:
    """Return where positions outside all hunks are in the new text."""
    ends = [hunk.end for hunk in hunks]
    shifts = [0, *(hunk.new_end - hunk.end for hunk in hunks)]
    return [position + shifts[bisect_right(ends, position)] for position in positions]


def touches(start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Tell whether one of some sorted spans that do not overlap reaches, or adjoins, another."""
    first = bisect_left(spans, start, key=lambda span: span[1])
    return first < len(spans) and spans[first][0] <= end


def merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order, those that overlap or adjoin made one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _common_head(old: bytes, new: bytes) -> int:
    """Return how many bytes both begin with, by halving: comparing slices costs next to nothing."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(old: bytes, new: bytes) -> int:
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _by_lines(old: bytes, new: bytes, whole: Hunk) -> Iterator[Hunk]:
    """Yield what is between the lines that a part of both texts has in common."""
    before = old[whole.start : whole.end].splitlines(keepends=True)
    after = new[whole.new_start : whole.new_end].splitlines(keepends=True)
    start, new_start, row, new_row = whole.start, whole.new_start, 0, 0
    for anchor, new_anchor in [*_anchors(before, after), (len(before), len(after))]:
        end, new_end = start, new_start
        # Nearly all lines that are common follow each other.
        if anchor != row or new_anchor != new_row:
            end += sum(map(len, before[row:anchor]))
            new_end += sum(map(len, after[new_row:new_anchor]))
            if old[start:end] != new[new_start:new_end]:
                head = _common_head(old[start:end], new[new_start:new_end])
                tail = _common_tail(old[start + head : end], new[new_start + head : new_end])
                yield Hunk(start + head, end - tail, new_start + head, new_end - tail)
        if anchor < len(before):
            start, new_start = end + len(before[anchor]), new_end + len(after[new_anchor])
            row, new_row = anchor + 1, new_anchor + 1


def _anchors(before: Sequence[bytes], after: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the longest run, in the order of both, of pairs of lines that both have once."""
    counts, new_counts = Counter(before), Counter(after)
    row_of = {line: row for row, line in enumerate(before) if counts[line] == 1}
    pairs = [
        (row_of[line], new_row)
        for new_row, line in enumerate(after)
        if line in row_of and new_counts[line] == 1
    ]
    # The longest increasing subsequence, by the last rows of the best runs of each length.
    last_rows: list[int] = []
    last_pairs: list[int] = []
    previous: list[int] = []
    for number, (row, _) in enumerate(pairs):
        length = bisect_left(last_rows, row)
        previous.append(last_pairs[length - 1] if length else -1)
        last_rows[length : length + 1] = [row]
        last_pairs[length : length + 1] = [number]
    run: list[tuple[int, int]] = []
    number = last_pairs[-1] if last_pairs else -1
    while number >= 0:
        run.append(pairs[number])
        number = previous[number]
    return run[::-1]
