"""What a run says: a table for people, the same as JSON for comparing runs."""

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection

from tests.bench.dataset import Sizes
from tests.bench.measuring import Figure

_COLUMNS: Final = (
    *("", "n", "results", "p50 ms", "p95 ms", "bare p50", "bare p95", "ratio", "target", "before"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of the benchmark: when, where, on what, and what it found."""

    at: datetime
    sizes: Sizes
    machine: dict[str, Any]
    load_seconds: dict[str, float]
    figures: tuple[Figure, ...]


def machine_facts() -> dict[str, Any]:
    """Return what the figures depend on besides the code."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extname, extversion FROM pg_extension ORDER BY extname")
        extensions = dict(cursor.fetchall())
        cursor.execute("SHOW server_version")
        (postgres,) = cursor.fetchone()
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "load_average": [round(value, 2) for value in os.getloadavg()],
        "python": platform.python_version(),
        "django": metadata.version("django"),
        "psycopg": metadata.version("psycopg"),
        "postgres": postgres,
        "extensions": extensions,
        "commit": _commit(),
    }


def table(run: Run, before: dict[str, float]) -> str:
    """Return the figures as text; `before` has the p50 of an earlier run by name of the figure."""
    rows = [_COLUMNS, *(_row(figure, before) for figure in run.figures)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_COLUMNS))]
    lines = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([*_heading(run), "", *lines, "", *_LEGEND])


_LEGEND: Final = (
    "bare: what the answer needs at least, timed in turns in the same process: the SQL statement",
    "on a plain prepared connection; for tools/call the tool's own function.",
    "ratio: p50 / bare p50; before: p50 of the last run.",
)


def save(run: Run, path: Path) -> None:
    """Write the run to `path` and beside it under its own time, so that earlier ones stay."""
    text = json.dumps(_document(run), indent=1) + "\n"
    history = path.parent / "history"
    history.mkdir(parents=True, exist_ok=True)
    (history / f"{run.at:%Y%m%dT%H%M%S}.json").write_text(text)
    path.write_text(text)


def figures_before(path: Path, sizes: Sizes) -> dict[str, float]:
    """Return the p50 by name of the last saved run on data of the same sizes."""
    try:
        document = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    if document["sizes"] != asdict(sizes):
        return {}
    return {figure["name"]: figure["p50_ms"] for figure in document["figures"]}


def _heading(run: Run) -> list[str]:
    machine, sizes = run.machine, run.sizes
    extensions = ", ".join(f"{name} {version}" for name, version in machine["extensions"].items())
    loads = "  ".join(f"{value:.2f}" for value in machine["load_average"])
    data = f"{sizes.symbols:,} symbols, {sizes.edges:,} live edges, {sizes.memories:,} memories"
    processor = f"{machine['cores']} cores ({machine['processor']})"
    software = f"Python {machine['python']}, Django {machine['django']}"
    return [
        f"{data} in one namespace",
        f"{run.at:%Y-%m-%d %H:%M} UTC, commit {machine['commit']}",
        f"{processor}, {machine['memory_gib']} GiB, load average {loads}",
        f"{software}, PostgreSQL {machine['postgres']} ({extensions})",
        *(f"  {step}: {seconds} s" for step, seconds in run.load_seconds.items()),
    ]


def _row(figure: Figure, before: dict[str, float]) -> tuple[str, ...]:
    bare = figure.bare
    target = f"< {figure.target_ms:g}: {figure.verdict}" if figure.target_ms else ""
    return (
        f"{figure.group}: {figure.name}",
        str(len(figure.taken.milliseconds)),
        "" if figure.results is None else f"{figure.results:,.1f}",
        _number(figure.taken.p50),
        _number(figure.taken.p95),
        _number(bare.p50) if bare else "",
        _number(bare.p95) if bare else "",
        f"{figure.ratio:.1f}" if figure.ratio else "",
        target,
        _number(before[figure.name]) if figure.name in before else "",
    )


def _number(milliseconds: float) -> str:
    return f"{milliseconds:.3f}" if milliseconds < 10 else f"{milliseconds:.1f}"


def _document(run: Run) -> dict[str, Any]:
    return {
        "at": run.at.isoformat(),
        "sizes": asdict(run.sizes),
        "machine": run.machine,
        "load_seconds": run.load_seconds,
        "figures": [_entry(figure) for figure in run.figures],
    }


def _entry(figure: Figure) -> dict[str, Any]:
    bare = figure.bare
    return {
        "group": figure.group,
        "name": figure.name,
        "n": len(figure.taken.milliseconds),
        "results": figure.results,
        "p50_ms": figure.taken.p50,
        "p95_ms": figure.taken.p95,
        "bare_p50_ms": bare.p50 if bare else None,
        "bare_p95_ms": bare.p95 if bare else None,
        "ratio": figure.ratio,
        "target_ms": figure.target_ms,
        "verdict": figure.verdict or None,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _commit() -> str:
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=settings.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown"
