"""What the server asks of a git host: the comments of one pull request, with a token of its own.

The CI script does the same with a job's token and shares no code with this: it must run where
nothing of codemem is installed. Nothing here sleeps: a host that asks to wait is asked again later,
by the row of the review. A token is never part of an error.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx
from django.conf import settings

from codemem import env
from indexing.comment import MARKER, fit
from indexing.posting.values import Forge

TOKEN_VARIABLE: Final = re.compile(r"CODEMEM_FORGE_TOKEN_[A-Z0-9_]{1,80}\Z")
TOKEN_FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}\Z")

_SECONDS: Final = 20.0
_LONGEST_ANSWER_BYTES: Final = 16 << 20
_MOST_PAGES: Final = 200
_SAID_CHARACTERS: Final = 200
_GITLAB_CHARACTERS: Final = 900_000


class ForgeRefused(Exception):
    """The git host will not do this, however often it is asked."""


class ForgeBusy(Exception):
    """The git host is away, fails or asks to wait; `until` is when it will have us, if it said."""

    def __init__(self, message: str, *, until: datetime | None = None) -> None:
        super().__init__(message)
        self.until = until


class TokenUnset(Exception):
    """The token is not where the connection says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Where a repository's pull requests are, and where the token for them stands."""

    forge: Forge
    api_url: str
    project: str
    token_source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    id: str
    body: str
    url: str
    is_ours: bool


def read_token(source: str) -> str:
    """Return what `env:NAME` or `file:NAME` names; raise TokenUnset.

    Only variables that begin with CODEMEM_FORGE_TOKEN_ and files of one folder: nothing else that
    this process can read is a token for a git host.
    """
    kind, _, name = source.partition(":")
    token = ""
    if kind == "env" and TOKEN_VARIABLE.match(name):
        token = env.text(name)
    elif kind == "file" and TOKEN_FILE.match(name):
        place = settings.FORGE_TOKENS_DIRECTORY / name
        token = place.read_text(encoding="utf-8", errors="replace") if place.is_file() else ""
    if not token.strip():
        raise TokenUnset(f"There is no token at {source}.")
    return token.strip()


class PullRequest:
    """The comments of one pull request, in the words of its git host."""

    def __init__(self, connection: Connection, *, number: int, token: str, now: datetime) -> None:
        self._forge, self._now = connection.forge, now
        self._api = connection.api_url.rstrip("/")
        is_gitlab = connection.forge is Forge.GITLAB
        project = quote(connection.project, safe="" if is_gitlab else "/")
        if is_gitlab:
            self._list = f"{self._api}/projects/{project}/merge_requests/{number}/notes"
            self._one = self._list
            self._headers = {"PRIVATE-TOKEN": token}
        else:
            self._list = f"{self._api}/repos/{project}/issues/{number}/comments"
            self._one = f"{self._api}/repos/{project}/issues/comments"
            scheme = "Bearer" if connection.forge is Forge.GITHUB else "token"
            self._headers = {"Authorization": f"{scheme} {token}"}

    def get(self, comment_id: str) -> Comment | None:
        """Return a comment; None when it was deleted."""
        answer = self._ask("GET", f"{self._one}/{comment_id}")
        return None if _is_gone(answer) else self._comment(_checked(answer))

    def find(self) -> Comment | None:
        """Return the oldest comment of our own that begins with the marker.

        What somebody else wrote is never ours: its boxes are ticked by who may not.
        """
        return next((one for one in map(self._comment, self._all()) if one.is_ours), None)

    def create(self, body: str) -> Comment:
        return self._comment(_checked(self._ask("POST", self._list, {"body": self._fit(body)})))

    def update(self, comment_id: str, body: str) -> Comment | None:
        """Return the changed comment; None if a person deleted it meanwhile."""
        method = "PUT" if self._forge is Forge.GITLAB else "PATCH"
        answer = self._ask(method, f"{self._one}/{comment_id}", {"body": self._fit(body)})
        return None if _is_gone(answer) else self._comment(_checked(answer))

    @cached_property
    def _me(self) -> str:
        who = _checked(self._ask("GET", f"{self._api}/user"))
        name = who.get("login") or who.get("username") if isinstance(who, dict) else None
        if not name:
            raise ForgeRefused("The git host does not say whose the token is.")
        return str(name)

    def _comment(self, found: Any) -> Comment:
        fields = found if isinstance(found, dict) else {}
        author = fields.get("user") or fields.get("author") or {}
        name = author.get("login") or author.get("username")
        body, url = str(fields.get("body") or ""), str(fields.get("html_url") or "")
        return Comment(
            id=str(fields.get("id") or ""),
            body=body,
            url=url if re.match(r"https?://[^\s<>\"]{1,480}\Z", url) else "",
            is_ours=body.startswith(MARKER) and name == self._me,
        )

    def _fit(self, body: str) -> str:
        return fit(body, limit=_GITLAB_CHARACTERS) if self._forge is Forge.GITLAB else fit(body)

    def _all(self) -> Iterator[dict[str, Any]]:
        is_gitea = self._forge in {Forge.GITEA, Forge.FORGEJO}
        url: str | None = f"{self._list}?{'limit=50' if is_gitea else 'per_page=100'}"
        if self._forge is Forge.GITLAB:
            url = f"{url}&sort=asc&order_by=created_at"
        for _ in range(_MOST_PAGES):
            if url is None:
                return
            answer = self._ask("GET", url)
            found = _checked(answer)
            yield from (one for one in found or () if isinstance(one, dict))
            following = answer.links.get("next", {}).get("url")
            # The token goes nowhere else, whatever a header says.
            url = following if following and _origin(following) == _origin(self._api) else None

    def _ask(
        self, method: str, url: str, payload: Mapping[str, str] | None = None
    ) -> httpx.Response:
        try:
            with httpx.Client(timeout=_SECONDS, follow_redirects=False, trust_env=True) as client:
                answer = client.request(method, url, json=payload, headers=self._headers)
        except httpx.HTTPError as error:
            raise ForgeBusy(f"The git host does not answer: {type(error).__name__}.") from None
        if len(answer.content) > _LONGEST_ANSWER_BYTES:
            raise ForgeRefused("The git host's answer is too long.")
        if (until := _asked_to_wait(answer, self._now)) is not None:
            raise ForgeBusy(f"The git host answered {answer.status_code}.", until=until)
        if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise ForgeBusy(f"The git host answered {answer.status_code}.")
        return answer


def _asked_to_wait(answer: httpx.Response, now: datetime) -> datetime | None:
    """Return until when a host refuses who asks too often; GitHub answers 403 for that, too."""
    if answer.status_code not in {HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS, 503}:
        return None
    after = answer.headers.get("retry-after", "")
    if after.isdigit():
        return now + timedelta(seconds=min(int(after), 86_400))
    reset = answer.headers.get("x-ratelimit-reset") or answer.headers.get("ratelimit-reset", "")
    if answer.headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
        return min(datetime.fromtimestamp(int(reset), UTC), now + timedelta(days=1))
    if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return now + timedelta(minutes=1)
    return None


def _checked(answer: httpx.Response) -> Any:
    try:
        found = answer.json()
    except ValueError:
        found = None
    if answer.status_code in {HTTPStatus.OK, HTTPStatus.CREATED} and found is not None:
        return found
    said = found.get("message") if isinstance(found, dict) else ""
    raise ForgeRefused(
        f"The git host answered {answer.status_code}: {str(said)[:_SAID_CHARACTERS]}"
    )


def _is_gone(answer: httpx.Response) -> bool:
    return answer.status_code in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
