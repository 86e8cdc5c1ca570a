"""What the server says of itself and of where the caller may go."""

from typing import Any

from codemem.accounts import services as accounts
from indexing import services as indexing
from tests.gateway import surfaces
from tests.gateway.team import Team


def test_status_counts_checks_and_times(team: Team) -> None:
    _ask(team, "list_namespaces")
    told = _ask(team, "codemem_status")
    assert set(told["health"].values()) == {"ok"}
    assert told["counts"]["memories"] == 2
    assert told["counts"]["memories_without_vector"] == 0
    assert told["counts"]["nodes"]["file"] == 3
    assert told["counts"]["edges"]["CALLS"] == 3
    assert {"index", "embed", "maintenance"} <= told["queues"].keys()
    assert told["tools"]["list_namespaces"]["calls"] >= 1
    assert told["tools"]["list_namespaces"]["p99_ms"] > 0


def test_status_of_a_repository_says_how_fresh_it_is(team: Team) -> None:
    code = _ask(team, "codemem_status", repository="app", include=["code"])["code"]
    assert (code["ref"], code["behind"], code["behind_by"]) == ("main", False, 0)


def test_status_shows_only_the_sections_asked_for(team: Team) -> None:
    told = _ask(team, "codemem_status", include=["health"])
    assert told.keys() == {"scope", "server", "health"}


def test_status_shows_runs_under_way(team: Team) -> None:
    indexing.request_index(repository_id=team.repository.pk, requested_by="olga")
    (run,) = _ask(team, "codemem_status", include=["runs"])["runs"]
    assert (run["repository"], run["state"]) == ("app", "queued")
    code = _ask(team, "codemem_status", repository="app", include=["code"])["code"]
    assert code["pending"] is True


def test_a_list_of_namespaces_says_what_one_may_do_there(team: Team) -> None:
    (row,) = _ask(team, "list_namespaces")["namespaces"]
    assert row == {"name": "team", "role": "owner", "memory_count": 2, "repositories": ["app"]}


def test_a_list_of_namespaces_is_narrowed_by_what_they_hold(team: Team) -> None:
    accounts.create_namespace(
        name="empty", owner=team.owner, actor="olga", description="Nothing yet."
    )
    rows = _ask(team, "list_namespaces")["namespaces"]
    assert {row["name"]: row.get("description") for row in rows} == {
        "empty": "Nothing yet.",
        "team": None,
    }
    (holding,) = _ask(team, "list_namespaces", repository="app")["namespaces"]
    assert holding["name"] == "team"


def _ask(team: Team, name: str, **arguments: Any) -> Any:
    return surfaces.over_rest(token=team.token(team.owner), tool=name, arguments=arguments).content
