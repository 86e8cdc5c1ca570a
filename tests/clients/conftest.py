"""Real coding agents against a scripted model and a real server. Run by `make test-clients`."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.clients.model import ScriptedModel
from tests.flows.conftest import (  # noqa: F401 - fixtures
    Agent,
    agent,
    environment,
    folder,
    instance,
    server,
    worker,
)
from tests.servers import ROOT

_PACKAGES = Path(__file__).with_name("package.json")
_INSTALL_SECONDS = 600
_SESSION_SECONDS = 240


@dataclass(frozen=True, slots=True)
class RealClient:
    """How one client is told which model to use, and asked one thing without a terminal."""

    name: str
    command: Callable[[str, str], tuple[str, ...]]  # model's address, prompt -> arguments
    environment: Callable[[str, Path], Mapping[str, str]]
    settings: Callable[[str], Mapping[str, object]] = field(default=lambda _url: {})


def _claude(_url: str, prompt: str) -> tuple[str, ...]:
    options = ("--dangerously-skip-permissions", "--model", "claude-sonnet-4-5")
    return ("claude", "-p", prompt, *options)


def _codex(url: str, prompt: str) -> tuple[str, ...]:
    provider = (
        f'{{name="scripted",base_url="{url}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}}'
    )
    return (
        *("codex", "exec", "--dangerously-bypass-approvals-and-sandbox"),
        # What a person does once with /hooks.
        "--dangerously-bypass-hook-trust",
        *("-c", 'model_provider="scripted"', "-c", f"model_providers.scripted={provider}"),
        *("-m", "gpt-5.1-codex", prompt),
    )


def _gemini(_url: str, prompt: str) -> tuple[str, ...]:
    return ("gemini", "--yolo", "-m", "gemini-2.5-flash", "-p", prompt)


def _opencode(_url: str, prompt: str) -> tuple[str, ...]:
    return ("opencode", "run", prompt)


CLIENTS = {
    "claude-code": RealClient(
        "claude-code",
        _claude,
        lambda url, _home: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        },
    ),
    "codex": RealClient(
        "codex",
        _codex,
        lambda _url, home: {"OPENAI_API_KEY": "scripted", "CODEX_HOME": str(home / ".codex")},
    ),
    "gemini": RealClient(
        "gemini",
        _gemini,
        lambda url, _home: {
            "GEMINI_API_KEY": "scripted",
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        lambda _url: {
            ".gemini/settings.json": {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "general": {"enableAutoUpdate": False},
                "privacy": {"usageStatisticsEnabled": False},
            }
        },
    ),
    "opencode": RealClient(
        "opencode",
        _opencode,
        lambda _url, _home: {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        lambda url: {
            ".config/opencode/opencode.json": {
                "$schema": "https://opencode.ai/config.json",
                "provider": {
                    "scripted": {
                        "npm": "@ai-sdk/openai-compatible",
                        "options": {"baseURL": f"{url}/v1", "apiKey": "scripted"},
                        "models": {"one": {"name": "one"}},
                    }
                },
                "model": "scripted/one",
                "small_model": "scripted/one",
                "permission": "allow",
            }
        },
    ),
}


@pytest.fixture(scope="session")
def installed_clients() -> Path:
    """Return the folder with the clients' commands, installed from npm if they are not there.

    CODEMEM_CLIENTS names a folder that is kept; without it they go below .local.
    """
    place = Path(os.environ.get("CODEMEM_CLIENTS", ROOT / ".local" / "clients"))
    commands = place / "node_modules" / ".bin"
    if not _is_complete(place):
        if shutil.which("npm") is None:
            pytest.fail("These tests install real coding agents with npm, which is not here.")
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(_PACKAGES, place / "package.json")
        finished = subprocess.run(
            ("npm", "install", "--no-audit", "--no-fund", "--no-package-lock"),
            cwd=place,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr[-3_000:]
    return commands


def _is_complete(place: Path) -> bool:
    wanted = json.loads(_PACKAGES.read_text())["dependencies"]
    for name, version in wanted.items():
        try:
            there = json.loads((place / "node_modules" / name / "package.json").read_text())
        except FileNotFoundError:
            return False
        if there["version"] != version:
            return False
    return True


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


@dataclass(frozen=True, slots=True)
class Desk:
    """A developer's machine: a home with one client, `codemem login` and `codemem init` done."""

    client: RealClient
    home: Path
    work: Path
    model: ScriptedModel
    environment: Mapping[str, str]

    def asks(self, prompt: str) -> str:
        """Have the client do one session; return what it wrote."""
        finished = subprocess.run(
            self.client.command(self.model.url, prompt),
            cwd=self.work,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SESSION_SECONDS,
            check=False,
        )
        said = f"{finished.stdout}\n{finished.stderr}"
        assert finished.returncode == 0, said[-3_000:]
        assert not self.model.problems, (self.model.problems, said[-2_000:])
        self._wait_for_spool()
        return said

    def codemem(self, *arguments: str) -> str:
        finished = subprocess.run(
            (sys.executable, "-m", "codemem.client", *arguments),
            cwd=self.work,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout

    def _wait_for_spool(self) -> None:
        spool = self.home / ".local" / "state" / "codemem" / "spool"
        deadline = time.monotonic() + 30
        while list(spool.glob("*.event")) or list(spool.glob(".*.event")):
            assert time.monotonic() < deadline, sorted(spool.iterdir())
            time.sleep(0.1)


@pytest.fixture
def desk(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    installed_clients: Path,
    model: ScriptedModel,
    server: str,  # noqa: F811
) -> Callable[[str, Path], Desk]:
    """Return how to set up a desk for one client at one checkout, for the holder of a token."""
    client = CLIENTS[request.param]

    def set_up(token: str, work: Path) -> Desk:
        home = tmp_path / "home"
        home.mkdir()
        values = {
            "PATH": f"{installed_clients}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "TERM": "dumb",
            "NO_PROXY": "127.0.0.1,localhost",
            "GIT_CONFIG_GLOBAL": os.devnull,
            **client.environment(model.url, home),
        }
        for place, settings in client.settings(model.url).items():
            path = home / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(settings, indent=2))
        made = Desk(client, home, work, model, values)
        subprocess.run(
            (sys.executable, "-m", "codemem.client", "login", "--url", server, "--token-stdin"),
            env=values,
            input=token.encode(),
            capture_output=True,
            check=True,
        )
        made.codemem("init", "--yes", "--only", client.name)
        return made

    return set_up
