"""The CI script as jobs run it, against git hosts that enforce their rules."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from graph.impact import Risk, RiskLevel
from indexing.comment import MARKER, comment_of
from indexing.diffs import parse
from indexing.fitting import fit
from indexing.missing.values import MissingChange
from indexing.posting.formats import code_quality_of, sarif_of
from indexing.posting.text import text_of
from indexing.remarks import Dismissal
from indexing.values import Review
from tests.deploy.jobs import CI, Job, run_action, run_gitlab
from tests.forges import HOSTS, Account, Fault, GitHost, Refusal, Served, serve
from tests.indexing.checkout import Checkout
from tests.indexing.test_comment import review
from tests.sarif import check_log

KINDS = sorted(HOSTS)
ACTIONS = ["github", "gitea", "forgejo"]
BOTS = {"github": "github-actions[bot]", "gitlab": "project_bot"}
TOKEN = "cm_abcdefgh_very-secret-token_x"
FORGOTTEN = MissingChange(path="shop/order.py", probability=0.8, reason="changed with it 8 of 10")
CALM = Risk(score=3.0, level=RiskLevel.LOW, parts=())


@dataclass
class Codemem:
    """A codemem server that reviews every diff alike, and remembers as the real one does."""

    found: Review = field(default_factory=lambda: review(missing=(FORGOTTEN,)))
    dismissals: dict[str, Dismissal] = field(default_factory=dict)
    comment_id: str = ""
    postings: list[str] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[tuple[int, Any]] = field(default_factory=list)
    most_bytes: int = 10**8
    script: Path = CI / "codemem_review.py"

    def answer(
        self, method: str, target: str, headers: Any, body: Any
    ) -> tuple[int, Mapping[str, str], Any]:
        if target == "/setup/codemem_review.py":
            return 200, {}, self.script.read_bytes()
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refusal(401, "unsigned")
        if target.endswith("/posting"):
            self.postings.append(body["posting"])
            self.comment_id = body["comment_id"] or self.comment_id
            return 204, {}, b""
        assert target == "/api/v1/reviews"
        self.asked.append(body)
        if self.refusals:
            status, answer = self.refusals.pop(0)
            return status, {}, answer
        if len(json.dumps(body)) > self.most_bytes:
            return 413, {}, {"error": {"code": "body_too_large", "message": "Too large."}}
        return 200, {}, self._review(body)

    def _review(self, body: Mapping[str, Any]) -> dict[str, Any]:
        for key in body["dismissed"]:
            self.dismissals[key] = Dismissal(
                by="x", via="comment", at=datetime(2026, 3, 1, tzinfo=UTC)
            )
        for key in body["restored"]:
            self.dismissals.pop(key, None)
        text = text_of(
            self.found,
            repository="team/shop",
            ref="main",
            head_commit=body["head"],
            dismissals=self.dismissals,
        )
        return {
            "review": {"risk": {"level": self.found.risk.level, "score": self.found.risk.score}},
            "markdown": comment_of(self.found, repository="team/shop", ref="main"),
            "comment": text.comment,
            "is_quiet": text.is_quiet,
            "remarks": [
                {
                    "key": one.key,
                    "level": one.level,
                    "path": one.path,
                    "message": one.message,
                    "dismissed": one.key in self.dismissals,
                }
                for one in text.remarks
            ],
            "record": {"id": "r1", "posting": "none", "comment_id": self.comment_id},
            "sarif": sarif_of(text.remarks, self.dismissals, version="1"),
            "code_quality": code_quality_of(text.remarks, self.dismissals),
        }


@dataclass
class Pipeline:
    """A pull request with its host, its codemem and its checkout; `run` is a push's job."""

    host: GitHost
    codemem: Codemem
    server: str
    checkout: Checkout
    base: str
    head: str
    scratch: Path
    is_fork: bool = False
    title: str = "Charge taxes"

    @property
    def bot(self) -> str:
        return BOTS.get(self.host.kind, "gitea-actions")

    @property
    def comments(self) -> list[str]:
        return self.host.bodies(self.bot)

    def run(self, *, token: str = TOKEN, **inputs: str) -> Job:
        if self.host.kind == "gitlab":
            return self._gitlab(token, inputs)
        flags = {"gitea": "GITEA_ACTIONS", "forgejo": "FORGEJO_ACTIONS"}
        environment = {"GITHUB_API_URL": self.host.api, "GITHUB_SERVER_URL": self.host.address}
        if flag := flags.get(self.host.kind):
            environment[flag] = "true"
        repositories = ("acme/shop", "mallory/shop" if self.is_fork else "acme/shop")
        sides = [
            {"sha": sha, "repo": {"full_name": name}}
            for sha, name in zip((self.base, self.head), repositories, strict=True)
        ]
        return run_action(
            folder=self.checkout.path,
            scratch=self.scratch,
            inputs={"server": self.server, "token": token, "repository": "team/shop", **inputs},
            event={
                "pull_request": {
                    "number": 7,
                    "title": self.title,
                    "html_url": "https://github.example/acme/shop/pull/7",
                    "base": sides[0],
                    "head": sides[1],
                }
            },
            environment=environment,
            token="job-token",
        )

    def hurry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have the job wait half a second for a host that is busy, not a minute and a half."""
        script = (CI / "codemem_review.py").read_text()
        assert "PATIENCE_SECONDS = 90.0" in script
        folder = self.scratch / "action"
        folder.mkdir()
        hasty = script.replace("PATIENCE_SECONDS = 90.0", "PATIENCE_SECONDS = 0.5")
        (folder / "codemem_review.py").write_text(hasty)
        for name in ("action.yml", "gitlab.yml"):
            (folder / name).write_text((CI / name).read_text())
        self.codemem.script = folder / "codemem_review.py"
        monkeypatch.setattr("tests.deploy.jobs.CI", folder)

    def _gitlab(self, token: str, inputs: Mapping[str, str]) -> Job:
        names = {f"CODEMEM_{name.upper().replace('-', '_')}": inputs[name] for name in inputs}
        return run_gitlab(
            folder=self.checkout.path,
            scratch=self.scratch,
            environment={
                "CODEMEM_URL": self.server,
                "CODEMEM_TOKEN": token,
                "CODEMEM_FORGE_TOKEN": "job-token",
                "CODEMEM_REPOSITORY": "team/shop",
                "CI_API_V4_URL": self.host.api,
                "CI_PROJECT_ID": "42",
                "CI_MERGE_REQUEST_IID": "7",
                "CI_MERGE_REQUEST_PROJECT_ID": "42",
                "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "43" if self.is_fork else "42",
                "CI_MERGE_REQUEST_DIFF_BASE_SHA": self.base,
                "CI_COMMIT_SHA": self.head,
                "CI_MERGE_REQUEST_TITLE": self.title,
                **names,
            },
        )


@pytest.fixture
def pipeline(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pipeline]:
    checkout = Checkout(tmp_path / "checkout")
    base = checkout.commit({"price.py": "def net(): ...\n"})
    head = checkout.commit({"price.py": "def net(tax): ...\n"})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    codemem = Codemem()
    kind = getattr(request, "param", "github")
    with serve(kind) as host, Served(codemem) as served:
        yield Pipeline(host, codemem, served.address, checkout, base, head, scratch)


every_host = pytest.mark.parametrize("pipeline", KINDS, indirect=True)
every_action = pytest.mark.parametrize("pipeline", ACTIONS, indirect=True)


def tick(host: GitHost, *, box: str = "[x]", was: str = "[ ]") -> None:
    """Tick a box as a browser does, which ends lines its own way."""
    (comment,) = (one for one in host.comments if one["body"].startswith(MARKER))
    assert f"- {was}" in comment["body"]
    ticked = comment["body"].replace("\r\n", "\n").replace(f"- {was}", f"- {box}", 1)
    comment["body"] = ticked.replace("\n", "\r\n")


# --- One comment ----------------------------------------------------------------------------------


@every_host
def test_a_pull_request_gets_one_comment_which_a_push_edits(pipeline: Pipeline):
    first = pipeline.run()
    (before,) = pipeline.comments
    pipeline.codemem.found = review(missing=(FORGOTTEN,), notes=("Seen later.",))
    again = pipeline.run()

    (after,) = pipeline.comments
    assert (first.status, again.status) == (0, 0), first.log + again.log
    assert before.startswith(MARKER)
    assert "shop/order.py" in before
    assert "Seen later" in after
    assert pipeline.codemem.postings == ["posted", "posted"]


@every_host
def test_what_did_not_change_is_not_written_again(pipeline: Pipeline):
    pipeline.run()
    writes = len(pipeline.host.asked("POST"))
    pipeline.run()

    assert len(pipeline.host.asked("POST")) == writes == 1
    assert not pipeline.host.asked(pipeline.host.update_method)


@every_host
def test_the_comment_is_found_behind_130_others(pipeline: Pipeline):
    for number in range(130):
        pipeline.host.write("walter", f"Comment {number}")
    pipeline.run()
    for number in range(70):
        pipeline.host.write("walter", f"Reply {number}")
    pipeline.codemem.comment_id = ""  # a server that lost its memory
    pipeline.codemem.found = review(missing=(FORGOTTEN,), notes=("Seen later.",))
    pipeline.run()

    (comment,) = pipeline.comments
    assert "Seen later" in comment


@every_host
def test_nothing_to_say_is_not_said(pipeline: Pipeline):
    pipeline.codemem.found = review(risk=CALM)
    job = pipeline.run()

    assert (job.status, pipeline.comments, pipeline.codemem.postings) == (0, [], ["silent"])


@every_host
def test_what_was_said_and_is_settled_is_said_to_be(pipeline: Pipeline):
    pipeline.run()
    pipeline.codemem.found = review(risk=CALM)
    pipeline.run()

    (comment,) = pipeline.comments
    assert comment.startswith(MARKER)
    assert "nothing to point out" in comment
    assert "shop/order.py" not in comment


@every_host
def test_a_comment_that_a_person_deleted_is_not_written_again(pipeline: Pipeline):
    pipeline.run()
    (comment,) = pipeline.host.comments
    pipeline.host.delete(comment["id"])
    job = pipeline.run()

    assert (job.status, pipeline.comments) == (0, [])
    assert pipeline.codemem.postings == ["posted", "deleted"]


@every_host
def test_a_foreign_comment_that_begins_like_ours_is_left_alone(pipeline: Pipeline):
    pipeline.run()
    (ours,) = pipeline.comments
    pipeline.host.delete(pipeline.host.comments[0]["id"])
    pipeline.host.write("mallory", ours.replace("- [ ]", "- [x]"))
    pipeline.codemem.comment_id = ""
    pipeline.run()

    assert pipeline.codemem.dismissals == {}
    assert len(pipeline.comments) == 1
    assert pipeline.host.bodies("mallory") == [ours.replace("- [ ]", "- [x]")]


# --- Dismissals -----------------------------------------------------------------------------------


@every_host
def test_a_ticked_box_is_remembered_over_pushes_and_can_be_taken_back(pipeline: Pipeline):
    pipeline.run()
    tick(pipeline.host)
    pipeline.run()
    (dismissed,) = pipeline.comments
    pipeline.run()
    (still,) = pipeline.comments
    held = dict(pipeline.codemem.dismissals)
    tick(pipeline.host, box="[ ]", was="[x]")
    pipeline.run()
    (restored,) = pipeline.comments

    assert "1 dismissed" in dismissed
    assert still == dismissed
    assert len(held) == 1
    assert "dismissed</summary>" not in restored
    assert pipeline.codemem.dismissals == {}


def test_a_box_that_is_ticked_while_the_server_thinks_is_not_lost(pipeline: Pipeline):
    pipeline.run()
    pipeline.codemem.found = review(
        missing=(FORGOTTEN, MissingChange(path="b.py", probability=0.4, reason="often"))
    )
    pipeline.run()
    tick(pipeline.host)
    real = pipeline.codemem._review
    ticked: list[bool] = []

    def slow(body: Mapping[str, Any]) -> dict[str, Any]:
        if body["dismissed"] and not ticked:
            ticked.append(True)
            tick(pipeline.host)
        return real(body)

    pipeline.codemem._review = slow  # type: ignore[method-assign]
    pipeline.run()

    assert len(pipeline.codemem.dismissals) == 2
    assert "2 dismissed" in pipeline.comments[0]


# --- What goes wrong ------------------------------------------------------------------------------


@every_action
def test_a_job_that_may_not_comment_says_it_in_its_summary(pipeline: Pipeline):
    pipeline.is_fork = True
    pipeline.host.accounts["job-token"] = Account(pipeline.bot, False, False)
    job = pipeline.run()

    assert (job.status, pipeline.comments, pipeline.codemem.postings) == (0, [], ["summary"])
    assert "shop/order.py" in job.summary
    assert "may not comment (it comes from a fork)" in job.log


@every_host
def test_a_job_without_a_token_says_so_and_passes(pipeline: Pipeline):
    job = pipeline.run(token="")

    assert job.status == 0
    assert "no codemem token here" in job.log
    assert pipeline.codemem.asked == []
    assert pipeline.run(token="", required="true").status == 2


@every_host
def test_a_host_that_asks_to_wait_is_waited_for(pipeline: Pipeline):
    pipeline.host.faults = [
        Fault(502),
        Fault(403, {"Retry-After": "1"}),
        Fault(429, {"Retry-After": "0"}),
    ]
    job = pipeline.run()

    assert job.status == 0
    assert len(pipeline.comments) == 1


def test_a_host_that_asks_to_wait_for_an_hour_is_not_waited_for(pipeline: Pipeline):
    pipeline.host.faults = [Fault(403, {"Retry-After": "3600"})] * 3
    job = pipeline.run()

    assert (job.status, pipeline.comments, pipeline.codemem.postings) == (0, [], ["failed"])
    assert "shop/order.py" in job.summary
    assert "this job waits no longer" in job.log
    assert "lacks the right" not in job.log


@every_host
def test_a_host_that_is_down_for_good_costs_a_sentence(pipeline: Pipeline, monkeypatch):
    pipeline.hurry(monkeypatch)
    pipeline.host.faults = [Fault(503)] * 50
    job = pipeline.run()

    assert (job.status, pipeline.codemem.postings) == (0, ["failed"])
    assert "the git host answered 503" in job.log
    pipeline.host.faults = []
    pipeline.run()
    assert len(pipeline.comments) == 1


def test_an_expired_token_is_a_clear_sentence_without_the_token(pipeline: Pipeline):
    said = f"The token {TOKEN} expired on 2026-11-01."
    pipeline.codemem.refusals = [(401, {"error": {"code": "invalid_token", "message": said}})] * 2
    job = pipeline.run()

    assert job.status == 0
    assert "expired on 2026-11-01" in job.log
    assert "Make a new CI token" in job.log
    assert TOKEN not in job.log
    assert pipeline.run(required="true").status == 2


def test_a_server_that_is_away_fails_no_job_unless_told(pipeline: Pipeline, monkeypatch):
    pipeline.server = "http://127.0.0.1:9"
    pipeline.hurry(monkeypatch)

    assert pipeline.run().status == 0
    job = pipeline.run(required="true")
    assert job.status == 2
    assert "does not answer" in job.log


def test_a_redirect_takes_no_token_along(pipeline: Pipeline):
    pipeline.codemem.refusals = [(302, {})]
    job = pipeline.run()

    assert job.status == 0
    assert "redirect" in job.log


def test_a_diff_that_is_too_large_is_sent_without_its_largest_files(pipeline: Pipeline):
    big = "\n".join(f"line {number}" for number in range(400_000))
    pipeline.head = pipeline.checkout.commit({"big.txt": big, "small.py": "x = 1\n"})
    job = pipeline.run()

    (body, *_) = pipeline.codemem.asked
    assert job.status == 0, job.log
    assert body["omitted_files"] == 0
    pipeline.head = pipeline.checkout.commit({"huge.txt": big * 4, "other.py": "y = 2\n"})
    job = pipeline.run()
    last = pipeline.codemem.asked[-1]
    assert last["omitted_files"] == 1
    assert "other.py" in last["diff"]
    assert "+++ b/huge.txt" not in last["diff"]
    fitted = fit(last["diff"], limit=1 << 30)
    assert [one.name for one in fitted.left_out] == ["huge.txt"]
    assert "huge.txt" in [file.path for file in parse(last["diff"], max_bytes=1 << 30).files]
    assert "only the names are sent: huge.txt" in job.log


def test_a_server_that_takes_less_gets_less(pipeline: Pipeline):
    text = "\n".join(f"line {number}" for number in range(5_000))
    pipeline.head = pipeline.checkout.commit({"big.txt": text, "small.py": "x = 1\n"})
    pipeline.codemem.most_bytes = 20_000
    job = pipeline.run()

    assert job.status == 0
    assert pipeline.codemem.asked[-1]["omitted_files"] == 1
    assert "small.py" in pipeline.codemem.asked[-1]["diff"]
    assert len(pipeline.comments) == 1


def test_a_shallow_checkout_fetches_what_it_lacks(pipeline: Pipeline, tmp_path: Path):
    for number in range(3):
        pipeline.head = pipeline.checkout.commit({"price.py": f"net = {number}\n"})
    shallow = tmp_path / "shallow"
    origin = pipeline.checkout.path.as_uri()
    subprocess.run(["git", "clone", "--quiet", "--depth=1", origin, str(shallow)], check=True)
    pipeline.checkout = Checkout(shallow)
    pipeline.checkout.git("config", "uploadpack.allowAnySHA1InWant", "true")
    job = pipeline.run()

    assert job.status == 0, job.log
    assert "net = 2" in pipeline.codemem.asked[0]["diff"]


@every_host
def test_a_commit_that_the_checkout_lacks_is_left_to_the_server(pipeline: Pipeline):
    pipeline.base = "f" * 40
    job = pipeline.run()

    assert job.status == 0
    assert "fetch-depth: 0" in job.log
    assert (asked := pipeline.codemem.asked[0])["base"] == "f" * 40
    assert asked["head"] == pipeline.head
    assert "diff" not in asked
    assert len(pipeline.comments) == 1


def test_a_commit_that_is_nowhere_at_all_is_a_sentence(pipeline: Pipeline):
    pipeline.base = "f" * 40
    said = {"error": {"code": "commit_unknown", "message": "The base ffffffffffff is not here."}}
    pipeline.codemem.refusals = [(422, said)] * 2
    job = pipeline.run()

    assert (job.status, pipeline.comments) == (0, [])
    assert "fetch-depth: 0" in job.log
    assert "The base ffffffffffff is not here" in job.log
    assert pipeline.run(required="true").status == 2


# --- What the job shows ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "status"), [("low", 1), ("medium", 1), ("high", 0), ("never", 0)]
)
def test_the_job_fails_from_the_named_risk_on(pipeline: Pipeline, level, status):
    job = pipeline.run(**{"fail-on": level})

    assert job.status == status
    assert job.outputs["risk-level"] == "medium"
    assert len(pipeline.comments) == 1


def test_remarks_stand_beside_their_lines_and_in_the_outputs(pipeline: Pipeline):
    job = pipeline.run(sarif="out.sarif")

    assert "::warning file=shop/order.py,title=codemem::Perhaps forgotten (80%25 likely)" in job.log
    assert job.outputs["remarks"] == "1"
    assert job.outputs["comment"] == "posted"
    (result,) = check_log(json.loads((job.folder / "out.sarif").read_text()))
    assert result["ruleId"] == "missing-change"


@pytest.mark.parametrize("pipeline", ["gitlab"], indirect=True)
def test_gitlab_gets_a_code_quality_report(pipeline: Pipeline):
    job = pipeline.run()

    (issue,) = json.loads((job.folder / "gl-code-quality-report.json").read_text())
    assert issue["location"] == {"path": "shop/order.py", "lines": {"begin": 1}}
    assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}


def test_what_a_forks_author_chooses_runs_nothing(pipeline: Pipeline):
    pipeline.title = '"; touch pwned; echo "$(touch pwned)\n::set-output name=x::y'
    hostile = "$(touch pwned)\n::error::x,y%"
    pipeline.codemem.found = review(
        missing=(MissingChange(path=hostile, probability=0.9, reason=hostile),)
    )
    job = pipeline.run()

    assert not (job.folder / "pwned").exists()
    (command,) = (line for line in job.log.splitlines() if line.startswith("::"))
    assert command == (
        "::warning file=$(touch pwned)%0A%3A%3Aerror%3A%3Ax%2Cy%25,title=codemem::"
        "Perhaps forgotten (90%25 likely): $(touch pwned)%0A::error::x,y%25"
    )
    assert "\n" not in pipeline.codemem.asked[0]["pull_request"]["title"]


def test_no_secret_is_printed_whatever_a_host_says(pipeline: Pipeline):
    said = f"{TOKEN} job-token\n::error::x ##[error]y"
    pipeline.codemem.refusals = [(422, {"error": {"message": said}})]
    job = pipeline.run()

    assert "***" in job.log
    assert TOKEN not in job.log
    assert "job-token" not in job.log
    assert not any(line.startswith("::error") for line in job.log.splitlines())
    # GitHub's older way to write a command, which counts anywhere in a line.
    assert "##[" not in job.log


def test_a_comment_longer_than_the_host_takes_is_cut_with_a_sentence(pipeline: Pipeline):
    # More than the server ever sends; another version of it may.
    real = pipeline.codemem._review

    def long(body: Mapping[str, Any]) -> dict[str, Any]:
        answer = real(body)
        text = "\n".join(["<details>", *("x" * 100 for _ in range(2_000)), "</details>"])
        return {**answer, "comment": f"{MARKER}\n{text}"}

    pipeline.codemem._review = long  # type: ignore[method-assign]
    pipeline.run()

    (comment,) = pipeline.comments
    assert len(comment) < 65_536
    assert comment.endswith("as long as the host allows.")
    assert comment.count("<details>") == comment.count("</details>")


def test_no_pull_request_is_a_review_without_a_comment(pipeline: Pipeline):
    job = run_action(
        folder=pipeline.checkout.path,
        scratch=pipeline.scratch,
        inputs={"server": pipeline.server, "token": TOKEN},
        event={"before": pipeline.base, "after": pipeline.head},
        environment={"GITHUB_API_URL": pipeline.host.api},
        token="job-token",
    )

    assert (job.status, pipeline.comments) == (0, [])
    assert "pull_request" not in pipeline.codemem.asked[0]
    assert "shop/order.py" in job.summary


def test_dismissed_results_are_suppressed_in_sarif_and_absent_from_code_quality():
    remarks = text_of(
        review(missing=(FORGOTTEN,)), repository="r", ref="main", head_commit="a", dismissals={}
    ).remarks
    why = Dismissal(by="walter", via="api", at=datetime(2026, 3, 1, tzinfo=UTC), reason="Fine.")
    (result,) = check_log(sarif_of(remarks, {remarks[0].key: why}, version="1.2"))
    (suppression,) = result["suppressions"]
    assert suppression == {"kind": "external", "justification": "Fine."}
    assert code_quality_of(remarks, {remarks[0].key: why}) == []


def test_sarif_takes_every_path(tmp_path: Path):
    hostile = ("a:b.py", "ü ñ.py", "100%.py", "x\n<y>.py", "-rf", "a//b")
    for path in hostile:
        found = review(missing=(MissingChange(path=path, probability=0.4, reason="r"),))
        remarks = text_of(found, repository="r", ref="m", head_commit="a", dismissals={}).remarks
        (result,) = check_log(sarif_of(remarks, {}, version="1"))
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert unquote(uri) == path
