#!/usr/bin/env python3
"""Have codemem review a pull request from its CI job, and keep one comment there up to date.

One file, the standard library only: copy it anywhere. It runs in GitHub Actions, in Gitea's and
Forgejo's, and in GitLab CI. The server gets the diff and a CI token; the comment is written with
the job's own token, so the server needs no right on the git host. `--help` lists the settings.

The job fails for one reason only: the risk reached --fail-on. A server that is away, an expired
token, a fork whose job may not comment: each is one sentence in the log. --required fails then.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MARKER = "<!-- codemem-review -->"
LEVELS = ("none", "low", "medium", "high", "critical")
OK, RISKY, UNUSABLE = 0, 1, 2

# Below what the server takes: in JSON a line break counts twice.
DIFF_BYTES = 8 << 20
ANSWER_BYTES = 64 << 20
SUMMARY_BYTES = 1_000_000  # GitHub takes a MiB
ANNOTATIONS = 10  # GitHub shows ten of a kind for each step
SERVER_SECONDS = 120.0
FORGE_SECONDS = 30.0
PATIENCE_SECONDS = 90.0  # how long one step waits for a host that is busy, all in all
PAGES = 200
_LIMITS = {"github": 65_000, "gitea": 65_000, "forgejo": 65_000, "gitlab": 900_000}

_SHA = re.compile(r"[0-9a-f]{40,64}\Z")
_BOX = re.compile(
    r"^- \[([ xX])\] .*<!-- codemem:([0-9a-f]{12}):(open|dismissed) -->[ \t]*\r?$", re.MULTILINE
)
_NEXT = re.compile(r'<([^>]+)>\s*;[^,]*\brel="?next"?')
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    out = Printed([options.token, options.forge_token])
    try:
        return _run(options, out)
    except Unusable as error:
        out.caution(str(error))
        return UNUSABLE if options.required else OK
    except Exception as error:  # noqa: BLE001  a pull request must not fail by a defect of ours
        out.caution(f"codemem met an error of its own: {type(error).__name__}: {error}")
        return UNUSABLE if options.required else OK


def _run(options: argparse.Namespace, out: Printed) -> int:
    place = find_place(os.environ)
    if not options.server:
        raise Unusable("CODEMEM_URL is not set, so there is no server to ask.")
    if not options.token:
        raise Unusable(
            "There is no codemem token here. Jobs of forks get no secrets, so their pull requests"
            " are not reviewed by this job; the server can do it on webhooks."
        )
    diff = _diff(place, out)
    if diff.text is not None and not diff.text.strip():
        out.say("There are no changes to review.")
        return OK
    server = Server(options, place, diff)
    answer, outcome = _comment(server, options, place, out)
    _report(answer, outcome, options, out)
    return _judge(answer, options, out)


def _diff(place: Place, out: Printed) -> Diff:
    """Return the diff; where this checkout cannot make it, the server is asked to by the shas."""
    try:
        with tempfile.TemporaryFile() as content:
            diff = make_diff(place, content)
    except CheckoutLacks as error:
        out.say(f"{error} The server is asked to make the diff from its own copy.")
        return Diff(text=None, omitted=(), base=place.base)
    if diff.omitted:
        named = ", ".join(diff.omitted[:5])
        more = len(diff.omitted) - 5
        out.say(
            f"The change is above {DIFF_BYTES >> 20} MiB. Of the largest files only the names are"
            f" sent: {named}{f' and {more} more' if more > 0 else ''}."
        )
    return diff


class Unusable(Exception):
    """Nothing can be reviewed; the message says why, and what to do."""


class CheckoutLacks(Unusable):
    """The checkout has not what a diff takes."""


class Printed:
    """What the job prints: one line a time, never a secret, never a command to the runner."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = [secret for secret in secrets if len(secret) > 3]  # noqa: PLR2004

    def say(self, text: str) -> None:
        print(f"codemem: {self.clean(text)}", flush=True)

    def caution(self, text: str) -> None:
        if _is_actions():
            print(f"::warning title=codemem::{escape_data(self.clean(text))}", flush=True)
        else:
            self.say(text)

    def clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return plain(text).strip()[:1000]


def plain(text: str) -> str:
    """Return text without what moves a terminal, and without GitHub's older mark of a command.

    That one counts anywhere in a line, not only where it begins.
    """
    return _CONTROL.sub(" ", text).replace("##[", "# #[")


# --- Where this runs ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """The pull request of this job, or the commit; what a fork's author chose is only text here."""

    forge: str
    api: str
    project: str
    base: str
    head: str
    number: int | None
    url: str
    title: str
    is_fork: bool


def find_place(environment: Mapping[str, str]) -> Place:
    if environment.get("GITLAB_CI"):
        return _gitlab_place(environment)
    if environment.get("GITHUB_ACTIONS") or environment.get("GITEA_ACTIONS"):
        return _actions_place(environment)
    raise Unusable("This is no job of GitHub, Gitea, Forgejo or GitLab that codemem knows.")


def _actions_place(environment: Mapping[str, str]) -> Place:
    event = _event(environment.get("GITHUB_EVENT_PATH", ""))
    request = event.get("pull_request")
    forge = "github"
    if environment.get("FORGEJO_ACTIONS"):
        forge = "forgejo"
    elif environment.get("GITEA_ACTIONS"):
        forge = "gitea"
    host = environment.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/")
    usual = "https://api.github.com" if forge == "github" else f"{host}/api/v1"
    api = environment.get("GITHUB_API_URL", "").rstrip("/") or usual
    if not isinstance(request, dict):
        return Place(
            forge=forge,
            api=api,
            project=environment.get("GITHUB_REPOSITORY", ""),
            base=str(event.get("before") or ""),
            head=str(event.get("after") or environment.get("GITHUB_SHA", "")),
            number=None,
            url="",
            title="",
            is_fork=False,
        )
    base, head = request.get("base") or {}, request.get("head") or {}
    home, theirs = ((side.get("repo") or {}).get("full_name") for side in (base, head))
    return Place(
        forge=forge,
        api=api,
        project=environment.get("GITHUB_REPOSITORY", ""),
        base=str(base.get("sha", "")),
        head=str(head.get("sha", "")),
        number=int(request.get("number") or event.get("number") or 0) or None,
        url=str(request.get("html_url") or ""),
        title=str(request.get("title") or ""),
        is_fork=home != theirs,
    )


def _gitlab_place(environment: Mapping[str, str]) -> Place:
    number = environment.get("CI_MERGE_REQUEST_IID", "")
    home = environment.get("CI_MERGE_REQUEST_PROJECT_URL", "").rstrip("/")
    projects = ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "CI_MERGE_REQUEST_PROJECT_ID")
    theirs, ours = (environment.get(name, "") for name in projects)
    return Place(
        forge="gitlab",
        api=environment.get("CI_API_V4_URL", "").rstrip("/"),
        project=ours or environment.get("CI_PROJECT_ID", ""),
        base=environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA")
        or environment.get("CI_COMMIT_BEFORE_SHA", ""),
        # With merged results the checked-out commit is nobody's; the branch's is what was pushed.
        head=environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")
        or environment.get("CI_COMMIT_SHA", ""),
        number=int(number) if number.isdigit() else None,
        url=f"{home}/-/merge_requests/{number}" if home and number.isdigit() else "",
        title=environment.get("CI_MERGE_REQUEST_TITLE", ""),
        is_fork=theirs != ours,
    )


def _event(path: str) -> dict[str, Any]:
    try:
        event = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return event if isinstance(event, dict) else {}


def _is_actions() -> bool:
    return bool(os.environ.get("GITHUB_ACTIONS") or os.environ.get("GITEA_ACTIONS"))


# --- The diff ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Diff:
    """What is sent: `omitted` are names of files without their content, the largest first."""

    text: str | None
    omitted: tuple[str, ...]
    base: str


def make_diff(place: Place, content: IO[bytes], *, limit: int = DIFF_BYTES) -> Diff:
    """Return what the head changes since it left the base; of the largest files only the names.

    Raise CheckoutLacks, or Unusable.
    """
    base = _commit(place.base, "base")
    head = _commit(place.head, "head")
    _fetch_missing(base, head)
    left_at = _git("merge-base", base, head, may_fail=True).strip() or base
    command = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index", "-M"]
    _write_git([*command, left_at, head, "--"], content)
    text, omitted = fit_diff(content, limit=limit)
    return Diff(text=text, omitted=omitted, base=left_at)


def fit_diff(content: IO[bytes], *, limit: int) -> tuple[str, tuple[str, ...]]:
    """Return the diff, and the files whose content it lacks if it is longer than `limit` as JSON.

    Their headers stay, so that the server knows of them, and says so by the line below.
    """
    sections = list(_sections(content))
    room, kept = limit, set()
    for number, (_start, _end, cost) in sorted(
        enumerate(sections), key=lambda pair: (pair[1][2], pair[0])
    ):
        if cost > room:
            break
        room -= cost
        kept.add(number)
    parts, names = [], []
    room = limit // 4  # for headers
    for number, (start, end, _cost) in enumerate(sections):
        content.seek(start)
        if number in kept:
            parts.append(content.read(end - start))
            continue
        header, name = _header_of(content, size=end - start)
        names.append((start - end, name))
        room -= len(header)
        parts.append(header if room > 0 else b"")
    text = b"".join(parts).decode("utf-8", "replace")
    return text, tuple(name for _size, name in sorted(names))


_HEADERS = tuple(
    f"{name} ".encode()
    for name in (
        *("diff --git", "new file mode", "deleted file mode"),
        *("rename from", "rename to", "copy from", "copy to"),
    )
)


def _header_of(content: IO[bytes], *, size: int) -> tuple[bytes, str]:
    """Return what a file's part of a diff begins with, and the name for a sentence."""
    lines = []
    while (line := content.readline(1 << 16)).startswith(_HEADERS) or line.startswith(
        (b"similarity ", b"dissimilarity ", b"old mode ", b"new mode ", b"index ")
    ):
        if line.startswith(_HEADERS):
            lines.append(line)
    first = lines[0].decode("utf-8", "replace").strip() if lines else ""
    name = _CONTROL.sub(" ", first.rpartition(' "b/' if first.endswith('"') else " b/")[2])[:200]
    return b"".join([*lines, f"codemem-left-out: {size} bytes of {name}\n".encode()]), name


def _sections(content: IO[bytes]) -> Iterator[tuple[int, int, int]]:
    """Yield where each file of a diff begins and ends, and about what it costs as JSON."""
    content.seek(0)
    start = position = cost = 0
    for line in content:
        if line.startswith(b"diff --git ") and position > start:
            yield start, position, cost
            start, cost = position, 0
        position += len(line)
        cost += len(line) + line.count(b'"') + line.count(b"\\") + 5 * line.count(b"\t") + 1
    if position > start:
        yield start, position, cost


def _commit(sha: str, side: str) -> str:
    if _SHA.match(sha) and sha.strip("0"):
        return sha
    raise Unusable(f"The job does not say which commit the {side} of the change is.")


def _fetch_missing(base: str, head: str) -> None:
    """Have both sides and where they meet; a shallow checkout lacks them."""

    def is_whole() -> bool:
        return bool(_git("merge-base", base, head, may_fail=True).strip())

    if is_whole():
        return
    for options in (["--depth=200"], ["--unshallow"], []):
        _git("fetch", "--quiet", "--no-tags", *options, "origin", base, head, may_fail=True)
        if is_whole():
            return
    for sha in (base, head):
        if not _git("cat-file", "-t", sha, may_fail=True).strip():
            raise CheckoutLacks(
                f"This checkout lacks the commit {sha[:12]} and could not fetch it."
                " Check out with fetch-depth: 0 (GitLab: GIT_DEPTH: 0)."
            )


# Runners check out as another user than the job's; what is read is the job's own folder.
_GIT = ("git", "-c", "safe.directory=*", "-c", "core.quotePath=true")


def _git(*arguments: str, may_fail: bool = False) -> str:
    try:
        done = subprocess.run(
            [*_GIT, *arguments], capture_output=True, env=_git_environment(), check=False
        )
    except FileNotFoundError:
        raise CheckoutLacks("There is no Git in this job's image.") from None
    if done.returncode and not may_fail:
        raise Unusable(f"git {arguments[0]} failed: {done.stderr.decode('utf-8', 'replace')}")
    return "" if done.returncode else done.stdout.decode("utf-8", "replace")


def _write_git(arguments: Sequence[str], content: IO[bytes]) -> None:
    done = subprocess.run(
        [*_GIT, *arguments],
        stdout=content,
        stderr=subprocess.PIPE,
        env=_git_environment(),
        check=False,
    )
    if done.returncode:
        raise Unusable(f"git {arguments[0]} failed: {done.stderr.decode('utf-8', 'replace')}")


def _git_environment() -> dict[str, str]:
    return {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


# --- One request -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.content)
        except ValueError:
            return None


class Unreachable(Exception):
    """Nobody answered in time."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token must not travel to where a redirect points."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def ask(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    payload: Any = None,
    seconds: float,
) -> Answer:
    """Return one answer of any status; raise Unreachable."""
    if urlsplit(url).scheme not in {"http", "https"}:
        raise Unreachable(f"{url[:200]} is no address of a server.")
    data = None if payload is None else json.dumps(payload).encode()
    request = urllib.request.Request(url, data=data, method=method)  # noqa: S310  checked above
    request.add_header("User-Agent", "codemem-review")
    request.add_header("Accept", "application/json")
    if data is not None:
        request.add_header("Content-Type", "application/json")
    for name, value in headers.items():
        request.add_header(name, value)
    try:
        with _OPENER.open(request, timeout=seconds) as response:
            return Answer(response.status, _lower(response.headers), _read(response, seconds))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, _lower(error.headers), error.read(ANSWER_BYTES))
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise Unreachable(f"{urlsplit(url).netloc} does not answer: {reason}") from None


def patiently(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    payload: Any = None,
    seconds: float,
) -> Answer:
    """Ask again while that may help: 5xx, no answer, rate limits; as the host says, or 1, 2, 4 s.

    What would take longer than PATIENCE_SECONDS is answered as it is.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    for attempt in range(6):
        answer, problem = None, None
        try:
            answer = ask(method, url, headers=headers, payload=payload, seconds=seconds)
            if not _may_help(answer):
                return answer
        except Unreachable as error:
            problem = error
        wait = _wait(answer, attempt)
        if time.monotonic() + wait > until:
            break
        time.sleep(wait)
    if answer is None:
        raise problem or Unreachable("Nobody answered.")
    return answer


def _may_help(answer: Answer) -> bool:
    if answer.status == 429 or answer.status >= 500:  # noqa: PLR2004
        return True
    # GitHub refuses with 403 whoever asks too often, and says so in these.
    is_limited = "retry-after" in answer.headers or (
        answer.headers.get("x-ratelimit-remaining") == "0"
    )
    return answer.status == 403 and is_limited  # noqa: PLR2004


def _wait(answer: Answer | None, attempt: int) -> float:
    if answer is not None:
        after = answer.headers.get("retry-after", "")
        if after.isdigit():
            return float(after)
        reset = answer.headers.get("x-ratelimit-reset") or answer.headers.get("ratelimit-reset", "")
        if reset.isdigit() and answer.headers.get("x-ratelimit-remaining") == "0":
            return max(0.0, float(reset) - time.time())
    return float(2**attempt)


def _read(response: Any, seconds: float) -> bytes:
    """Read an answer whole, or give up: one that trickles gains nothing."""
    until, content = time.monotonic() + seconds, bytearray()
    while piece := response.read1(1 << 16):
        content += piece
        if len(content) > ANSWER_BYTES or time.monotonic() > until:
            raise ValueError("the answer is too long or too slow")
    return bytes(content)


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


# --- codemem -----------------------------------------------------------------------------------


class Server:
    """The codemem server, as this job asks it."""

    def __init__(self, options: argparse.Namespace, place: Place, diff: Diff) -> None:
        self._address = options.server.rstrip("/")
        self._headers = {"Authorization": f"Bearer {options.token}"}
        namespace, _, name = options.repository.rpartition("/")
        self._place, self._head = place, place.head
        self._payload: dict[str, Any] = {
            "base": diff.base,
            "head": place.head,
            "omitted_files": len(diff.omitted),
            "formats": ["sarif", "code_quality"],
        }
        if diff.text is not None:
            self._payload["diff"] = diff.text
        if name:
            self._payload["repository"] = name
        if namespace:
            self._payload["namespace"] = namespace
        if not name and place.url:
            self._headers["Codemem-Remote"] = re.split(
                r"/(?:-/)?(?:pulls?|merge_requests)/", place.url
            )[0]
        if place.number is not None:
            self._payload["pull_request"] = {
                "forge": place.forge,
                "number": place.number,
                "url": place.url if re.match(r"https?://[^\s<>\"]{1,480}\Z", place.url) else "",
                "title": _CONTROL.sub(" ", place.title)[:300],
            }

    def review(self, ticks: Ticks) -> dict[str, Any]:
        """Return the server's review; raise Unusable with a sentence."""
        payload = {**self._payload, "dismissed": ticks.dismissed, "restored": ticks.restored}
        answer = self._post("/api/v1/reviews", payload, seconds=SERVER_SECONDS)
        while answer.status == 413 and self._shrink():  # noqa: PLR2004
            payload = {**payload, **self._payload}
            answer = self._post("/api/v1/reviews", payload, seconds=SERVER_SECONDS)
        found = answer.json
        if answer.status == 200 and isinstance(found, dict):  # noqa: PLR2004
            return found
        raise Unusable(_refusal(answer))

    def tell(self, record: Mapping[str, Any], outcome: Outcome) -> None:
        """Tell what became of the comment; nothing depends on it."""
        payload = {
            "posting": outcome.posting,
            "head": self._head,
            "comment_id": outcome.comment_id,
            "comment_url": outcome.url,
            "error": outcome.error[:1000],
        }
        address = f"/api/v1/reviews/{quote(str(record.get('id', '')), safe='')}/posting"
        try:
            self._post(address, payload, seconds=FORGE_SECONDS)
        except Unusable:
            return

    def _post(self, path: str, payload: Any, *, seconds: float) -> Answer:
        try:
            return patiently(
                "POST",
                self._address + path,
                headers=self._headers,
                payload=payload,
                seconds=seconds,
            )
        except Unreachable as error:
            raise Unusable(f"The codemem server could not be asked: {error}.") from None

    def _shrink(self) -> bool:
        """Leave out the larger half of the diff; False when nothing is left to leave out."""
        content = self._payload.get("diff", "").encode()
        if len(content) < 10_000:  # noqa: PLR2004
            return False
        with tempfile.TemporaryFile() as file:
            file.write(content)
            text, omitted = fit_diff(file, limit=len(content) // 2)
        self._payload["diff"] = text
        self._payload["omitted_files"] += len(omitted)
        return bool(text)


def _refusal(answer: Answer) -> str:
    found = answer.json
    error = found.get("error") if isinstance(found, dict) else None
    said = error.get("message", "") if isinstance(error, dict) else ""
    if answer.status == 401:  # noqa: PLR2004
        return (
            f"codemem refuses the token: {said or 'it is not valid'} Make a new CI token (console:"
            " Tokens) and put it where the job's CODEMEM_TOKEN comes from."
        )
    if answer.status in {301, 302, 307, 308}:
        return "The codemem server answers with a redirect: CODEMEM_URL must be its own address."
    return f"The codemem server answered {answer.status}: {said or 'no reason given'}"


# --- The comment -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ticks:
    """Boxes that are not as they were written: somebody who may edit the comment changed them."""

    dismissed: list[str]
    restored: list[str]


@dataclass(frozen=True)
class Comment:
    id: str
    body: str
    url: str


@dataclass(frozen=True)
class Outcome:
    """What became of the comment: posted, silent, summary, deleted or failed."""

    posting: str
    comment_id: str = ""
    url: str = ""
    error: str = ""


class Refused(Exception):
    """The git host did not do what was asked."""

    def __init__(self, answer: Answer) -> None:
        found = answer.json
        said = found.get("message") or found.get("error") if isinstance(found, dict) else ""
        super().__init__(f"the git host answered {answer.status}: {said or 'no reason given'}")
        self.status = answer.status
        self.is_busy = _may_help(answer)


def ticks_in(body: str) -> Ticks:
    boxes = [(match[1] != " ", match[2], match[3]) for match in _BOX.finditer(body)]
    return Ticks(
        dismissed=[key for is_ticked, key, was in boxes if is_ticked and was == "open"],
        restored=[key for is_ticked, key, was in boxes if not is_ticked and was == "dismissed"],
    )


def _comment(
    server: Server, options: argparse.Namespace, place: Place, out: Printed
) -> tuple[dict[str, Any], Outcome | None]:
    """Review, and write what is to be said where it was said before."""
    told = Ticks([], [])
    answer = server.review(told)
    if not options.comment or place.number is None:
        return answer, None
    if not options.forge_token:
        out.say("There is no token to comment with, so the summary is all there is.")
        return answer, Outcome("summary")
    forge = Forge(place, options.forge_token)
    record = answer.get("record") or {}
    try:
        # Somebody may tick a box while the server is at it; what is written last knows of it.
        for _ in range(3):
            found = forge.find(str(record.get("comment_id") or ""))
            ticks = ticks_in(found.body) if found else told
            if ticks == told:
                break
            answer, told = server.review(ticks), ticks
        outcome = _write(forge, found, answer)
    except Refused as error:
        outcome = _without_comment(error, place, out)
    except Unreachable as error:
        out.caution(f"The comment could not be written: {error}.")
        outcome = Outcome("failed", error=out.clean(str(error)))
    server.tell(record, outcome)
    return answer, outcome


def _write(forge: Forge, found: Comment | None, answer: Mapping[str, Any]) -> Outcome:
    body = str(answer.get("comment") or "")
    if forge.was_deleted:
        # Who deleted it wants it gone: the summary still says everything.
        return Outcome("deleted")
    if not body.startswith(MARKER):
        return Outcome("failed", error="the server sent no comment")
    if found is None:
        if answer.get("is_quiet"):
            return Outcome("silent")
        return _outcome(forge.create(body))
    if _same(found.body, body):
        return _outcome(found)
    changed = forge.update(found.id, body)
    return Outcome("deleted") if changed is None else _outcome(changed)


def _without_comment(error: Refused, place: Place, out: Printed) -> Outcome:
    if error.is_busy:
        out.caution(
            f"The comment could not be written now, and this job waits no longer: {error}."
            " The summary says it all; the next push tries again."
        )
        return Outcome("failed", error=out.clean(str(error)))
    if error.status in {401, 403, 404}:
        why = "it comes from a fork" if place.is_fork else "its token lacks the right"
        out.say(f"This job may not comment ({why}), so the summary is all there is.")
        return Outcome("summary", error=out.clean(str(error)))
    out.caution(f"The comment could not be written: {error}.")
    return Outcome("failed", error=out.clean(str(error)))


def _outcome(comment: Comment) -> Outcome:
    return Outcome("posted", comment_id=comment.id, url=comment.url)


def _same(one: str, other: str) -> bool:
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()


class Forge:
    """The comments of one pull request, in the words of its git host."""

    def __init__(self, place: Place, token: str) -> None:
        self._place = place
        project = quote(place.project, safe="" if place.forge == "gitlab" else "/")
        if place.forge == "gitlab":
            self._list = f"{place.api}/projects/{project}/merge_requests/{place.number}/notes"
            self._one = self._list
            self._headers = {"PRIVATE-TOKEN": token}
        else:
            issues = f"{place.api}/repos/{project}/issues"
            self._list = f"{issues}/{place.number}/comments"
            self._one = f"{issues}/comments"
            scheme = "Bearer" if place.forge == "github" else "token"
            self._headers = {"Authorization": f"{scheme} {token}"}
        if place.forge == "github":
            self._headers["X-GitHub-Api-Version"] = "2022-11-28"
        self.was_deleted = False

    def find(self, comment_id: str) -> Comment | None:
        """Return our comment: where it was left, or the oldest of ours that begins with the marker.

        A comment that somebody else wrote is never ours, whatever it begins with: its boxes would
        be ticked by who may not.
        """
        mine = self._my_names()
        if comment_id.isdigit():
            answer = self._ask("GET", f"{self._one}/{comment_id}")
            if answer.status in {404, 410}:
                self.was_deleted = True
                return None
            one = self._checked(answer).json
            return _found(one) if _is_ours(one, mine) else None
        for comment in self._all():
            if _is_ours(comment, mine):
                return _found(comment)
        return None

    def create(self, body: str) -> Comment:
        answer = self._ask("POST", self._list, {"body": self._fit(body)})
        return _found(self._checked(answer).json)

    def update(self, comment_id: str, body: str) -> Comment | None:
        """Return the changed comment; None if it was deleted meanwhile."""
        method = "PUT" if self._place.forge == "gitlab" else "PATCH"
        answer = self._ask(method, f"{self._one}/{comment_id}", {"body": self._fit(body)})
        if answer.status in {404, 410}:
            return None
        return _found(self._checked(answer).json)

    def _all(self) -> Iterator[dict[str, Any]]:
        size = "limit" if self._place.forge in {"gitea", "forgejo"} else "per_page"
        query = {size: "50" if size == "limit" else "100"}
        if self._place.forge == "gitlab":
            query |= {"sort": "asc", "order_by": "created_at"}
        url: str | None = f"{self._list}?{urlencode(query)}"
        for _ in range(PAGES):
            if url is None:
                return
            answer = self._checked(self._ask("GET", url))
            found = answer.json
            yield from (one for one in found or () if isinstance(one, dict))
            url = self._next(answer)

    def _next(self, answer: Answer) -> str | None:
        match = _NEXT.search(answer.headers.get("link", ""))
        if match is None:
            return None
        # The token goes nowhere else, whatever a header says.
        ours, theirs = urlsplit(self._place.api), urlsplit(match[1])
        is_same = (ours.scheme, ours.netloc) == (theirs.scheme, theirs.netloc)
        return match[1] if is_same else None

    def _my_names(self) -> frozenset[str]:
        answer = self._ask("GET", f"{self._place.api}/user")
        found = answer.json
        if answer.status == 200 and isinstance(found, dict):  # noqa: PLR2004
            name = found.get("login") or found.get("username")
            if name:
                return frozenset({str(name)})
        # A job's token may not ask who it is.
        if self._place.forge == "github":
            return frozenset({"github-actions[bot]"})
        if self._place.forge == "gitlab":
            raise Refused(answer)
        return frozenset({"gitea-actions", "forgejo-actions"})

    def _ask(self, method: str, url: str, payload: Any = None) -> Answer:
        return patiently(method, url, headers=self._headers, payload=payload, seconds=FORGE_SECONDS)

    def _checked(self, answer: Answer) -> Answer:
        if answer.status not in {200, 201}:
            raise Refused(answer)
        return answer

    def _fit(self, body: str) -> str:
        limit = _LIMITS[self._place.forge]
        if len(body) <= limit:
            return body
        said = "\n\nThe rest was left out: the comment is as long as the host allows."
        kept = body[: limit - len(said) - 20].rpartition("\n")[0]
        is_open = kept.count("<details>") > kept.count("</details>")
        return kept + ("\n\n</details>" if is_open else "") + said


def _is_ours(comment: Any, mine: frozenset[str]) -> bool:
    if not isinstance(comment, dict) or not str(comment.get("body", "")).startswith(MARKER):
        return False
    author = comment.get("user") or comment.get("author") or {}
    name = author.get("login") or author.get("username") if isinstance(author, dict) else None
    return name in mine


def _found(comment: Any) -> Comment:
    fields = comment if isinstance(comment, dict) else {}
    url = str(fields.get("html_url") or "")
    return Comment(
        id=str(fields.get("id") or ""),
        body=str(fields.get("body") or ""),
        url=url if re.match(r"https?://[^\s<>\"]{1,480}\Z", url) else "",
    )


# --- What the job shows ------------------------------------------------------------------------


def _report(
    answer: Mapping[str, Any], outcome: Outcome | None, options: argparse.Namespace, out: Printed
) -> None:
    remarks = [one for one in answer.get("remarks") or () if not one.get("dismissed")]
    if _is_actions():
        for remark in remarks[:ANNOTATIONS]:
            print(annotation(remark), flush=True)
    if options.sarif:
        _write_json(options.sarif, answer.get("sarif"))
    if options.code_quality:
        _write_json(options.code_quality, answer.get("code_quality") or [])
    _summarize(str(answer.get("markdown") or ""), outcome)
    level, score = _risk(answer)
    said = f" The comment: {outcome.posting}." if outcome else ""
    count = f"{len(remarks)} thing{'s' * (len(remarks) != 1)} worth a look"
    out.say(f"The risk is {level} ({score:.0f} of 100); {count}.{said}")
    _output(
        {
            "risk-level": level,
            "risk-score": f"{score:.0f}",
            "remarks": str(len(remarks)),
            "comment": outcome.posting if outcome else "none",
            "comment-url": outcome.url if outcome else "",
        }
    )


def annotation(remark: Mapping[str, Any]) -> str:
    """Return the runner's command that puts a remark beside its line; needs no right."""
    level = "warning" if remark.get("level") == "warning" else "notice"
    fields = [f"file={escape_property(str(remark.get('path', '')))}", "title=codemem"]
    if isinstance(remark.get("line"), int):
        fields.insert(1, f"line={remark['line']}")
    return f"::{level} {','.join(fields)}::{escape_data(str(remark.get('message', ''))[:1000])}"


def escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def _summarize(markdown: str, outcome: Outcome | None) -> None:
    """Put the review on the job's page; where there is none, into its log if nowhere else."""
    text = markdown.replace(MARKER, "", 1).strip()
    path = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if path:
        with Path(path).open("a", encoding="utf-8", errors="replace") as file:
            file.write(text.encode()[:SUMMARY_BYTES].decode("utf-8", "ignore") + "\n")
    elif outcome is None or outcome.posting != "posted":
        # No line of it begins as a command to the runner would.
        print("\n".join(f"  | {plain(line)}" for line in text.splitlines()), flush=True)


def _output(values: Mapping[str, str]) -> None:
    path = os.environ.get("GITHUB_OUTPUT", "")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.writelines(f"{key}={_CONTROL.sub('', value)}\n" for key, value in values.items())


def _write_json(path: str, content: Any) -> None:
    Path(path).write_text(json.dumps(content), encoding="utf-8")


def _judge(answer: Mapping[str, Any], options: argparse.Namespace, out: Printed) -> int:
    level, _ = _risk(answer)
    if options.fail_on in {"", "never"}:
        return OK
    if level not in LEVELS:
        out.caution(f"The server named no risk that this script knows ({level}): nothing is gated.")
        return UNUSABLE if options.required else OK
    if LEVELS.index(level) < LEVELS.index(options.fail_on):
        return OK
    out.say(f"The risk is {level}, and this job fails from {options.fail_on} on.")
    return RISKY


def _risk(answer: Mapping[str, Any]) -> tuple[str, float]:
    review = answer.get("review")
    risk = review.get("risk") if isinstance(review, dict) else None
    fields = risk if isinstance(risk, dict) else {}
    level, score = str(fields.get("level", "")), fields.get("score")
    known = level if level in LEVELS else "unknown"
    return known, float(score) if isinstance(score, int | float) else 0.0


# --- Settings ----------------------------------------------------------------------------------


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the options; secrets come from the environment only: no process list shows them."""
    parser = argparse.ArgumentParser(
        description="Have codemem review this job's pull request.",
        epilog="Environment: CODEMEM_URL, CODEMEM_TOKEN (a CI token of codemem),"
        " CODEMEM_FORGE_TOKEN (what may comment; in Actions the job's own token),"
        " CODEMEM_REPOSITORY (namespace/name; default: by the pull request's address),"
        " CODEMEM_FAIL_ON, CODEMEM_SARIF, CODEMEM_CODE_QUALITY, CODEMEM_REQUIRED,"
        " CODEMEM_COMMENT.",
    )
    told = os.environ.get
    parser.add_argument("--server", default=told("CODEMEM_URL", ""))
    parser.add_argument("--repository", default=told("CODEMEM_REPOSITORY", ""))
    parser.add_argument(
        "--fail-on",
        default=told("CODEMEM_FAIL_ON", "") or "never",
        help=f"fail from this risk on: never, {', '.join(LEVELS[1:])}",
    )
    parser.add_argument("--sarif", default=told("CODEMEM_SARIF", ""), help="file to write")
    parser.add_argument("--code-quality", default=told("CODEMEM_CODE_QUALITY", ""))
    parser.add_argument(
        "--required",
        action="store_true",
        default=_is_true(told("CODEMEM_REQUIRED", "")),
        help="fail when there is no review, too",
    )
    parser.add_argument(
        "--no-comment",
        dest="comment",
        action="store_false",
        default=told("CODEMEM_COMMENT", "").lower() not in {"false", "no", "0"},
    )
    options = parser.parse_args(arguments)
    if options.fail_on not in ("never", *LEVELS[1:]):
        parser.error(f"--fail-on: {options.fail_on!r} is none of never, {', '.join(LEVELS[1:])}")
    options.token = told("CODEMEM_TOKEN", "").strip()
    options.forge_token = told("CODEMEM_FORGE_TOKEN", "").strip()
    return options


def _is_true(text: str) -> bool:
    return text.lower() in {"true", "yes", "1"}


if __name__ == "__main__":
    sys.exit(main())
