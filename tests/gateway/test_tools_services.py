"""Tools across repositories: what they count, filter and leave out."""

from typing import Any

import pytest

from codemem.accounts.models import Namespace
from graph.models import Repository
from indexing.crossing.services import link_crossing
from indexing.models import (
    HttpRequest,
    OuterPackage,
    PackageDependency,
    PackageManifest,
    TopicUse,
)
from tests import factories
from tests.gateway import surfaces
from tests.gateway.examples import PLACE
from tests.gateway.team import FOREIGN_WORD, Team, billing, show

ENDPOINT = "endpoint:app:POST /invoices/{}/charge"


def _ask(team: Team, name: str, **arguments: Any) -> Any:
    answer = surfaces.over_rest(
        token=team.token(team.reader), tool=name, arguments={**PLACE, **arguments}
    )
    return answer.content


def _place(repository: Repository, *, is_test: bool = False) -> dict[str, Any]:
    return {
        "repository": repository,
        "path": "app/billing.py",
        "line": 22,
        "symbol": "charge~0",
        "certainty": 0.9,
        "is_test": is_test,
        "text": "as written",
    }


@pytest.fixture
def shop(team: Team) -> Repository:
    """Return a sibling that calls the team's endpoint, and shares a topic and a package with it."""
    shop = factories.make_repository(
        Namespace.objects.get(pk=team.namespace.pk), "shop", created_by=team.maintainer
    )
    show(shop, billing())
    for is_test in (False, True):
        HttpRequest.objects.create(
            **_place(shop, is_test=is_test),
            method="POST",
            url="http://app/invoices/{}/charge",
            host="app",
            template="/invoices/{}/charge",
            library="requests",
        )
    for repository, is_publishing in ((shop, False), (team.repository, True)):
        TopicUse.objects.create(
            **_place(repository), bus="kafka", topic="invoice.charged", is_publishing=is_publishing
        )
    TopicUse.objects.create(**_place(shop), bus="kafka", topic="", is_publishing=True)
    PackageManifest.objects.create(
        repository=team.repository, path="pyproject.toml", manager="pypi", name="app", version="1"
    )
    PackageDependency.objects.create(
        repository=shop, path="app/web.py", manager="pypi", name="app", range=">=1", scope="test"
    )
    PackageManifest.objects.create(repository=shop, path="app/web.py", manager="pypi")
    for repository in (shop, team.repository):
        link_crossing(repository_id=repository.pk)
    OuterPackage.objects.create(
        repository=shop, manager="pypi", name="app", other=team.repository, imports=1, uses=2,
        resolved=1, unresolved=[["app.lost", "app/web.py", 3]],
    )  # fmt: skip
    return shop


def test_an_endpoint_knows_who_answers_and_who_calls(team: Team, shop: Repository) -> None:
    for target in (ENDPOINT, "POST /invoices/{number}/charge", "/invoices/:id/charge", "charge"):
        links = _ask(team, "find_service_links", target=target)["links"]
        found = {(one["relationship"], one["source_repository"], one["source"]) for one in links}
        if target == "charge":
            found = {one for one in found if one[0] in ("HANDLES", "HTTP_CALLS")}
        assert found == {
            ("HANDLES", "app", "sym:app/web.py#checkout"),
            ("HTTP_CALLS", "shop", "sym:app/billing.py#charge"),
        }, target


def test_a_topic_knows_who_publishes_and_who_consumes(team: Team, shop: Repository) -> None:
    for target in ("topic:kafka:invoice.charged", "invoice.charged", "charged"):
        links = _ask(team, "find_service_links", target=target)["links"]
        found = {(one["relationship"], one["source_repository"]) for one in links}
        assert {("PUBLISHES_TO", "app"), ("SUBSCRIBES_TO", "shop")} <= found


def test_a_package_knows_who_depends_on_it(team: Team, shop: Repository) -> None:
    (link,) = _ask(team, "find_service_links", target="pkg:pypi:app")["links"]
    assert (link["relationship"], link["rule"], link["source_repository"]) == (
        "DEPENDS_ON", "test", "shop",
    )  # fmt: skip
    assert link["target_repository"] == "app"


def test_cross_repo_counts_all_and_shows_edges_in_both_directions(
    team: Team, shop: Repository
) -> None:
    mine, theirs = _ask(team, "get_cross_repo"), _ask(team, "get_cross_repo", repository="shop")
    assert mine["counts"] == {
        "packages": 1, "workspaces": 0, "dependencies": 0, "edges": 2, "unresolved": 0,
        "endpoints": 1, "requests": 0, "topics": 1,
    }  # fmt: skip
    assert theirs["counts"]["requests"] == 1
    assert theirs["counts"]["topics"] == 2
    assert mine["edges"] == theirs["edges"]
    assert {one["relationship"] for one in mine["edges"]} == {"HTTP_CALLS", "DEPENDS_ON"}
    (need,) = theirs["dependencies"]
    assert (need["repository"], need["range"]) == ("app", ">=1")
    (lost,) = theirs["unresolved"]
    assert (lost["package"], lost["repository"]) == ("app", "app")
    assert lost["examples"] == [{"name": "app.lost", "path": "app/web.py", "line": 3}]


def test_cross_repo_filters_before_it_counts(team: Team, shop: Repository) -> None:
    asked = {"repository": "shop", "include": ["requests"]}
    assert _ask(team, "get_cross_repo", **asked, method="get")["counts"] == {"requests": 0}
    assert _ask(team, "get_cross_repo", **asked, query="INVOICES")["counts"] == {"requests": 1}
    with_tests = _ask(team, "get_cross_repo", **asked, include_tests=True, limit=1)
    assert with_tests["counts"] == {"requests": 2}
    assert len(with_tests["requests"]) == 1
    assert "endpoints" not in with_tests


def test_an_unknown_topic_is_shown_and_tied_to_nothing(team: Team, shop: Repository) -> None:
    topics = _ask(team, "get_cross_repo", repository="shop", include=["topics"])["topics"]
    (unknown,) = (one for one in topics if "topic" not in one)
    assert (unknown["role"], unknown["line"]) == ("publish", 22)
    edges = _ask(team, "find_service_links", target="topic:kafka:invoice.charged")["links"]
    assert len(edges) == 2


def test_nothing_foreign_is_found(team: Team, shop: Repository) -> None:
    for target in (FOREIGN_WORD, f"/{FOREIGN_WORD}/open", f"POST /{FOREIGN_WORD}/open"):
        assert _ask(team, "find_service_links", target=target)["error"]["code"] == "not_found"
