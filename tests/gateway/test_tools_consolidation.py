"""The tools of consolidation: a run is asked for, shown to who may see it, and undone."""

from datetime import timedelta

import pytest

from memory.consolidation import runs
from memory.models import Memory
from tests.factories import NOW
from tests.gateway import surfaces
from tests.gateway.surfaces import Answer, Surface
from tests.gateway.team import Team


def ask(team: Team, user, name: str, **arguments) -> Answer:
    return surfaces.call(
        Surface.REST,
        token=team.token(user),
        tool=name,
        arguments={"namespace": "team", **arguments},
    )


@pytest.fixture
def faded(team: Team) -> Team:
    Memory.objects.filter(pk=team.note).update(created_at=NOW - timedelta(days=400))
    return team


def test_a_run_is_asked_for_shown_and_undone(faded: Team, clock):
    asked = ask(faded, faded.maintainer, "consolidate", mode="decay").content["runs"]
    assert [run["state"] for run in asked] == ["queued"]
    runs.execute(run_id=asked[0]["id"], now=NOW)
    status = ask(faded, faded.reader, "codemem_status", include=["consolidation"]).content
    shown = next(run for run in status["consolidation"] if run["id"] == asked[0]["id"])
    assert (shown["state"], shown["report"]["shared"]["changed"]) == ("done", 2)
    assert shown["report"]["shared"]["examples"]
    brief = ask(faded, faded.reader, "codemem_status").content["consolidation"]
    assert not any("examples" in run.get("report", {}).get("shared", {}) for run in brief)
    undone = ask(faded, faded.owner, "consolidate", undo=asked[0]["id"]).content
    assert (undone["undone"]["restored"], undone["runs"][0]["state"]) == (2, "undone")


def test_auto_is_all_five_forgetting_last(team: Team, clock):
    asked = ask(team, team.maintainer, "consolidate").content["runs"]
    assert [run["cycle"] for run in asked] == [
        "decay",
        "cluster",
        "creative",
        "summarize",
        "forget",
    ]


def test_a_run_of_others_is_none(team: Team, clock):
    answer = surfaces.call(
        Surface.REST,
        token=team.token(team.outsider),
        tool="consolidate",
        arguments={"namespace": team.foreign_namespace.name, "cancel": str(team.run)},
    )
    assert answer.code == "not_found"
