"""Which memories bear on a change, and for whom: an owner, a member, their author, an outsider."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller, TokenScope
from graph import queries as graph
from graph.models import Repository
from memory import bearing
from memory.anchors import AnchorKind, AnchorState, citation
from memory.bearing import Bearing, bearing_on
from memory.models import Anchor, Failure, Memory
from tests import factories
from tests.factories import NOW
from tests.memory.conftest import Store, put_symbols

pytestmark = pytest.mark.django_db

PATH = "src/user.py"
LOAD, SAVE = f"sym:{PATH}#User.load", f"sym:{PATH}#User.save"
Bear = Callable[..., list[Bearing]]


@pytest.fixture(autouse=True)
def code(repository: Repository) -> None:
    """Put into the graph what changes, and what stands beside it."""
    assert put_symbols(repository, "User.load", "User.save") == [LOAD, SAVE]


@pytest.fixture
def known(store: Store, repository: Repository) -> Callable[..., Memory]:
    """Return a function that stores for the repository, and gives the row."""

    def known(content: str, **changes: Any) -> Memory:
        outcome = store(content, **{"repository_id": repository.pk, "is_distinct": True} | changes)
        return Memory.objects.get(pk=outcome.memory.id)

    return known


@pytest.fixture
def bear(
    repository: Repository, namespace: Namespace, writing: Caller
) -> Callable[..., list[Bearing]]:
    """Return a function that asks what bears on a change of `User.load`."""

    def bear(**changes: Any) -> list[Bearing]:
        (node,) = [
            node
            for node in graph.live_symbols_in(repository_id=repository.pk, paths=[PATH])[PATH]
            if node.id == LOAD
        ]
        usual: dict[str, Any] = {
            "caller": writing,
            "namespace_id": namespace.pk,
            "repository_id": repository.pk,
            "vertices": [node.vertex],
            "paths": [PATH],
            "symbols": [LOAD],
            "branch": "main",
            "now": NOW,
            "limit": 100,
        }
        return bearing_on(**usual | changes)

    return bear


def texts(found: list[Bearing]) -> list[str]:
    return [one.memory.content for one in found]


def fail(memory: Memory, **where: list[str]) -> Failure:
    return Failure.objects.create(
        memory=memory,
        namespace=memory.namespace,
        signature="TypeError",
        first_seen_at=NOW,
        last_seen_at=NOW,
        **where,
    )


# --- What bears on a change -----------------------------------------------------------------------
def test_what_is_tied_to_cites_or_failed_at_what_changes_bears_on_it_and_nothing_else(known, bear):
    known("Tied to it.", links=[LOAD])
    known("Cites it.", citations=[citation(symbol=LOAD)])
    known("Cites the file.", citations=[citation(path=PATH)])
    fail(known("Failed in the file.", memory_type="failure"), paths=[PATH])
    fail(known("Failed at its name.", memory_type="failure"), symbols=["load"])
    other = known("Cites another file.")
    Anchor.objects.create(
        memory=other, repository_id=other.repository_id, kind="file", path="src/other.py"
    )
    fail(known("Failed elsewhere.", memory_type="failure"), paths=["src/other.py"])
    known("About nothing in particular.")

    assert set(texts(bear())) == {
        "Tied to it.",
        "Cites it.",
        "Cites the file.",
        "Failed in the file.",
        "Failed at its name.",
    }


def test_what_changes_is_nearer_than_what_stands_beside_it_however_important(known, bear):
    known("Beside it.", citations=[citation(symbol=SAVE)], importance=1.0)
    known("Cites it.", citations=[citation(symbol=LOAD)], importance=0.1)
    found = bear()

    assert [(one.memory.content, one.nearness) for one in found] == [
        ("Cites it.", 1.0),
        ("Beside it.", 0.5),
    ]
    assert texts(bear(limit=1)) == ["Cites it."]


def test_of_equally_near_ones_the_most_important_comes_first_then_the_newest(known, bear):
    old = known("Old.", links=[LOAD], importance=0.5)
    known("New.", links=[LOAD], importance=0.5)
    known("Important.", links=[LOAD], importance=0.9)
    Memory.objects.filter(pk=old.pk).update(created_at=NOW - timedelta(days=9))

    assert texts(bear()) == ["Important.", "New.", "Old."]


def test_what_is_cited_comes_with_its_state(known, bear):
    memory = known("Cites it.", citations=[citation(symbol=LOAD), citation(path=PATH)])
    Anchor.objects.filter(memory=memory, kind="symbol").update(state="drifted")
    (found,) = bear()

    assert {(one.kind, one.symbol, one.state) for one in found.cited} == {
        (AnchorKind.SYMBOL, LOAD, AnchorState.DRIFTED),
        (AnchorKind.FILE, "", AnchorState.OK),
    }


def test_the_queries_are_counted(known, bear, django_assert_num_queries):
    known("Tied to it.", links=[LOAD])
    fail(known("Failed.", memory_type="failure"), paths=[PATH])
    bear()
    with django_assert_num_queries(6):  # five, and the look-up of the node in this test
        bear()


# --- What holds -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("state", "memory_type", "is_shown"),
    [
        ("active", "decision", True),
        ("proposed", "decision", False),
        ("resolved", "decision", False),
        ("superseded", "decision", False),
        ("retired", "decision", False),
        ("expired", "decision", False),
        ("active", "failure", True),
        ("resolved", "failure", True),
        ("retired", "failure", False),
    ],
)
def test_only_what_holds_is_shown_and_failures_that_were_fixed(
    known, bear, state, memory_type, is_shown
):
    memory = known("It stands there.", memory_type=memory_type, citations=[citation(symbol=LOAD)])
    if memory_type == "failure":
        fail(memory, paths=[PATH])
    Memory.objects.filter(pk=memory.pk).update(state=state)

    assert [one.memory.state for one in bear()] == ([state] if is_shown else [])


def test_what_is_past_its_time_is_not_shown(known, bear):
    known("It was so.", links=[LOAD], expires_at=NOW + timedelta(days=1))

    assert texts(bear()) == ["It was so."]
    assert bear(now=NOW + timedelta(days=2)) == []


def test_what_holds_on_a_branch_is_shown_there_alone(known, bear):
    known("Of a branch.", links=[LOAD], branch="feature")
    known("Of all.", links=[LOAD])

    assert set(texts(bear(branch="feature"))) == {"Of a branch.", "Of all."}
    assert texts(bear()) == ["Of all."]


# --- For whom -------------------------------------------------------------------------------------
VISIBILITIES = ("private", "repository", "namespace")


@pytest.mark.parametrize("way", ["link", "anchor", "failure"])
@pytest.mark.parametrize(
    ("who", "seen"),
    [
        ("writer", {"private", "repository", "namespace"}),
        ("owner", {"repository", "namespace"}),
        ("reader", {"repository", "namespace"}),
        ("outsider", set()),
    ],
)
def test_a_private_memory_is_its_authors_alone_and_an_outsider_sees_nothing(  # noqa: PLR0917
    known, bear, request, who, seen, way
):
    for visibility in VISIBILITIES:
        cited: dict[str, dict[str, Any]] = {
            "link": {"links": [LOAD]},
            "anchor": {"citations": [citation(symbol=LOAD)]},
            "failure": {"memory_type": "failure"},
        }
        memory = known(visibility, visibility=visibility, **cited[way])
        if way == "failure":
            fail(memory, paths=[PATH])
    user: User = request.getfixturevalue(who)

    assert set(texts(bear(caller=factories.caller_of(user)))) == seen


def test_without_the_right_to_read_memories_there_are_none(known, bear, writer):
    known("Tied to it.", links=[LOAD])
    caller = factories.caller_of(writer, scopes=[TokenScope.REVIEW_RUN])

    assert bear(caller=caller) == []


def test_a_memory_of_another_repository_answers_here_only_if_it_is_for_the_namespace(
    store, bear, repository, namespace
):
    other = factories.make_repository(namespace, "other")
    put_symbols(other, "User.load")
    for visibility in VISIBILITIES:
        outcome = store(
            f"Of the other, {visibility}.",
            repository_id=other.pk,
            visibility=visibility,
            is_distinct=True,
        )
        Anchor.objects.create(
            memory_id=outcome.memory.id, repository=repository, kind="file", path=PATH
        )
    store("Of no repository.", links=[], is_distinct=True)
    Anchor.objects.create(
        memory=Memory.objects.get(content="Of no repository."),
        repository=repository,
        kind="file",
        path=PATH,
    )

    assert set(texts(bear())) == {"Of the other, namespace.", "Of no repository."}


def test_what_the_caller_may_not_see_takes_no_place_of_what_they_may(
    known, bear, owner, monkeypatch
):
    for number in range(4):
        known(
            f"Private {number}.",
            visibility="private",
            citations=[citation(symbol=LOAD)],
            importance=1.0,
        )
        memory = known(f"Private failure {number}.", visibility="private", memory_type="failure")
        fail(memory, paths=[PATH])
        retired = known(f"Retired {number}.", citations=[citation(symbol=LOAD)])
        Memory.objects.filter(pk=retired.pk).update(state="retired")
    known("Shared.", citations=[citation(symbol=LOAD)])
    fail(known("Shared failure.", memory_type="failure"), paths=[PATH])
    monkeypatch.setattr(bearing, "_MOST_ANCHORS", 1)

    assert set(texts(bear(caller=factories.caller_of(owner)))) == {"Shared.", "Shared failure."}
