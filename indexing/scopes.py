"""Which definition holds a position: containment as one sweep over sorted spans."""

from collections.abc import Iterator, Sequence

from indexing.capturing import Found
from indexing.facts import MODULE_SCOPE


def scopes_at(
    positions: Sequence[int], found: Sequence[Found], *, with_leaves: bool = False
) -> Iterator[int]:
    """Yield the innermost container, or definition, at each of the sorted positions."""
    starts = [
        (one.start, index) for index, one in enumerate(found) if one.is_container or with_leaves
    ]
    upcoming = 0
    next_start = starts[0][0] if starts else -1
    open_ends: list[int] = []
    open_containers: list[int] = []
    for position in positions:
        while upcoming < len(starts) and next_start <= position:
            while open_ends and open_ends[-1] <= next_start:
                open_ends.pop()
                open_containers.pop()
            index = starts[upcoming][1]
            open_ends.append(found[index].end)
            open_containers.append(index)
            upcoming += 1
            next_start = starts[upcoming][0] if upcoming < len(starts) else -1
        while open_ends and open_ends[-1] <= position:
            open_ends.pop()
            open_containers.pop()
        yield open_containers[-1] if open_containers else MODULE_SCOPE
