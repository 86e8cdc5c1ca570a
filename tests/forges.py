"""Git hosts for tests: small servers that enforce what the real APIs enforce about comments.

From their documentation: who may comment, how lists come in pages, how long a body may be, what a
deleted comment answers, how a host refuses who asks too often. `faults` are answered first, one a
request, so that a test can have a host fail.
"""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Account:
    """Whose token it is; a job's token may not ask who it is."""

    name: str
    may_comment: bool = True
    may_ask_who: bool = True


@dataclass
class Fault:
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Request:
    method: str
    path: str
    body: Any


class Refusal(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class GitHost:
    """One pull request of one host, number 7 of acme/shop, and its comments."""

    kind: str = "github"
    accounts: dict[str, Account] = field(default_factory=dict)
    comments: list[dict[str, Any]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    address: str = ""

    # What differs between the hosts.
    prefix = ""
    page_default, page_most, size_parameter = 30, 100, "per_page"
    body_most, too_long_status = 65_536, 422
    update_method = "PATCH"
    issue = "/repos/acme/shop/issues/7/comments"
    one = "/repos/acme/shop/issues/comments/"

    @property
    def api(self) -> str:
        return self.address + self.prefix

    def write(self, author: str, body: str) -> dict[str, Any]:
        """Have somebody comment in a browser."""
        number = 1000 + len(self.requests) + len(self.comments) * 7
        while any(one["id"] == number for one in self.comments):
            number += 1
        comment = {
            "id": number,
            "body": body,
            self.author_field: {self.name_field: author},
            "html_url": f"https://{self.kind}.example/acme/shop/pull/7#c{number}",
        }
        self.comments.append(comment)
        return comment

    author_field, name_field = "user", "login"

    def bodies(self, author: str) -> list[str]:
        return [
            one["body"]
            for one in self.comments
            if one[self.author_field][self.name_field] == author
        ]

    def asked(self, method: str) -> list[Request]:
        return [one for one in self.requests if one.method == method]

    def delete(self, comment_id: int) -> None:
        self.comments = [one for one in self.comments if one["id"] != comment_id]

    def account_of(self, headers: Any) -> Account:
        raise NotImplementedError

    def answer(
        self, method: str, target: str, headers: Any, body: Any
    ) -> tuple[int, Mapping[str, str], Any]:
        parts = urlsplit(target)
        path = unquote(parts.path)
        self.requests.append(Request(method, path, body))
        if self.faults:
            fault = self.faults.pop(0)
            return fault.status, fault.headers, {"message": "You have exceeded a rate limit."}
        account = self.account_of(headers)
        if not path.startswith(self.prefix):
            raise Refusal(404, "Not Found")
        path = path.removeprefix(self.prefix)
        if path == "/user" and method == "GET":
            if not account.may_ask_who:
                raise Refusal(403, "Resource not accessible by integration")
            return 200, {}, {self.name_field: account.name}
        if path == self.issue:
            if method == "GET":
                return self._page(parts.query)
            if method == "POST":
                self._check(account, body)
                return 201, {}, self.write(account.name, body["body"])
        if match := re.fullmatch(re.escape(self.one) + r"(\d+)", path):
            return self._of_one(method, int(match[1]), account, body)
        raise Refusal(404, "Not Found")

    def _of_one(
        self, method: str, number: int, account: Account, body: Any
    ) -> tuple[int, Mapping[str, str], Any]:
        found = next((one for one in self.comments if one["id"] == number), None)
        if found is None:
            raise Refusal(404, "Not Found")
        if method == "GET":
            return 200, {}, found
        if method == self.update_method:
            self._check(account, body)
            found["body"] = body["body"]
            return 200, {}, found
        raise Refusal(405, "Method Not Allowed")

    def _check(self, account: Account, body: Any) -> None:
        if not account.may_comment:
            raise Refusal(403, "Resource not accessible by integration")
        text = body.get("body") if isinstance(body, dict) else None
        if not isinstance(text, str) or not text.strip():
            raise Refusal(self.too_long_status, "Body can't be blank")
        if len(text) > self.body_most:
            raise Refusal(
                self.too_long_status, f"Body is too long (maximum is {self.body_most} characters)"
            )

    def _page(self, query: str) -> tuple[int, Mapping[str, str], Any]:
        wanted = parse_qs(query)
        size = min(
            int(wanted.get(self.size_parameter, [str(self.page_default)])[0]), self.page_most
        )
        page = int(wanted.get("page", ["1"])[0])
        shown = self.comments[(page - 1) * size : page * size]
        headers = {}
        if page * size < len(self.comments):
            base = f"{self.api}{self.issue}?{self.size_parameter}={size}"
            last = -(-len(self.comments) // size)
            headers["Link"] = (
                f'<{base}&page={page + 1}>; rel="next", <{base}&page={last}>; rel="last"'
            )
        return 200, headers, shown


class GitHub(GitHost):
    def account_of(self, headers: Any) -> Account:
        if not headers.get("User-Agent"):
            raise Refusal(403, "Request forbidden by administrative rules.")
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if scheme.lower() not in {"bearer", "token"} or token not in self.accounts:
            raise Refusal(401, "Bad credentials")
        return self.accounts[token]


class Gitea(GitHost):
    """Its comments of an issue come all at once."""

    prefix = "/api/v1"
    page_default = page_most = 10**6
    size_parameter = "limit"
    body_most = 10**6

    def account_of(self, headers: Any) -> Account:
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "token" or token not in self.accounts:
            raise Refusal(401, "token is required")
        return self.accounts[token]


class GitLab(GitHost):
    prefix = "/api/v4"
    page_default = 20
    body_most, too_long_status = 1_000_000, 400
    update_method = "PUT"
    author_field, name_field = "author", "username"
    issue = "/projects/42/merge_requests/7/notes"
    one = "/projects/42/merge_requests/7/notes/"

    def account_of(self, headers: Any) -> Account:
        # A job's own token is no private token, and may not write notes.
        token = headers.get("PRIVATE-TOKEN", "")
        if token not in self.accounts:
            raise Refusal(401, "401 Unauthorized")
        return self.accounts[token]

    def write(self, author: str, body: str) -> dict[str, Any]:
        note = super().write(author, body)
        del note["html_url"]
        return note


class Served:
    """A host, or anything else that answers, behind a port."""

    def __init__(self, host: Any) -> None:
        self.host = host

    def __enter__(self) -> Self:
        host = self.host

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                content = self.rfile.read(length)
                try:
                    body = json.loads(content) if content else None
                    status, headers, answer = host.answer(
                        self.command, self.path, self.headers, body
                    )
                except Refusal as refusal:
                    status, headers, answer = refusal.status, {}, {"message": str(refusal)}
                told = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(told)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(told)

            do_GET = do_POST = do_PUT = do_PATCH = _serve  # noqa: N815  http.server's names

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


HOSTS = {"github": GitHub, "gitea": Gitea, "forgejo": Gitea, "gitlab": GitLab}


@contextmanager
def serve(kind: str) -> Iterator[GitHost]:
    """Serve an empty host of a kind, whose job token is `job-token`."""
    bot = {"github": "github-actions[bot]", "gitlab": "project_bot"}.get(kind, "gitea-actions")
    host = HOSTS[kind](kind=kind)
    host.accounts["job-token"] = Account(bot, may_ask_who=kind == "gitlab")
    with Served(host) as served:
        host.address = served.address
        yield host
