"""What people's Cypher can do when it runs: the role is the last line, so it is tested alone."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection, connections

from graph import cypher, cypher_access, services
from graph.cypher_access import (
    CypherFailed,
    CypherTooSlow,
    GraphUnknown,
    ReaderMissing,
    ReadersBusy,
    ask,
)
from graph.cypher_text import ReadQuery, read_query
from graph.models import Repository
from graph.services import ensure_memory_vertex
from graph.values import Delta, EdgeKind
from tests.factories import (
    edge_fact,
    file_fact,
    make_namespace,
    make_repository,
    snapshot,
    symbol_fact,
)
from tests.gateway.team import show

pytestmark = pytest.mark.django_db(transaction=True)

# A hundred billion rows: longer than anybody waits.
ENDLESS = (
    "UNWIND range(1, 5000) AS a UNWIND range(1, 5000) AS b UNWIND range(1, 5000) AS c"
    " RETURN count(a + b + c)"
)
TRUTH = "(1 = 1), (1 = 1), ''::pg_text"
SAVE, LOAD = "sym:app/store.py#save", "sym:app/store.py#load"


@pytest.fixture
def app(repository: Repository) -> Iterator[Repository]:
    """Return a repository whose `save` calls its `load`, for every connection to see."""
    symbols = [symbol_fact("app/store.py", "save"), symbol_fact("app/store.py", "load", line=9)]
    edges = [
        edge_fact("file:app/store.py", SAVE, EdgeKind.CONTAINS),
        edge_fact("file:app/store.py", LOAD, EdgeKind.CONTAINS),
        edge_fact(SAVE, LOAD, line=3),
    ]
    show(repository, snapshot(*symbols, edges=edges))
    yield repository
    cypher.drop_graph(repository.namespace_id)


@pytest.fixture
def other(app: Repository) -> Iterator[Repository]:
    """Return a repository of another team."""
    foreign = make_repository(make_namespace("elsewhere"), "vault")
    show(foreign, snapshot(symbol_fact("vault.py", "quagga")))
    yield foreign
    cypher.drop_graph(foreign.namespace_id)


def asked(app: Repository, text: str, *, limit: int = 100, **given):
    return ask(
        namespace_id=app.namespace_id,
        query=read_query(text),
        limit=limit,
        repository_names={app.pk: app.name},
        **given,
    )


def unchecked(app: Repository, text: str, *columns: str):
    """Run a text that the first line of defense would not let pass."""
    return ask(
        namespace_id=app.namespace_id,
        query=ReadQuery(text=text, columns=columns or ("x",)),
        limit=100,
        repository_names={},
    )


def test_nodes_and_edges_come_with_their_text_ids(app):
    found = asked(app, "MATCH (a:Symbol)-[e:CALLS]->(b:Symbol) RETURN a, e, b.name AS name")
    ((source, edge, name),) = found.rows
    assert (source["id"], source["label"], source["repository"]) == (SAVE, "Symbol", "app")
    assert not {"head", "vf", "vt", "repo"} & source.keys()
    assert (edge["relationship"], edge["source"], edge["target"]) == ("CALLS", SAVE, LOAD)
    assert (edge["confidence"], name, found.columns) == (0.9, "load", ("a", "e", "name"))
    assert not found.is_truncated


def test_patterns_without_labels_and_paths_work(app):
    found = asked(app, "MATCH p = (f:File)-[e]->(s) RETURN p, type(e) AS kind ORDER BY s.name")
    assert [row[1] for row in found.rows] == ["CONTAINS", "CONTAINS"]
    file, edge, symbol = found.rows[0][0]
    assert (file["id"], edge["target"], symbol["id"]) == ("file:app/store.py", LOAD, LOAD)


def test_rows_and_values_are_cut(app):
    found = asked(app, "MATCH (s:Symbol) RETURN s.name", limit=1)
    assert (len(found.rows), found.is_truncated) == (1, True)
    long = "MATCH (s:Symbol) RETURN s.name, " + " + ".join(["'" + "x" * 900 + "'"] * 4)
    assert asked(app, f"{long} AS text").is_truncated is False
    doubled = "WITH '" + "x" * 3000 + "' AS a WITH a+a+a+a+a+a+a+a AS b WITH b+b+b+b AS c RETURN c"
    huge = asked(app, doubled)
    assert (huge.rows, huge.is_truncated) == (((None,),), True)


def test_quotes_and_tags_cannot_end_the_quotation(app):
    for text in ("RETURN '$q$ $$ $q0$' AS x", "RETURN '\\' $$); drop table x; --' AS x"):
        assert "$$" in asked(app, text).rows[0][0]
    with pytest.raises(CypherFailed):
        unchecked(app, "RETURN 1 $$) AS (x ag_catalog.agtype); DELETE FROM graph_symbol; --")
    with pytest.raises(CypherFailed):
        unchecked(app, "RETURN 1", "x", "y")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (n:Symbol {uid: 'new'}) RETURN n",
        "MATCH (n:Symbol) SET n.name = 'x' RETURN n",
        "MATCH (n:Symbol) REMOVE n.name RETURN n",
        "MATCH (n:Symbol) DETACH DELETE n RETURN 1",
        "MERGE (n:Symbol {uid: 'new'}) RETURN n",
        "MATCH (a:Symbol), (b:Symbol) CREATE (a)-[e:CALLS]->(b) RETURN e",
        "RETURN pg_catalog.pg_read_file('/etc/hostname'::pg_text)",
        "RETURN pg_catalog.lo_import('/etc/hostname'::pg_text)",
        "RETURN dblink('dbname=codemem', 'select 1')",
        "RETURN ag_catalog.load_labels_from_file('ns', 'Symbol', '/etc/hostname')",
        "RETURN ag_catalog.create_graph('mine')",
        "RETURN pg_catalog.query_to_xml('select * from graph_symbol'::pg_text, TRUTH)",
        "RETURN pg_catalog.query_to_xml('select * from accounts_token'::pg_text, TRUTH)",
        "RETURN pg_catalog.query_to_xml('create table public.x (y int)'::pg_text, TRUTH)",
        "RETURN pg_catalog.set_config('role'::pg_text, 'codemem'::pg_text, (1 = 2))",
        "RETURN pg_catalog.set_config('role'::pg_text, 'postgres'::pg_text, (1 = 2))",
        "MATCH (m:Memory) RETURN m",
        "MATCH (a:Symbol)-[r:RELATES_TO]->(b) RETURN r",
        "MATCH (a:Symbol)-[e*1..3]->(b:Symbol) RETURN b",
        "MATCH (a:Symbol)-[e:CALLS*]->(b:Symbol) RETURN b",
    ],
)
def test_the_role_alone_can_neither_write_nor_call_nor_see_more(text, app):
    before = everything(app)
    with pytest.raises(CypherFailed):
        unchecked(app, text.replace("TRUTH", TRUTH))
    assert everything(app) == before


def everything(app: Repository) -> list[tuple[object, ...]]:
    return cypher.run(
        graph=cypher.graph_name(app.namespace_id),
        query="MATCH (n) RETURN count(n), collect(n.name)",
        columns=("n", "names"),
    )


def test_the_role_stays_what_it_is_whatever_it_sets(app, other):
    with reader(app) as own:
        for statement in (
            "set default_transaction_read_only = off",
            "set statement_timeout = 0",
            "set row_security = off",
        ):
            own.execute(statement)
        for statement in (
            "select * from public.graph_symbol",
            "select * from public.accounts_token",
            f'select * from {cypher.graph_name(other.namespace_id)}."Symbol"',
            f'delete from {cypher.graph_name(app.namespace_id)}."Symbol"',
            f'select * from {cypher.graph_name(app.namespace_id)}."Memory"',
            f'select * from {cypher.graph_name(app.namespace_id)}."Symbol"',
            "create table public.mine (x int)",
            "create schema mine",
            "set role codemem",
            "set session authorization postgres",
            "select codemem_readers.admit('ns_' || repeat('0', 32), 'SCRAM-SHA-256$x', '')",
            "select codemem_readers.dismiss('ns_' || repeat('0', 32))",
            "copy (select 1) to '/tmp/x'",
            "copy (select 1) to program 'true'",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                own.execute(statement)


def reader(app: Repository):
    role = cypher_access._ensure_reader(app.namespace_id)
    return cypher_access._connection(role)


def test_another_namespace_is_not_there(app, other):
    assert asked(app, "MATCH (s:Symbol) RETURN s.name ORDER BY s.name").rows == (
        ("load",),
        ("save",),
    )
    assert asked(app, "MATCH (n) WHERE n.name = 'quagga' RETURN n").rows == ()
    assert asked(other, "MATCH (s:Symbol) RETURN s.name").rows == (("quagga",),)


def test_a_private_overlay_is_not_there(app, owner):
    secret = symbol_fact("app/secret.py", "hidden")
    changed = [symbol_fact("app/store.py", "save"), symbol_fact("app/store.py", "load", line=9)]
    # The overlay restates one file and adds another.
    delta = Delta(
        commit="2" * 40,
        committed_at=2_000,
        files=(file_fact("app/secret.py"), file_fact("app/store.py", blob="2")),
        symbols=(secret, *changed),
        edges=(
            edge_fact("file:app/secret.py", secret.id, EdgeKind.CONTAINS),
            edge_fact(secret.id, LOAD, line=3),
            edge_fact(LOAD, SAVE, line=10),
            edge_fact("file:app/store.py", SAVE, EdgeKind.CONTAINS),
            edge_fact("file:app/store.py", LOAD, EdgeKind.CONTAINS),
        ),
    )
    revision = newest(app)
    services.put_delta(
        repository_id=app.pk,
        ref_name="mine",
        delta=delta,
        base_revision=revision,
        owner_id=owner.pk,
    )
    for text in (
        "MATCH (s:Symbol) RETURN s.name AS n ORDER BY n",
        "MATCH (s) WHERE s.kind = 'function' RETURN s.name AS n ORDER BY n",
    ):
        assert asked(app, text).rows == (("load",), ("save",))
    for text in (
        "MATCH (a:Symbol)-[e:CALLS]->(b:Symbol) RETURN a.uid, b.uid",
        "MATCH (a)-[e]->(b:Symbol) WHERE type(e) = 'CALLS' RETURN a.uid, b.uid",
        "MATCH ()-[e:CALLS]->() RETURN e.o, 1",
    ):
        assert len(asked(app, text).rows) == 1, text
    assert asked(app, "MATCH (f:File) RETURN f.path").rows == (("app/store.py",),)


def newest(app: Repository) -> int:
    from graph.queries import newest_revision

    revision = newest_revision(repository_id=app.pk)
    assert revision is not None
    return revision.id


def test_what_is_gone_and_what_is_remembered_is_not_there(app):
    ensure_memory_vertex(namespace_id=app.namespace_id, number=1, memory_id=app.pk)
    only = snapshot(symbol_fact("app/store.py", "save"), commit="2")
    services.put(repository_id=app.pk, ref_name="main", snapshot=only)
    assert asked(app, "MATCH (n) RETURN n.uid AS id ORDER BY id").rows == (
        ("file:app/store.py",),
        (SAVE,),
    )
    assert asked(app, "MATCH ()-[e]->() RETURN type(e)").rows == ()


def test_time_is_over_after_some_seconds(app, monkeypatch):
    monkeypatch.setattr(cypher_access, "SECONDS", 0.5)
    started = time.monotonic()
    with pytest.raises(CypherTooSlow):
        unchecked(app, ENDLESS)
    assert time.monotonic() - started < 3


def test_a_query_ends_when_its_asker_goes(app):
    gone = threading.Event()
    threading.Timer(0.5, gone.set).start()
    started = time.monotonic()
    with pytest.raises(CypherTooSlow):
        ask(
            namespace_id=app.namespace_id,
            query=ReadQuery(text=ENDLESS, columns=("x",)),
            limit=1,
            repository_names={},
            is_abandoned=gone.is_set,
        )
    assert time.monotonic() - started < 4
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from pg_stat_activity where usename like 'cm\\_%' and state = 'active'"
        )
        assert cursor.fetchone()[0] == 0


def test_queries_do_not_pile_up(app):
    role = cypher_access._ensure_reader(app.namespace_id)
    with others_turns(role, 2):
        assert asked(app, "RETURN 1").rows == ((1,),)
    with others_turns(role, 3), pytest.raises(ReadersBusy):
        asked(app, "RETURN 1")
    assert asked(app, "RETURN 1").rows == ((1,),)


@contextmanager
def others_turns(role: str, count: int):
    """Hold turns as other threads of the server do: on a connection of their own."""
    other = connections.create_connection("default")
    with other.cursor() as cursor:
        for turn in range(count):
            cursor.execute(
                "SELECT pg_advisory_lock(hashtextextended(%s, %s))",
                [role, cypher_access._FIRST_TURN + turn],
            )
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock_all()")
    other.close()


def test_a_graph_that_grows_labels_and_another_key_are_noticed(app, settings):
    asked(app, "RETURN 1")
    graph = cypher.graph_name(app.namespace_id)
    with connection.cursor() as cursor:
        cursor.execute(f'DROP POLICY shown_to_readers ON {graph}."Symbol"')
    assert len(asked(app, "MATCH (s:Symbol) RETURN s").rows) == 2
    settings.SECRET_KEY = "another"
    assert len(asked(app, "MATCH (s:Symbol) RETURN s").rows) == 2


def test_a_server_that_lacks_the_functions_says_what_to_run(app):
    with connection.cursor() as cursor:
        cursor.execute("select to_regprocedure('codemem_readers.nothing(text)') is null")
        assert cursor.fetchone()[0]
    assert "provision.sql" in ReaderMissing.hint


def test_a_namespace_without_a_graph_says_so(namespace):
    with pytest.raises(GraphUnknown):
        ask(
            namespace_id=namespace.pk,
            query=read_query("RETURN 1"),
            limit=1,
            repository_names={},
        )


def test_the_role_goes_with_the_graph(other):
    asked(other, "RETURN 1")
    with connection.cursor() as cursor:
        cursor.execute(
            "select codemem_readers.role_of(%s)", [cypher.graph_name(other.namespace_id)]
        )
        (role,) = cursor.fetchone()
        cypher.drop_graph(other.namespace_id)
        cursor.execute("select to_regrole(%s) is null", [role])
        assert cursor.fetchone()[0]
