"""A reverse proxy that adds a bearer token and changes nothing else.

The conformance suite cannot send an Authorization header, and the server has no mode without one.
"""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

# These belong to one connection, not to the message (RFC 9110, section 7.6.1).
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "te", "trailer", "transfer-encoding"})
_TIMEOUT_SECONDS = 30


@contextmanager
def adding_token(*, port: int, upstream_port: int, token: str) -> Iterator[None]:
    """Serve on one port of this machine for another, for as long as the block lasts."""

    class Handler(_Handler):
        upstream = upstream_port
        secret = token

    server = _Server(("127.0.0.1", port), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_arguments: object) -> None:
        """Say nothing: the suite hangs up on kept connections when a scenario is over."""


class _Handler(BaseHTTPRequestHandler):
    upstream: int
    secret: str
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self._pass_on()

    def do_GET(self) -> None:
        self._pass_on()

    def do_DELETE(self) -> None:
        self._pass_on()

    def log_message(self, *_arguments: object) -> None:
        pass

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.upstream, timeout=_TIMEOUT_SECONDS
        )
        # Header by header, Host and Origin too: a mapping would hide a header that was sent twice.
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in _HOP_BY_HOP:
                connection.putheader(name, value)
        connection.putheader("Authorization", f"Bearer {self.secret}")
        connection.endheaders(body)
        self._answer(connection.getresponse())
        connection.close()

    def _answer(self, response: http.client.HTTPResponse) -> None:
        content = response.read()
        self.send_response_only(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in _HOP_BY_HOP | {"content-length"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
