"""Runs over REST: asked for by who may, seen by who may read."""

import json
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from codemem.accounts.models import User
from graph.models import Repository
from indexing import services
from tests.factories import NOW, make_token

pytestmark = pytest.mark.django_db

NOWHERE = UUID("01890000-0000-7000-8000-000000000000")


def ask(user: User, method: str, path: str, body: Any = None, at: str = "/api/v1") -> Any:
    headers = {
        "Authorization": f"Bearer {make_token(user).secret}",
        "Codemem-Namespace": "team",
        "Codemem-Repository": "app",
    }
    content = b"" if body is None else json.dumps(body).encode()
    return Client().generic(method, f"{at}{path}", content, "application/json", headers=headers)


def test_a_writer_has_a_branch_indexed_and_sees_how_far_it_is(
    repository: Repository, writer: User
) -> None:
    asked = ask(writer, "POST", "/runs", {"ref": "feature"})

    assert asked.status_code == 202, asked.content
    run = asked.json()
    assert (run["ref"], run["state"], run["step"]) == ("feature", "queued", "waiting")
    assert ask(writer, "GET", f"/runs/{run['id']}").json() == run
    assert ask(writer, "POST", "/runs", {"ref": "feature"}).json()["id"] == run["id"]


def test_a_run_says_why_it_resolved_everything(repository: Repository, reader: User) -> None:
    run_id = services.request_index(repository_id=repository.pk, requested_by="tests")
    why = "Nothing was indexed before."
    services.finish(run_id=run_id, now=NOW, counts={}, seconds={}, skipped=[], whole_because=why)

    assert ask(reader, "GET", f"/runs/{run_id}").json()["whole_because"] == why
    listed = ask(reader, "GET", "/runs", at=f"/api/repositories/{repository.pk}").json()
    assert [run["whole_because"] for run in listed] == [why]


def test_a_reader_may_look_but_not_ask(repository: Repository, reader: User) -> None:
    run_id = services.request_index(repository_id=repository.pk, requested_by="tests")

    assert ask(reader, "POST", "/runs", {}).status_code == 403
    assert ask(reader, "GET", f"/runs/{run_id}").status_code == 200


def test_somebody_elses_run_is_like_none(repository: Repository, outsider: User) -> None:
    run_id = services.request_index(repository_id=repository.pk, requested_by="tests")

    foreign = ask(outsider, "GET", f"/runs/{run_id}")
    nothing = ask(outsider, "GET", f"/runs/{NOWHERE}")

    assert foreign.status_code == nothing.status_code == 404
    assert foreign.content == nothing.content.replace(str(NOWHERE).encode(), str(run_id).encode())
    assert ask(outsider, "POST", "/runs", {}).status_code == 404


def test_what_is_no_branch_is_refused(repository: Repository, writer: User) -> None:
    assert ask(writer, "POST", "/runs", {"ref": 7}).status_code == 422
    assert ask(writer, "POST", "/runs", {"branch": "x"}).status_code == 422
