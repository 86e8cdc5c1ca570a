"""The tools about whole namespaces: figures, the preview of a deletion, the deletion itself."""

from datetime import timedelta

import pytest
from django.test import Client

from codemem.accounts.models import Namespace
from graph import queries as graph
from tests.factories import NOW
from tests.fakes import StoppedClock
from tests.gateway import surfaces
from tests.gateway.surfaces import Answer, bearer
from tests.gateway.team import Team
from workers import queue


def ask(team: Team, user: str, name: str, **arguments: object) -> Answer:
    token = team.token(getattr(team, user))
    return surfaces.over_rest(token=token, tool=name, arguments=arguments)


def test_the_figures_are_the_namespaces_and_its_indexes(team: Team) -> None:
    found = ask(team, "reader", "namespace_stats", namespace="team").content
    assert (found["memories"], found["by_type"]) == (2, {"decision": 2})
    (index,) = found["repositories"]
    assert index["repository"] == "app"
    assert index["indexed_commit"] == "1" * 40
    assert (index["behind"], index["pending"]) == (False, False)


def test_a_repository_that_is_deleted_meanwhile_has_no_index(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "list_ref_states", lambda *, asked: {})
    found = ask(team, "reader", "namespace_stats", namespace="team").content
    assert found["repositories"] == []


def test_several_namespaces_want_one_to_be_named(team: Team) -> None:
    other = Namespace.objects.create(name="second")
    other.memberships.create(user=team.owner, role=4)
    assert ask(team, "owner", "namespace_stats").code == "invalid_arguments"


def test_a_preview_changes_nothing_and_a_wrong_name_neither(team: Team) -> None:
    preview = ask(team, "owner", "delete_namespace", namespace="team").content
    seen = ask(team, "owner", "namespace_stats", namespace="team").content["by_state"]
    assert preview["state"] == "preview"
    assert preview["rows"]["memory_memory"] == sum(seen.values())
    wrong = ask(team, "owner", "delete_namespace", namespace="team", confirm="app")
    assert wrong.code == "confirmation_wrong"
    assert ask(team, "owner", "namespace_stats", namespace="team").code == "ok"


def test_a_confirmed_deletion_closes_at_once_and_has_a_receipt(
    team: Team, clock: StoppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(queue, "erase_namespace", lambda *, erasure_id: sent.append(erasure_id))
    token = team.token(team.owner)

    answer = ask(team, "owner", "delete_namespace", namespace="team", confirm="team").content

    assert answer["state"] == "waiting"
    assert answer["due_at"] == (NOW + timedelta(hours=24)).isoformat().replace("+00:00", "Z")
    assert [str(key) for key in sent] == [answer["receipt_id"]]
    assert ask(team, "owner", "namespace_stats", namespace="team").code == "not_found"
    address = f"/api/v1/erasures/{answer['receipt_id']}"
    receipt = Client().get(address, headers=bearer(token)).json()
    assert (receipt["state"], receipt["asked_by"]) == ("waiting", "olga")
    stranger = Client().get(address, headers=bearer(team.token(team.outsider)))
    assert stranger.status_code == 404


@pytest.mark.parametrize("user", ["maintainer", "writer", "reader"])
def test_only_owners_delete(team: Team, user: str) -> None:
    answer = ask(team, user, "delete_namespace", namespace="team", confirm="team")
    assert answer.code == "right_missing"


def test_a_deletion_names_its_namespace_and_no_repository(team: Team) -> None:
    assert ask(team, "owner", "delete_namespace").code == "scope_needed"
    answer = ask(team, "owner", "delete_namespace", namespace="team", repository="app")
    assert answer.code == "invalid_arguments"
