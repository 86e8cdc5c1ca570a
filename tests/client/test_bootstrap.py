"""`codemem bootstrap` against a server double: shown first, stored when told to, in parts."""

import json

import pytest

from tests.client.server_double import Canned

ADDRESS = "/api/v1/bootstrap"


def seed(number: int, **changes: object) -> dict[str, object]:
    return {
        "key": f"{number:032d}",
        "source": "instructions",
        "memory_type": "rule",
        "content": f"Never do {number}.",
        "importance": 0.8,
        "path": "CLAUDE.md",
        "first_line": number,
        "standing": "new",
        **changes,
    }


def answer(*seeds: dict[str, object], stored: list[dict[str, object]] | None = None) -> Canned:
    value = {
        "scope": {},
        "commit": "c" * 40,
        "documents": 2,
        "commits": 30,
        "seeds": list(seeds),
        "left_out": 4,
        "stored": stored or [],
    }
    return Canned(status=200, body=json.dumps(value).encode())


def test_it_shows_what_it_would_store(codemem, server):
    server.canned[ADDRESS] = answer(
        seed(1), seed(2, waits=True), seed(3, standing="changed"), seed(4, standing="known")
    )
    result = codemem("bootstrap")
    assert result.status == 0, result.err
    assert "Instruction files" in result.out
    assert "Never do 1." in result.out
    assert "Never do 2. (would wait for approval)" in result.out
    assert "Never do 3. (changed)" in result.out
    assert "Never do 4." not in result.out
    assert (
        "3 memories would be stored (1 known already, 4 less telling ones left out)" in result.out
    )
    assert [one.json for one in server.received if one.path == ADDRESS] == [{"limit": 200}]


def test_it_stores_in_parts_at_the_commit_that_was_shown(codemem, server):
    server.canned[ADDRESS] = answer(
        *(seed(number) for number in range(1, 46)), stored=[{"key": "x", "action": "created"}] * 20
    )
    result = codemem("bootstrap", "--yes", "--limit", "50")
    assert result.status == 0, result.err
    asked = [one.json for one in server.received if one.path == ADDRESS]
    assert [len(body.get("keys", [])) for body in asked] == [0, 20, 20, 5]
    assert {body["commit"] for body in asked[1:]} == {"c" * 40}
    assert "60 memories stored" in result.out


def test_what_is_refused_is_named_and_seen_in_the_exit_status(codemem, server):
    server.canned[ADDRESS] = answer(
        seed(1), stored=[{"key": "k1", "action": "rejected", "reason": "Too long."}]
    )
    result = codemem("bootstrap", "--yes")
    assert result.status == 1
    assert "k1: Too long." in result.out


def test_nothing_new_is_said_so(codemem, server):
    server.canned[ADDRESS] = answer(seed(1, standing="known"))
    assert "Nothing new to store (1 known already" in codemem("bootstrap").out
    assert "0 memories stored" in codemem("bootstrap", "--yes").out


def test_programs_get_json(codemem, server):
    server.canned[ADDRESS] = answer(seed(1))
    assert codemem("bootstrap", "--json").json["seeds"][0]["key"] == f"{1:032d}"


@pytest.mark.parametrize("arguments", [["--limit", "0"], ["--limit", "x"], ["now"]])
def test_what_makes_no_sense_is_refused(codemem, server, arguments):
    assert codemem("bootstrap", *arguments).status == 2
    assert not [one for one in server.received if one.path == ADDRESS]


def test_a_refusal_of_the_server_is_told(codemem, server):
    error = {"error": {"code": "not_indexed", "message": "Have it indexed first."}}
    server.canned[ADDRESS] = Canned(status=409, body=json.dumps(error).encode())
    result = codemem("bootstrap")
    assert result.status == 2
    assert "Have it indexed first." in result.err


def test_a_model_reads_only_when_asked_to(codemem, server):
    canned = answer(seed(1))
    told = json.loads(canned.body) | {"is_read_by": "ollama"}
    server.canned[ADDRESS] = Canned(status=200, body=json.dumps(told).encode())
    result = codemem("bootstrap", "--with-model")
    assert result.status == 0, result.err
    assert "ollama reads the documents now" in result.out
    asked = [one.json for one in server.received if one.path == ADDRESS]
    assert asked == [{"limit": 200, "with_model": True}]
