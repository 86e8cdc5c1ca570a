"""Which agent calls: what the client says of itself, for the provenance of what it stores."""

import re
from typing import Any

from django.http import HttpRequest

_HEADER = "Codemem-Agent"
_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
_LONGEST = 100
_PRODUCT = re.compile(r"([A-Za-z][\w.+-]{1,60})(?:/v?(\d[\w.+-]{0,30}))?")
# What carries requests and is nobody's agent.
_LIBRARIES = frozenset(
    "node undici axios okhttp mozilla curl wget python-httpx python-requests python-urllib python"
    " aiohttp go-http-client java deno bun got reqwest werkzeug codemem".split()
)


def agent_of(request: HttpRequest, message: object = None) -> str:
    """Return the name and version of the calling agent, blank when nothing says so.

    A header of ours goes first, then what a modern MCP client says in each message; clients of
    2025 introduce themselves only in `initialize`, which we keep nothing of: they are known by
    their user agent.
    """
    named = request.headers.get(_HEADER, "") or _named_in(message)
    if not named and (product := _PRODUCT.match(request.headers.get("User-Agent", ""))):
        is_library = product[1].lower() in _LIBRARIES
        named = "" if is_library else " ".join(filter(None, product.groups()))
    return "".join(sign for sign in named if sign.isprintable())[:_LONGEST].strip()


def _named_in(message: Any) -> str:
    try:
        info = message["params"]["_meta"][_CLIENT_INFO]
        parts = [info.get("name"), info.get("version")]
    except (AttributeError, KeyError, TypeError):
        return ""
    return " ".join(part for part in parts if isinstance(part, str))
