"""Bodies of requests: read up to a limit, decoded or refused in a sentence."""

import http.client
import io
import json
from contextlib import closing

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.test import RequestFactory

from codemem.gateway.body import decode_json, read, read_json
from codemem.gateway.errors import BodyMalformed, BodyTooLarge
from tests.factories import make_token, make_user
from tests.servers import free_port, running_server


def request_with(body: bytes, **environment) -> WSGIRequest:
    return RequestFactory().generic("POST", "/", body, "application/json", **environment)


def chunked(body: bytes, *, is_terminated: bool = True) -> WSGIRequest:
    """Return a request as gunicorn hands over one that came in chunks: without a length."""
    request = request_with(
        b"", HTTP_TRANSFER_ENCODING="chunked", **{"wsgi.input_terminated": is_terminated}
    )
    request.META.pop("CONTENT_LENGTH", None)
    request.META["wsgi.input"] = io.BytesIO(body)
    return request


class Endless(io.RawIOBase):
    """A body that never ends; remembers how much was taken."""

    taken = 0

    def read(self, size=-1):
        assert size > 0
        self.taken += size
        return b"x" * size


def test_a_body_up_to_the_limit_is_read():
    assert read(request_with(b"x" * 100), maximum_bytes=100) == b"x" * 100


def test_a_body_announced_as_too_large_is_refused_unread():
    request = request_with(b"{}")
    request.META["CONTENT_LENGTH"] = "101"

    with pytest.raises(BodyTooLarge, match=r"The body is over 100 bytes\."):
        read(request, maximum_bytes=100)
    assert request.read() == b"{}"


def test_a_chunked_body_is_read():
    assert read_json(chunked(b'{"a": 1}'), maximum_bytes=100) == {"a": 1}


def test_an_unannounced_body_is_refused_once_it_is_too_large():
    request = chunked(b"")
    body = request.META["wsgi.input"] = Endless()

    with pytest.raises(BodyTooLarge):
        read(request, maximum_bytes=100)
    assert body.taken == 101


def test_a_stream_that_may_not_end_is_not_waited_for():
    # A server that leaves the chunks in: reading on would block for good.
    assert read(chunked(b"{}", is_terminated=False), maximum_bytes=100) == b""


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"nonsense", b"{'a': 1}", b'{"a": NaN}', b"[Infinity]", b"\xff\xfe\x00", b'"\xc3"'],
)
def test_what_is_not_json_is_refused_in_a_sentence(body):
    with pytest.raises(BodyMalformed, match=r"^The body is not JSON: .+\.$"):
        decode_json(body)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_endless_nesting_is_refused(opening, closing):
    with pytest.raises(BodyMalformed, match="nested too deeply"):
        decode_json(opening * 100_000 + b"1" + closing * 100_000)


def test_a_number_of_endless_length_is_refused():
    with pytest.raises(BodyMalformed, match="not JSON"):
        decode_json(b"9" * 100_000)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_chunks_arrive_whole_through_the_web_server():
    token = make_token(make_user()).secret
    chunks = [b'{"names', b'pace": 7}']

    with (
        running_server(port=free_port(), environment=_this_database()) as url,
        closing(http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)) as server,
    ):
        server.request(
            "POST",
            "/api/v1/tools/list_namespaces",
            iter(chunks),
            {"Authorization": f"Bearer {token}", "Connection": "close"},
            encode_chunked=True,
        )
        answer = server.getresponse()
        error = json.loads(answer.read())["error"]

    assert (answer.status, error["code"]) == (422, "invalid_arguments")
    assert error["message"].startswith("namespace:")


def _this_database() -> dict[str, str]:
    to = connection.settings_dict
    return {
        "DATABASE_URL": f"postgresql://{to['USER']}:{to['PASSWORD']}@{to['HOST']}:{to['PORT']}"
        f"/{to['NAME']}"
    }
