"""`codemem consolidate` against a server double: asked, watched, listed, shown, undone."""

import json

import pytest

from tests.client.server_double import Canned

RUN = {
    "id": "01890000-0000-7000-8000-000000000007",
    "namespace": "platform",
    "cycle": "decay",
    "state": "done",
    "dry_run": False,
    "asked_by": "ada",
    "started_at": "2026-07-01T12:00:00Z",
    "finished_at": "2026-07-01T12:00:04Z",
    "report": {"seconds": 4, "shared": {"changed": 1200, "proposed": 3}, "private": {"changed": 2}},
    "error": "",
}
ADDRESS = "/api/consolidation-runs"
ONE = f"{ADDRESS}/{RUN['id']}"


def said(value: object, status: int = 200) -> Canned:
    return Canned(status=status, body=json.dumps(value).encode())


@pytest.fixture
def answering(server):
    """Queue a run for whoever asks; it is done the first time that it is looked at."""
    changes = {
        "changes": [
            {
                "id": 1,
                "kind": "updated",
                "what": "use",
                "memory_ids": ["01890000-0000-7000-8000-000000000001"],
                "before": {"retention": 1.0},
                "after": {"retention": 0.5},
                "proposal_id": None,
            }
        ],
        "next_after": 1,
    }
    undone = {**RUN, "state": "undone", "report": {"undo": {"restored": 1200, "kept": []}}}
    server.canned[f"{ONE}/changes"] = said(changes)
    server.canned[f"{ONE}/undo"] = said(undone)
    server.canned[f"{ONE}/cancel"] = said({**RUN, "state": "cancelled"})
    server.canned[ONE] = said(RUN)
    server.canned[f"{ADDRESS}?"] = said({"results": [RUN]})
    server.canned[ADDRESS] = said({"runs": [{**RUN, "state": "queued", "report": {}}]}, 202)
    return server


def test_cycles_are_asked_for_and_watched_to_their_end(codemem, answering):
    result = codemem("consolidate", "decay", "--dry-run")
    assert result.status == 0, result.err
    asked = answering.last(ADDRESS)
    assert (asked.method, asked.json) == (
        "POST",
        {"namespace": "platform", "dry_run": True, "cycles": ["decay"]},
    )
    assert "decay: queued ..." in result.err
    assert "decay done, 2026-07-01 12:00: 1,200 changed, 3 proposed" in result.out
    assert "2 changed, 0 proposed of your own" in result.out


def test_without_names_all_cycles_are_asked_for(codemem, answering):
    assert codemem("consolidate", "--no-wait").status == 0
    assert "cycles" not in answering.last(ADDRESS).json


def test_a_cycle_that_fails_is_told_and_seen_in_the_exit_status(codemem, answering):
    answering.canned[ONE] = said({**RUN, "state": "failed", "error": "Its worker died."})
    result = codemem("consolidate", "decay", "--json")
    assert result.status == 1
    assert json.loads(result.out)["runs"][0]["error"] == "Its worker died."


def test_runs_are_listed_and_shown_with_their_changes(codemem, answering):
    listed = codemem("consolidate", "--runs")
    assert f"{RUN['id']}  decay done" in listed.out
    shown = codemem("consolidate", "--show", RUN["id"])
    assert "updated use of 01890000-0000-7000-8000-000000000001: retention 1 -> 0.5" in shown.out
    assert "more than these 1 changes" in shown.out


def test_a_run_is_undone_or_stopped(codemem, answering):
    assert "1,200 changes put back" in codemem("consolidate", "--undo", RUN["id"]).out
    assert "cancelled" in codemem("consolidate", "--cancel", RUN["id"]).out


def test_what_stays_because_it_was_changed_since_is_told(codemem, answering):
    report = {"undo": {"restored": 7, "kept": ["a"], "note": "1 memories stay as they are."}}
    answering.canned[f"{ONE}/undo"] = said({**RUN, "state": "undone", "report": report})
    result = codemem("consolidate", "--undo", RUN["id"])
    assert result.status == 1
    assert "stay as they are" in result.out


@pytest.mark.parametrize(
    "arguments",
    [("sleep",), ("--undo", "x", "decay"), ("--undo", "x", "--runs"), ("--runs", "--dry-run")],
)
def test_what_makes_no_sense_is_refused_before_anything_is_asked(codemem, answering, arguments):
    assert codemem("consolidate", *arguments).status == 2
    assert answering.received == []
