"""Figures of every tool over all processes, kept in Redis."""

import uuid
from typing import Any

import pytest

from codemem.gateway import statistics


@pytest.fixture
def tool() -> str:
    return f"tool-{uuid.uuid4().hex}"


@pytest.fixture
def no_redis(settings: Any) -> Any:
    """Point at a port where nothing listens."""
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    statistics._client.cache_clear()
    yield
    statistics._client.cache_clear()


def test_calls_errors_and_quantiles_are_kept(tool: str) -> None:
    for milliseconds in range(1, 101):
        statistics.note(tool=tool, seconds=milliseconds / 1000, is_error=milliseconds > 90)
    figures = (statistics.of_tools([tool]) or {})[tool]
    assert (figures.calls, figures.errors) == (100, 10)
    assert figures.p50_ms == pytest.approx(50, rel=0.1)
    assert figures.p95_ms == pytest.approx(95, rel=0.1)
    assert figures.p99_ms == pytest.approx(99, rel=0.1)


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 3_600.0])
def test_no_duration_falls_outside(tool: str, seconds: float) -> None:
    statistics.note(tool=tool, seconds=seconds, is_error=False)
    figures = (statistics.of_tools([tool]) or {})[tool]
    assert figures.calls == 1
    assert figures.p50_ms == pytest.approx(max(seconds * 1000, 0.05), rel=0.1)


def test_a_tool_that_nobody_called_has_no_figures(tool: str) -> None:
    assert statistics.of_tools([tool]) == {}


def test_losing_redis_loses_figures_and_no_call(tool: str, no_redis: None) -> None:
    statistics.note(tool=tool, seconds=1, is_error=False)
    assert statistics.of_tools([tool]) is None
