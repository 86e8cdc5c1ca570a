"""One HTTP exchange with the server, and a clear sentence for every way it can go wrong.

Plain http.client: redirects are not followed, because a token must not travel to where a
redirect points, and urllib's openers cost twice the start-up time.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import ssl
import sys
from enum import IntEnum
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from codemem.client.failure import ExitStatus, Failure
from codemem.client.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CONNECT_SECONDS: Final = 5.0
READ_SECONDS: Final = 60.0
PATIENT_SECONDS: Final = 900.0  # for files: an export is written whole before it is sent
ANSWER_BYTES: Final = 64 * 1024 * 1024

_PART_BYTES: Final = 1 << 16

_TITLE = re.compile(rb"<title[^>]*>\s*(.{1,120}?)\s*</title>", re.IGNORECASE | re.DOTALL)


class Stage(IntEnum):
    """How far a request came; each stage presumes the ones before it."""

    NAME = 0
    CONNECTION = 1
    ENCRYPTION = 2
    ANSWER = 3


class Unreachable(Failure):
    """The request found no server that answers it."""

    status = ExitStatus.UNREACHABLE
    code = "unreachable"

    def __init__(self, message: str, *, stage: Stage, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.stage = stage


class Unreadable(Failure):
    """Something answered, but not the way a codemem server does."""

    status = ExitStatus.UNREACHABLE
    code = "unreadable_answer"


class Refused(Failure):
    """The server understood who and what, and said no."""

    code = "refused"

    def __init__(self, message: str, *, http_status: int, code: str, hint: str | None) -> None:
        super().__init__(message, hint=hint, code=code)
        self.http_status = http_status
        self.status = _exit_status(http_status)


class Answer(NamedTuple):
    """One response, read to its end."""

    http_status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    def json_object(self) -> dict[str, Any] | None:
        """Return the body as a JSON object, or None where it is something else."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


class Server(NamedTuple):
    """Where requests go, in whose name, and about what."""

    url: str
    token: str | None
    scope_headers: Mapping[str, str] | None = None

    def __repr__(self) -> str:
        return f"Server(url={self.url!r})"

    def call_tool(self, name: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Return the structured result of one agent tool. Raises like `ask`."""
        return self.ask("POST", f"/api/v1/tools/{name}", payload=arguments)

    def ask(self, method: str, path: str, *, payload: object = None) -> dict[str, Any]:
        """Return the JSON object of a successful answer.

        Raises Unreachable, Unreadable, or Refused with the server's own sentence.
        """
        answer = self.exchange(method, path, payload=payload)
        if answer.http_status // 100 != 2:  # noqa: PLR2004
            raise _refusal(answer, url=self.url)
        if (result := answer.json_object()) is None:
            raise _unreadable(answer, url=self.url)
        return result

    def upload(self, path: str, content: bytes, *, content_type: str) -> dict[str, Any]:
        """Send a part of a file and return the JSON object of the answer. Raises like `ask`."""
        answer = self.exchange(
            "POST",
            path,
            content=content,
            headers={"Content-Type": content_type},
            patience_seconds=PATIENT_SECONDS,
        )
        if answer.http_status // 100 != 2:  # noqa: PLR2004
            raise _refusal(answer, url=self.url)
        if (result := answer.json_object()) is None:
            raise _unreadable(answer, url=self.url)
        return result

    def download(
        self, path: str, *, into: BinaryIO, on_part: Callable[[int, int], None]
    ) -> Mapping[str, str]:
        """Write a file that the server sends, of any size, and return the answer's headers.

        `on_part` is told how many bytes came and how many are announced. Raises like `ask`, and
        Unreachable when the file breaks off.
        """
        route = _connect(urlsplit(self.url + path))
        route.connection.sock.settimeout(PATIENT_SECONDS)
        try:
            route.connection.request("GET", route.target, headers=self._headers(route.headers))
            response = route.connection.getresponse()
            lowered = {name.lower(): value for name, value in response.getheaders()}
            if response.status // 100 != 2:  # noqa: PLR2004
                content = response.read(ANSWER_BYTES)
                raise _refusal(Answer(response.status, lowered, content), url=self.url)
            announced, received = int(lowered.get("content-length") or 0), 0
            while part := response.read(_PART_BYTES):
                into.write(part)
                received += len(part)
                on_part(received, announced)
            if received < announced:
                raise http.client.IncompleteRead(b"", announced - received)
        except (OSError, http.client.HTTPException) as error:
            raise _unanswered(error, url=self.url) from error
        finally:
            route.connection.close()
        return lowered

    def exchange(
        self,
        method: str,
        path: str,
        *,
        payload: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        patience_seconds: float | None = None,
    ) -> Answer:
        """Return whatever the server answers, of any status. Raises Unreachable."""
        body = content if payload is None else json.dumps(payload).encode()
        route = _connect(urlsplit(self.url + path))
        route.connection.sock.settimeout(patience_seconds or READ_SECONDS)
        all_headers = self._headers({**route.headers, **(headers or {})})
        try:
            return _converse(route.connection, method, route.target, body=body, headers=all_headers)
        except (OSError, http.client.HTTPException) as error:
            raise _unanswered(error, url=self.url) from error
        finally:
            route.connection.close()

    def _headers(self, more: Mapping[str, str]) -> dict[str, bytes]:
        headers = {
            "User-Agent": f"codemem/{VERSION}",
            "Accept": "application/json",
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
            **(self.scope_headers or {}),
            **more,
        }
        # As UTF-8: branches are named in any script, and http.client would insist on latin-1.
        return {name: value.encode("utf-8", "surrogateescape") for name, value in headers.items()}


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment wants for a URL, chosen as urllib chooses it."""
    asks_system = sys.platform in ("darwin", "win32")
    if not asks_system and not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    # Late: this import alone costs as much as all others together.
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


class _Route(NamedTuple):
    connection: http.client.HTTPConnection
    target: str
    headers: Mapping[str, str]


def _connect(address: SplitResult) -> _Route:
    """Return an open connection, directly or through the proxy. Raises Unreachable."""
    proxy = _proxy(address)
    if address.scheme == "http":
        connection = http.client.HTTPConnection(**_endpoint(proxy or address, default_port=80))
    elif proxy:
        connection = http.client.HTTPSConnection(
            **_endpoint(proxy, default_port=80), context=ssl.create_default_context()
        )
        connection.set_tunnel(address.hostname or "", address.port or 443, _proxy_headers(proxy))
    else:
        connection = http.client.HTTPSConnection(
            **_endpoint(address, default_port=443), context=ssl.create_default_context()
        )
    try:
        connection.connect()
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        raise _unconnected(error, address=address, proxy=proxy) from error
    if proxy and address.scheme == "http":
        return _Route(connection, address.geturl(), _proxy_headers(proxy))
    target = f"{address.path}?{address.query}" if address.query else address.path
    return _Route(connection, target, {})


def _endpoint(address: SplitResult, *, default_port: int) -> dict[str, Any]:
    return {
        "host": address.hostname or "",
        "port": address.port or default_port,
        "timeout": CONNECT_SECONDS,
    }


def _proxy(address: SplitResult) -> SplitResult | None:
    proxy = proxy_for(address.geturl())
    if proxy is None:
        return None
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if parts.scheme != "http":
        raise Unreachable(
            f"The proxy {parts.scheme}://{parts.hostname} is not an http proxy.",
            stage=Stage.CONNECTION,
            hint="Set HTTPS_PROXY to an http:// proxy, or name the server in NO_PROXY.",
        )
    return parts


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    from base64 import b64encode

    secret = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(secret.encode()).decode()}"}


def _converse(
    connection: http.client.HTTPConnection,
    method: str,
    target: str,
    *,
    body: bytes | None,
    headers: Mapping[str, bytes],
) -> Answer:
    try:
        connection.request(method, target, body=body, headers=headers)
    except (BrokenPipeError, ConnectionResetError):
        # A server that refuses a large body may answer and hang up before it has read it all:
        # its answer says more than our broken pipe.
        if body is None:
            raise
    response = connection.getresponse()
    content = response.read(ANSWER_BYTES + 1)
    if len(content) > ANSWER_BYTES:
        raise http.client.HTTPException(f"answer longer than {ANSWER_BYTES} bytes")
    lowered = {name.lower(): value for name, value in response.getheaders()}
    return Answer(http_status=response.status, headers=lowered, body=content)


def _unconnected(
    error: Exception, *, address: SplitResult, proxy: SplitResult | None
) -> Unreachable:
    # Encryption is a matter between us and the server; a proxy only carries it.
    peer = address if proxy is None or isinstance(error, ssl.SSLError) else proxy
    place = f"{'the proxy ' if peer is proxy else ''}{peer.hostname}"
    where = f"{place} port {peer.port or (443 if peer.scheme == 'https' else 80)}"
    if isinstance(error, ssl.SSLError) or "handshake" in str(error):
        return _unencrypted(error, place=place, where=where)
    match error:
        case socket.gaierror() | UnicodeError():
            return Unreachable(
                f"The name {place} is not known.",
                stage=Stage.NAME,
                hint="Check the spelling in CODEMEM_URL or `codemem login`, and your VPN or DNS.",
            )
        case TimeoutError():
            return Unreachable(
                f"{where} did not answer in {CONNECT_SECONDS:.0f} seconds.",
                stage=Stage.CONNECTION,
                hint="A firewall or a missing VPN looks like this.",
            )
        case ConnectionRefusedError():
            return Unreachable(
                f"Nothing listens on {where}.",
                stage=Stage.CONNECTION,
                hint="Is the server running, and is the port right?",
            )
    return Unreachable(f"Cannot connect to {where}: {error}.", stage=Stage.CONNECTION)


def _unencrypted(error: Exception, *, place: str, where: str) -> Unreachable:
    match error:
        case ssl.SSLCertVerificationError():
            message = f"The certificate of {place} is not trusted: {error.verify_message}."
            hint = "For a certificate of your own authority set SSL_CERT_FILE to its PEM file."
        case TimeoutError():
            message = f"{where} did not finish the TLS handshake in {CONNECT_SECONDS:.0f} seconds."
            hint = "Is this really the port for https?"
        case _:
            reason = getattr(error, "reason", None) or error
            message = f"{where} does not speak TLS ({reason})."
            hint = "If this server speaks http, say so: codemem login --url http://..."
    return Unreachable(message, stage=Stage.ENCRYPTION, hint=hint)


def _unanswered(error: Exception, *, url: str) -> Unreachable:
    if isinstance(error, TimeoutError):
        message = f"{url} accepted the request but sent nothing for {READ_SECONDS:.0f} seconds."
    elif isinstance(error, http.client.RemoteDisconnected | ConnectionError):
        message = f"{url} closed the connection without an answer."
    else:
        message = f"{url} did not answer in HTTP ({type(error).__name__}: {error})."
    hint = "An https server may stand behind this port." if url.startswith("http://") else None
    return Unreachable(message, stage=Stage.ANSWER, hint=hint)


def _refusal(answer: Answer, *, url: str) -> Failure:
    status = answer.http_status
    if status // 100 == 3:  # noqa: PLR2004
        return Unreadable(
            f"{url} sends requests on to {answer.headers.get('location', 'nowhere')}.",
            hint="A token is not sent after a redirect; log in with the right URL.",
        )
    code, message, hint = _said(answer)
    sentence, general_hint = _sentence(status, answer)
    return Refused(
        message or sentence, http_status=status, code=code or f"http_{status}",
        hint=hint or (_not_ours(answer) if _is_foreign(answer) else general_hint),
    )  # fmt: skip


def _is_foreign(answer: Answer) -> bool:
    return bool(answer.body) and answer.json_object() is None


def _said(answer: Answer) -> tuple[str | None, str | None, str | None]:
    """Return code, message and hint of an error body, each None where it says nothing."""
    said = answer.json_object() or {}
    error = said.get("error")
    # Ours is an object; other layers in front of the views say `error` and `detail` as text.
    if not isinstance(error, dict):
        error = {"code": error, "message": said.get("message") or said.get("detail")}
    code, message, hint = (error.get(key) for key in ("code", "message", "hint"))
    return _text(code), _text(message), _text(hint)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


# What a status means here, for answers that do not say it themselves: sentence and hint.
_SENTENCES: Final = {
    401: ("The server does not accept this token.", "Get a new one, then: codemem login"),
    403: ("This token does not allow that.", "Ask a maintainer of the namespace."),
    404: (
        "The server does not know what this is about.",
        "Check --namespace and --repository, and that the URL is a codemem server's.",
    ),
    407: ("The proxy wants a user name and password.", "Put them into HTTPS_PROXY."),
    409: ("Somebody else changed this at the same time.", "Try again."),
    413: ("The request is too large for the server.", "Send a smaller diff or question."),
}


def _sentence(status: int, answer: Answer) -> tuple[str, str | None]:
    if status in _SENTENCES:
        return _SENTENCES[status]
    if status == 429:  # noqa: PLR2004
        wait = answer.headers.get("retry-after", "")
        pause = f"in {wait} seconds" if wait.isdecimal() else "in a while"
        return "The server has had too many requests from this token.", f"Try again {pause}."
    if status >= 500:  # noqa: PLR2004
        return (
            f"The server failed (HTTP {status}).",
            "Try again; if it stays, its operator finds the reason in the server's log.",
        )
    return f"The server refused the request (HTTP {status}).", None


def _unreadable(answer: Answer, *, url: str) -> Unreadable:
    return Unreadable(
        f"{url} did not answer with codemem's JSON.",
        hint=f"{_not_ours(answer)} Check the URL with `codemem doctor`.",
    )


def _not_ours(answer: Answer) -> str:
    kind = answer.headers.get("content-type", "no content type").partition(";")[0]
    title = _TITLE.search(answer.body)
    titled = f" titled “{b' '.join(title[1].split()).decode('utf-8', 'replace')}”" if title else ""
    return f"The answer is {kind}{titled}: a proxy or another server may stand in between."


def _exit_status(http_status: int) -> ExitStatus:
    if http_status in (401, 403, 407):
        return ExitStatus.UNAUTHORIZED
    if http_status == 429 or http_status >= 500:  # noqa: PLR2004
        return ExitStatus.UNREACHABLE
    return ExitStatus.USAGE
