"""Where a call holds: argument before connection before inference, and what inference may do."""

from collections.abc import Mapping
from http import HTTPStatus

import pytest

from codemem.accounts import services as accounts
from codemem.accounts.values import Role
from tests import factories
from tests.gateway import surfaces
from tests.gateway.surfaces import Answer
from tests.gateway.team import Team, billing, show

ROUNDING = "How are invoice totals rounded?"


@pytest.fixture
def second(team: Team) -> Team:
    """Make the owner a member of a second namespace that has a repository of the same name."""
    namespace = factories.make_namespace("second", owner=team.owner)
    show(factories.make_repository(namespace, "app", created_by=team.owner), billing())
    return team


def test_the_only_repository_is_inferred_for_reading(team: Team) -> None:
    answer = _ask(team, "find_important_nodes", {})
    assert answer.content["scope"] == {
        "namespace": "team",
        "repository": "app",
        "source": "inferred",
    }


def test_nothing_is_inferred_for_writing(team: Team) -> None:
    answer = _ask(team, "store_memory", {"content": "Cents are whole."})
    assert answer.code == "scope_needed"
    assert "team" in answer.content["error"]["hint"]


def test_an_argument_goes_before_the_connection(second: Team) -> None:
    headers = {"Codemem-Namespace": "team", "Codemem-Repository": "app"}
    answer = _ask(second, "recall", {"query": ROUNDING, "namespace": "second"}, headers)
    assert answer.content["scope"] == {"namespace": "second", "source": "argument"}


def test_recall_without_a_scope_asks_everything_the_caller_may_read(second: Team) -> None:
    answer = _ask(second, "recall", {"query": ROUNDING})
    assert sorted(answer.content["scope"]["namespaces"]) == ["second", "team"]
    assert answer.content["results"][0]["namespace"] == "team"


def test_a_question_about_code_must_name_one_of_several_repositories(second: Team) -> None:
    answer = _ask(second, "summary_tree", {})
    assert answer.code == "scope_needed"
    assert "second/app, team/app" in answer.content["error"]["hint"]


def test_a_name_in_two_namespaces_is_ambiguous(second: Team) -> None:
    answer = _ask(second, "summary_tree", {"repository": "app"})
    assert answer.code == "ambiguous"
    assert "second, team" in answer.content["error"]["message"]


def test_namespaces_and_repositories_may_be_named_by_id(second: Team) -> None:
    place = {"namespace": str(second.namespace.pk), "repository": str(second.repository.pk)}
    answer = _ask(second, "summary_tree", place)
    assert answer.content["scope"]["namespace"] == "team"


def test_a_remote_proposes_the_repository(second: Team) -> None:
    headers = {"Codemem-Remote": "git@git.example:team/app.git"}
    answer = _ask(second, "summary_tree", {}, headers)
    assert answer.content["scope"]["namespace"] == "team"
    assert answer.content["scope"]["source"] == "connection"


def test_a_remote_that_nobody_knows_is_no_mistake(team: Team) -> None:
    headers = {"Codemem-Remote": "https://git.example/unknown.git"}
    assert _ask(team, "summary_tree", {}, headers).content["scope"]["source"] == "inferred"


def test_a_branch_of_the_connection_falls_back_and_says_so(team: Team) -> None:
    code = _ask(team, "summary_tree", {}, {"Codemem-Ref": "feature/größer"}).content["code"]
    assert (code["ref"], code["requested_ref"]) == ("main", "feature/größer")
    assert "not indexed" in code["note"]


def test_a_ref_that_is_asked_for_by_name_is_answered_for_or_refused(team: Team) -> None:
    assert _ask(team, "summary_tree", {"ref": "feature"}).code == "ref_not_indexed"
    code = _ask(team, "summary_tree", {"ref": "main"}).content["code"]
    assert (code["ref"], code["behind"], code["pending"]) == ("main", False, False)
    assert code["indexed_commit"] == code["current_commit"] == "1" * 40


def test_a_repository_that_was_never_indexed_says_what_to_do(team: Team) -> None:
    factories.make_repository(team.namespace, "empty", created_by=team.owner)
    answer = _ask(team, "summary_tree", {"repository": "empty"})
    assert answer.code == "ref_not_indexed"
    assert answer.content["error"]["hint"]


def test_someone_who_belongs_nowhere_is_told_whom_to_ask(team: Team) -> None:
    stranger = factories.make_user("sam")
    answer = surfaces.over_rest(
        token=team.token(stranger), tool="recall", arguments={"query": ROUNDING}
    )
    assert answer.code == "not_found"
    assert "owner" in answer.content["error"]["hint"]


def test_a_role_that_changes_holds_from_the_next_call(team: Team) -> None:
    token = team.token(team.reader)
    arguments = {"content": "Cents are whole.", "namespace": "team"}
    asked = surfaces.over_rest(token=token, tool="store_memory", arguments=arguments)
    assert asked.code == "right_missing"
    accounts.set_role(namespace=team.namespace, user=team.reader, role=Role.WRITER, actor="olga")
    again = surfaces.over_rest(token=token, tool="store_memory", arguments=arguments)
    assert again.code == "ok"
    accounts.remove_member(namespace=team.namespace, user=team.reader, actor="olga")
    gone = surfaces.over_rest(token=token, tool="store_memory", arguments=arguments)
    assert gone.code == "not_found"


def test_headers_beside_a_path_do_not_move_the_connection(second: Team) -> None:
    response = surfaces.send(
        "tools/call",
        {"name": "summary_tree", "arguments": {}},
        token=second.token(second.owner),
        path="/mcp/r/team/app",
        headers={"Codemem-Namespace": "second"},
    )
    assert response.status_code == HTTPStatus.OK
    assert response.json()["result"]["structuredContent"]["scope"]["namespace"] == "team"


def _ask(
    team: Team, name: str, arguments: Mapping[str, object], headers: Mapping[str, str] | None = None
) -> Answer:
    token = team.token(team.owner)
    # Header values travel as bytes that WSGI reads as Latin-1.
    sent = {key: value.encode().decode("latin-1") for key, value in (headers or {}).items()}
    return surfaces.over_rest(token=token, tool=name, arguments=arguments, headers=sent)
