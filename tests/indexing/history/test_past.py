"""Past graphs: what is asked for, and that the answer is what an index of that commit would be."""

from datetime import UTC, datetime
from typing import Any

import pytest

from graph import queries as graph
from graph.models import FileVersion, Repository, SymbolVersion
from graph.values import Direction
from indexing.history import past
from indexing.history.backfill import advance
from indexing.history.past import MomentUnknown, PastUnavailable, graph_at, moment
from indexing.models import BlobFacts
from tests.factories import make_namespace
from tests.indexing.checkout import Checkout, index, register

pytestmark = pytest.mark.django_db

SHOP = {
    "shop/prices.py": "def price(item):\n    return item.price\n",
    "shop/cart.py": (
        "from shop.prices import price\n\n\n"
        "def total(items):\n    return sum(price(one) for one in items)\n"
    ),
    "README.md": "# Shop\n",
}
LATER = {
    "shop/prices.py": (
        "def price(item, rate=1):\n    return item.price * rate\n\n\ndef free():\n    return 0\n"
    ),
    "shop/checkout.py": (
        "from shop.cart import total\nfrom shop.prices import free\n\n\n"
        "def pay(items):\n    return total(items) or free()\n"
    ),
}


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    past._kept.clear()


@pytest.fixture
def two(mirrored: Repository, source: Checkout) -> tuple[str, str]:
    """Return two commits of a repository whose history is known."""
    source.git("config", "user.name", "Test")
    first = source.commit(SHOP, subject="First")
    second = source.commit(LATER, subject="Second")
    index(mirrored)
    assert not advance(repository_id=mirrored.pk, seconds=60)
    return first, second


def live_rows(repository: Repository) -> tuple[set[Any], set[Any]]:
    files = FileVersion.objects.filter(repository=repository, layer=0, valid_to=None)
    symbols = SymbolVersion.objects.filter(repository=repository, layer=0, valid_to=None)
    nodes: set[Any] = {("file", row.file.path, row.lines) for row in files.select_related("file")}
    nodes |= {
        (row.symbol.kind, row.symbol.path, row.symbol.local_name, row.start_line, row.signature)
        for row in symbols.select_related("symbol")
    }
    near = graph.neighbors(
        namespace_id=repository.namespace_id,
        vertices=[
            node.vertex
            for found in graph.live_symbols_in(
                repository_id=repository.pk,
                paths=[row.file.path for row in files.select_related("file")],
            ).values()
            for node in found
        ],
        direction=Direction.OUT,
        limit=10_000,
    )
    edges = {
        (one.edge.kind, one.node.id, one.edge.line)
        for one in near.neighbors
        if one.node is not None
    }
    return nodes, edges


def past_rows(repository: Repository, commit: str) -> tuple[set[Any], set[Any]]:
    found = graph_at(moment(repository_id=repository.pk, text=commit))
    nodes = {
        ("file", node.path, node.end_line)
        if node.kind == "file"
        else (node.kind.value, node.path, node.local_name, node.start_line, node.signature)
        for node in found.nodes
    }
    edges = {
        (edge.kind, found.node(edge.target).id, edge.line)
        for edge in found.edges
        if found.node(edge.source).kind != "file"
    }
    return nodes, edges


def test_a_past_graph_is_what_an_index_of_that_commit_is(mirrored, source, two, tmp_path):
    for number, commit in enumerate(two):
        copy = Checkout(tmp_path / f"copy{number}")
        copy.git("pull", "--quiet", str(source.path), "main")
        copy.git("reset", "--quiet", "--hard", commit)
        fresh = register(make_namespace(), copy)
        index(fresh)
        assert past_rows(mirrored, commit) == live_rows(fresh)


def test_commits_off_the_main_line_are_read_from_the_mirror(mirrored, source, two):
    source.git("checkout", "--quiet", "-b", "side", two[0])
    side = source.commit({"shop/side.py": "def aside():\n    pass\n"}, subject="Side")
    source.git("checkout", "--quiet", "main")
    source.git("merge", "--quiet", "--no-ff", "--message=Merge", "side")
    index(mirrored)
    advance(repository_id=mirrored.pk, seconds=60)

    when = moment(repository_id=mirrored.pk, text=side)

    assert when.position is None
    found = graph_at(when)
    assert found.find_nodes("aside")
    assert not found.find_nodes("pay")


def test_a_past_graph_answers_like_the_live_one(mirrored, two):
    found = graph_at(moment(repository_id=mirrored.pk, text=two[1][:10]))
    (price,) = found.find_nodes("shop.prices.price")
    assert [node.id for node in found.find_nodes("price")] == [price.id]
    assert found.find_nodes("shop/cart.py")[0].id == "file:shop/cart.py"
    assert found.find_nodes("nothing") == []
    callers = found.neighbors([price.vertex], direction=Direction.IN, kinds=["CALLS"])
    assert [one.node.id for one in callers.neighbors if one.node] == ["sym:shop/cart.py#total"]
    near = found.dependents([price.vertex], max_depth=3)
    assert {(one.node.id, one.depth) for one in near.dependents} >= {
        ("sym:shop/cart.py#total", 1),
        ("sym:shop/checkout.py#pay", 2),
    }
    walk = found.traverse([price.vertex], direction=Direction.IN, kinds=["CALLS"], max_depth=3)
    assert [visit.node.name for visit in walk.visits if visit.node] == ["price", "total", "pay"]
    small = found.traverse([price.vertex], max_depth=3, node_limit=2)
    assert (len(small.visits), small.is_truncated) == (2, True)


def test_a_graph_is_made_once(mirrored, two):
    when = moment(repository_id=mirrored.pk, text=two[0])
    assert graph_at(when) is graph_at(when)


def test_a_date_means_the_last_commit_of_the_main_line_by_then(mirrored, source):
    for day, name in (("01", "First"), ("03", "Second")):
        source.commit({"a.py": f"x = {day!r}\n"}, subject=name, at=f"2024-05-{day}T10:00:00Z")
    index(mirrored)
    advance(repository_id=mirrored.pk, seconds=60)

    def subject(text: str) -> str:
        when = moment(repository_id=mirrored.pk, text=text)
        return source.git("log", "-1", "--format=%s", when.commit).strip()

    assert subject("2024-05-01") == "First"
    assert subject("2024-05-02") == "First"
    assert subject("2024-05-03T09:59:59Z") == "First"
    assert subject("2024-05-03T11:00:00+02:00") == "First"
    assert subject("2024-05-03") == "Second"
    assert subject("2999-01-01") == "Second"
    with pytest.raises(MomentUnknown, match="first commit is of 2024-05-01 10:00"):
        subject("2024-04-30")
    for text in ("yesterday", "2024-13-01", "", "main"):
        with pytest.raises(MomentUnknown, match="no commit and no date"):
            subject(text)
    with pytest.raises(MomentUnknown, match="has no commit"):
        subject("abcdef1234")


def test_a_history_that_is_not_read_yet_says_so(mirrored, source):
    source.commit(SHOP)
    index(mirrored)
    with pytest.raises(PastUnavailable, match="not indexed yet"):
        moment(repository_id=mirrored.pk, text="2024-01-01")


def test_contents_that_nobody_parsed_yet_are_parsed_if_they_are_few(mirrored, two):
    BlobFacts.objects.all().delete()
    when = moment(repository_id=mirrored.pk, text=two[0])
    with pytest.raises(PastUnavailable, match="have not been read yet"):
        graph_at(when, most_unread=0)
    assert graph_at(when).find_nodes("total")


def test_a_server_without_the_mirror_answers_from_what_is_known(mirrored, two, monkeypatch):
    monkeypatch.setattr(past, "find_mirror", lambda _: None)
    when = moment(repository_id=mirrored.pk, text=two[0])
    assert graph_at(when).find_nodes("total")
    past._kept.clear()
    BlobFacts.objects.all().delete()
    with pytest.raises(PastUnavailable):
        graph_at(when)


def test_old_graphs_make_room(mirrored, two, monkeypatch):
    monkeypatch.setattr(past, "_MOST_EDGES_KEPT", 1)
    for commit in two:
        graph_at(moment(repository_id=mirrored.pk, text=commit))
    assert len(past._kept) == 1


def test_a_day_begins_and_ends():
    assert past.instant("2024-05-01", is_end=False) == datetime(2024, 5, 1, tzinfo=UTC)
    assert past.instant("2024-05-01", is_end=True) > datetime(2024, 5, 1, 23, 59, tzinfo=UTC)
    assert past.instant("2024-05-01T12:00:00+02:00", is_end=True) == datetime(
        2024, 5, 1, 10, tzinfo=UTC
    )
