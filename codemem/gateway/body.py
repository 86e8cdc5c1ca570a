"""Reads request bodies within a limit, whether or not the client announced their length."""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from django.conf import settings
from django.http import HttpRequest
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer

from codemem.gateway.errors import BodyMalformed, BodyTooLarge

_PART_BYTES = 1 << 16


def read_json(request: HttpRequest, *, maximum_bytes: int) -> Any:
    """Return the decoded body; raise BodyTooLarge or BodyMalformed."""
    return decode_json(read(request, maximum_bytes=maximum_bytes))


def read(request: HttpRequest, *, maximum_bytes: int) -> bytes:
    """Return the body; raise BodyTooLarge without having read more than `maximum_bytes` + 1."""
    length = request.headers.get("Content-Length", "")
    if length.isdigit() and int(length) > maximum_bytes:
        raise _too_large(maximum_bytes)
    body = bytes(_stream(request).read(maximum_bytes + 1))
    if len(body) > maximum_bytes:
        raise _too_large(maximum_bytes)
    return body


def parts(request: HttpRequest, *, maximum_bytes: int) -> Iterator[bytes]:
    """Yield the body piece by piece; raise BodyTooLarge when there is more than allowed."""
    length = request.headers.get("Content-Length", "")
    if length.isdigit() and int(length) > maximum_bytes:
        raise _too_large(maximum_bytes)
    stream, received = _stream(request), 0
    while part := bytes(stream.read(_PART_BYTES)):
        received += len(part)
        if received > maximum_bytes:
            raise _too_large(maximum_bytes)
        yield part


def decode_json(body: bytes) -> Any:
    """Return the value of a JSON text; raise BodyMalformed, also for NaN and endless nesting."""
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except RecursionError:
        raise BodyMalformed("The body is nested too deeply.") from None
    except ValueError as error:
        raise BodyMalformed(f"The body is not JSON: {str(error)[:200]}.") from None


class JsonParser(BaseParser):
    """DRF's door to `read_json`: its own parser reads without a limit."""

    media_type = "application/json"
    renderer_class = JSONRenderer

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:  # noqa: ARG002
        request = parser_context["request"]._request  # noqa: SLF001  DRF wraps Django's request
        return read_json(request, maximum_bytes=settings.MAXIMUM_BODY_BYTES)


def _stream(request: HttpRequest) -> HttpRequest | BinaryIO:
    # WSGI has no length for a chunked body, so Django takes it for empty. A server that takes the
    # chunks apart says that its stream ends by itself.
    is_chunked = request.headers.get("Transfer-Encoding", "").lower() == "chunked"
    if is_chunked and request.META.get("wsgi.input_terminated"):
        stream: BinaryIO = request.META["wsgi.input"]
        return stream
    return request


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _too_large(maximum_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(
        f"The body is over {maximum_bytes:,} bytes.",
        hint="Send less at once: files come in parts of whole lines, and diffs go to"
        " POST /api/v1/reviews, which takes more; or name base and head instead of a diff.",
    )
