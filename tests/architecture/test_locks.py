"""The lock files: versions and hashes, no hosts, one version of everything."""

import re
import tomllib
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
WHOLE = CHECKOUT / "requirements.lock"
SERVER = CHECKOUT / "deploy/requirements-server.lock"
MODEL = CHECKOUT / "deploy/embedding/model.lock"

_PIN = re.compile(r"^([\w.-]+)==([\w.+!-]+)", re.MULTILINE)


@pytest.mark.parametrize("lock", [WHOLE, SERVER, MODEL], ids=lambda path: path.name)
def test_a_lock_names_no_host(lock):
    assert "://" not in lock.read_text()


@pytest.mark.parametrize("lock", [WHOLE, SERVER, MODEL], ids=lambda path: path.name)
def test_a_lock_has_a_hash_for_every_pin(lock):
    entries = re.split(r"\n(?=\S)", lock.read_text().strip())

    pins = [entry for entry in entries if _PIN.match(entry)]

    assert pins
    assert [entry for entry in pins if "--hash=sha256:" not in entry] == []


def test_the_image_runs_the_versions_that_are_tested():
    tested = set(_PIN.findall(WHOLE.read_text()))

    assert set(_PIN.findall(SERVER.read_text())) <= tested


def test_the_base_install_needs_nothing():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]

    assert project["dependencies"] == []
