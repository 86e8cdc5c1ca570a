"""Reads request bodies within a limit, whether or not the client announced their length."""

import json
from typing import Any

from django.http import HttpRequest

from codemem.gateway.errors import BodyMalformed, BodyTooLarge


def read_json(request: HttpRequest, *, maximum_bytes: int) -> Any:
    """Return the decoded body; raise BodyTooLarge or BodyMalformed."""
    return decode_json(read(request, maximum_bytes=maximum_bytes))


def read(request: HttpRequest, *, maximum_bytes: int) -> bytes:
    length = request.headers.get("Content-Length", "")
    if length.isdigit() and int(length) > maximum_bytes:
        raise _too_large(maximum_bytes)
    body = bytes(request.read(maximum_bytes + 1))
    if len(body) > maximum_bytes:
        raise _too_large(maximum_bytes)
    return body


def decode_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BodyMalformed(f"The body is not JSON: {str(error)[:200]}.") from None


def _too_large(maximum_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(
        f"The body is over {maximum_bytes:,} bytes.",
        hint="Send less at once; diffs go to POST /api/v1/reviews, which takes more.",
    )
