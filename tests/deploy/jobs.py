"""CI jobs as runners run them: the composite action's steps, the GitLab job's script."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CI = Path(__file__).resolve().parents[2] / "deploy" / "ci"
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


@dataclass(frozen=True)
class Job:
    """How a job ended, and all that it left behind."""

    status: int
    log: str
    summary: str
    outputs: dict[str, str]
    folder: Path


def run_action(
    *,
    folder: Path,
    scratch: Path,
    inputs: Mapping[str, str],
    event: Mapping[str, Any],
    environment: Mapping[str, str],
    token: str,
) -> Job:
    """Execute deploy/ci/action.yml in a checkout: defaults, expressions, steps with bash."""
    action = yaml.safe_load((CI / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    context = {"github.token": token, "github.action_path": str(CI)}
    for name, declared in action["inputs"].items():
        assert name in inputs or not declared.get("required"), f"{name} is required"
        given = inputs.get(name, declared.get("default", ""))
        context[f"inputs.{name}"] = _evaluated(str(given), context)
    files = {name: scratch / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_text("")
    event_file = scratch / "event.json"
    event_file.write_text(json.dumps(event))
    log, status = "", 0
    for step in action["runs"]["steps"]:
        # Whatever an expression says would be a part of the program.
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
        script = scratch / "step.sh"
        script.write_text(step["run"])
        own = {key: _evaluated(str(value), context) for key, value in step.get("env", {}).items()}
        done = _bash(
            script,
            folder=folder,
            environment={
                "GITHUB_ACTIONS": "true",
                "GITHUB_EVENT_PATH": str(event_file),
                "GITHUB_REPOSITORY": "acme/shop",
                **{name: str(file) for name, file in files.items()},
                **environment,
                **own,
            },
        )
        log, status = log + done.stdout, done.returncode
        if status:
            break
    return Job(
        status=status,
        log=log,
        summary=files["GITHUB_STEP_SUMMARY"].read_text(),
        outputs=dict(
            line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines()
        ),
        folder=folder,
    )


def run_gitlab(*, folder: Path, scratch: Path, environment: Mapping[str, str]) -> Job:
    """Execute the job of deploy/ci/gitlab.yml in a checkout."""
    (job,) = yaml.safe_load((CI / "gitlab.yml").read_text()).values()
    script = scratch / "job.sh"
    script.write_text("\n".join(job["script"]))
    done = _bash(
        script,
        folder=folder,
        environment={"GITLAB_CI": "true", **job["variables"], **environment},
    )
    return Job(status=done.returncode, log=done.stdout, summary="", outputs={}, folder=folder)


def _bash(
    script: Path, *, folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=folder,
        # A runner's own environment: nothing of the tests' gets through.
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )


def _evaluated(text: str, context: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda match: context[match[1]], text)
