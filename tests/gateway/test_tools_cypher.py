"""People's own Cypher through every surface: on committed teams, as it has its own connection."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from codemem.gateway import departure, tool
from graph import cypher
from tests.fakes import StoppedClock
from tests.gateway import surfaces
from tests.gateway.examples import CHARGE, EXAMPLES
from tests.gateway.surfaces import Answer, Surface
from tests.gateway.team import FOREIGN_WORD, Team, make_team

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def team() -> Iterator[Team]:
    made = make_team()
    yield made
    for namespace in (made.namespace, made.foreign_namespace):
        cypher.drop_graph(namespace.pk)


def test_every_surface_gives_a_reader_the_same_answer(team: Team, clock: StoppedClock) -> None:
    token = team.token(team.reader)
    answers = [
        surfaces.call(
            surface, token=token, tool="graph_query", arguments=EXAMPLES["graph_query"].works(team)
        )
        for surface in Surface
    ]
    assert answers[0] == answers[1] == answers[2]
    content = answers[0].content
    assert content["columns"] == ["caller", "e"]
    assert [row[1]["target"] for row in content["rows"]] == [CHARGE, CHARGE]
    assert "null" not in answers[0].text
    tool.find_tool("graph_query").result.model_validate_json(answers[0].text)


def test_nothing_foreign_is_found(team: Team) -> None:
    found = _ask(team, "MATCH (n) RETURN n.name, n.path")
    assert ["charge", "app/billing.py"] in found.content["rows"]
    assert FOREIGN_WORD not in found.text
    assert _ask(team, "RETURN 1 AS one", namespace=team.foreign_namespace.name).code == "not_found"


def test_a_repository_names_its_namespace(team: Team) -> None:
    found = _ask(team, "RETURN 1 AS one", namespace=None, repository="app")
    assert found.content["scope"]["namespace"] == "team"


def test_what_goes_wrong_is_said_in_a_sentence(team: Team) -> None:
    for query, code in (
        ("MATCH (s) SET s.x = 1 RETURN s", "cypher_refused"),
        ("RETURN 1 AS a ORDER BY nothing", "cypher_failed"),
        ("MATCH (m:Memory) RETURN m", "cypher_failed"),
    ):
        answer = _ask(team, query)
        assert answer.code == code
        assert answer.content["error"]["message"].endswith(".")


def test_a_client_that_hung_up_is_noticed(rf: Any) -> None:
    ours, theirs = socket.socketpair()
    request = rf.get("/", **{"gunicorn.socket": ours})
    assert not departure.is_abandoned(request)
    theirs.send(b"GET")
    assert not departure.is_abandoned(request)
    assert ours.recv(3) == b"GET"
    theirs.close()
    assert departure.is_abandoned(request)
    ours.close()
    assert departure.is_abandoned(request)
    assert not departure.is_abandoned(rf.get("/"))


def _ask(team: Team, query: str, **place: Any) -> Answer:
    named = {"namespace": "team", **place}
    arguments = {key: value for key, value in named.items() if value is not None}
    return surfaces.over_rest(
        token=team.token(team.owner), tool="graph_query", arguments={**arguments, "query": query}
    )
