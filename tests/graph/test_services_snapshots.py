import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from django.db import connection

from codemem.accounts.models import Namespace
from graph import cypher, queries
from graph.models import FileVersion, Ref, Repository, Revision, Symbol, SymbolVersion
from graph.services import RefNotDefault, SnapshotInconsistent, put
from graph.services.embeddings import store_symbol_embeddings
from graph.values import EdgeKind, NodeKind, PutReport, RowChanges, Snapshot
from tests.factories import edge_fact, file_fact, make_namespace, make_repository, snapshot
from tests.factories import symbol_fact as symbol

pytestmark = pytest.mark.django_db

FOO, BAR = symbol("a.py", "foo"), symbol("b.py", "bar", line=3)
BAR_CALLS_FOO = edge_fact("sym:b.py#bar", "sym:a.py#foo", line=5)


def put_main(repository: Repository, wanted: Snapshot) -> PutReport:
    return put(repository_id=repository.pk, ref_name="main", snapshot=wanted)


def live_edges(repository: Repository) -> set[tuple[str, str, str]]:
    rows = cypher.run(
        graph=cypher.graph_name(repository.namespace_id),
        query="MATCH (a)-[e {head: true}]->(b) RETURN label(e), a.uid, b.uid",
        columns=("label", "source", "target"),
    )
    return {(label, source, target) for label, source, target in rows}


def revisions(repository: Repository) -> list[int]:
    rows = Revision.objects.filter(repository=repository).order_by("pk")
    return list(rows.values_list("pk", flat=True))


def live_symbols(repository: Repository) -> set[str]:
    rows = SymbolVersion.objects.filter(repository=repository, valid_to=None)
    return set(rows.values_list("symbol__qualified_name", flat=True))


def test_a_snapshot_becomes_files_symbols_and_edges(repository):
    report = put_main(repository, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO]))

    assert report.files == RowChanges(opened=2)
    assert report.symbols == RowChanges(opened=2)
    assert report.edges == RowChanges(opened=1)
    assert live_symbols(repository) == {"a.foo", "b.bar"}
    assert live_edges(repository) == {("CALLS", "sym:b.py#bar", "sym:a.py#foo")}
    ref = Ref.objects.get(repository=repository)
    assert (ref.name, ref.indexed_commit, ref.commits_behind) == ("main", "1" * 40, 0)


def test_the_same_snapshot_again_writes_no_row(repository):
    wanted = snapshot(FOO, BAR, edges=[BAR_CALLS_FOO])
    put_main(repository, wanted)
    before = written_rows(repository)

    report = put_main(repository, wanted)

    assert report.is_unchanged
    assert written_rows(repository) == before


def test_the_same_contents_at_another_commit_move_only_the_ref(repository):
    put_main(repository, snapshot(FOO, commit="1"))
    before = written_rows(repository)

    report = put_main(repository, snapshot(FOO, commit="2", at=2_000))

    assert report.is_unchanged
    assert Ref.objects.get(repository=repository).indexed_commit == "2" * 40
    assert {row for row in written_rows(repository) ^ before if row[0] != "graph_ref"} == set()


def test_a_removed_file_ends_its_symbols_and_edges_and_is_remembered(repository):
    put_main(repository, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO]))

    report = put_main(repository, snapshot(FOO, commit="2", at=2_000))

    assert (report.files.closed, report.symbols.closed, report.edges.closed) == (1, 1, 1)
    assert live_symbols(repository) == {"a.foo"}
    assert live_edges(repository) == set()
    gone = SymbolVersion.objects.get(symbol__qualified_name="b.bar")
    first, second = revisions(repository)
    assert (gone.valid_from, gone.valid_to) == (first, second)
    assert FileVersion.objects.get(file__path="b.py").valid_to == second


def test_a_renamed_symbol_is_another_symbol(repository):
    put_main(repository, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO]))
    renamed = symbol("a.py", "food")
    files = [file_fact("a.py", blob="2"), file_fact("b.py", blob="2")]

    put_main(
        repository,
        snapshot(renamed, BAR, edges=[edge_fact(BAR.id, renamed.id)], files=files, at=2_000),
    )

    assert live_symbols(repository) == {"a.food", "b.bar"}
    assert live_edges(repository) == {("CALLS", "sym:b.py#bar", "sym:a.py#food")}


def test_a_new_definition_brings_an_edge_from_a_file_that_did_not_change(repository):
    put_main(repository, snapshot(BAR))

    report = put_main(repository, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO], at=2_000))

    assert live_edges(repository) == {("CALLS", "sym:b.py#bar", "sym:a.py#foo")}
    assert report.files == RowChanges(opened=2, closed=1)
    assert report.symbols == RowChanges(opened=1)


def test_a_function_that_moves_down_its_file_changes_no_edge(repository):
    put_main(repository, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO]))
    moved = symbol("b.py", "bar", line=13)
    files = [file_fact("a.py"), file_fact("b.py", blob="2")]
    edges = [edge_fact("sym:b.py#bar", "sym:a.py#foo", line=15)]

    report = put_main(repository, snapshot(FOO, moved, edges=edges, files=files, at=2_000))

    assert report.edges == RowChanges()
    assert report.symbols == RowChanges(opened=1, closed=1)
    moved_bar = SymbolVersion.objects.get(symbol__qualified_name="b.bar", valid_to=None)
    assert moved_bar.start_line == 13


def test_a_function_that_says_something_else_begins_a_version(repository):
    put_main(repository, snapshot(FOO))
    changed = symbol("a.py", "foo", body="return 2")

    report = put_main(repository, snapshot(changed, files=[file_fact("a.py", blob="2")], at=2_000))

    assert report.symbols == RowChanges(opened=1, closed=1)
    spans = SymbolVersion.objects.order_by("id").values_list("valid_from", "valid_to")
    first, second = revisions(repository)
    assert list(spans) == [(first, second), (second, None)]


def test_a_function_that_becomes_a_class_takes_its_edges_along(repository):
    put_main(repository, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO]))
    class_foo = symbol("a.py", "foo", kind=NodeKind.CLASS)
    files = [file_fact("a.py", blob="2"), file_fact("b.py")]

    put_main(repository, snapshot(class_foo, BAR, edges=[BAR_CALLS_FOO], files=files, at=2_000))

    (target,) = queries.find_nodes(repository_id=repository.pk, text="a.foo")
    assert target.kind is NodeKind.CLASS
    found = queries.dependents(namespace_id=repository.namespace_id, vertices=[target.vertex])
    assert [row.node.id for row in found.dependents] == ["sym:b.py#bar"]


def test_an_edge_that_is_known_better_begins_anew(repository):
    put_main(repository, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO]))
    better = [BAR_CALLS_FOO._replace(confidence=0.99, rule="type")]

    report = put_main(repository, snapshot(FOO, BAR, edges=better))

    assert report.edges == RowChanges(opened=1, closed=1)
    assert put_main(repository, snapshot(FOO, BAR, edges=better)).is_unchanged


def test_only_the_edges_that_differ_in_a_changed_file_are_written(repository):
    other = edge_fact("sym:b.py#bar", "file:a.py", EdgeKind.REFERENCES)
    put_main(repository, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO]))

    report = put_main(repository, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO, other]))

    assert report.edges == RowChanges(opened=1)


def test_a_call_of_low_confidence_is_kept_as_a_candidate(repository):
    put_main(repository, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO._replace(confidence=0.3)]))

    assert live_edges(repository) == {("MAY_CALL", "sym:b.py#bar", "sym:a.py#foo")}


def test_a_known_call_leaves_no_candidate_beside_it(repository):
    candidate = BAR_CALLS_FOO._replace(confidence=0.3)

    put_main(repository, snapshot(FOO, BAR, edges=[candidate, BAR_CALLS_FOO]))

    assert live_edges(repository) == {("CALLS", "sym:b.py#bar", "sym:a.py#foo")}


def test_what_comes_back_is_the_same_node_again(repository):
    put_main(repository, snapshot(FOO, BAR))
    (before,) = queries.find_nodes(repository_id=repository.pk, text="b.bar")
    put_main(repository, snapshot(FOO, at=2_000))

    put_main(repository, snapshot(FOO, BAR, at=3_000))

    (after,) = queries.find_nodes(repository_id=repository.pk, text="b.bar")
    assert after.vertex == before.vertex
    assert Symbol.objects.filter(qualified_name="b.bar").count() == 1


def test_vertices_say_from_when_to_when_they_were_there(repository):
    put_main(repository, snapshot(FOO, BAR))
    put_main(repository, snapshot(FOO, at=2_000))

    rows = cypher.run(
        graph=cypher.graph_name(repository.namespace_id),
        query="MATCH (n) RETURN n.uid, n.vf, n.vt",
        columns=("uid", "begin", "end"),
    )

    first, second = revisions(repository)
    assert set(rows) == {
        ("sym:a.py#foo", first, 9_999_999_999),
        ("sym:b.py#bar", first, second),
        ("file:a.py", first, 9_999_999_999),
        ("file:b.py", first, second),
    }


def test_two_repositories_of_a_namespace_do_not_touch_each_other(repository, namespace):
    other = make_repository(namespace)
    put_main(repository, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO]))
    put_main(other, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO]))

    put_main(other, snapshot(files=[], at=2_000))

    assert live_symbols(repository) == {"a.foo", "b.bar"}
    assert live_symbols(other) == set()
    assert live_edges(repository) == {("CALLS", "sym:b.py#bar", "sym:a.py#foo")}


def test_a_moved_function_brings_its_vector_along(repository):
    put_main(repository, snapshot(FOO))
    known = SymbolVersion.objects.get()
    store_symbol_embeddings(
        vectors={bytes(known.embedding_digest): [0.5] * 384}, fingerprint="model"
    )

    put_main(repository, snapshot(replace(FOO, start_line=40, end_line=44)))
    put_main(repository, snapshot(files=[], at=2_000))
    put_main(repository, snapshot(FOO, at=3_000))

    back = SymbolVersion.objects.get(valid_to=None)
    assert back.embedding_fingerprint == "model"
    assert list(back.embedding) == [0.5] * 384


def test_text_that_postgres_cannot_hold_is_stored_readably(repository):
    odd = replace(FOO, doc="nul \0 and half a pair \ud800", source_text="\0")

    put_main(repository, snapshot(odd))

    assert SymbolVersion.objects.get().doc == "nul \ufffd and half a pair ?"


@pytest.mark.parametrize(
    "wanted",
    [
        snapshot(FOO, FOO),
        snapshot(FOO, files=[]),
        snapshot(FOO, edges=[edge_fact(FOO.id, "sym:gone.py#x")]),
        snapshot(FOO, files=[file_fact("a.py"), file_fact("a.py")]),
    ],
    ids=["symbol twice", "no file", "edge to nothing", "file twice"],
)
def test_facts_that_contradict_each_other_are_refused(repository, wanted):
    with pytest.raises(SnapshotInconsistent):
        put_main(repository, wanted)

    assert not SymbolVersion.objects.exists()


def test_only_the_default_branch_is_shown(repository):
    with pytest.raises(RefNotDefault):
        put(repository_id=repository.pk, ref_name="feature", snapshot=snapshot(FOO))


@pytest.mark.django_db(transaction=True)
def test_a_failure_leaves_the_last_good_state(repository):
    put_main(repository, snapshot(FOO, BAR, edges=[BAR_CALLS_FOO]))
    before = written_rows(repository)
    # The staged edge names a rule with a NUL, which fails when everything else is written.
    broken = snapshot(FOO, edges=[edge_fact(FOO.id, FOO.id, rule="\0")], commit="2", at=2_000)

    with pytest.raises(Exception, match="NUL"):
        put_main(repository, broken)

    assert written_rows(repository) == before
    assert live_edges(repository) == {("CALLS", "sym:b.py#bar", "sym:a.py#foo")}


@pytest.mark.django_db(transaction=True)
def test_two_puts_at_once_leave_one_of_the_two_states(repository):
    symbols = [symbol("a.py", f"f{number}", line=number * 6 + 1) for number in range(50)]
    edges = [edge_fact(a.id, b.id) for a, b in pairwise(symbols)]
    one = snapshot(*symbols[:40], edges=edges[:39], files=[file_fact("a.py")], commit="1")
    two = snapshot(*symbols, edges=edges, files=[file_fact("a.py", blob="2")], commit="2")

    run_together(lambda: put_main(repository, one), lambda: put_main(repository, two))

    commit = Ref.objects.get(repository=repository).indexed_commit
    expected = 40 if commit == "1" * 40 else 50
    assert len(live_symbols(repository)) == expected
    assert len(live_edges(repository)) == expected - 1


@pytest.mark.django_db(transaction=True)
def test_two_first_graphs_of_a_namespace_at_once_are_one_graph(db):
    namespace = make_namespace()

    run_together(
        lambda: make_repository(namespace, "one"), lambda: make_repository(namespace, "two")
    )

    assert Repository.objects.filter(namespace=namespace).count() == 2
    assert cypher.has_graph(namespace.pk)


def run_together(*jobs: Callable[[], object]) -> None:
    errors: list[Exception] = []

    def run(job: Callable[[], object]) -> None:
        try:
            job()
        except Exception as error:  # noqa: BLE001  told to the test below
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def written_rows(repository: Repository) -> set[tuple[str, str, str]]:
    """Return every row of the graph with the transaction that wrote it and the row's place."""
    graph = cypher.graph_name(repository.namespace_id)
    tables = ["graph_ref", "graph_symbol", "graph_symbolversion", "graph_fileversion"]
    tables += ["graph_sourcefile", f"{graph}._ag_label_vertex", f"{graph}._ag_label_edge"]
    rows = set()
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT xmin::text, tableoid::text || ctid::text FROM {table}")
            rows |= {(table, *row) for row in cursor.fetchall()}
    return rows


def test_namespaces_have_graphs_of_their_own(repository, outsider):
    elsewhere = Namespace.objects.get(name="elsewhere")
    other = make_repository(elsewhere)
    put_main(repository, snapshot(FOO))
    put_main(other, snapshot(FOO))

    (mine,) = queries.find_nodes(repository_id=repository.pk, text="foo")
    assert queries.nodes_of(namespace_id=elsewhere.pk, vertices=[mine.vertex]) == {}
    assert queries.nodes_of(namespace_id=repository.namespace_id, vertices=[mine.vertex])
