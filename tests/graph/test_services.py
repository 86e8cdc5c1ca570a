from typing import Any
from uuid import uuid4

import pytest
from django.core.exceptions import ValidationError

from codemem.accounts.models import AuditEvent, Namespace
from graph import cypher, queries, services
from graph.models import Commit, NodeScore, Ref, Repository, RepositoryAlias
from graph.services import NodeUnknown, RemoteTaken, RepositoryNameTaken
from graph.values import CommitRow, EdgeKind, Score, VertexLabel, graph_id
from tests.factories import (
    NOW,
    edge_fact,
    make_namespace,
    make_repository,
    snapshot,
    symbol_fact,
)

pytestmark = pytest.mark.django_db


# --- repositories -------------------------------------------------------------------------------
def test_registering_leaves_a_graph_aliases_and_an_audit_event(namespace, maintainer):
    repository = services.register_repository(
        namespace=namespace,
        name="app",
        url="https://mary:secret@git.example/team/app.git",
        created_by=maintainer,
        aliases=["git@mirror.example:team/app.git", "/srv/app"],
    )

    assert cypher.has_graph(namespace.pk)
    values = RepositoryAlias.objects.filter(repository=repository).values_list("value", flat=True)
    assert set(values) == {"git.example/team/app", "mirror.example/team/app"}
    event = AuditEvent.objects.get(action="repository.register")
    assert (event.actor, event.target) == ("mary", "app")
    assert "secret" not in str(event.detail)


def test_a_name_is_taken_once_in_a_namespace(repository, namespace):
    with pytest.raises(RepositoryNameTaken):
        make_repository(namespace, repository.name, url="https://git.example/another")

    assert Repository.objects.count() == 1


def test_a_remote_is_taken_once_in_a_namespace(repository, namespace):
    with pytest.raises(RemoteTaken):
        make_repository(namespace, "other", url=repository.url)

    assert make_repository(make_namespace(), "other", url=repository.url)


def test_a_name_that_is_no_name_is_refused(namespace):
    with pytest.raises(ValidationError):
        make_repository(namespace, "No Name")


def test_the_default_branch_is_chosen_once(namespace):
    repository = make_repository(namespace, default_branch="")

    services.set_default_branch(repository_id=repository.pk, branch="trunk")
    services.set_default_branch(repository_id=repository.pk, branch="other")

    repository.refresh_from_db()
    assert repository.default_branch == "trunk"


# --- refs ---------------------------------------------------------------------------------------
def note_head(repository: Repository, sha: str, *, indexed_to_head: int = 4) -> list[str]:
    asked: list[str] = []

    def count_behind(indexed: str) -> int:
        asked.append(indexed)
        return indexed_to_head

    commit = CommitRow(
        sha=sha,
        parents=("0" * 40,),
        author_name="A" * 300,
        author_email="a@example.org",
        authored_at=NOW,
        committed_at=NOW,
        subject="S" * 600,
    )
    services.note_head(
        repository_id=repository.pk,
        ref="main",
        commit=commit,
        root_commit="f" * 40,
        count_behind=count_behind,
        now=NOW,
    )
    return asked


def test_a_head_is_kept_with_its_commit_and_its_root(repository):
    note_head(repository, "1" * 40)
    note_head(repository, "1" * 40)

    assert Commit.objects.get().sha == "1" * 40
    assert RepositoryAlias.objects.filter(kind="root_commit").count() == 1
    ref = Ref.objects.get()
    assert (ref.head_commit, ref.indexed_commit, ref.commits_behind) == ("1" * 40, "", None)


def test_a_new_head_counts_from_what_is_indexed(repository):
    services.put(
        repository_id=repository.pk, ref_name="main", snapshot=snapshot(symbol_fact("a.py", "x"))
    )

    assert note_head(repository, "2" * 40) == ["1" * 40]
    assert Ref.objects.get().commits_behind == 4
    assert note_head(repository, "1" * 40) == []
    assert Ref.objects.get().commits_behind == 0


# --- links --------------------------------------------------------------------------------------
@pytest.fixture
def code(repository):
    services.put(
        repository_id=repository.pk, ref_name="main", snapshot=snapshot(symbol_fact("a.py", "x"))
    )
    (node,) = queries.find_nodes(repository_id=repository.pk, text="x")
    return node


def memory(namespace: Namespace, number: int) -> int:
    return services.ensure_memory_vertex(
        namespace_id=namespace.pk, number=number, memory_id=uuid4()
    )


def tie(namespace: Namespace, source: int, target: int, **changes: Any) -> None:
    arguments: dict[str, Any] = {"kind": "RELATES_TO", "actor": "olga", "now": NOW} | changes
    services.link(namespace_id=namespace.pk, source=source, target=target, **arguments)


def ties(namespace: Namespace, vertex: int) -> set[tuple[str, int, int, float]]:
    found = queries.links_of(namespace_id=namespace.pk, vertices=[vertex])
    return {(link.kind, link.source, link.target, link.confidence) for link in found}


def test_the_same_tie_again_replaces_its_weight(namespace, code):
    source = memory(namespace, 1)
    tie(namespace, source, code.vertex, weight=0.4)
    tie(namespace, source, code.vertex, weight=0.9)
    tie(namespace, source, code.vertex, kind="EXPLAINS")

    assert ties(namespace, source) == {
        ("RELATES_TO", source, code.vertex, 0.9),
        ("EXPLAINS", source, code.vertex, 1.0),
    }


def test_a_vertex_is_made_once(namespace, code):
    assert memory(namespace, 1) == memory(namespace, 1)
    assert memory(namespace, 1) == graph_id(label=VertexLabel.MEMORY, key=1)


def test_a_memory_gets_a_vertex_before_there_is_any_repository(db):
    namespace = make_namespace()

    source, target = memory(namespace, 1), memory(namespace, 2)
    tie(namespace, source, target, kind="SUPERSEDES")

    assert ties(namespace, target) == {("SUPERSEDES", source, target, 1.0)}


def test_a_tie_to_nothing_is_refused(namespace, code):
    source = memory(namespace, 1)

    for target in (source + 1, code.vertex + 1):
        with pytest.raises(NodeUnknown):
            tie(namespace, source, target)
    with pytest.raises(NodeUnknown):
        tie(make_namespace(), source, code.vertex)


def test_a_tie_into_another_namespace_is_refused(namespace, code):
    other = make_namespace()
    source = memory(other, 1)

    with pytest.raises(NodeUnknown):
        tie(other, source, code.vertex)


def test_one_tie_is_taken_away(namespace, code):
    source = memory(namespace, 1)
    tie(namespace, source, code.vertex)
    tie(namespace, source, code.vertex, kind="EXPLAINS")
    end = {"namespace_id": namespace.pk, "source": source, "target": code.vertex}

    assert services.unlink(**end, kind="EXPLAINS") is True
    assert services.unlink(**end, kind="EXPLAINS") is False
    assert ties(namespace, source) == {("RELATES_TO", source, code.vertex, 1.0)}


def test_a_memory_leaves_with_all_its_ties(namespace, code):
    first, second = memory(namespace, 1), memory(namespace, 2)
    tie(namespace, first, code.vertex)
    tie(namespace, second, first, kind="SUPERSEDES")

    gone = services.unlink_memory(namespace_id=namespace.pk, number=1)

    assert {(edge.kind, edge.source, edge.target) for edge in gone} == {
        ("RELATES_TO", first, code.vertex),
        ("SUPERSEDES", second, first),
    }
    assert ties(namespace, code.vertex) == set()
    assert services.unlink_memory(namespace_id=namespace.pk, number=1) == ()
    with pytest.raises(NodeUnknown):
        tie(namespace, second, first)


def test_unlinking_in_a_namespace_without_graph_is_no_error(db):
    namespace = make_namespace()

    assert services.unlink_memory(namespace_id=namespace.pk, number=1) == ()
    assert not services.unlink(namespace_id=namespace.pk, source=1, target=2, kind="RELATES_TO")


# --- ranks --------------------------------------------------------------------------------------
def test_what_everybody_uses_ranks_highest(repository):
    symbols = [symbol_fact(f"{name}.py", name) for name in ("core", "a", "b", "c")]
    edges = [edge_fact(f"sym:{name}.py#{name}", "sym:core.py#core") for name in ("a", "b", "c")]
    candidate = edge_fact("sym:core.py#core", "sym:c.py#c", confidence=0.2)
    wanted = snapshot(*symbols, edges=[*edges, candidate])
    services.put(repository_id=repository.pk, ref_name="main", snapshot=wanted)

    count = services.rank_repository(repository_id=repository.pk)

    (best,) = queries.important_nodes(repository_ids=[repository.pk], limit=1)
    assert count == 8
    assert best.node.name == "core"
    assert best.score is not None
    assert (best.score.percentile, best.score.in_degree) == (1.0, 3)
    assert sum(NodeScore.objects.values_list("rank", flat=True)) == pytest.approx(1.0)
    assert best.score.layer == 0
    assert queries.repositories_to_rank() == []


def test_containing_is_no_use(repository):
    wanted = snapshot(
        symbol_fact("a.py", "x"), edges=[edge_fact("file:a.py", "sym:a.py#x", EdgeKind.CONTAINS)]
    )
    services.put(repository_id=repository.pk, ref_name="main", snapshot=wanted)

    services.rank_repository(repository_id=repository.pk)

    assert set(NodeScore.objects.values_list("in_degree", flat=True)) == {0}


def test_a_new_ranking_replaces_the_old_one_of_that_repository_only(repository, namespace):
    other = make_repository(namespace)
    for each, number in ((repository, 1), (other, 2)):
        score = Score(vertex=number, rank=0.5, percentile=1.0, in_degree=0)
        services.store_scores(repository_id=each.pk, scores=[score])

    services.rank_repository(repository_id=repository.pk)

    assert list(NodeScore.objects.values_list("node", flat=True)) == [2]


def test_edges_into_another_repository_are_left_out(repository, namespace):
    for each in (repository, make_repository(namespace)):
        services.put(
            repository_id=each.pk,
            ref_name="main",
            snapshot=snapshot(
                symbol_fact("a.py", "x"),
                symbol_fact("b.py", "y"),
                edges=[edge_fact("sym:a.py#x", "sym:b.py#y")],
            ),
        )

    assert services.rank_repository(repository_id=repository.pk) == 4
