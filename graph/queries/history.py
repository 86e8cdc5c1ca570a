"""Reads of history: commits of a time, what they did, and the life of a file or symbol.

What a commit did is read from AGE's MODIFIED_BY edges by SQL.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Count, Max, QuerySet
from psycopg import sql

from graph import cypher
from graph.events import CommitView, Event, Happening, Lifetime, Touched
from graph.models import Commit, Repository, SourceFile, Symbol
from graph.values import VertexLabel, file_id, graph_id, key_of, label_of, symbol_id

_MOST_PLACES: Final = 50
_ORDINAL: Final = re.compile(r"(?P<local>.+)~(?P<ordinal>\d{1,9})")


def commits_in_time(
    *,
    repository_ids: Collection[UUID],
    since: datetime,
    until: datetime,
    limit: int,
    with_bots: bool = True,
) -> tuple[list[CommitView], int]:
    """Return the commits of default branches in a time, newest first, and how many there are.

    Two queries.
    """
    rows = _landed(repository_ids).filter(committed_at__gte=since, committed_at__lte=until)
    rows = rows if with_bots else rows.filter(is_bot=False)
    return _newest(rows, "-committed_at", limit)


def commits_between(
    *,
    repository_id: UUID,
    after: int,
    until: int,
    limit: int,
    with_bots: bool = True,
) -> tuple[list[CommitView], int]:
    """Return what landed after one position of the main line and up to another, newest first.

    Also how many there are. Two queries.
    """
    rows = _landed([repository_id]).filter(landed__gt=after, landed__lte=until)
    rows = rows if with_bots else rows.filter(is_bot=False)
    return _newest(rows, "-landed", limit)


def landed_at(*, repository_id: UUID, commit: str) -> int | None:
    """Return the position at which a commit came to the default branch; None if it is not there."""
    rows = Commit.objects.filter(repository_id=repository_id, sha=commit)
    return rows.values_list("landed", flat=True).first()


def first_commit(*, repository_ids: Collection[UUID]) -> CommitView | None:
    """Return the oldest commit that is known of some repositories. One query."""
    row = _landed(repository_ids).order_by("committed_at").first()
    return _commit_view(row) if row is not None else None


def touched_by(
    *, namespace_id: UUID, commits: Collection[int], limit: int
) -> dict[int, tuple[Touched, ...]]:
    """Return, by the keys of commits, what each did to files and to symbols, `limit` of both.

    Three queries.
    """
    rows = _edges(
        namespace_id,
        "SELECT * FROM (SELECT start_id::bigint, end_id::bigint, {k}::text, {x}::bigint,"
        " {same}::text, {fmt}::text, {at}::bigint, row_number() OVER"
        " (PARTITION BY end_id, start_id::bigint >> 48 ORDER BY start_id) AS number"
        " FROM {edges} e WHERE end_id = ANY (%(vertices)s::bigint[]::ag_catalog.graphid[])"
        ") found WHERE number <= %(limit)s",
        vertices=[graph_id(label=VertexLabel.COMMIT, key=key) for key in commits],
        limit=limit,
    )
    names = _names_of(rows)
    found: dict[int, list[Touched]] = {}
    for row in rows:
        if row.vertex in names:
            found.setdefault(key_of(row.commit), []).append(row.touched(names))
    return {key: tuple(sorted(touched)) for key, touched in found.items()}


@dataclass(frozen=True, slots=True)
class LandedChange:
    """A commit's message, and the keys of what it changed, by where that stands now.

    `landed` is the position at which it came to the main line, `author` its author's address.
    """

    sha: str
    message: str
    at: datetime
    landed: int
    author: str
    files: tuple[int, ...]
    symbols: tuple[int, ...]


def names_of_authors(*, repository_id: UUID, addresses: Collection[str]) -> dict[str, str]:
    """Return the names that some addresses were last used with in commits. One query."""
    if not addresses:
        return {}
    rows = Commit.objects.filter(repository_id=repository_id, author_email__in=set(addresses))
    newest = rows.order_by("author_email", "-committed_at").distinct("author_email")
    return dict(newest.values_list("author_email", "author_name"))


def newest_landed(*, repository_id: UUID) -> tuple[int, int]:
    """Return what differs once the repository's known history does. One query."""
    rows = Commit.objects.filter(repository_id=repository_id, landed__isnull=False)
    told = rows.aggregate(newest=Max("pk"), mapped=Count("mapped_at"))
    return (told["newest"] or 0, told["mapped"])


def landed_changes(
    *, repository_id: UUID, limit: int = 5_000, with_symbols: bool = True
) -> list[LandedChange]:
    """Return what the newest commits of the default branch said and what they changed.

    What moved counts where it stands now. Without merges and bots. Without symbols it takes a
    fraction of the time. Three queries.
    """
    labels = [VertexLabel.FILE, VertexLabel.SYMBOL] if with_symbols else [VertexLabel.FILE]
    rows = Commit.objects.filter(
        repository_id=repository_id, landed__isnull=False, is_bot=False, parents__len__lt=2
    ).order_by("-committed_at")
    commits = {
        graph_id(label=VertexLabel.COMMIT, key=key): (sha, f"{subject}\n{body}", at, landed, author)
        for key, sha, subject, body, at, landed, author in rows.values_list(
            *("pk", "sha", "subject", "body", "authored_at", "landed", "author_email")
        )[:limit]
        if landed is not None
    }
    edges = _edges(
        Repository.objects.values_list("namespace_id", flat=True).get(pk=repository_id),
        "SELECT start_id::bigint, end_id::bigint, {k}::text, {x}::bigint, {same}::text,"
        " {fmt}::text, {at}::bigint, 1 FROM {edges} e"
        " WHERE end_id = ANY (%(vertices)s::bigint[]::ag_catalog.graphid[])"
        " AND start_id::bigint >> 48 = ANY (%(labels)s::bigint[])",
        vertices=list(commits),
        labels=[int(label) for label in labels],
    )
    moved = {row.other: row.vertex for row in edges if row.happening == Happening.MOVED}
    changed: dict[int, set[int]] = {}
    for row in edges:
        changed.setdefault(row.commit, set()).add(_now(row.vertex, moved))
    return [
        LandedChange(
            *(sha, message, at, landed, author),
            files=_keys(changed.get(vertex, ()), VertexLabel.FILE),
            symbols=_keys(changed.get(vertex, ()), VertexLabel.SYMBOL),
        )
        for vertex, (sha, message, at, landed, author) in commits.items()
    ]


def _keys(vertices: Iterable[int], label: VertexLabel) -> tuple[int, ...]:
    return tuple(sorted(key_of(vertex) for vertex in vertices if label_of(vertex) is label))


def _now(vertex: int, moved: Mapping[int | None, int]) -> int:
    """Return where a file stands after all its moves; one that went in circles, somewhere."""
    seen = {vertex}
    while (after := moved.get(vertex)) is not None and after not in seen:
        seen.add(after)
        vertex = after
    return vertex


def events_of(*, namespace_id: UUID, vertex: int, limit: int) -> tuple[list[Event], int]:
    """Return what happened to a file or symbol, newest first, and how many events there are.

    What stood elsewhere, or had another name, is followed back to where it came from. Three
    queries, and one for each such place.
    """
    rows = _followed(namespace_id, vertex)
    commits = _commits(row.commit for row in rows)
    names = _names_of(rows)
    told = [
        Event(commit=commits[row.commit], touched=row.touched(names))
        for row in rows
        if row.commit in commits and row.vertex in names
    ]
    told.sort(key=_newest_first)
    return told[:limit], len(told)


def lifetime_of(*, namespace_id: UUID, vertex: int) -> Lifetime:
    """Return since when a file or symbol is at its place, as far as history knows. Two queries."""
    rows = sorted(_events_at(namespace_id, [vertex]), key=lambda row: row.at)
    commits = _commits(row.commit for row in rows)
    rows = [row for row in rows if row.commit in commits and commits[row.commit].is_landed]
    begun = [row for row in rows if row.happening in {Happening.ADDED, Happening.MOVED}]
    over = [row for row in rows if row.happening in {Happening.REMOVED, Happening.LEFT}]
    is_over = bool(over) and (not begun or over[-1].at >= begun[-1].at)
    # What was removed and came back began with its last coming.
    returned = [row for row in begun if not over or is_over or row.at >= over[-1].at]
    return Lifetime(
        valid_from=commits[returned[0].commit] if returned else None,
        valid_to=commits[over[-1].commit] if is_over else None,
        last_changed=commits[rows[-1].commit] if rows else None,
        changes=len(rows),
    )


def last_changes(
    *, namespace_id: UUID, vertices: Collection[int], with_bots: bool = True
) -> dict[int, datetime]:
    """Return when files or symbols were changed last, those of which it is known. Two queries."""
    rows = _edges(
        namespace_id,
        "SELECT start_id::bigint, end_id::bigint, {k}::text, NULL::bigint, NULL, NULL,"
        " {at}::bigint, 1 FROM {edges} e"
        " WHERE start_id = ANY (%(vertices)s::bigint[]::ag_catalog.graphid[])",
        vertices=list(vertices),
    )
    known = Commit.objects.filter(pk__in={key_of(row.commit) for row in rows}, landed__isnull=False)
    known = known if with_bots else known.filter(is_bot=False)
    times = dict(known.values_list("pk", "committed_at"))
    found: dict[int, datetime] = {}
    for row in rows:
        at = times.get(key_of(row.commit))
        if at is not None and at > found.get(row.vertex, datetime.min.replace(tzinfo=at.tzinfo)):
            found[row.vertex] = at
    return found


def changes_in_time(
    *, namespace_id: UUID, repository_id: UUID, since: datetime, until: datetime, limit: int
) -> list[tuple[str, int]]:
    """Return the files that most commits of a time changed, and how many did. Two queries.

    Merges bring nothing of their own to this, programs' commits do not count.
    """
    keys = _landed([repository_id]).filter(
        committed_at__gte=since, committed_at__lte=until, is_bot=False
    )
    vertices = [
        graph_id(label=VertexLabel.COMMIT, key=key) for key in keys.values_list("pk", flat=True)
    ]
    if not vertices or not cypher.has_graph(namespace_id):
        return []
    statement = sql.SQL(
        "SELECT file.path, count(*) FROM {edges} e JOIN graph_sourcefile file"
        " ON file.id = e.start_id::bigint & ((1::bigint << 48) - 1)"
        " WHERE e.end_id = ANY (%(vertices)s::bigint[]::ag_catalog.graphid[])"
        " AND e.start_id::bigint >> 48 = %(label)s"
        " GROUP BY file.path ORDER BY count(*) DESC, file.path LIMIT %(limit)s"
    ).format(edges=sql.Identifier(cypher.graph_name(namespace_id), "MODIFIED_BY"))
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            {"vertices": vertices, "label": VertexLabel.FILE.value, "limit": limit},
        )
        found: list[tuple[str, int]] = cursor.fetchall()
    return found


def vertex_of_past(*, repository_id: UUID, id: str) -> int | None:  # noqa: A002  the field's term
    """Return the vertex of a file or symbol that once had this text id; None if none had."""
    if id.startswith("file:"):
        files = SourceFile.objects.filter(repository_id=repository_id, path=id[5:])
        key = files.values_list("pk", flat=True).first()
        return None if key is None else graph_id(label=VertexLabel.FILE, key=key)
    path, _, local = id.removeprefix("sym:").rpartition("#")
    numbered = _ORDINAL.fullmatch(local)
    symbols = Symbol.objects.filter(
        repository_id=repository_id,
        path=path,
        local_name=numbered["local"] if numbered else local,
        ordinal=int(numbered["ordinal"]) if numbered else 0,
    )
    key = symbols.order_by("-pk").values_list("pk", flat=True).first()
    return None if key is None else graph_id(label=VertexLabel.SYMBOL, key=key)


class _Row(NamedTuple):
    """A MODIFIED_BY edge."""

    vertex: int
    commit: int
    happening: str
    other: int | None
    same: str | None
    formatting: str | None
    at: int
    number: int

    def touched(self, names: dict[int, str]) -> Touched:
        return Touched(
            id=names[self.vertex],
            happening=Happening(self.happening),
            other=names.get(self.other) if self.other is not None else None,
            is_changed=self.same is None,
            is_formatting=self.formatting is not None,
        )


def _edges(
    namespace_id: UUID, statement: LiteralString, **parameters: int | list[int]
) -> list[_Row]:
    if not cypher.has_graph(namespace_id):
        return []
    composed = sql.SQL(statement).format(
        edges=sql.Identifier(cypher.graph_name(namespace_id), "MODIFIED_BY"),
        **{key: cypher.property_of(key, table="e") for key in ("k", "x", "same", "fmt", "at")},
    )
    with connection.cursor() as cursor:
        cursor.execute(composed, parameters)
        return [_Row(*row) for row in cursor.fetchall()]


def _events_at(namespace_id: UUID, vertices: Sequence[int]) -> list[_Row]:
    return _edges(
        namespace_id,
        "SELECT start_id::bigint, end_id::bigint, {k}::text, {x}::bigint, {same}::text,"
        " {fmt}::text, {at}::bigint, 1 FROM {edges} e"
        " WHERE start_id = ANY (%(vertices)s::bigint[]::ag_catalog.graphid[])",
        vertices=list(vertices),
    )


def _followed(namespace_id: UUID, vertex: int) -> list[_Row]:
    """Return the events of a node, and of what it was before: where it came from, up to then."""
    found: dict[tuple[int, int, str], _Row] = {}
    waiting: list[tuple[int, _Row | None]] = [(vertex, None)]
    seen = {(vertex, 0)}
    while waiting and len(seen) <= _MOST_PLACES:
        place, moved = waiting.pop()
        for row in _of_its_last(_events_at(namespace_id, [place]), until=moved):
            found[row.vertex, row.commit, row.happening] = row
            came_from = row.other if row.happening == Happening.MOVED else None
            # What went away and came back is at one place twice, before and after.
            if came_from is not None and (came_from, row.commit) not in seen:
                seen.add((came_from, row.commit))
                waiting.append((came_from, row))
    return list(found.values())


def _of_its_last(rows: Iterable[_Row], *, until: _Row | None) -> list[_Row]:
    """Return the events of the last that stood at a place (before it moved on), oldest first.

    What stood there earlier took its events with it, if it left for another place in the commit in
    which the next one was added, or was gone when the next one moved in. What was added anew some
    time after is the same again.
    """
    known = sorted(
        (
            row
            for row in rows
            if until is None or (row.at <= until.at and row.commit != until.commit)
        ),
        key=lambda row: row.at,
    )
    comings = [row for row in known if row.happening in {Happening.ADDED, Happening.MOVED}]
    if not comings:
        return known
    last = comings[-1]
    begun = {row.commit for row in comings}
    ended = [row for row in known if row.happening == Happening.LEFT and row.commit in begun]
    if last.happening == Happening.MOVED:
        gone = [row for row in known if row.happening in {Happening.LEFT, Happening.REMOVED}]
        ended += [row for row in gone if row.at < last.at or row.commit == last.commit]
    ended.sort(key=lambda row: row.at)
    if not ended:
        return known
    since = ended[-1]
    return [row for row in known if row.at > since.at or (row in comings and row.at == since.at)]


def _newest_first(event: Event) -> tuple[float, float, str]:
    landed = event.commit.landed
    return (
        -(landed if landed is not None else -1),
        -event.commit.committed_at.timestamp(),
        event.touched.id,
    )


def _landed(repository_ids: Collection[UUID]) -> QuerySet[Commit]:
    return Commit.objects.filter(repository_id__in=list(repository_ids), landed__isnull=False)


def _newest(rows: QuerySet[Commit], order: str, limit: int) -> tuple[list[CommitView], int]:
    newest = rows.select_related("pull_request").order_by(order, "-committed_at", "-pk")
    return [_commit_view(row) for row in newest[:limit]], rows.count()


def _commits(vertices: Iterable[int]) -> dict[int, CommitView]:
    keys = {key_of(vertex) for vertex in vertices}
    rows = Commit.objects.filter(pk__in=keys).select_related("pull_request")
    return {graph_id(label=VertexLabel.COMMIT, key=row.pk): _commit_view(row) for row in rows}


def _commit_view(row: Commit) -> CommitView:
    request = row.pull_request
    return CommitView(
        key=row.pk,
        repository_id=row.repository_id,
        sha=row.sha,
        author_name=row.author_name,
        author_email=row.author_email,
        committed_at=row.committed_at,
        subject=row.subject,
        is_bot=row.is_bot,
        is_merge=len(row.parents) > 1,
        is_landed=row.landed is not None,
        landed=row.landed,
        request_number=request.number if request is not None else None,
        request_title=request.title if request is not None else "",
    )


def _names_of(rows: Iterable[_Row]) -> dict[int, str]:
    """Return the text ids of all files and symbols that some events are about. Two queries."""
    keys: dict[VertexLabel, set[int]] = {VertexLabel.SYMBOL: set(), VertexLabel.FILE: set()}
    for row in rows:
        for vertex in (row.vertex, row.other):
            if vertex is not None and label_of(vertex) in keys:
                keys[label_of(vertex)].add(key_of(vertex))
    names = {
        graph_id(label=VertexLabel.FILE, key=key): file_id(path)
        for key, path in SourceFile.objects.filter(pk__in=keys[VertexLabel.FILE]).values_list(
            "pk", "path"
        )
    }
    symbols = Symbol.objects.filter(pk__in=keys[VertexLabel.SYMBOL])
    for key, path, local_name, ordinal in symbols.values_list(
        "pk", "path", "local_name", "ordinal"
    ):
        vertex = graph_id(label=VertexLabel.SYMBOL, key=key)
        names[vertex] = symbol_id(path=path, local_name=local_name, ordinal=ordinal)
    return names
