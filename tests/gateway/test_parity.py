"""MCP in both eras and REST answer alike, byte for byte, for every tool."""

import pytest
from django.db import transaction

from codemem.gateway import tool
from tests.fakes import StoppedClock
from tests.gateway import surfaces
from tests.gateway.examples import EXAMPLES, PLACE, Arguments
from tests.gateway.surfaces import Answer, Surface
from tests.gateway.team import Team

TOOLS = list(tool.registry())
ANSWERING = [name for name in TOOLS if not EXAMPLES[name].sees_committed_only]


@pytest.mark.parametrize("name", ANSWERING)
def test_a_call_that_works_gets_the_same_answer_on_every_surface(
    name: str, team: Team, clock: StoppedClock
) -> None:
    answers = _everywhere(team, name, EXAMPLES[name].works(team))
    assert answers[Surface.REST].code == "ok", answers[Surface.REST].text
    assert answers[Surface.MODERN_MCP] == answers[Surface.REST]
    assert answers[Surface.LEGACY_MCP] == answers[Surface.REST]


@pytest.mark.parametrize("name", TOOLS)
def test_a_mistake_gets_the_same_error_on_every_surface(
    name: str, team: Team, clock: StoppedClock
) -> None:
    example = EXAMPLES[name]
    answers = _everywhere(team, name, {**example.works(team), **example.mistake})
    assert answers[Surface.REST].is_error
    assert answers[Surface.REST].content["error"]["message"]
    assert answers[Surface.MODERN_MCP] == answers[Surface.REST]
    assert answers[Surface.LEGACY_MCP] == answers[Surface.REST]


@pytest.mark.parametrize("name", ANSWERING)
def test_an_answer_has_no_nulls_and_no_unknown_fields(
    name: str, team: Team, clock: StoppedClock
) -> None:
    answer = surfaces.over_rest(
        token=team.token(team.owner), tool=name, arguments=EXAMPLES[name].works(team)
    )
    assert "null" not in answer.text
    tool.find_tool(name).result.model_validate_json(answer.text)


def test_a_connection_bound_by_its_path_needs_no_scope_in_the_arguments(team: Team) -> None:
    arguments = {"query": "How are invoice totals rounded?"}
    token = team.token(team.reader)
    bound = surfaces.over_mcp(
        token=token, tool="recall", arguments=arguments, path="/mcp/r/team/app"
    )
    headers = {"Codemem-Namespace": "team", "Codemem-Repository": "app"}
    by_header = surfaces.over_rest(token=token, tool="recall", arguments=arguments, headers=headers)
    assert bound.text == by_header.text
    assert bound.content["scope"] == {**PLACE, "source": "connection"}


def _everywhere(team: Team, name: str, arguments: Arguments) -> dict[Surface, Answer]:
    """Call a tool on every surface from the same state: each call is undone before the next."""
    token = team.token(team.owner)
    answers = {}
    for surface in Surface:
        with transaction.atomic():
            answers[surface] = surfaces.call(surface, token=token, tool=name, arguments=arguments)
            transaction.set_rollback(True)
    return answers
