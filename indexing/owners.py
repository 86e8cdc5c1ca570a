"""Who answers for some files: as a CODEOWNERS file says, and as the lines say who wrote them.

`parse` and `owners_of` are pure; contents and lines are read by who asks.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

PLACES: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where hosts look for the file; the first one that is there counts."""

_MOST_RULES: Final = 5_000
_LONGEST_PATTERN: Final = 500
_ANYTHING: Final = "/**"
_SECTION: Final = re.compile(r"\^?\[(?P<name>[^\]]+)\](?:\[\d+\])?(?P<owners>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Somebody who answers for some of the files; `share` is 0..1 of their lines, from history."""

    name: str
    source: str
    files: int
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the file: what it matches and who owns that; nobody, where it says nobody."""

    segments: tuple[str, ...]
    owners: tuple[str, ...]
    section: str = ""


def parse(text: str) -> list[Rule]:
    """Read a CODEOWNERS file of GitHub, Gitea or GitLab (with sections); odd lines are left out."""
    rules: list[Rule] = []
    section = ""
    usual: tuple[str, ...] = ()
    for raw in text.splitlines():
        line = re.sub(r"(?<!\\)\s#.*$", "", raw).strip()
        if not line or line.startswith("#") or len(rules) == _MOST_RULES:
            continue
        if match := _SECTION.fullmatch(line):
            section, usual = match["name"].casefold(), _names(match["owners"].split())
            continue
        words = re.split(r"(?<!\\)\s+", line)
        if words[0].startswith("!") or len(words[0]) > _LONGEST_PATTERN:
            continue
        pattern = words[0].replace("\\ ", " ").replace("\\#", "#")
        rules.append(Rule(_segments(pattern), _names(words[1:]) or usual, section))
    return rules


def owners_by_rule(rules: Sequence[Rule], path: str) -> tuple[str, ...]:
    """Return who owns a path: of each section the last rule that matches."""
    found: dict[str, tuple[str, ...]] = {}
    for rule in rules:
        if _matches(rule.segments, path):
            found[rule.section] = rule.owners
    return tuple(dict.fromkeys(name for names in found.values() for name in names))


def owners_of(
    paths: Iterable[str],
    *,
    rules: Sequence[Rule],
    lines_by_author: Mapping[str, Mapping[str, int]],
) -> list[Owner]:
    """Return who owns some files: those that are named first, then who wrote most of the lines."""
    everything = list(dict.fromkeys(paths))
    named: Counter[str] = Counter()
    for path in everything:
        named.update(owners_by_rule(rules, path))
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in everything:
        written = lines_by_author.get(path, {})
        lines.update(written)
        files.update(author for author, count in written.items() if count)
    total = lines.total()
    return [
        *(Owner(name=name, source="CODEOWNERS", files=count) for name, count in _ranked(named)),
        *(
            Owner(name=name, source="history", files=files[name], share=round(count / total, 3))
            for name, count in _ranked(lines)
            if total
        ),
    ]


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def _names(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for word in words if "@" in word)


def _segments(pattern: str) -> tuple[str, ...]:
    """Return the folders and the name that a pattern of gitignore's kind names."""
    is_anchored = "/" in pattern.strip("/") or pattern.startswith("/")
    segments = [one for one in pattern.split("/") if one]
    # A folder owns all that is in it; only `docs/*` of these means what lies directly in it.
    is_direct = is_anchored and segments[-1:] == ["*"]
    end = [] if is_direct else [_ANYTHING]
    start = [] if is_anchored else ["**"]
    return tuple(start + segments + end)


def _matches(segments: Sequence[str], path: str) -> bool:
    """Tell whether segments match a path: in a time that grows with both lengths, not faster."""
    places = {0}
    parts = path.split("/")
    for segment in segments:
        if segment in {"**", _ANYTHING}:
            places = set(range(min(places), len(parts) + 1))
        else:
            places = {
                place + 1 for place in places if place < len(parts) and _is(segment, parts[place])
            }
        if not places:
            return False
    return len(parts) in places


def _is(pattern: str, name: str) -> bool:
    """Tell whether a pattern with `*` and `?` is a name; the last star alone is tried again."""
    at, star, retry, here = 0, -1, 0, 0
    while here < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, retry, at = at, here, at + 1
        elif at < len(pattern) and pattern[at] in {"?", name[here]}:
            at, here = at + 1, here + 1
        elif star >= 0:
            at, retry = star + 1, retry + 1
            here = retry
        else:
            return False
    return not pattern[at:].strip("*")
