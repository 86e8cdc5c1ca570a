"""The operator's command that connects a repository to its git host."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from indexing.models import ForgeConnection
from indexing.signing import webhook_secret, webhook_signing_token
from tests.factories import make_namespace, make_repository

pytestmark = pytest.mark.django_db
SOURCE = "env:CODEMEM_FORGE_TOKEN_SHOP"


@pytest.fixture
def repository():
    return make_repository(make_namespace("acme"), "shop")


def run(*arguments: str) -> str:
    said = StringIO()
    call_command("post_reviews", "acme/shop", *arguments, stdout=said)
    return said.getvalue()


def test_a_repository_is_connected_and_told_what_is_left_to_do(repository, monkeypatch):
    monkeypatch.setenv("CODEMEM_FORGE_TOKEN_SHOP", "very-secret")
    said = run("--forge", "gitlab", "--token", SOURCE)

    kept = ForgeConnection.objects.get()
    assert (kept.api_url, kept.project) == ("https://gitlab.com/api/v4", "acme/shop")
    assert kept.token_source == SOURCE
    assert f"/webhooks/gitlab/{repository.pk}" in said
    assert webhook_secret(repository.pk) in said
    assert webhook_signing_token(repository.pk) in said
    assert "very-secret" not in said


def test_a_token_that_is_not_there_yet_is_pointed_out(repository):
    assert "no token at file:shop" in run("--forge", "github", "--token", "file:shop")


def test_it_can_be_stopped(repository):
    run("--forge", "github", "--token", SOURCE)
    assert "No more" in run("--off")
    assert not ForgeConnection.objects.get().is_active


@pytest.mark.parametrize(
    "arguments",
    [
        ("--token", SOURCE),
        ("--forge", "gitea", "--token", SOURCE),
        ("--forge", "github", "--token", "plain-token"),
        ("--forge", "github", "--token", SOURCE, "--api", "file:///etc/passwd"),
        ("--forge", "github", "--token", SOURCE, "--api", "https://user:pass@host/"),
        ("--forge", "github", "--token", SOURCE, "--project", "../other"),
    ],
)
def test_a_mistake_is_a_sentence(repository, arguments):
    with pytest.raises(CommandError, match=r"\."):
        run(*arguments)
    assert not ForgeConnection.objects.exists()


def test_a_repository_that_is_not_there_is_a_sentence():
    with pytest.raises(CommandError, match="no repository"):
        run("--off")
