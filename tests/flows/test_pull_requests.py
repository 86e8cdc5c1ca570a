"""Pull requests, from a push to the comment: CI jobs and git hosts as they are, the server real.

What runs is what the documentation has people paste: the workflow of the README calls the
composite action, whose steps a runner executes; GitLab's job is its own file. The git hosts are
tests/forges.py, the rest is processes of the product.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from tests.deploy.jobs import CI, Job, run_action, run_gitlab
from tests.flows.conftest import Agent
from tests.flows.repositories import commit, git, make_repository
from tests.forges import GitHost, serve
from tests.sarif import check_log
from tests.servers import ROOT

KINDS = ["github", "gitea", "forgejo", "gitlab"]
BILLING = "def charge(amount: int) -> int:\n    return amount\n"
PAGES = {
    f"shop/page_{number}.py": (
        "from shop.billing import charge\n\n\n"
        f"def pay_{number}() -> int:\n    return charge({number})\n"
    )
    for number in range(4)
}
REPOSITORY = "pulled"  # the flows share a namespace
FILES = {"shop/__init__.py": "", "shop/billing.py": BILLING, **PAGES}
SIGNED = "def charge(amount: int, currency: str) -> int:\n    return amount\n"
LONGER = "def charge(amount: int, currency: str, *, tax: int) -> int:\n    return amount + tax\n"
CALM = BILLING + "\n\n# Whole cents.\n"
TITLE = '"; touch pwned; $(touch pwned) `touch pwned`\n::error::pwned ##[error]pwned'


@dataclass
class Shop:
    """An indexed repository with a token for its CI jobs; each pull request gets a branch."""

    agent: Agent
    path: Path
    base: str
    token: str
    token_id: str
    repository_id: str
    branches: list[str] = field(default_factory=list)

    def token_of(self, name: str) -> tuple[str, str]:
        body = {"name": name, "kind": "ci", "namespaces": [self.agent.namespace]}
        answer = self.agent.ask("POST", "/api/tokens", body)
        assert answer.status == HTTPStatus.CREATED, answer
        return answer.content["secret"], answer.content["id"]


@dataclass
class PullRequest:
    """One of a git host's: `push` commits, `run` does what its push has a runner do."""

    shop: Shop
    host: GitHost
    scratch: Path
    branch: str
    number: int
    pushes: int = 0

    def push(self, billing: str) -> str:
        path = self.shop.path
        start = [self.branch] if self.pushes else ["-B", self.branch, self.shop.base]
        git(path, "checkout", "--quiet", *start)
        self.pushes += 1
        return commit(path, {"shop/billing.py": billing}, message=f"Push {self.pushes}")

    def run(
        self,
        head: str,
        inputs: Mapping[str, str] = MappingProxyType({}),
        *,
        token: str = "",
        depth: int = 0,
    ) -> Job:
        folder = self.checkout(head, depth)
        token = token or self.shop.token
        if self.host.kind == "gitlab":
            return self._gitlab(folder, head, token, inputs)
        return self._action(folder, head, token, inputs)

    def checkout(self, head: str, depth: int) -> Path:
        """Do as actions/checkout does: a clone with the pull request's head, detached."""
        folder = self.scratch / f"checkout-{len(list(self.scratch.iterdir()))}"
        options = [f"--depth={depth}"] if depth else []
        source = self.shop.path.as_uri()
        subprocess.run(
            ("git", "clone", "--quiet", "--branch", self.branch, *options, source, str(folder)),
            check=True,
        )
        git(folder, "checkout", "--quiet", "--detach", head)
        if depth:
            # A job that may not ask its host again.
            git(folder, "remote", "set-url", "origin", str(self.scratch / "nowhere"))
        return folder

    def _action(self, folder: Path, head: str, token: str, inputs: Mapping[str, str]) -> Job:
        flags = {"gitea": "GITEA_ACTIONS", "forgejo": "FORGEJO_ACTIONS"}
        environment = {
            "GITHUB_API_URL": self.host.api,
            "GITHUB_SERVER_URL": self.host.address,
            "GITHUB_HEAD_REF": TITLE,
        }
        if flag := flags.get(self.host.kind):
            environment[flag] = "true"
        sides = [
            {"sha": sha, "ref": TITLE, "repo": {"full_name": "acme/shop"}}
            for sha in (self.shop.base, head)
        ]
        return run_action(
            folder=folder,
            scratch=self.scratch,
            inputs={
                **_pasted(server=self.shop.agent.url, token=token),
                "repository": f"{self.shop.agent.namespace}/{REPOSITORY}",
                **inputs,
            },
            event={
                "pull_request": {
                    "number": self.number,
                    "title": TITLE,
                    "html_url": f"https://github.example/acme/shop/pull/{self.number}",
                    "base": sides[0],
                    "head": sides[1],
                }
            },
            environment=environment,
            token="job-token",
        )

    def _gitlab(self, folder: Path, head: str, token: str, inputs: Mapping[str, str]) -> Job:
        names = {f"CODEMEM_{name.upper().replace('-', '_')}": inputs[name] for name in inputs}
        return run_gitlab(
            folder=folder,
            scratch=self.scratch,
            environment={
                "CODEMEM_URL": self.shop.agent.url,
                "CODEMEM_TOKEN": token,
                "CODEMEM_FORGE_TOKEN": "job-token",
                "CODEMEM_REPOSITORY": f"{self.shop.agent.namespace}/{REPOSITORY}",
                "CI_API_V4_URL": self.host.api,
                "CI_PROJECT_ID": "42",
                "CI_MERGE_REQUEST_IID": str(self.number),
                "CI_MERGE_REQUEST_PROJECT_ID": "42",
                "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "42",
                "CI_MERGE_REQUEST_DIFF_BASE_SHA": self.shop.base,
                "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": TITLE,
                "CI_COMMIT_SHA": head,
                "CI_MERGE_REQUEST_TITLE": TITLE,
                **names,
            },
        )

    @property
    def comments(self) -> list[dict[str, Any]]:
        return self.host.comments


@pytest.fixture(scope="module")
def shop(agent: Agent, worker: subprocess.Popen[bytes], folder: Path) -> Shop:
    path = make_repository(folder / "pulled", FILES)
    git(path, "config", "uploadpack.allowAnySHA1InWant", "true")
    repository_id = agent.register(REPOSITORY, path)
    agent.wait_until_indexed(repository_id)
    shop = Shop(agent, path, git(path, "rev-parse", "HEAD"), "", "", repository_id)
    shop.token, shop.token_id = shop.token_of("ci")
    return shop


@pytest.fixture
def pull(request: pytest.FixtureRequest, shop: Shop, tmp_path: Path) -> Iterator[PullRequest]:
    kind = getattr(request, "param", "github")
    with serve(kind) as host:
        # The server remembers what became of a pull request's comment: each is another.
        number = 100 + len(shop.branches)
        host.issue = host.issue.replace("/7/", f"/{number}/")
        host.one = host.one.replace("/7/", f"/{number}/")
        shop.branches.append(f"{kind}-{number}")
        yield PullRequest(shop, host, tmp_path, shop.branches[-1], number)


every_host = pytest.mark.parametrize("pull", KINDS, indirect=True)


def _pasted(*, server: str, token: str) -> dict[str, str]:
    """Return what the workflow of the README gives the action."""
    known = {"vars.CODEMEM_URL": server, "secrets.CODEMEM_TOKEN": token}
    return {
        name: re.sub(r"\$\{\{ *([\w.]+) *\}\}", lambda match: known[match[1]], value)
        for name, value in workflow_step()["with"].items()
    }


def workflow_step() -> dict[str, Any]:
    """Return the step of the README's workflow that calls the action."""
    (workflow,) = re.findall(r"```yaml\n(on: pull_request\n.*?)```", _readme(), re.DOTALL)
    ((_, job),) = yaml.safe_load(workflow)["jobs"].items()
    checkout, step = job["steps"]
    assert checkout["uses"].startswith("actions/checkout@")
    assert checkout["with"] == {"fetch-depth": 0}
    assert step["uses"].partition("@")[0].endswith("/deploy/ci")
    found: dict[str, Any] = step
    return found


def _readme() -> str:
    return (ROOT / "README.md").read_text()


@every_host
def test_a_pull_request_from_its_first_push_to_its_last(pull: PullRequest):
    first = pull.run(pull.push(SIGNED), {"sarif": "codemem.sarif"})

    assert first.status == 0, first.log
    (comment,) = pull.comments
    number, before = comment["id"], comment["body"]
    assert before.startswith("<!-- codemem-review -->")
    assert "`charge" in before
    assert "- [ ]" in before
    results = check_log(json.loads((first.folder / "codemem.sarif").read_text()))
    assert {one["ruleId"] for one in results} <= {"missing-change", "dependents-left-behind"}
    assert results
    _assert_shown(pull, first, before)

    head = pull.push(LONGER)
    second = pull.run(head)
    assert second.status == 0, second.log
    (comment,) = pull.comments
    assert comment["id"] == number
    assert head[:12] in comment["body"]
    assert head[:12] not in before

    # Somebody who may edit the comment ticks its boxes; the next push finds another commit.
    keys = re.findall(r"codemem:([0-9a-f]{12}):open", comment["body"])
    assert keys
    comment["body"] = comment["body"].replace("- [ ]", "- [x]")
    pull.run(pull.push(LONGER.replace("amount + tax", "tax + amount")))
    third = pull.run(pull.push(LONGER.replace("amount + tax", "tax + amount + 0")))
    assert third.status == 0, third.log
    (comment,) = pull.comments
    assert comment["id"] == number
    assert all(f"codemem:{key}:dismissed" in comment["body"] for key in keys)
    assert ":open" not in comment["body"]

    last = pull.run(pull.push(CALM))
    assert last.status == 0, last.log
    (comment,) = pull.comments
    assert comment["id"] == number
    assert "nothing to point out" in comment["body"]
    assert len(pull.host.asked("POST")) == 1

    rows = pull.shop.agent.ask("GET", f"/api/reviews?number={pull.number}").content["results"]
    assert [(one["forge"], one["posting"]) for one in rows] == [(pull.host.kind, "posted")]


def _assert_shown(pull: PullRequest, job: Job, comment: str) -> None:
    """Assert what a job shows of its first review, and that the author's words did nothing."""
    commands = [line for line in job.log.splitlines() if line.lstrip().startswith("::")]
    if pull.host.kind == "gitlab":
        assert commands == []
        (issue, *_) = json.loads((job.folder / "gl-code-quality-report.json").read_text())
        assert issue["location"]["path"].startswith("shop/")
    else:
        assert commands
        assert all(re.match(r"::(warning|notice) file=shop/", one) for one in commands)
        assert "`charge" in job.summary
        assert job.outputs["comment"] == "posted"
        assert job.outputs["remarks"] == str(comment.count("- [ ]"))
        assert job.outputs["risk-level"] in {"none", "low", "medium", "high"}
    assert "##[" not in job.log
    assert not list(pull.scratch.rglob("pwned"))


@every_host
def test_the_named_risk_fails_the_job_and_nothing_else_does(pull: PullRequest):
    head = pull.push(SIGNED)
    levels = ("none", "low", "medium", "high", "critical")
    job = pull.run(head, {"fail-on": "low"})
    level = re.search(r"codemem: The risk is (\w+) \(", job.log)
    assert level is not None, job.log

    assert job.status == (1 if levels.index(level[1]) >= levels.index("low") else 0)
    assert pull.run(head, {"fail-on": "critical"}).status == 0
    assert pull.run(head, {"fail-on": "never"}).status == 0
    assert len(pull.comments) == 1


def test_a_token_that_was_revoked_is_a_sentence_and_fails_no_job(pull: PullRequest):
    head = pull.push(SIGNED)
    secret, token_id = pull.shop.token_of("to be revoked")
    assert pull.run(head, token=secret).status == 0
    revoked = subprocess.run(
        (
            *("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-X", "DELETE"),
            *("-H", f"Authorization: Bearer {pull.shop.agent.token}"),
            f"{pull.shop.agent.url}/api/tokens/{token_id}",
        ),
        capture_output=True,
        text=True,
        check=True,
    )
    assert revoked.stdout == "204"
    job = pull.run(head, token=secret)

    assert job.status == 0
    assert "codemem refuses the token" in job.log
    assert "Make a new CI token" in job.log
    assert secret not in job.log
    assert pull.run(head, {"required": "true"}, token=secret).status == 2
    assert len(pull.comments) == 1


@every_host
def test_a_checkout_without_the_base_has_the_server_make_the_diff(pull: PullRequest):
    pull.push(SIGNED)
    job = pull.run(pull.push(LONGER), depth=1)

    assert job.status == 0, job.log
    assert "The server is asked to make the diff" in job.log
    (comment,) = pull.comments
    assert "`charge" in comment["body"]


def test_a_job_may_read_the_code_of_its_own_namespace_only(pull: PullRequest):
    job = pull.run(pull.push(SIGNED), {"repository": "another/shop", "required": "true"})

    assert job.status == 2
    assert "404" in job.log
    assert pull.comments == []


def test_a_diff_of_20_mb_is_answered_with_a_sentence_and_one_of_50_mb_is_refused(
    shop: Shop, tmp_path: Path
):
    small = _section("shop/billing.py", 1)
    diff = small + _section("package-lock.json", 330_000)
    assert len(diff) > 20 << 20
    place = {"namespace": shop.agent.namespace, "repository": REPOSITORY}
    answer = shop.agent.ask("POST", "/api/v1/reviews", {**place, "diff": diff})

    assert answer.status == HTTPStatus.OK, str(answer)[:500]
    notes = answer.content["review"]["notes"]
    assert "1 file left out, the largest first: package-lock.json (" in notes[0]
    paths = {file["path"] for file in answer.content["review"]["files"]}
    assert paths == {"shop/billing.py", "package-lock.json"}

    # A body that is refused is not read to its end, which not every client survives.
    body = tmp_path / "body.json"
    body.write_text(json.dumps({**place, "diff": diff + diff + diff}))
    assert body.stat().st_size > 50_000_000
    refused = subprocess.run(
        (
            *("curl", "-sS", "-w", "%{http_code}", "--data-binary", f"@{body}"),
            *("-H", f"Authorization: Bearer {shop.agent.token}"),
            *("-H", "Content-Type: application/json", f"{shop.agent.url}/api/v1/reviews"),
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.stdout.endswith("413"), refused
    assert "body_too_large" in refused.stdout
    assert shop.agent.ask("POST", "/api/v1/reviews", {**place, "diff": small}).status == 200


def _section(path: str, lines: int) -> str:
    body = "".join(f'+      "integrity": "sha512-{number:040x}=="\n' for number in range(lines))
    return (
        f"diff --git a/{path} b/{path}\nindex 1234567..89abcde 100644\n--- a/{path}\n+++ b/{path}\n"
        f"@@ -0,0 +1,{lines} @@\n{body}"
    )


def test_every_setting_that_is_written_down_is_one_of_the_action():
    action = yaml.safe_load((CI / "action.yml").read_text())
    step = workflow_step()
    (text,) = re.findall(r"```yaml\n(on: pull_request\n.*?)```", _readme(), re.DOTALL)
    optional = re.findall(r"^ +# ([\w-]+): ", text, re.MULTILINE)

    assert optional
    assert {*step["with"], *optional} <= set(action["inputs"])
    required = {name for name, one in action["inputs"].items() if one.get("required")}
    assert required <= set(step["with"])
    script = (CI / "codemem_review.py").read_text()
    (run,) = action["runs"]["steps"]
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(run["env"])))
    assert used == set(action["inputs"])
    for name in set(run["env"]) - {"CODEMEM_ACTION"}:
        assert name in script
    for output in action["outputs"].values():
        (name,) = re.findall(r"steps\.review\.outputs\.([\w-]+)", output["value"])
        assert f'"{name}"' in script
    for name in re.findall(r"CODEMEM_[A-Z_]+", (CI / "gitlab.yml").read_text()):
        assert f'"{name}"' in script
