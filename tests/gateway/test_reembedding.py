"""The change of models over REST, in the admin's words and on the command line."""

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from codemem.accounts.models import Namespace, User
from codemem.accounts.values import TokenScope
from codemem.embedding import from_settings, serving
from codemem.embedding.models import Reembedding
from memory.models import Memory
from memory.services import store_memory
from tests.codemem.model_server import ModelServer, model_server
from tests.factories import NOW, caller_of, make_token

pytestmark = pytest.mark.django_db(transaction=True)

NEW = "ollama:other:8:half:plain"


@pytest.fixture
def server(settings: Any, writer: User, namespace: Namespace) -> Iterator[ModelServer]:
    """Yield the server of the configured model; a memory has a vector of the one before."""
    serving.forget()
    store_memory(
        caller=caller_of(writer),
        namespace_id=namespace.pk,
        content="We deploy on Tuesdays.",
        memory_type="decision",
        now=NOW,
    )
    with model_server() as served:
        settings.EMBEDDING_PROVIDER, settings.EMBEDDING_MODEL = "ollama", "other"
        settings.EMBEDDING_DIMENSIONS, settings.EMBEDDING_BASE_URL = served.dimensions, served.url
        serving.forget()
        yield served
    serving.forget()


@pytest.fixture
def administrator(owner: User) -> User:
    owner.is_superuser = True
    owner.save()
    return owner


def ask(user: User, method: str, path: str, scopes: Any = None) -> Any:
    secret = make_token(user, **({"scopes": scopes} if scopes else {})).secret
    return Client().generic(
        method, f"/api/v1/embedding{path}", headers={"Authorization": f"Bearer {secret}"}
    )


def test_an_administrator_changes_the_model_and_everybody_sees_how_far_it_is(
    server: ModelServer, administrator: User, reader: User
) -> None:
    seen = ask(reader, "GET", "").json()
    assert (seen["model"], seen["configured"]) == (from_settings().fingerprint, NEW)
    assert seen["change"] is None
    asked = ask(administrator, "POST", "/change", {TokenScope.NAMESPACE_ADMIN})
    assert asked.status_code == 202, asked.content
    assert (asked.json()["state"], asked.json()["model"]) == ("running", NEW)
    assert ask(reader, "GET", "").json()["change"]["id"] == asked.json()["id"]
    canceled = ask(administrator, "DELETE", "/change", {TokenScope.NAMESPACE_ADMIN})
    assert canceled.json()["state"] == "canceled"


def test_nobody_else_changes_it(server: ModelServer, owner: User, writer: User) -> None:
    for user, scopes in ((owner, {TokenScope.NAMESPACE_ADMIN}), (writer, None)):
        for method in ("POST", "DELETE"):
            assert ask(user, method, "/change", scopes).status_code == 403
    assert not Reembedding.objects.exists()
    assert Client().get("/api/v1/embedding").status_code == 401


def test_the_scope_of_the_token_counts_too(server: ModelServer, administrator: User) -> None:
    assert ask(administrator, "POST", "/change", {TokenScope.MEMORY_READ}).status_code == 403


def test_what_is_wrong_is_said(server: ModelServer, administrator: User, settings: Any) -> None:
    scopes = {TokenScope.NAMESPACE_ADMIN}
    settings.EMBEDDING_DIMENSIONS = 9
    refused = ask(administrator, "POST", "/change", scopes)
    assert refused.status_code == 503
    assert "vectors of 8 numbers, not of 9" in refused.json()["error"]["message"]
    assert ask(administrator, "DELETE", "/change", scopes).status_code == 404
    settings.EMBEDDING_PROVIDER = "local"
    assert ask(administrator, "POST", "/change", scopes).status_code == 409


def test_the_status_names_both_models(server: ModelServer, reader: User) -> None:
    told = Client().post(
        "/api/v1/tools/codemem_status",
        json.dumps({"include": ["embedding"]}),
        "application/json",
        headers={"Authorization": f"Bearer {make_token(reader).secret}"},
    )
    assert told.json()["embedding"]["configured"] == NEW
    assert "start to re-embed" in told.json()["notes"][0]


def test_the_command_does_it_all_and_prints_how_far_it_is(server: ModelServer) -> None:
    printed = StringIO()
    call_command("reembed", "--here", stdout=printed)
    assert printed.getvalue().splitlines()[-1].startswith("done: 1 of 1 texts")
    assert set(Memory.objects.values_list("embedding_fingerprint", flat=True)) == {NEW}
    again = StringIO()
    call_command("reembed", "--here", stdout=again)
    assert again.getvalue() == f"The model {NEW} is the one that answers.\n"


def test_the_command_says_what_is_wrong(server: ModelServer, settings: Any) -> None:
    settings.EMBEDDING_BASE_URL = "http://127.0.0.1:9"
    settings.EMBEDDING_RETRIES = 0
    with pytest.raises(CommandError, match="cannot be reached"):
        call_command("reembed", "--here", stdout=StringIO())
    printed = StringIO()
    call_command("reembed", "--status", stdout=printed)
    assert printed.getvalue() == "The model was never changed.\n"
