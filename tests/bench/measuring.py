"""Timing of calls, and what a figure is."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

import django
import psycopg
from django.conf import settings

_WARM_UP = 5
Argument = TypeVar("Argument")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """How long some calls took, in milliseconds, shortest first."""

    milliseconds: tuple[float, ...]

    @classmethod
    def of(cls, milliseconds: Iterable[float]) -> "Timings":
        return cls(milliseconds=tuple(sorted(milliseconds)))

    @property
    def p50(self) -> float:
        return self._quantile(0.5)

    @property
    def p95(self) -> float:
        return self._quantile(0.95)

    @property
    def p99(self) -> float:
        return self._quantile(0.99)

    def _quantile(self, share: float) -> float:
        last = len(self.milliseconds) - 1
        return self.milliseconds[min(int(share * len(self.milliseconds)), last)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured thing: how long it took, beside what the bare SQL for the same took.

    `results` is the mean number of rows, nodes or hits that a call returned.
    """

    group: str
    name: str
    taken: Timings
    bare: Timings | None = None
    results: float | None = None
    target_ms: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.taken.p50 / self.bare.p50 if self.bare else None

    @property
    def verdict(self) -> str:
        if self.target_ms is None:
            return ""
        return "met" if self.taken.p50 < self.target_ms else "missed"


def timed(call: Callable[[Argument], int], arguments: Sequence[Argument]) -> tuple[Timings, float]:
    """Return how long each call took and the mean of what they returned."""
    for argument in arguments[:_WARM_UP]:
        call(argument)
    took, results = zip(*(_once(call, argument) for argument in arguments), strict=True)
    return Timings.of(took), sum(results) / len(results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Two calls with the same arguments: each one's timings, and what the first took more."""

    taken: Timings
    bare: Timings
    added: Timings
    results: float


def timed_beside(
    call: Callable[[Argument], int],
    bare: Callable[[Argument], int],
    arguments: Sequence[Argument],
) -> Paired:
    """Time two calls with the same arguments in turns, so that the machine's moods hit both.

    Each goes first every other time: whoever goes second finds the pages in the cache.
    """
    for argument in arguments[:_WARM_UP]:
        call(argument)
        bare(argument)
    took: list[float] = []
    took_bare: list[float] = []
    total = 0
    for number, argument in enumerate(arguments):
        if number % 2:
            took_bare.append(_once(bare, argument)[0])
        milliseconds, results = _once(call, argument)
        took.append(milliseconds)
        total += results
        if not number % 2:
            took_bare.append(_once(bare, argument)[0])
    return Paired(
        taken=Timings.of(took),
        bare=Timings.of(took_bare),
        added=Timings.of(one - other for one, other in zip(took, took_bare, strict=True)),
        results=total / len(arguments),
    )


def bare_connection() -> "psycopg.Connection[tuple[object, ...]]":
    """Return a plain connection, without Django, that prepares every statement at once."""
    database: dict[str, Any] = settings.DATABASES["default"]
    return psycopg.connect(
        host=database["HOST"],
        port=database["PORT"],
        dbname=database["NAME"],
        user=database["USER"],
        password=database["PASSWORD"],
        options="-c search_path=public,ag_catalog",
        autocommit=True,
        prepare_threshold=0,
    )


def _once(call: Callable[[Argument], int], argument: Argument) -> tuple[float, int]:
    started = perf_counter()
    results = call(argument)
    return (perf_counter() - started) * 1000, results


def set_up() -> None:
    """Set Django up in this process: a new one does this before it imports anything of ours."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
