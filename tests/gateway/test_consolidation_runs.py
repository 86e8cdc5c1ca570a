"""Consolidation runs as resources: who sees, starts, undoes them, and whose changes show."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from codemem.accounts.models import Namespace, User
from graph.models import Repository
from graph.values import VertexLabel, graph_id
from memory.consolidation import runs
from memory.models import ConsolidationRun, Memory, ReviewItem
from memory.services import store_memory
from tests.factories import NOW, caller_of
from tests.gateway.test_resources import NOWHERE, error, person

pytestmark = pytest.mark.django_db

RUNS = "/api/consolidation-runs"


@pytest.fixture
def memories(
    namespace: Namespace, repository: Repository, owner: User, writer: User
) -> dict[str, UUID]:
    """Store one memory of each visibility as the writer, long enough ago to have faded."""
    ids = {}
    for visibility in ("private", "repository", "namespace"):
        outcome = store_memory(
            caller=caller_of(writer),
            namespace_id=namespace.pk,
            repository_id=repository.pk,
            content=f"Invoices are {visibility}.",
            memory_type="insight",
            visibility=visibility,
            now=NOW,
        )
        ids[visibility] = outcome.memory.id
    Memory.objects.update(created_at=NOW - timedelta(days=400))
    return ids


def asked(user: User, **body: Any) -> list[dict[str, Any]]:
    answer = person(user).post(RUNS, {"namespace": "team", **body})
    assert answer.status_code == 202, answer.content
    found: list[dict[str, Any]] = answer.json()["runs"]
    return found


@pytest.fixture
def decayed(memories: dict[str, UUID], maintainer: User) -> str:
    """Return the run of a decay that is done."""
    (run,) = asked(maintainer, cycles=["decay"])
    runs.execute(run_id=UUID(run["id"]), now=NOW)
    return str(run["id"])


def changed(user: User, run: str, **query: Any) -> list[dict[str, Any]]:
    asked_for = "&".join(f"{name}={value}" for name, value in query.items())
    answer = person(user).get(f"{RUNS}/{run}/changes?{asked_for}")
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["changes"]
    return found


def test_a_maintainer_asks_for_runs_and_everybody_sees_them(
    memories: dict[str, UUID], maintainer: User, reader: User
) -> None:
    rows = asked(maintainer, dry_run=True)
    assert [row["cycle"] for row in rows] == [cycle.value for cycle in runs.CYCLES]
    again = asked(maintainer, cycles=["forget", "decay"], dry_run=True)
    assert [row["id"] for row in again] == [rows[0]["id"], rows[-1]["id"]], "none is asked twice"
    rita = person(reader)
    assert len(rita.listed(f"{RUNS}?namespace=team", "id")) == len(rows)
    assert rita.listed(f"{RUNS}?cycle=decay&dry_run=true", "id") == [rows[0]["id"]]
    assert rita.listed(f"{RUNS}?cycle=decay&dry_run=false", "id") == []
    assert rita.get(f"{RUNS}/{rows[0]['id']}").json()["state"] == "queued"


def test_changes_of_others_private_memories_are_nowhere(
    decayed: str, memories: dict[str, UUID], owner: User, writer: User, reader: User
) -> None:
    def seen(user: User) -> set[str]:
        return {key for change in changed(user, decayed) for key in change["memory_ids"]}

    shared = {str(memories["repository"]), str(memories["namespace"])}
    assert seen(reader) == seen(owner) == shared
    assert seen(writer) == {*shared, str(memories["private"])}
    retention = changed(owner, decayed)[0]["after"]["retention"]
    assert 0 < retention < 1
    for user in (owner, reader):
        assert (
            str(memories["private"]) not in person(user).get(f"{RUNS}/{decayed}").content.decode()
        )
    # What becomes private takes its changes along.
    Memory.objects.filter(pk=memories["namespace"]).update(visibility="private")
    assert seen(reader) == {str(memories["repository"])}


def test_changes_come_in_pages(decayed: str, writer: User) -> None:
    ada = person(writer)
    every = changed(writer, decayed)
    first = ada.get(f"{RUNS}/{decayed}/changes?limit=1").json()
    assert [change["id"] for change in first["changes"]] == [every[0]["id"]]
    rest = ada.get(f"{RUNS}/{decayed}/changes?after={first['next_after']}").json()
    assert [change["id"] for change in rest["changes"]] == [change["id"] for change in every[1:]]
    assert rest["next_after"] is None
    for query in ("limit=0", "limit=501", "after=-1", "page=2"):
        assert ada.get(f"{RUNS}/{decayed}/changes?{query}").status_code in {400, 422}, query


def test_links_and_proposals_show_only_with_all_their_memories(
    memories: dict[str, UUID], maintainer: User, writer: User, reader: User
) -> None:
    run = ConsolidationRun.objects.get(pk=asked(maintainer, cycles=["cluster"])[0]["id"])
    numbers = dict(Memory.objects.values_list("pk", "number"))
    vertices = runs_vertices(numbers)
    for number, other in enumerate(("private", "namespace")):
        run.changes.create(
            kind="linked",
            subject=f"link:{number}",
            after={
                "source": vertices[memories["repository"]],
                "target": vertices[memories[other]],
                "properties": '{"kind": "SIMILAR_TO", "w": 0.9}',
            },
        )
        proposal = ReviewItem.objects.create(
            namespace=run.namespace,
            kind="merge",
            memory_ids=[str(memories["repository"]), str(memories[other])],
            proposal={"operation": "merge", "arguments": {}},
            reason="Alike.",
            confidence=0.5,
            fingerprint=bytes([number]) * 32,
            proposed_by="cluster",
            created_at=NOW,
            private_to=writer if other == "private" else None,
        )
        run.changes.create(kind="proposed", subject=f"memory_reviewitem:{proposal.pk}")
    assert [change["what"] for change in changed(reader, str(run.pk))] == ["link", "proposal"]
    assert str(memories["private"]) not in str(changed(reader, str(run.pk)))
    assert len(changed(writer, str(run.pk))) == 4


def runs_vertices(numbers: dict[UUID, int]) -> dict[UUID, int]:
    return {key: graph_id(label=VertexLabel.MEMORY, key=nr) for key, nr in numbers.items()}


def test_a_run_is_undone_by_maintainers_only(
    decayed: str, owner: User, writer: User, maintainer: User
) -> None:
    assert error(person(writer).post(f"{RUNS}/{decayed}/undo"), 403)["code"]
    undone = person(maintainer).post(f"{RUNS}/{decayed}/undo")
    assert undone.status_code == 200, undone.content
    assert (undone.json()["state"], undone.json()["report"]["undo"]["restored"]) == ("undone", 3)
    assert error(person(maintainer).post(f"{RUNS}/{decayed}/undo"), 409)["code"]


def test_a_run_that_waits_is_cancelled(memories: dict[str, UUID], maintainer: User) -> None:
    (run,) = asked(maintainer, cycles=["forget"])
    assert person(maintainer).post(f"{RUNS}/{run['id']}/cancel").json()["state"] == "cancelled"


def test_who_may_not_ask_is_told_what_it_takes(
    memories: dict[str, UUID], writer: User, reader: User
) -> None:
    for user in (writer, reader):
        refused = person(user).post(RUNS, {"namespace": "team"})
        assert "maintainer" in error(refused, 403)["hint"]
    assert not ConsolidationRun.objects.exists()


def test_an_outsider_cannot_tell_what_is_there(decayed: str, outsider: User) -> None:
    otto = person(outsider)
    assert otto.listed(RUNS, "id") == []
    for method, path in (
        ("GET", "{}"),
        ("GET", "{}/changes"),
        ("POST", "{}/undo"),
        ("POST", "{}/cancel"),
    ):
        seen = otto.ask(method, f"{RUNS}/{path.format(decayed)}")
        unseen = otto.ask(method, f"{RUNS}/{path.format(NOWHERE)}")
        assert error(seen, 404)["code"] == "not_found", path
        assert seen.content.replace(decayed.encode(), b"ID") == unseen.content.replace(
            str(NOWHERE).encode(), b"ID"
        )
    theirs = otto.post(RUNS, {"namespace": "team"})
    nobodys = otto.post(RUNS, {"namespace": "nope"})
    assert error(theirs, 404)["message"].replace("team", "nope") == error(nobodys, 404)["message"]


@pytest.mark.parametrize(
    "body", [{"cycles": ["sleep"]}, {"cycles": []}, {"mode": "decay"}, {"dry_run": "perhaps"}]
)
def test_what_is_no_request_is_refused(
    memories: dict[str, UUID], maintainer: User, body: dict[str, Any]
) -> None:
    refused = person(maintainer).post(RUNS, {"namespace": "team", **body})
    assert refused.status_code in {400, 422}, refused.content
    assert not ConsolidationRun.objects.exists()
