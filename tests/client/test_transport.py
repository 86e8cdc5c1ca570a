import json
import socket
import ssl
from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest

from codemem.client import transport
from codemem.client.failure import Failure
from codemem.client.transport import Server, Stage, Unreachable, proxy_for
from tests.client.server_double import Canned

HTML = b"<html><head><title>Sign in\n to Corp</title></head></html>"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def dead_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture
def answering():
    """Start a one-connection server that says the given bytes and hangs up."""
    listeners = []

    def start(reply: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(reply)

        Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize(
    ("http_status", "exit_status", "sentence"),
    [
        (400, 2, "refused the request (HTTP 400)"),
        (401, 4, "does not accept this token"),
        (403, 4, "does not allow that"),
        (404, 2, "does not know what this is about"),
        (409, 2, "at the same time"),
        (413, 2, "too large"),
        (429, 3, "too many requests"),
        (500, 3, "The server failed (HTTP 500)"),
        (502, 3, "The server failed (HTTP 502)"),
        (503, 3, "The server failed (HTTP 503)"),
    ],
)
@pytest.mark.parametrize("body", [b"", b"{}", HTML])
def test_every_status_is_a_sentence(server, http_status, exit_status, sentence, body):
    server.canned["/api"] = Canned(status=http_status, body=body, content_type="text/html")
    with pytest.raises(Failure) as failure:
        Server(url=server.url, token="cm_good").call_tool("codemem_status", {})
    assert failure.value.status == exit_status
    assert sentence in failure.value.message
    hint = failure.value.hint or ""
    assert ("“Sign in" in hint) == (body == HTML)


def test_the_servers_own_sentence_wins(codemem, server):
    error = {"code": "right_missing", "message": "You may read, not review.", "hint": "Ask Bob."}
    server.canned["/api"] = Canned(status=403, body=json.dumps({"error": error}).encode())
    result = codemem("status", "--json")
    assert result.status == 4
    assert result.json == {"error": error}


@pytest.mark.parametrize(
    "body",
    [b'{"error": "invalid_token", "message": "Expired."}', b'{"detail": "Expired."}'],
)
def test_errors_of_other_layers_are_understood(codemem, server, body):
    server.canned["/api"] = Canned(status=401, body=body)
    assert "Expired." in codemem("status").err


def test_a_pause_the_server_asks_for_is_passed_on(codemem, server):
    server.canned["/api"] = Canned(status=429, headers={"Retry-After": "7"})
    assert "Try again in 7 seconds." in codemem("status").err


def test_a_login_page_is_recognized(codemem, server):
    server.canned["/"] = Canned(body=HTML, content_type="text/html; charset=utf-8")
    result = codemem("status")
    assert result.status == 3
    assert "did not answer with codemem's JSON" in result.err
    assert "text/html titled “Sign in to Corp”" in result.err


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_object_is_a_sentence(codemem, server, body):
    server.canned["/api"] = Canned(body=body)
    result = codemem("status")
    assert result.status == 3
    assert "codemem's JSON" in result.err


def test_a_redirect_is_not_followed(codemem, server):
    server.canned["/api"] = Canned(status=301, headers={"Location": "https://codemem.lan/api"})
    result = codemem("status")
    assert result.status == 3
    assert "sends requests on to https://codemem.lan/api" in result.err
    assert len(server.received) == 1


def test_a_server_that_is_down_is_unreachable(codemem, dead_port):
    result = codemem("status", CODEMEM_URL=f"http://127.0.0.1:{dead_port}")
    assert result.status == 3
    assert f"Nothing listens on 127.0.0.1 port {dead_port}." in result.err


def test_an_unknown_name_is_unreachable():
    with pytest.raises(Unreachable) as failure:
        Server(url="http://codemem.invalid", token="cm_x").ask("GET", "/")
    assert failure.value.stage is Stage.NAME


def test_a_name_that_is_no_name_is_unreachable():
    with pytest.raises(Unreachable) as failure:
        Server(url=f"http://{'a' * 70}.example", token="cm_x").ask("GET", "/")
    assert failure.value.stage is Stage.NAME


def test_a_server_that_never_accepts_times_out(monkeypatch):
    monkeypatch.setattr(transport, "CONNECT_SECONDS", 0.2)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        # A full backlog: the kernel lets further connections wait.
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        with pytest.raises(Unreachable) as failure:
            Server(url=f"http://127.0.0.1:{port}", token="cm_x").ask("GET", "/")
        for one in waiting:
            one.close()
    assert failure.value.stage is Stage.CONNECTION
    assert "did not answer in" in failure.value.message


def test_a_server_that_never_answers_times_out(server, monkeypatch):
    monkeypatch.setattr(transport, "READ_SECONDS", 0.2)
    server.hangs = True
    with pytest.raises(Unreachable) as failure:
        Server(url=server.url, token="cm_x").ask("GET", "/healthz")
    assert failure.value.stage is Stage.ANSWER


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
    ],
)
def test_what_is_no_http_is_a_sentence(codemem, answering, reply):
    result = codemem("status", CODEMEM_URL=answering(reply))
    assert result.status == 3
    assert "answer" in result.err


def test_an_answer_before_the_whole_body_is_read_counts(codemem, answering):
    body = b'{"error": {"code": "body_too_large", "message": "Too large."}}'
    head = b"HTTP/1.1 413 Too Large\r\nContent-Length: %d\r\n\r\n" % len(body)
    result = codemem("review", stdin=b"+x\n" * 3_000_000, CODEMEM_URL=answering(head + body))
    # The kernel may drop the answer together with the unread body; never is it a traceback.
    assert "Too large." in result.err or "closed the connection" in result.err


def test_a_server_without_tls_is_told_apart(codemem, server):
    result = codemem("status", CODEMEM_URL=server.url.replace("http:", "https:"))
    assert result.status == 3
    assert "does not speak TLS" in result.err
    assert "--url http://" in result.err


def test_an_untrusted_certificate_is_told_apart(codemem, tmp_path):
    with UntrustedServer(tmp_path) as port:
        result = codemem("status", CODEMEM_URL=f"https://127.0.0.1:{port}")
    assert result.status == 3
    assert "The certificate of 127.0.0.1 is not trusted" in result.err
    assert "SSL_CERT_FILE" in result.err


def test_requests_go_through_the_proxy_of_the_environment(codemem, server):
    result = codemem(
        "status",
        CODEMEM_URL="http://codemem.invalid:8000/memory",
        http_proxy=server.url.replace("http://", "http://ada:s%40crit@"),
        NO_PROXY="",
    )
    request = server.received[-1]
    assert request.path == "http://codemem.invalid:8000/memory/api/v1/tools/codemem_status"
    assert request.headers["host"] == "codemem.invalid:8000"
    assert request.headers["proxy-authorization"] == "Basic YWRhOnNAY3JpdA=="
    assert result.status == 2


def test_an_https_server_is_reached_through_a_tunnel(codemem, answering):
    refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    result = codemem(
        "status", CODEMEM_URL="https://codemem.invalid", HTTPS_PROXY=answering(refusal)
    )
    assert result.status == 3
    assert "the proxy 127.0.0.1" in result.err
    assert "407" in result.err


def test_no_proxy_is_honored(monkeypatch):
    assert proxy_for("http://codemem.lan") is None
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.lan:3128")
    assert proxy_for("http://codemem.lan") == "http://proxy.lan:3128"
    assert proxy_for("https://codemem.lan") is None
    monkeypatch.setenv("NO_PROXY", ".lan")
    assert proxy_for("http://codemem.lan") is None


def test_an_unusable_proxy_is_named(codemem):
    result = codemem(
        "status", CODEMEM_URL="http://codemem.invalid", http_proxy="socks5://proxy.lan:1080"
    )
    assert result.status == 3
    assert "socks5://proxy.lan is not an http proxy" in result.err


def test_a_server_never_shows_its_token():
    assert "cm_secret" not in repr(Server(url="http://x", token="cm_secret"))


class UntrustedServer:
    """A TLS server with a certificate of its own making."""

    def __init__(self, folder):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(_self_signed(folder))

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        Thread(target=self._serve, daemon=True).start()
        return self.listener.getsockname()[1]

    def __exit__(self, *_):
        self.listener.close()

    def _serve(self):
        connection, _ = self.listener.accept()
        try:
            self.context.wrap_socket(connection, server_side=True).close()
        except (ssl.SSLError, OSError):
            connection.close()


def _self_signed(folder):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return file
