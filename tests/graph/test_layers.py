"""The life of overlays: who may have one, when it ends, and what is kept for it."""

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection, transaction
from django.utils import timezone

from graph import cypher, queries, services
from graph.models import (
    Entity,
    FileVersion,
    Layer,
    Ref,
    Repository,
    Revision,
    SymbolVersion,
)
from graph.services import put_delta
from graph.services.layers import KEPT_FOR
from graph.values import Delta, EntityFact, Snapshot, VertexLabel
from tests.factories import NOW, edge_fact, snapshot, symbol_fact
from tests.graph.test_overlays import difference, newest, put_branch, put_main, view_of
from tests.graph.views import shown

pytestmark = pytest.mark.django_db

FOO, BAR = symbol_fact("a.py", "foo"), symbol_fact("b.py", "bar", line=3)
BASE = snapshot(FOO, BAR, edges=[edge_fact(BAR.id, FOO.id)])
TOPIC = snapshot(FOO, symbol_fact("c.py", "new"), commit="2")


def layer_rows(repository: Repository) -> int:
    """Count everything that overlays hold."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM {cypher.graph_name(repository.namespace_id)}._ag_label_edge"
            " WHERE properties::text LIKE '%\"head\": false%'"
        )
        edges = cursor.fetchone()[0]
    rows = {"repository": repository, "layer__gt": 0}
    versions = SymbolVersion.objects.filter(**rows).count()
    return edges + versions + FileVersion.objects.filter(**rows).count()


def test_an_overlay_that_is_dropped_leaves_nothing(repository):
    put_main(repository, BASE)
    before = shown(repository)
    put_branch(repository, BASE, TOPIC)
    assert layer_rows(repository) > 0

    assert services.drop_overlay(repository_id=repository.pk, ref_name="topic")

    assert layer_rows(repository) == 0
    assert shown(repository) == before
    state = queries.get_ref_state(repository_id=repository.pk, ref="topic")
    assert (state.is_known, state.is_indexed) == (True, False)
    assert not services.drop_overlay(repository_id=repository.pk, ref_name="topic")


def test_a_branch_that_is_gone_is_forgotten_but_never_the_default_branch(repository):
    put_main(repository, BASE)
    put_branch(repository, BASE, TOPIC)

    assert services.forget_branch(repository_id=repository.pk, ref_name="topic")
    assert not services.forget_branch(repository_id=repository.pk, ref_name="main")

    assert set(Ref.objects.values_list("name", flat=True)) == {"main"}
    assert layer_rows(repository) == 0


def test_users_work_trees_of_one_name_are_apart_and_are_no_branches(repository, owner, writer):
    put_main(repository, BASE)
    for user, name in ((owner, "olgas"), (writer, "walters")):
        put_delta(
            repository_id=repository.pk,
            ref_name="worktree:laptop",
            delta=difference(BASE, snapshot(FOO, BAR, symbol_fact("c.py", name), edges=BASE.edges)),
            base_revision=newest(repository),
            owner_id=user.pk,
        )

    mine = queries.find_layer(
        repository_id=repository.pk, ref_name="worktree:laptop", owner_id=owner.pk
    )
    for text, found in (("olgas", 1), ("walters", 0)):
        assert mine is not None
        nodes = queries.find_nodes(repository_id=repository.pk, text=text, view=mine.view)
        assert len(nodes) == found
        assert queries.find_nodes(repository_id=repository.pk, text=text) == []
    assert queries.list_layers(repository_id=repository.pk) == []
    assert len(queries.list_layers(repository_id=repository.pk, owner_id=owner.pk)) == 1
    assert not queries.get_ref_state(repository_id=repository.pk, ref="worktree:laptop").is_known


def test_overlays_whose_time_is_over_are_dropped(repository, owner):
    put_main(repository, BASE)
    put_branch(repository, BASE, TOPIC, name="busy")
    put_branch(repository, BASE, TOPIC, name="idle")
    Layer.objects.filter(ref_name="idle").update(used_at=NOW - timedelta(days=90))
    Layer.objects.filter(ref_name="busy").update(used_at=NOW)
    put_delta(
        repository_id=repository.pk,
        ref_name="worktree:laptop",
        delta=difference(BASE, TOPIC),
        base_revision=newest(repository),
        owner_id=owner.pk,
        expires_at=NOW - timedelta(seconds=1),
    )

    assert services.expire_overlays(now=NOW, idle_since=NOW - timedelta(days=60)) == 2

    assert set(Layer.objects.values_list("ref_name", flat=True)) == {"busy"}


def test_a_use_is_noted_once_an_hour(repository):
    put_main(repository, BASE)
    put_branch(repository, BASE, TOPIC)
    layer = view_of(repository, "topic").layer
    Layer.objects.update(used_at=NOW)

    for minutes, noted in ((30, 0), (61, 61), (90, 61)):
        services.note_overlay_used(layer=layer, now=NOW + timedelta(minutes=minutes))
        assert Layer.objects.get().used_at == NOW + timedelta(minutes=noted)


# --- pruning --------------------------------------------------------------------------------------
def age_revisions() -> None:
    Revision.objects.update(made_at=timezone.now() - 2 * KEPT_FOR)


def prune(repository: Repository) -> int:
    return services.prune(namespace_id=repository.namespace_id, now=timezone.now())


def ended_rows(repository: Repository) -> int:
    ended = {"repository": repository, "valid_to__isnull": False}
    versions = SymbolVersion.objects.filter(**ended).count()
    return layer_rows(repository) + versions + FileVersion.objects.filter(**ended).count()


def test_what_ended_long_ago_is_pruned(repository):
    put_main(repository, BASE)
    put_main(repository, snapshot(FOO, commit="2"))
    assert prune(repository) == 0
    age_revisions()
    before = shown(repository)

    assert prune(repository) == 3

    assert ended_rows(repository) == 0
    assert shown(repository) == before
    assert prune(repository) == 0


def test_what_an_overlay_shows_is_never_pruned(repository):
    put_main(repository, BASE)
    put_branch(repository, BASE, TOPIC)
    expected = shown(repository, view_of(repository, "topic"))
    put_main(repository, snapshot(symbol_fact("z.py", "other"), commit="3"))
    age_revisions()

    assert prune(repository) == 0
    assert shown(repository, view_of(repository, "topic")) == expected

    services.drop_overlay(repository_id=repository.pk, ref_name="topic")
    assert prune(repository) > 0
    assert ended_rows(repository) == 0


def test_no_overlay_may_rest_on_a_revision_that_was_pruned(repository):
    put_main(repository, BASE)
    old = newest(repository)
    put_main(repository, snapshot(FOO, commit="2"))
    age_revisions()
    prune(repository)

    with pytest.raises(services.BaseRevisionGone):
        put_delta(
            repository_id=repository.pk,
            ref_name="topic",
            delta=difference(BASE, TOPIC),
            base_revision=old,
        )


def test_what_was_shown_until_just_now_is_kept(repository):
    put_main(repository, BASE)
    age_revisions()
    shown_for_long = newest(repository)
    put_main(repository, snapshot(FOO, commit="2"))

    assert prune(repository) == 0

    put_delta(
        repository_id=repository.pk,
        ref_name="topic",
        delta=difference(BASE, TOPIC),
        base_revision=shown_for_long,
    )


def test_external_symbols_that_nothing_uses_are_pruned(repository):
    used, unused = (
        EntityFact(label=VertexLabel.EXTERNAL, key=f"ext:pypi:x:{name}", name=name)
        for name in ("used", "unused")
    )
    put_main(
        repository,
        Snapshot(
            **{
                **{name: getattr(BASE, name) for name in ("commit", "committed_at", "files")},
                "symbols": BASE.symbols,
                "edges": (*BASE.edges, edge_fact(FOO.id, used.id)),
                "entities": (used,),
            }
        ),
    )
    services.ensure_entities(namespace_id=repository.namespace_id, entities=[unused])
    Entity.objects.update(made_at=timezone.now() - 2 * KEPT_FOR)

    assert prune(repository) == 1

    assert list(Entity.objects.values_list("name", flat=True)) == ["used"]


# --- at once, and cut short -----------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_two_branches_are_written_at_once_and_neither_waits(repository):
    put_main(repository, BASE)
    begun, finish = threading.Event(), threading.Event()
    same = snapshot(FOO, symbol_fact("one.py", "new"), commit="2")
    other = snapshot(FOO, symbol_fact("two.py", "new"), commit="3")

    def slowly() -> None:
        with transaction.atomic():
            put_branch(repository, BASE, same, name="one")
            begun.set()
            assert finish.wait(timeout=60)

    thread = in_thread(slowly)
    assert begun.wait(timeout=60)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '10s'")
    put_branch(repository, BASE, other, name="two")
    put_main(repository, snapshot(FOO, BAR, edges=BASE.edges, commit="4"))
    assert queries.find_nodes(repository_id=repository.pk, text="one.new") == []
    finish.set()
    thread.join()

    for name, expected in (("one", same), ("two", other)):
        symbols = shown(repository, view_of(repository, name))["symbols"]
        assert len(symbols) == len(expected.symbols)


@pytest.mark.django_db(transaction=True)
def test_branches_that_bring_the_same_new_files_are_written_at_once(repository):
    put_main(repository, BASE)
    news = [symbol_fact(f"n{number}.py", "new") for number in range(40)]
    orders = [news, news[::-1], news[10:] + news[:10], news[::3] + news[1::3] + news[2::3]]

    def write(number: int) -> None:
        wanted = snapshot(FOO, *orders[number], commit=f"{number}")
        put_branch(repository, BASE, wanted, name=f"b{number}")

    threads = [in_thread(partial(write, number)) for number in range(len(orders))]
    for thread in threads:
        thread.join()

    for number in range(len(orders)):
        assert len(shown(repository, view_of(repository, f"b{number}"))["symbols"]) == 41


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "statement",
    ["open_file_versions", "open_symbol_versions", "add_overlay_vertices", "open_edges"],
)
def test_a_connection_that_dies_between_statements_leaves_the_last_good_overlay(
    repository, monkeypatch, statement
):
    put_main(repository, BASE)
    put_branch(repository, BASE, TOPIC)
    before = shown(repository, view_of(repository, "topic"))
    execute = services.writer.Writer.execute

    def dying(self, name, **arguments):
        if name == statement:
            self.cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return execute(self, name, **arguments)

    monkeypatch.setattr(services.writer.Writer, "execute", dying)
    next_one = snapshot(FOO, symbol_fact("d.py", "newer"), commit="3")
    thread = in_thread(lambda: put_branch(repository, BASE, next_one), survives=False)
    thread.join()
    monkeypatch.undo()

    assert shown(repository, view_of(repository, "topic")) == before
    put_branch(repository, BASE, next_one)
    assert len(shown(repository, view_of(repository, "topic"))["symbols"]) == 2


def in_thread(job: Callable[[], object], *, survives: bool = True) -> threading.Thread:
    def run() -> None:
        try:
            job()
        except Exception:
            if survives:
                raise
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_the_same_delta_again_writes_nothing(repository):
    put_main(repository, BASE)
    put_branch(repository, BASE, TOPIC)
    before = Revision.objects.count()

    put_branch(repository, BASE, TOPIC)

    assert Revision.objects.count() == before


def test_an_empty_delta_at_another_commit_moves_only_the_ref(repository):
    put_main(repository, BASE)
    delta = Delta(commit="9" * 40, committed_at=3_000)

    report = put_delta(repository_id=repository.pk, ref_name="main", delta=delta)

    assert report.is_unchanged
    assert Revision.objects.latest("pk").commit == "9" * 40
    assert Ref.objects.get(name="main").indexed_commit == "9" * 40
