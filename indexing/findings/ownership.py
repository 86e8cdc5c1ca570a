"""Whose lines a file consists of: share of the first author, and how many people it hangs on."""

from collections.abc import Iterator, Mapping
from typing import Final

from graph.values import file_id
from indexing.findings.rules import severity, threshold
from indexing.findings.values import Found, HeadFile, Measured

# The bus factor is the least number of people who together wrote this share of the lines.
_SHARE_OF_THE_BUS: Final = 0.5
_LEAST_LINES: Final = 200
_LEAST_DEPENDENTS: Final = 10


def bus_factor(lines_by_author: Mapping[str, int]) -> int:
    """Return how few people wrote half of the lines; 0 for nothing."""
    total, seen = sum(lines_by_author.values()), 0
    for number, lines in enumerate(sorted(lines_by_author.values(), reverse=True), start=1):
        seen += lines
        if seen >= _SHARE_OF_THE_BUS * total:
            return number if total else 0
    return 0


def measure_ownership(lines_by_file: Mapping[str, Mapping[str, int]]) -> Iterator[Measured]:
    """Yield each file's authors, bus factor and the first author's share, and the repository's."""
    everyone: dict[str, int] = {}
    for path, lines_by_author in lines_by_file.items():
        total = sum(lines_by_author.values())
        if not total:
            continue
        for author, lines in lines_by_author.items():
            everyone[author] = everyone.get(author, 0) + lines
        yield Measured(file_id(path), "authors", len(lines_by_author))
        yield Measured(file_id(path), "bus_factor", bus_factor(lines_by_author))
        yield Measured(
            file_id(path), "owner_share", round(max(lines_by_author.values()) / total, 3)
        )
    if everyone:
        yield Measured("", "bus_factor", bus_factor(everyone))
        yield Measured("", "authors", len(everyone))


def find_single_authors(
    *,
    files: Mapping[str, HeadFile],
    lines_by_file: Mapping[str, Mapping[str, int]],
    dependents: Mapping[str, int],
) -> Iterator[Found]:
    """Yield the files that much hangs on and one person wrote, where a team has more than one.

    `dependents` counts, by path, the files that use it.
    """
    people = {author for lines in lines_by_file.values() for author in lines}
    if len(people) < 2:  # noqa: PLR2004
        return
    for path, lines_by_author in lines_by_file.items():
        file, total = files.get(path), sum(lines_by_author.values())
        if file is None or file.is_aside or total < _LEAST_LINES:
            continue
        if dependents.get(path, 0) < _LEAST_DEPENDENTS:
            continue
        author, lines = max(lines_by_author.items(), key=lambda item: item[1])
        if lines / total > threshold("ownership.single-author"):
            yield Found(
                rule="ownership.single-author",
                path=path,
                line=1,
                end_line=file.lines,
                message=(
                    f"{author} wrote {lines / total:.0%} of {total:,} lines; "
                    f"{dependents[path]} files use it."
                ),
                severity=severity("ownership.single-author"),
                confidence=1.0,
                evidence=author,
            )
