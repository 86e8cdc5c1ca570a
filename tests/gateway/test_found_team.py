"""`manage.py found_team`: what a stranger's first command leaves behind."""

import stat
import subprocess

import pytest
from django.core.management import call_command
from django.utils import timezone

from codemem.accounts.models import Namespace, Token, User
from codemem.accounts.services import authenticate_token
from codemem.accounts.values import Role
from graph.models import Repository
from indexing.models import IndexRun
from memory.models import Memory

pytestmark = pytest.mark.django_db


@pytest.fixture
def checkout(tmp_path):
    """Return a work tree whose folder's name is no repository name."""
    path = tmp_path / "My Project"
    path.mkdir()
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    remote = "https://user:secret@git.example/org/project.git"
    subprocess.run(["git", "-C", str(path), "remote", "add", "origin", remote], check=True)
    return path


def test_a_team_can_begin(checkout, tmp_path):
    credentials = tmp_path / "credentials"

    call_command("found_team", checkout=checkout, credentials=credentials)

    secrets = _read(credentials)
    caller = authenticate_token(
        secret=secrets["CODEMEM_DEVELOPER_TOKEN"], now=timezone.now(), ip=None
    )
    namespace = Namespace.objects.get(name="team")
    assert caller.roles == {namespace.pk: Role.MAINTAINER}
    assert User.objects.get(username="admin").check_password(secrets["CODEMEM_ADMIN_PASSWORD"])
    assert stat.S_IMODE(credentials.stat().st_mode) == 0o600
    repository = Repository.objects.get()
    assert repository.name == "my-project"
    assert [alias.value for alias in repository.aliases.all()] == ["git.example/org/project"]
    assert IndexRun.objects.filter(repository=repository, state="queued").count() == 1
    assert Memory.objects.count() == 3


def test_founding_again_changes_nothing(checkout, tmp_path):
    credentials = tmp_path / "credentials"
    call_command("found_team", checkout=checkout, credentials=credentials)
    before = credentials.read_text(), _counts()

    call_command("found_team", checkout=checkout, credentials=credentials)

    assert (credentials.read_text(), _counts()) == before


def test_a_lost_credentials_file_gets_new_secrets(checkout, tmp_path):
    credentials = tmp_path / "credentials"
    call_command("found_team", checkout=checkout, credentials=credentials)
    lost = _read(credentials)
    credentials.unlink()

    call_command("found_team", checkout=checkout, credentials=credentials)

    found = _read(credentials)
    assert found["CODEMEM_DEVELOPER_TOKEN"] != lost["CODEMEM_DEVELOPER_TOKEN"]
    assert User.objects.get(username="admin").check_password(found["CODEMEM_ADMIN_PASSWORD"])


def _counts():
    models = (User, Namespace, Token, Repository, IndexRun, Memory)
    return [model.objects.count() for model in models]


def _read(credentials):
    return dict(line.split("=", 1) for line in credentials.read_text().splitlines())
