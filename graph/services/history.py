"""Writing history: commits, the pull requests that brought them, and what each of them did.

Every function is one transaction and may be repeated: the same history again writes nothing new.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, LiteralString, Self
from uuid import UUID

from django.db import connection, transaction
from psycopg import sql

from graph import cypher
from graph.events import (
    CommitEvents,
    FileEvent,
    HistoricCommit,
    MergedRequest,
    SymbolEvent,
    SymbolKey,
)
from graph.models import Commit, PullRequest, Repository
from graph.statements import statements
from graph.values import VertexLabel, graph_id

_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_EXTENSION: Final = re.compile(r"\.[^./]*$")


def set_history(
    *,
    repository_id: UUID,
    after: int,
    commits: Iterable[HistoricCommit],
    requests: Iterable[MergedRequest],
) -> None:
    """Make these commits what came to the default branch after a position of its main line.

    What had come there before and is not among them (a force-push) stays, but is marked as not on
    the branch; its events stay as well.
    """
    with _Writing(repository_id) as writing:
        writing.execute("stage_commits")
        writing.execute("leave_line", position=after)
        writing.copy("history_commit", _COMMIT_COLUMNS, map(_commit_columns, commits))
        writing.execute("add_commits")
        writing.execute("add_commit_vertices", label=VertexLabel.COMMIT.value)
        _set_requests(writing, list(requests))


def record_events(*, repository_id: UUID, events: Sequence[CommitEvents], now: datetime) -> None:
    """Write what some commits did, and that this is known of them; known ones are left alone."""
    with _Writing(repository_id) as writing:
        unmapped = Commit.objects.select_for_update().filter(
            repository_id=repository_id, sha__in=[one.sha for one in events], mapped_at=None
        )
        commits = {
            sha: (graph_id(label=VertexLabel.COMMIT, key=key), int(at.timestamp()))
            for sha, key, at in unmapped.values_list("sha", "pk", "committed_at")
        }
        wanted = [one for one in events if one.sha in commits]
        files, symbols = _identities(writing, wanted)
        writing.copy_edges("MODIFIED_BY", _edges(wanted, commits, files, symbols))
        Commit.objects.filter(repository_id=repository_id, sha__in=commits).update(mapped_at=now)


class _Writing:
    """A transaction on one repository's graph, alone with it."""

    def __init__(self, repository_id: UUID) -> None:
        self.repository_id = repository_id
        self._atomic = transaction.atomic()

    def __enter__(self) -> Self:
        self._atomic.__enter__()
        self.cursor = connection.cursor()
        self.cursor.execute("SET LOCAL statement_timeout = 0")
        # The lock of graph.services.snapshots: both make identities and their vertices.
        self.cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{self.repository_id}"]
        )
        namespace_id = Repository.objects.values_list("namespace_id", flat=True).get(
            pk=self.repository_id
        )
        self.graph = cypher.ensure_graph(namespace_id)
        return self

    def __exit__(self, *error: object) -> None:
        self.cursor.close()
        self._atomic.__exit__(*error)  # type: ignore[arg-type]

    def execute(self, name: str, **parameters: int | list[int]) -> list[tuple[Any, ...]]:
        statement = sql.SQL(statements("history")[name]).format(graph=sql.Identifier(self.graph))
        self.cursor.execute(statement, {"repository": self.repository_id, **parameters})
        return self.cursor.fetchall() if self.cursor.description else []

    def copy(self, table: LiteralString, columns: LiteralString, rows: Iterable[Any]) -> None:
        with self.cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        # Without statistics on a temporary table every join with it is a guess.
        self.cursor.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table)))

    def copy_edges(self, label: str, rows: Iterable[tuple[int, int, Mapping[str, Any]]]) -> None:
        statement = sql.SQL("COPY {} (start_id, end_id, properties) FROM STDIN").format(
            sql.Identifier(self.graph, label)
        )
        with self.cursor.copy(statement) as copy:
            for source, target, properties in rows:
                copy.write_row((source, target, json.dumps(properties)))


_COMMIT_COLUMNS: Final = (
    "sha, parents, author_name, author_email, authored_at, committed_at, subject, body, is_bot,"
    " position, landed"
)


def _commit_columns(commit: HistoricCommit) -> tuple[object, ...]:
    return (
        *(commit.sha, list(commit.parents)),
        *map(_storable, (commit.author_name, commit.author_email)),
        *(commit.authored_at, commit.committed_at),
        *map(_storable, (commit.subject, commit.body)),
        *(commit.is_bot, commit.position, commit.landed),
    )


def _set_requests(writing: _Writing, requests: Sequence[MergedRequest]) -> None:
    if not requests:
        return
    rows = {
        one.number: PullRequest(
            repository_id=writing.repository_id,
            number=one.number,
            title=_storable(one.title),
            branch=_storable(one.branch),
            merged_commit=one.merged_commit,
            merged_at=one.merged_at,
        )
        for one in requests
    }
    PullRequest.objects.bulk_create(
        rows.values(),
        update_conflicts=True,
        unique_fields=["repository", "number"],
        update_fields=["title", "branch", "merged_commit", "merged_at"],
    )
    keys = dict(
        PullRequest.objects.filter(
            repository_id=writing.repository_id, number__in=rows
        ).values_list("number", "pk")
    )
    writing.execute(
        "add_request_vertices",
        label=VertexLabel.PULL_REQUEST.value,
        requests=list(keys.values()),
    )
    _set_parts(writing, requests, keys)


def _set_parts(
    writing: _Writing, requests: Sequence[MergedRequest], keys: Mapping[int, int]
) -> None:
    request_of = {sha: keys[one.number] for one in requests for sha in one.commits}
    commits = dict(
        Commit.objects.filter(repository_id=writing.repository_id, sha__in=request_of).values_list(
            "sha", "pk"
        )
    )
    pairs = [(commits[sha], key) for sha, key in request_of.items() if sha in commits]
    writing.cursor.execute(
        "UPDATE graph_commit SET pull_request_id = request.key"
        " FROM unnest(%s::bigint[], %s::bigint[]) AS request (commit, key)"
        " WHERE graph_commit.id = request.commit",
        [[commit for commit, _ in pairs], [key for _, key in pairs]],
    )
    edges = [
        (
            graph_id(label=VertexLabel.COMMIT, key=commit),
            graph_id(label=VertexLabel.PULL_REQUEST, key=key),
        )
        for commit, key in pairs
    ]
    writing.execute("forget_parts", commits=[commit for commit, _ in edges])
    writing.copy_edges("PART_OF", ((commit, request, {}) for commit, request in edges))


def _identities(
    writing: _Writing, events: Sequence[CommitEvents]
) -> tuple[dict[str, int], dict[SymbolKey, int]]:
    """Return the vertices of all files and symbols of some events, made where they are new."""
    languages = {event.symbol: event.language for one in events for event in one.symbols}
    for one in events:
        for event in one.symbols:
            if event.other is not None:
                languages.setdefault(event.other, event.language)
    paths = {path for one in events for event in one.files for path in (event.path, event.other)}
    writing.execute("stage_events")
    writing.copy("history_symbol", _SYMBOL_COLUMNS, map(_symbol_columns, languages.items()))
    writing.copy("history_file", "path", ((path,) for path in paths if path is not None))
    for statement in ("add_symbols", "add_files"):
        writing.execute(statement)
    labels = {"symbol_label": VertexLabel.SYMBOL.value, "file_label": VertexLabel.FILE.value}
    for statement in ("add_symbol_vertices", "add_file_vertices"):
        writing.execute(statement, **labels)
    symbols = {
        SymbolKey(*key): graph_id(label=VertexLabel.SYMBOL, key=number)
        for *key, number in writing.execute("identify_symbols")
    }
    files = {
        path: graph_id(label=VertexLabel.FILE, key=number)
        for path, number in writing.execute("identify_files")
    }
    return files, symbols


_SYMBOL_COLUMNS: Final = "path, local_name, kind, ordinal, qualified_name, name, language"


def _symbol_columns(row: tuple[SymbolKey, str]) -> tuple[object, ...]:
    symbol, language = row
    # What the module is called follows from the whole tree of a commit; the path will do for what
    # is gone, and what is live is named by its snapshot.
    module = _EXTENSION.sub("", symbol.path).replace("/", ".")
    return (
        *(symbol.path, symbol.local_name, symbol.kind.value, symbol.ordinal),
        *(f"{module}.{symbol.local_name}", symbol.local_name.rpartition(".")[2], language),
    )


def _edges(
    events: Sequence[CommitEvents],
    commits: Mapping[str, tuple[int, int]],
    files: Mapping[str, int],
    symbols: Mapping[SymbolKey, int],
) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    for one in events:
        commit, at = commits[one.sha]
        for file in one.files:
            other = files[file.other] if file.other is not None else None
            yield files[file.path], commit, _properties(file, at, other)
        for event in one.symbols:
            other = symbols[event.other] if event.other is not None else None
            yield symbols[event.symbol], commit, _properties(event, at, other)


def _properties(
    event: FileEvent | SymbolEvent, at: int, other: int | None
) -> Mapping[str, str | int | bool]:
    properties: dict[str, str | int | bool] = {"k": event.happening.value, "at": at}
    if other is not None:
        properties["x"] = other
    if not event.is_changed:
        properties["same"] = True
    if isinstance(event, SymbolEvent) and event.is_formatting:
        properties["fmt"] = True
    return properties


def _storable(text: str) -> str:
    """Return the text without what Postgres cannot hold: NUL and halves of surrogate pairs."""
    return _UNSTORABLE.sub("\ufffd", text)
