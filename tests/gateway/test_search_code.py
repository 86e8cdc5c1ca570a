"""Searching one repository, or all of a namespace."""

from typing import Any

from tests import factories
from tests.gateway import surfaces
from tests.gateway.surfaces import Answer
from tests.gateway.team import Team, show


def test_a_namespace_is_searched_at_once(team: Team) -> None:
    other = factories.make_repository(team.namespace, "shop", created_by=team.maintainer)
    show(other, factories.snapshot(factories.symbol_fact("till.py", "charge", doc="Ring it up.")))
    found = _ask(team, query="charge", mode="text", across_namespace=True).content
    assert {(hit["repository"], hit["id"]) for hit in found["results"][:2]} == {
        ("app", "sym:app/billing.py#charge"),
        ("shop", "sym:till.py#charge"),
    }
    assert found["scope"]["namespace"] == "team"
    assert "code" not in found
    alone = _ask(team, query="charge", mode="text", repository="app").content
    assert "repository" not in alone["results"][0]
    assert "till.py" not in str(alone["results"])


def test_a_ref_is_of_one_repository(team: Team) -> None:
    refused = _ask(team, query="charge", mode="text", across_namespace=True, ref="main")
    assert refused.code == "invalid_arguments"


def _ask(team: Team, **arguments: Any) -> Answer:
    return surfaces.over_rest(
        token=team.token(team.owner),
        tool="search_code",
        arguments={"namespace": "team", **arguments},
    )
