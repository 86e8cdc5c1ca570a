"""GET /setup/<client>: the same as `codemem init` writes, without any secret."""

import tomllib
from http import HTTPStatus
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from codemem.client.install import jsonc, templates
from codemem.gateway.adapters import ADAPTERS

NAMES = [client.name for client in templates.CLIENTS]


def test_every_client_that_has_hooks_can_be_set_up(client: Client):
    listed = client.get("/setup").json()["clients"]
    assert [one["name"] for one in listed] == NAMES
    assert set(NAMES) == set(ADAPTERS)


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("name", NAMES)
def test_the_files_of_a_client_are_given_as_data_and_as_text(client: Client, name, scope):
    said = client.get(f"/setup/{name}", {"scope": scope}).json()
    assert said["mcp_url"] == f"{settings.PUBLIC_URL}/mcp"
    assert "cm_" not in str(said["files"])
    assert said["instructions"]["block"].startswith("<!-- codemem: begin")
    assert said["files"]
    for file in said["files"]:
        match file["format"]:
            case "json":
                value = jsonc.value_of(file["content"])
            case "toml":
                value = tomllib.loads(file["content"])
            case _:
                assert "codemem-hook" in file["content"]
                continue
        for piece in file["pieces"]:
            found = value
            for key in piece["path"]:
                found = found[key]
            assert found == ([piece["value"]] if piece["append"] else piece["value"])


def test_the_shim_is_served_as_it_is(client: Client):
    place = Path(templates.__file__).with_name("codemem-hook")
    assert client.get("/setup/codemem-hook").content == place.read_bytes()


def test_an_unknown_client_is_told_which_there_are(client: Client):
    answer = client.get("/setup/emacs")
    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert "claude-code" in answer.json()["error"]["hint"]


def test_an_unknown_scope_is_refused(client: Client):
    answer = client.get("/setup/codex", {"scope": "moon"})
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY


def test_nothing_is_written_here(client: Client):
    assert client.post("/setup/codex").status_code == HTTPStatus.METHOD_NOT_ALLOWED
