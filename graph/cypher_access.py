"""People's own Cypher, run as a role that can read one namespace's graph and nothing else.

What such a query can see is what the default branches show now: row security hides overlays, which
may be private, and what is gone; memories and their links are not readable at all.
"""

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import OperationalError, connection, transaction
from psycopg import sql

from graph import cypher
from graph.cypher_text import ReadQuery
from graph.cypher_values import plain_values
from graph.values import LINEAGE_KINDS, LINK_LABEL, EdgeKind, VertexLabel

SECONDS: Final = 5.0
"""How long a query may take."""

_AT_ONCE: Final = 3
_FIRST_TURN: Final = 100  # tells our locks from those of writers
_LARGEST_CELL_BYTES: Final = 50_000
_LARGEST_ANSWER_CHARACTERS: Final = 300_000
_LOOK_EVERY_SECONDS: Final = 0.2
_GRACE_SECONDS: Final = 1.0

_POLICY: Final = "shown_to_readers"
_HIDDEN: Final = frozenset({LINK_LABEL, VertexLabel.MEMORY.title})
# Vertices of these labels are facts of Git, the same in every branch.
_ALWAYS_SHOWN: Final = frozenset(
    {*LINEAGE_KINDS, VertexLabel.COMMIT.title, VertexLabel.PULL_REQUEST.title}
)
_ENTITIES: Final = frozenset(
    label.title
    for label in (
        *(VertexLabel.PACKAGE, VertexLabel.EXTERNAL),
        *(VertexLabel.ENDPOINT, VertexLabel.TOPIC),
    )
)


class GraphUnknown(Exception):
    """The namespace has no graph yet."""


class ReaderMissing(Exception):
    """The database was not prepared for readers of graphs."""

    hint = (
        "A superuser of the database runs deploy/postgres/provision.sql on it (again): it makes"
        " the functions codemem_readers.admit and dismiss, which make a read-only role for each"
        " graph."
    )


class ReadersBusy(Exception):
    """As many queries of this namespace are running as may at once."""


class CypherFailed(Exception):
    """Postgres did not run the query; the message is Postgres's own."""


class CypherTooSlow(Exception):
    """The query was stopped when its time was over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CypherAnswer:
    """Rows of plain values; nodes and edges are objects with text ids.

    Truncated when there are more rows than asked for, or when a value was too large to show.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_truncated: bool


def ask(
    *,
    namespace_id: UUID,
    query: ReadQuery,
    limit: int,
    repository_names: Mapping[UUID, str],
    is_abandoned: Callable[[], bool] = lambda: False,
) -> CypherAnswer:
    """Run a query over the live graph of a namespace for SECONDS at most.

    Looks five times a second whether the asker is gone, and cancels then. Raise GraphUnknown,
    ReaderMissing, ReadersBusy, CypherFailed, CypherTooSlow.
    """
    if connection.in_atomic_block:
        raise ReadersBusy("Readers see what is committed only: ask when the writing is done.")
    role = _ensure_reader(namespace_id)
    statement = _statement(cypher.graph_name(namespace_id), query, limit)
    rows: list[tuple[Any, ...]] = []
    with _turn(role), _connection(role) as reader, _watched(reader, is_abandoned):
        size, is_cut = 0, False
        for row in _streamed(reader, statement):
            size += sum(len(value or "") for value in row)
            if len(rows) == limit or size > _LARGEST_ANSWER_CHARACTERS:
                is_cut = True
                break
            rows.append(row)
    half = len(query.columns)
    is_cut = is_cut or any(is_large == "true" for row in rows for is_large in row[half:])
    values = [[cypher.decode(text) for text in row[:half]] for row in rows]
    return CypherAnswer(
        columns=query.columns,
        rows=plain_values(values, namespace_id=namespace_id, repository_names=repository_names),
        is_truncated=is_cut,
    )


def _statement(graph: str, query: ReadQuery, limit: int) -> str:
    """Return one SELECT around the query, quoted so that no text in it can end the quotation."""
    tag = f"$q{secrets.token_hex(16)}$"
    names = [f"c{number}" for number in range(len(query.columns))]
    shape = ", ".join(f"{name} ag_catalog.agtype" for name in names)
    small = ", ".join(
        f"CASE WHEN pg_catalog.pg_column_size({name}) <= {_LARGEST_CELL_BYTES} THEN {name} END"
        for name in names
    )
    large = ", ".join(
        f"(pg_catalog.pg_column_size({name}) > {_LARGEST_CELL_BYTES})::text" for name in names
    )
    return (
        f"SELECT {small}, {large} FROM ag_catalog.cypher('{graph}', {tag} {query.text}\n{tag})"  # noqa: S608
        f" AS ({shape}) LIMIT {limit + 1}"
    )


def _streamed(reader: "psycopg.Connection[Any]", statement: str) -> Iterator[tuple[Any, ...]]:
    try:
        # Row by row through the extended protocol, which takes one statement and no more.
        yield from reader.cursor().stream(statement.encode())
    except psycopg.errors.QueryCanceled as error:
        raise CypherTooSlow(
            f"The query was stopped after {SECONDS:g} seconds. Begin at fewer nodes, take fewer"
            " steps, or name labels and kinds."
        ) from error
    except psycopg.Error as error:
        message = (error.diag.message_primary or str(error)).splitlines()[0]
        raise CypherFailed(f"The graph did not answer: {message[:300]}.") from error


@contextmanager
def _turn(role: str) -> Iterator[None]:
    """Hold one of the namespace's turns while the block lasts; ReadersBusy when all are taken.

    Counted here, before anybody connects: nobody pays for a connection only to be refused.
    """
    key = next((key for key in range(_AT_ONCE) if _holds("pg_try_advisory_lock", role, key)), None)
    if key is None:
        raise ReadersBusy(
            "Other queries of this namespace are running: try again when they are done."
        )
    try:
        yield
    finally:
        if connection.is_usable():
            _holds("pg_advisory_unlock", role, key)


def _holds(function: str, role: str, key: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("SELECT {}(hashtextextended(%s, %s))").format(sql.Identifier(function)),
            [role, _FIRST_TURN + key],
        )
        return bool(cursor.fetchone()[0])


@contextmanager
def _connection(role: str) -> Iterator["psycopg.Connection[Any]"]:
    """Connect as the reader itself: it can become nobody else, whatever a query calls."""
    database = connection.settings_dict
    try:
        reader = psycopg.connect(
            host=database["HOST"],
            port=database["PORT"],
            dbname=database["NAME"],
            user=role,
            password=_password(role),
            connect_timeout=5,
            autocommit=True,
            application_name="codemem graph_query",
            options=(
                f"-c statement_timeout={int(SECONDS * 1000)} -c default_transaction_read_only=on"
                " -c search_path=ag_catalog,pg_catalog -c client_connection_check_interval=1000"
            ),
        )
    except psycopg.OperationalError as error:
        raise ReaderMissing(
            "The database does not let the reader of this graph log in. Behind a pooler, roles"
            " named cm_* must be let through."
        ) from error
    try:
        yield reader
    finally:
        reader.close()


@contextmanager
def _watched(reader: "psycopg.Connection[Any]", is_abandoned: Callable[[], bool]) -> Iterator[None]:
    """Cancel what runs when nobody waits for it any more, or its time is over."""
    is_over = threading.Event()

    def watch() -> None:
        waited = 0.0
        while not is_over.wait(_LOOK_EVERY_SECONDS):
            waited += _LOOK_EVERY_SECONDS
            if is_abandoned() or waited > SECONDS + _GRACE_SECONDS:
                reader.cancel_safe(timeout=2)

    watcher = threading.Thread(target=watch, name="graph_query", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


# --- The reader -----------------------------------------------------------------------------------
def _ensure_reader(namespace_id: UUID) -> str:
    """Return the role that may read the namespace's graph; made and granted when it is not there.

    One query when all is in place. Roles are not part of a database's backup, and grants not of a
    restored one: both are made again here.
    """
    graph = cypher.graph_name(namespace_id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regprocedure('codemem_readers.role_of(text)') IS NOT NULL")
        if not cursor.fetchone()[0]:
            raise ReaderMissing("This server cannot run Cypher of its users yet.")
        if not cypher.has_graph(namespace_id):
            raise GraphUnknown("This namespace has no graph yet: nothing of it is indexed.")
        cursor.execute("SELECT codemem_readers.role_of(%s)", [graph])
        role = str(cursor.fetchone()[0])
        if not _is_ready(cursor, graph, role):
            try:
                _admit(cursor, graph, role)
            except OperationalError as error:
                raise ReadersBusy(
                    "The graph is being written, and readers are not admitted yet: try again."
                ) from error
    return role


_READY: Final = """
    SELECT to_regrole(%(role)s) IS NOT NULL AND NOT EXISTS (
        SELECT FROM ag_catalog.ag_label label
        JOIN ag_catalog.ag_graph graph ON graph.graphid = label.graph AND graph.name = %(graph)s
        WHERE label.name <> ALL (%(hidden)s::text[]) AND NOT (
            EXISTS (
                SELECT FROM pg_policy WHERE polrelid = label.relation AND polname = %(policy)s)
            AND EXISTS (
                SELECT FROM pg_class, aclexplode(relacl) grant_
                WHERE pg_class.oid = label.relation AND grant_.grantee = to_regrole(%(role)s))))
"""


def _is_ready(cursor: Any, graph: str, role: str) -> bool:
    cursor.execute(
        _READY, {"role": role, "graph": graph, "hidden": sorted(_HIDDEN), "policy": _POLICY}
    )
    return bool(cursor.fetchone()[0]) and _knows_password(cursor, role)


def _knows_password(cursor: Any, role: str) -> bool:
    """Tell whether the role has this server's password: the secret key may be another now."""
    cursor.execute(
        "SELECT shobj_description(to_regrole(%s), 'pg_authid') = %s", [role, _fingerprint(role)]
    )
    return bool(cursor.fetchone()[0])


def _admit(cursor: Any, graph: str, role: str) -> None:
    with transaction.atomic():
        # Policies wait for whoever is writing, and everybody else would wait behind them.
        cursor.execute("SET LOCAL lock_timeout = '2s'")
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 4))", [graph])
        verifier = connection.connection.pgconn.encrypt_password(
            _password(role).encode(), role.encode(), b"scram-sha-256"
        )
        cursor.execute(
            "SELECT codemem_readers.admit(%s, %s, %s)",
            [graph, verifier.decode(), _fingerprint(role)],
        )
        cursor.execute(_show_entities(graph))
        cursor.execute(
            sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(
                sql.Identifier(graph), sql.Identifier(role)
            )
        )
        cursor.execute(
            "SELECT label.name, label.kind FROM ag_catalog.ag_label label"
            " JOIN ag_catalog.ag_graph graph ON graph.graphid = label.graph"
            " WHERE graph.name = %s AND label.name <> ALL (%s::text[])",
            [graph, sorted(_HIDDEN)],
        )
        for label, _ in cursor.fetchall():
            for statement in _grants(graph, label, role):
                cursor.execute(statement)


def _grants(graph: str, label: str, role: str) -> Iterator[sql.Composed]:
    table = sql.Identifier(graph, label)
    names = {"table": table, "role": sql.Identifier(role), "policy": sql.Identifier(_POLICY)}
    yield sql.SQL("ALTER TABLE {table} ENABLE ROW LEVEL SECURITY").format(**names)
    yield sql.SQL("DROP POLICY IF EXISTS {policy} ON {table}").format(**names)
    # For everybody, so that it names no role which a restored database lacks; owners pass by it.
    yield sql.SQL("CREATE POLICY {policy} ON {table} FOR SELECT USING ({shown})").format(
        **names, shown=_condition(graph, label)
    )
    yield sql.SQL("GRANT SELECT ON {table} TO {role}").format(**names)


def _condition(graph: str, label: str) -> sql.Composable:
    """Return the condition under which readers see a row of a label table.

    AGE's own tables, which patterns without a label read, hold the rows of all others: there only
    what says of itself that it lives is shown, which links and memories do not.
    """
    if label in _ALWAYS_SHOWN:
        return sql.SQL("true")
    if label in _ENTITIES:
        return sql.SQL("{}(id::bigint)").format(sql.Identifier(graph, "is_in_use"))
    return cypher.is_head()


def _show_entities(graph: str) -> sql.Composed:
    """Return the definition of is_in_use(vertex): some live edge leads to it, or leaves it.

    A package or an external symbol that only an overlay mentions is none of a reader's business.
    """
    ends = sql.SQL(" OR ").join(
        sql.SQL(
            "EXISTS (SELECT FROM {edges} WHERE {end} = vertex::ag_catalog.graphid AND {live})"
        ).format(edges=sql.Identifier(graph, kind), end=sql.Identifier(end), live=cypher.is_head())
        for kind in EdgeKind
        if kind not in LINEAGE_KINDS
        for end in ("end_id", "start_id")
    )
    return sql.SQL(
        "CREATE OR REPLACE FUNCTION {name}(vertex bigint) RETURNS boolean LANGUAGE sql STABLE"
        " AS {body}"
    ).format(
        name=sql.Identifier(graph, "is_in_use"),
        body=sql.Literal(sql.SQL("SELECT {}").format(ends).as_string(connection.connection)),
    )


def _password(role: str) -> str:
    return hmac.new(settings.SECRET_KEY.encode(), role.encode(), hashlib.sha256).hexdigest()


def _fingerprint(role: str) -> str:
    """Return what tells one password from another without telling it."""
    return hashlib.sha256(f"codemem reader {_password(role)}".encode()).hexdigest()[:16]
