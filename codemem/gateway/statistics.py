"""Calls and latency of each tool over all processes and hosts, kept in Redis.

A histogram with buckets 10 % apart, one hash per tool: a quantile is off by at most 5 %, and
adding a call costs one round trip. Losing Redis loses figures, never a call.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import redis
import structlog
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

log = structlog.get_logger(__name__)

_RATIO = math.log(1.1)
_FIRST_MS = 0.05
_KEY = "codemem:tools:"


@dataclass(frozen=True, slots=True)
class ToolStatistics:
    calls: int
    errors: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


def note(*, tool: str, seconds: float, is_error: bool) -> None:
    """Add one call; does nothing but say so in the log when Redis does not answer."""
    try:
        with _client().pipeline(transaction=False) as pipe:
            pipe.hincrby(_KEY + tool, f"b{_bucket(seconds * 1000)}", 1)
            if is_error:
                pipe.hincrby(_KEY + tool, "errors", 1)
            pipe.execute()
    except redis.RedisError as error:
        log.warning("statistics_lost", tool=tool, reason=type(error).__name__)


def of_tools(names: list[str]) -> dict[str, ToolStatistics] | None:
    """Return the statistics of the tools that were called; None when Redis does not answer."""
    try:
        with _client().pipeline(transaction=False) as pipe:
            for name in names:
                pipe.hgetall(_KEY + name)
            hashes = pipe.execute()
    except redis.RedisError:
        return None
    return {
        name: _summarize({key.decode(): int(value) for key, value in fields.items()})
        for name, fields in zip(names, hashes, strict=True)
        if fields
    }


def _summarize(fields: Mapping[str, int]) -> ToolStatistics:
    buckets = sorted((int(key[1:]), count) for key, count in fields.items() if key[0] == "b")
    return ToolStatistics(
        calls=sum(count for _, count in buckets),
        errors=fields.get("errors", 0),
        p50_ms=_quantile(buckets, 0.50),
        p95_ms=_quantile(buckets, 0.95),
        p99_ms=_quantile(buckets, 0.99),
    )


def _bucket(milliseconds: float) -> int:
    return max(0, math.ceil(math.log(max(milliseconds, _FIRST_MS) / _FIRST_MS) / _RATIO))


def _quantile(buckets: list[tuple[int, int]], share: float) -> float:
    rank = share * sum(count for _, count in buckets)
    seen = 0
    for bucket, count in buckets:
        seen += count
        if seen >= rank:
            # The geometric middle of the bucket.
            return round(_FIRST_MS * math.exp(_RATIO * (bucket - 0.5)), 3)
    return 0.0


@cache
def _client() -> redis.Redis:
    # Short patience: this is on the path of every call.
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=0.2,
        socket_connect_timeout=0.2,
        retry=Retry(NoBackoff(), 0),
    )
