"""What a change reaches beyond its repository, and what of that whom is told."""

from pathlib import Path
from typing import Any

import pytest

from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller, Role, TokenScope
from graph import queries as graph
from graph.models import Repository
from indexing.crossing import reached
from indexing.crossing.reached import Beyond, beyond
from indexing.crossing.services import link_crossing, refresh_crossing
from indexing.crossing.values import AffectedService
from indexing.remarks import remarks_of
from indexing.review import review_diff
from indexing.sides import Limits
from indexing.values import Review
from tests.factories import NOW, caller_of, make_namespace, make_token
from tests.indexing.checkout import Checkout, index, register
from tests.indexing.crossing.test_services import MODEL, ORDERS, WEB

pytestmark = pytest.mark.django_db

SHOW, PLACE = "sym:orders/routes.py#show", "sym:orders/routes.py#place"
ORDER, LISTEN = "sym:src/api.ts#order", "sym:src/events.ts#listen"
CENTS = "sym:src/shop_model/money.py#cents"
ENDPOINT, TOPIC = "endpoint:orders-api:GET /api/v1/orders/{}", "topic:kafka:orders.placed"
Shop = dict[str, Repository]


def bring_up(namespace: Namespace, folder: Path, files: dict[str, dict[str, str]]) -> Shop:
    """Return repositories of one namespace, indexed and looked across."""
    made = {}
    for name, content in files.items():
        checkout = Checkout(folder / name)
        checkout.commit(content)
        made[name] = register(namespace, checkout, name)
        index(made[name])
    for repository in made.values():
        report = refresh_crossing(repository_id=repository.pk, now=NOW)
        for sibling in report.siblings if report else ():
            link_crossing(repository_id=sibling)
    return made


@pytest.fixture
def shop(namespace: Namespace, server_folders: None, tmp_path: Path) -> Shop:
    return bring_up(namespace, tmp_path, {"orders-api": ORDERS, "model": MODEL, "web": WEB})


@pytest.fixture
def caller(writer: User, namespace: Namespace) -> Caller:
    return caller_of(writer)


def reach(repository: Repository, caller: Caller, *ids: str) -> Beyond:
    return beyond(
        caller=caller,
        repository_id=repository.pk,
        namespace_id=repository.namespace_id,
        vertices=[graph.get_node(repository_id=repository.pk, id=one).vertex for one in ids],
    )


def told(service: AffectedService) -> tuple[Any, ...]:
    others = [(one.repository, one.verb, one.id, one.line) for one in service.others]
    return (service.verb, service.id, service.by, others)


def uses(found: Beyond) -> dict[str, list[tuple[str, str, str]]]:
    return {
        one.name: [(use.verb, use.target, f"{use.path}:{use.line}") for use in one.uses]
        for one in found.repositories
    }


def test_a_changed_endpoint_reaches_who_requests_it(shop: Shop, caller: Caller) -> None:
    found = reach(shop["orders-api"], caller, SHOW)

    assert [told(one) for one in found.services] == [
        ("handles", ENDPOINT, SHOW, [("web", "calls", ORDER, 6)])
    ]
    assert uses(found) == {"web": [("calls", ENDPOINT, "src/api.ts:6")]}
    assert found.is_whole


def test_a_changed_request_reaches_who_answers_it(shop: Shop, caller: Caller) -> None:
    (service,) = reach(shop["web"], caller, ORDER).services

    assert told(service)[:3] == ("calls", ENDPOINT, ORDER)
    assert [(one.repository, one.verb, one.id) for one in service.others] == [
        ("orders-api", "handles", SHOW)
    ]


def test_events_reach_who_listens_and_who_publishes(shop: Shop, caller: Caller) -> None:
    published = reach(shop["orders-api"], caller, PLACE)
    heard = reach(shop["web"], caller, LISTEN)
    topics = {one.id: one for one in (*published.services, *heard.services)}

    assert {one.verb for one in published.services if one.id == TOPIC} == {"publishes to"}
    assert ("subscribes to", TOPIC, "src/events.ts:5") in uses(published)["web"]
    assert [one.verb for one in topics[TOPIC].others] == ["publishes to"]
    assert [verb for verb, *_ in uses(heard)["orders-api"]] == ["publishes to"]


def test_changed_code_reaches_its_users_in_other_repositories(shop: Shop, caller: Caller) -> None:
    found = reach(shop["model"], caller, CENTS)

    assert found.services == ()
    assert set(uses(found)) == {"orders-api"}
    assert ("calls", CENTS, "orders/routes.py:13") in uses(found)["orders-api"]
    assert found.repositories[0].total == len(found.repositories[0].uses)


def test_what_has_nothing_to_do_with_others_reaches_nothing(shop: Shop, caller: Caller) -> None:
    assert reach(shop["orders-api"], caller) == Beyond()
    assert reach(shop["model"], caller, "file:examples/old.py") == Beyond()


def test_another_client_of_the_same_endpoint_is_not_concerned_by_a_request(
    shop: Shop, namespace: Namespace, caller: Caller, tmp_path: Path
) -> None:
    bring_up(namespace, tmp_path, {"admin": WEB})

    assert set(uses(reach(shop["web"], caller, ORDER))) == {"orders-api"}
    assert set(uses(reach(shop["orders-api"], caller, SHOW))) == {"web", "admin"}


# --- For whom -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("who", "scopes", "is_allowed"),
    [
        ("owner", tuple(TokenScope), True),
        ("reader", tuple(TokenScope), True),
        ("writer", (TokenScope.REVIEW_RUN,), False),
        ("writer", (TokenScope.MEMORY_READ,), False),
        ("outsider", tuple(TokenScope), False),
    ],
)
def test_only_who_may_read_the_graph_is_told(
    shop: Shop, request: pytest.FixtureRequest, who: str, scopes: Any, *, is_allowed: bool
) -> None:
    user: User = request.getfixturevalue(who)
    found = reach(shop["orders-api"], caller_of(user, scopes=scopes), SHOW)

    assert found.is_allowed is is_allowed
    assert bool(found.services) is bool(found.repositories) is is_allowed


def test_the_same_routes_and_topics_in_another_namespace_are_others_even_for_a_member_of_both(
    shop: Shop, writer: User, outsider: User, tmp_path: Path
) -> None:
    both = make_namespace("both", owner=outsider)
    accounts.set_role(namespace=both, user=writer, role=Role.WRITER, actor="tests")
    theirs = bring_up(both, tmp_path / "both", {"orders-api": ORDERS, "spy": WEB})
    caller = caller_of(writer)

    assert set(uses(reach(shop["orders-api"], caller, SHOW, PLACE))) == {"web"}
    assert set(uses(reach(theirs["orders-api"], caller, SHOW, PLACE))) == {"spy"}
    assert not reach(shop["orders-api"], caller_of(outsider), SHOW).is_allowed


def test_a_token_for_another_namespace_is_told_nothing(
    shop: Shop, writer: User, outsider: User
) -> None:
    both = make_namespace("both", owner=outsider, writer=writer)
    token = make_token(writer, namespaces=[both])
    caller = accounts.authenticate_token(secret=token.secret, now=NOW, ip=None)

    assert reach(shop["orders-api"], caller, SHOW) == Beyond(is_allowed=False)


# --- Much, and in a review ------------------------------------------------------------------------
def test_where_more_is_known_than_is_read_the_answer_says_so(
    shop: Shop, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reached, "_MOST_EDGES", 1)

    assert not reach(shop["orders-api"], caller, SHOW, PLACE).is_whole


def review(repository: Repository, caller: Caller, diff: str) -> Review:
    return review_diff(
        repository=graph.get_repository(repository_id=repository.pk),
        ref_state=graph.get_ref_state(repository_id=repository.pk, ref=None),
        caller=caller,
        diff=diff,
        now=NOW,
        limits=Limits(diff_bytes=1_000_000, file_bytes=1_000_000, processes=1),
    )


def test_a_review_tells_of_it_and_remarks_a_signature_that_others_still_use(
    shop: Shop, caller: Caller, writer: User, tmp_path: Path
) -> None:
    path = "src/shop_model/money.py"
    diff = Checkout(tmp_path / "model").diff({path: "def cents(x, rate):\n    return x * rate\n"})
    found = review(shop["model"], caller, diff)

    assert [one.name for one in found.repositories.items] == ["orders-api"]
    assert any(
        "cents has another signature" in one.message
        and "orders-api: orders/routes.py:13" in one.message
        for one in remarks_of(found)
    )
    blind = review(shop["model"], caller_of(writer, scopes=[TokenScope.REVIEW_RUN]), diff)
    assert blind.repositories.total == blind.services.total == 0
    assert any("may not read the graph" in note for note in blind.notes)
    assert "orders" not in repr(remarks_of(blind))
