"""Which endpoint answers a request, which subscriptions hear a topic: by form alone.

Calibrated guesses, each with its rule: the same path .9, the end of the path behind a gateway's
prefix .6. What several services would answer is a candidate only, and what nobody can name
matches nothing.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from indexing.crossing.paths import HOLE, says_something, segments

_EXACT: Final = 0.9
_SUFFIX: Final = 0.6
_LITERAL_FOR_PARAMETER: Final = 0.05
_ANY_METHOD: Final = 0.05
_AMBIGUOUS: Final = 0.4
_LEAST_LITERALS_OF_A_SUFFIX: Final = 1
_LOCAL_HOSTS: Final = frozenset({"", "localhost", "127.0.0.1", "0.0.0.0", "::1", "testserver"})  # noqa: S104
_SERVICE_ENDINGS: Final = re.compile(r"[-_.](service|svc|api|server|backend|app)$")


class MatchRule(StrEnum):
    """Why a request is thought to reach an endpoint."""

    EXACT = "path"
    SUFFIX = "path-suffix"
    AMBIGUOUS = "path-ambiguous"


class Server(NamedTuple):
    """An endpoint as matching sees it; `service` is the repository that has it."""

    method: str
    template: str
    service: str


class Match(NamedTuple):
    """An endpoint that may answer, by its position; below 0.5 it is a candidate only."""

    position: int
    confidence: float
    rule: MatchRule


@dataclass(frozen=True, slots=True)
class _Candidate:
    index: int
    score: float
    rule: MatchRule


class Endpoints:
    """All endpoints of a namespace, found by the last part of their path that is no parameter."""

    def __init__(self, servers: Iterable[Server], *, aliases: dict[str, str] | None = None) -> None:
        self._servers = list(servers)
        self._parts = [segments(server.template) for server in self._servers]
        self._services = {_plain(server.service) for server in self._servers}
        self._aliases = {host.lower(): _plain(name) for host, name in (aliases or {}).items()}
        self._by_anchor: defaultdict[str, list[int]] = defaultdict(list)
        for index, parts in enumerate(self._parts):
            self._by_anchor[_anchor(parts)].append(index)

    def matches(self, *, method: str, host: str, template: str, caller: str) -> list[Match]:
        """Return the endpoints that may answer a request, the surest first.

        `caller` is the repository that sends it: its own endpoint answers before another's when
        the host says nothing.
        """
        if not says_something(template):
            return []
        service = self._service(host)
        if service is None:
            return []
        parts = segments(template)
        found = []
        for anchor in {_anchor(parts), *parts}:
            for index in self._by_anchor.get(anchor, ()):
                candidate = self._candidate(index, method, parts)
                is_meant = not service or _plain(self._servers[index].service) == service
                if candidate is not None and is_meant:
                    found.append(candidate)
        return self._chosen({one.index: one for one in found}.values(), caller)

    def _service(self, host: str) -> str | None:
        """Return the service a host means: "" for any, None for one that is not of this house."""
        if host in _LOCAL_HOSTS:
            return ""
        if host in self._aliases:
            return self._aliases[host]
        label = _plain(host.partition(".")[0])
        if label in self._services:
            return label
        # A bare name is a service of a cluster, known under a name that nobody told us.
        return "" if "." not in host or host.endswith((".local", ".internal", ".svc")) else None

    def _candidate(self, index: int, method: str, parts: list[str]) -> _Candidate | None:
        server, own = self._servers[index], self._parts[index]
        if method not in (server.method, "ANY") and server.method != "ANY":
            return None
        loss = _ANY_METHOD * (method != server.method)
        if len(parts) == len(own):
            fit = _fit(parts, own)
            return (
                _Candidate(index, _EXACT - loss - fit, MatchRule.EXACT) if fit is not None else None
            )
        shorter = min(len(parts), len(own))
        literals = sum(part != HOLE for part in (own if len(own) == shorter else parts))
        fit = _fit(parts[-shorter:], own[-shorter:])
        if fit is None or literals < _LEAST_LITERALS_OF_A_SUFFIX or not shorter:
            return None
        # Behind a gateway the caller's path is longer; an unknown base URL makes it shorter.
        return _Candidate(index, _SUFFIX - loss - fit, MatchRule.SUFFIX)

    def _chosen(self, found: Iterable[_Candidate], caller: str) -> list[Match]:
        ordered = sorted(found, key=lambda one: (-one.score, one.index))
        if not ordered:
            return []
        best = [one for one in ordered if one.score == ordered[0].score]
        if ordered[0].rule is MatchRule.SUFFIX:
            # The longest common end says most.
            longest = max(len(self._parts[one.index]) for one in best)
            best = [one for one in best if len(self._parts[one.index]) == longest]
        own = [one for one in best if self._servers[one.index].service == caller]
        best = own or best
        if len({self._servers[one.index].service for one in best}) == 1:
            return [Match(one.index, round(one.score, 2), one.rule) for one in best]
        return [Match(one.index, _AMBIGUOUS, MatchRule.AMBIGUOUS) for one in best[:10]]


def topic_hears(subscribed: str, published: str) -> bool:
    """Tell whether a subscription hears a topic: the same, or a pattern of NATS, Redis, AMQP."""
    if not subscribed or not published:
        return False
    if subscribed == published:
        return True
    if not any(sign in subscribed for sign in "*>#"):
        return False
    pattern = re.escape(subscribed)
    pattern = pattern.replace(r"\#", ".*").replace(">", ".+").replace(r"\*", r"[^.:/]*")
    return re.fullmatch(pattern, published) is not None


def _fit(request: list[str], endpoint: list[str]) -> float | None:
    """Return what a fit loses for literals where the endpoint has a parameter; None for no fit."""
    loss = 0.0
    literals = 0
    for sent, own in zip(request, endpoint, strict=True):
        if sent == own:
            literals += sent != HOLE
        elif own == HOLE:
            loss = _LITERAL_FOR_PARAMETER
        else:
            return None
    return loss if literals else None


def _anchor(parts: list[str]) -> str:
    return next((part for part in reversed(parts) if part != HOLE), "")


def _plain(name: str) -> str:
    """Return a service's name without what deployments put around it: `orders-service`."""
    return _SERVICE_ENDINGS.sub("", name.lower()).replace("_", "-")
