"""Exports and imports over REST: who gets what, as whom, and how much at once."""

import json
from typing import Any

import pytest
from django.test import Client

from codemem.accounts.models import AuditEvent, Namespace, User
from codemem.accounts.values import TokenScope
from graph.models import Repository
from memory.models import Memory
from memory.services import store_memory
from tests.factories import NOW, caller_of, make_token

pytestmark = pytest.mark.django_db

FORMATS = ["jsonl", "json", "csv", "markdown"]


def ask(
    user: User,
    method: str,
    path: str,
    content: bytes = b"",
    scopes: Any = TokenScope,
    **query: Any,
) -> Any:
    secret = make_token(user, scopes=list(scopes)).secret
    return Client().generic(
        method,
        f"/api/v1/{path}",
        content,
        "application/x-ndjson",
        query_params={"namespace": "team", **query},
        headers={"Authorization": f"Bearer {secret}"},
    )


def exported(user: User, **query: Any) -> bytes:
    answer = ask(user, "GET", "exports", **query)
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content)


def contents(user: User, **query: Any) -> set[str]:
    records = [json.loads(line) for line in exported(user, **query).splitlines()]
    return {record["content"] for record in records if record["record"] == "memory"}


@pytest.fixture
def memories(namespace: Namespace, repository: Repository, owner: User, reader: User) -> None:
    place: dict[str, Any] = {"namespace_id": namespace.pk, "now": NOW, "caller": caller_of(owner)}
    store_memory(content="For everybody.", memory_type="rule", **place)
    store_memory(
        content="For the repository.", memory_type="rule", repository_id=repository.pk, **place
    )
    store_memory(content="Olga's own.", memory_type="preference", **place)
    store_memory(content="Rita's own.", memory_type="preference", **place)
    Memory.objects.filter(content="Olga's own.").update(visibility="private")
    Memory.objects.filter(content="Rita's own.").update(visibility="private", author=reader)


SHARED = {"For everybody.", "For the repository."}


def test_everybody_exports_what_they_may_see(
    memories: None, owner: User, writer: User, reader: User
) -> None:
    assert contents(owner) == SHARED | {"Olga's own."}
    assert contents(writer) == SHARED
    assert contents(reader) == SHARED | {"Rita's own."}
    assert contents(owner, repository="app") == {"For the repository."}
    assert contents(owner, type="preference") == {"Olga's own."}


@pytest.mark.parametrize("form", FORMATS)
def test_no_form_says_anything_of_others_private_memories(
    memories: None, owner: User, form: str
) -> None:
    content = exported(owner, format=form)
    if form == "markdown":
        import io
        import zipfile

        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = b"".join(archive.read(name) for name in archive.namelist())
    assert b"Olga's own." in content
    assert b"Rita" not in content
    header_counts = b'"memories":3'
    assert form not in {"jsonl", "json"} or header_counts in content, "counts leave them out, too"


@pytest.mark.parametrize(("method", "path"), [("GET", "exports"), ("POST", "imports")])
def test_an_outsider_learns_nothing(memories: None, outsider: User, method: str, path: str) -> None:
    theirs = ask(outsider, method, path, b"{}")
    nobodys = ask(outsider, method, path, b"{}", namespace="nope")
    assert theirs.status_code == nobodys.status_code == 404
    assert theirs.content.replace(b"team", b"nope") == nobodys.content


def test_scopes_and_roles_decide(memories: None, owner: User, reader: User) -> None:
    without_read = set(TokenScope) - {TokenScope.MEMORY_READ}
    assert ask(owner, "GET", "exports", scopes=without_read).status_code == 403
    refused = ask(reader, "POST", "imports", b"{}")
    assert refused.status_code == 403
    assert "writer" in refused.json()["error"]["message"]


def test_an_export_says_how_long_it_is_and_is_in_the_trail(memories: None, owner: User) -> None:
    answer = ask(owner, "GET", "exports")
    content = b"".join(answer.streaming_content)
    assert int(answer["Content-Length"]) == len(content)
    assert answer["Content-Disposition"] == 'attachment; filename="team.jsonl"'
    event = AuditEvent.objects.get(action="namespace.export")
    assert (event.actor, event.detail) == ("olga", {"format": "jsonl", "memories": 3})


def test_an_import_reports_line_by_line(namespace: Namespace, writer: User) -> None:
    record = {"id": "01890000-0000-7000-8000-000000000001", "type": "rule", "content": "Do."}
    content = json.dumps(record).encode() + b"\nnonsense\n"

    answer = ask(writer, "POST", "imports", content, first_line=100)

    report = answer.json()
    assert (report["created"], report["problem_count"]) == (1, 1)
    assert report["problems"][0]["line"] == 101
    assert ask(writer, "POST", "imports", content).json()["unchanged"] == 1
    assert ask(writer, "POST", "imports", content, dry_run="true").json()["dry_run"]


@pytest.mark.parametrize(
    ("content", "query", "code"),
    [
        (b"not a zip", {"format": "markdown"}, "archive_invalid"),
        (b"a,b\n1,2\n", {"format": "csv"}, "archive_invalid"),
        (b"[]", {"format": "json"}, "archive_invalid"),
        (b"{}", {"format": "xml"}, "invalid_arguments"),
        (b"{}", {"dry_rum": "true"}, "invalid_arguments"),
        (b"{}", {"first_line": "0"}, "invalid_arguments"),
    ],
)
def test_what_cannot_be_read_is_said(
    namespace: Namespace, writer: User, content: bytes, query: Any, code: str
) -> None:
    answer = ask(writer, "POST", "imports", content, **query)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)


def test_a_body_over_the_limit_is_refused(
    namespace: Namespace, writer: User, settings: Any
) -> None:
    settings.MAXIMUM_DIFF_BYTES = 1_000
    answer = ask(writer, "POST", "imports", b"x" * 1_001)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")
