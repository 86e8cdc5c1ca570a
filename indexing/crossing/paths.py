"""Paths of endpoints and URLs of requests, brought to one form so that they can be compared."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

_PARAMETER = re.compile(
    r"""
      \(\?P<(?P<regex>\w+)>(?:[^()]|\([^()]*\))*\)   # Django's and others' named groups
    | <(?:[^<>:]+:)?(?P<angle>[^<>]+)>               # Flask, Django, aiohttp
    | \$?\{(?P<brace>[^{}]*)\}                       # OpenAPI, Spring, chi, Go 1.22, templates
    | (?<=/):(?P<colon>\w+)(?:\([^)]*\))?[?*+]?      # Express, Gin, Rails
    | (?<=/)\*(?P<star>\w*)                          # the rest of the path
    | \((?:[^()]|\([^()]*\))*\)                      # a group without a name
    """,
    re.VERBOSE,
)
_REGEX_REMAINS = re.compile(r"[\^$]|\\[AZzb]|\?$")
_URL = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*|\{\})://)(?P<host>[^/?#]*)(?P<rest>.*)", re.IGNORECASE
)
_BASES = re.compile(r"^(?:\{\})+")
_LONGEST_PATH: Final = 500
HOLE: Final = "{}"


class Target(NamedTuple):
    """Where a request goes: `host` is "" when it is not said, `template` has `{}` for holes."""

    host: str
    template: str


@lru_cache(maxsize=16384)
def joined_path(*parts: str) -> str:
    """Join a route's prefixes and its path as routers do; always begins with one slash."""
    text = "/".join(part.strip("/") for part in parts if part.strip("/"))
    # A last slash matters to Django and to nobody else: clients write it or not.
    return "/" + text[:_LONGEST_PATH]


@lru_cache(maxsize=16384)
def named_path(path: str) -> str:
    """Return a path with its parameters as `{name}`, whatever the framework writes."""
    named = _PARAMETER.sub(_named, _REGEX_REMAINS.sub("", path.removeprefix("^")))
    return "/" + re.sub(r"/{2,}", "/", _REGEX_REMAINS.sub("", named).replace("\\", "")).strip("/")


@lru_cache(maxsize=16384)
def template_of(path: str) -> str:
    """Return a path with `{}` for each parameter: what endpoints and requests are compared by."""
    return re.sub(r"\{[^{}]*\}", HOLE, named_path(path))


@lru_cache(maxsize=16384)
def target_of(url: str) -> Target:
    """Take a URL apart; what stands before the path and is not known is no host."""
    text = url.strip().partition("#")[0].partition("?")[0]
    found = _URL.match(text)
    host = found["host"].rpartition("@")[2].lower() if found else ""
    path = found["rest"] if found else text
    if not found and not path.startswith("/"):
        # "{}/users", "{}users": a base that only runs know. "users/1": relative to a base.
        path = _BASES.sub("", path)
    host = "" if HOLE in host else host.partition(":")[0]
    return Target(host=host, template=template_of(path[:_LONGEST_PATH]))


def segments(template: str) -> list[str]:
    """Return the parts of a path between its slashes."""
    return [part for part in template.split("/") if part]


def says_something(template: str) -> bool:
    """Tell whether a path has any letters of its own: `/{}` fits every request."""
    return any(part != HOLE for part in segments(template))


def _named(found: re.Match[str]) -> str:
    name = next((text for text in found.groups() if text), "")
    # Spring and chi: {id:[0-9]+}; ASP.NET: {id:int}, {id?}; OpenAPI and Go: {path...}.
    name = re.split(r"[:?=]", name)[0].strip("*. ")
    return "{" + name + "}"
