"""How busy a repository is: commits and their authors by week, and the main line at a glance."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import F, Max
from django.db.models.functions import Mod

from graph.models import Commit

_WEEK: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Week:
    """What landed in seven days; `authors` counts people, not commits."""

    begins: datetime
    commits: int
    authors: int


@dataclass(frozen=True, slots=True)
class Contributor:
    name: str
    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Weeks in their order, people with the most commits first; programs' commits count apart."""

    weeks: tuple[Week, ...]
    contributors: tuple[Contributor, ...]
    commits: int
    by_programs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """A commit of the main line where a slider may stop."""

    sha: str
    at: datetime
    subject: str
    position: int


def activity(*, repository_id: UUID, until: datetime, weeks: int = 52) -> Activity:
    """Return the weeks before a time, empty ones too. One query."""
    since = until - weeks * _WEEK
    rows = Commit.objects.filter(
        repository_id=repository_id,
        landed__isnull=False,
        committed_at__gt=since,
        committed_at__lte=until,
    ).values_list("committed_at", "author_email", "author_name", "is_bot")
    found = list(rows)
    people = [row for row in found if not row[3]]
    commits: Counter[int] = Counter()
    authors: dict[int, set[str]] = {}
    for at, email, _, _ in people:
        number = min(int((at - since) / _WEEK), weeks - 1)
        commits[number] += 1
        authors.setdefault(number, set()).add(email)
    names = {email: name for _, email, name, _ in people}
    by_author = Counter(email for _, email, _, _ in people)
    return Activity(
        weeks=tuple(
            Week(since + number * _WEEK, commits[number], len(authors.get(number, ())))
            for number in range(weeks)
        ),
        contributors=tuple(
            Contributor(names[email], number) for email, number in by_author.most_common()
        ),
        commits=len(people),
        by_programs=len(found) - len(people),
    )


def stations(*, repository_id: UUID, limit: int = 120) -> list[Station]:
    """Return commits evenly spread over the main line, oldest first, the newest among them.

    Two queries.
    """
    line = Commit.objects.filter(repository_id=repository_id, position__isnull=False)
    last = line.aggregate(last=Max("position"))["last"]
    if last is None:
        return []
    step = last // limit + 1
    chosen = line.annotate(rest=Mod(last - F("position"), step)).filter(rest=0)
    rows = chosen.order_by("position").values_list("sha", "committed_at", "subject", "position")
    return [
        Station(sha=sha, at=at, subject=subject, position=position)
        for sha, at, subject, position in rows
        if position is not None
    ]
