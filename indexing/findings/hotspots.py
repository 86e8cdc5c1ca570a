"""Hot and complex: where churn and complexity are both among the highest of the repository."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Final

from graph.values import file_id
from indexing.findings.rules import severity, threshold
from indexing.findings.values import Found, HeadFile, Measured

# Below that, being among the highest of a small or quiet repository says nothing.
_LEAST_COMMITS: Final = 5
_LEAST_COGNITIVE: Final = 30
_LEAST_FILES: Final = 20


def measure_hotspots(
    *, files: Mapping[str, HeadFile], churn: Mapping[str, float], cognitive: Mapping[str, float]
) -> Iterator[Measured]:
    """Yield the smaller of two percentiles of each changed file (churn and complexity by path)."""
    for path, risk in _risks(files, churn, cognitive).items():
        yield Measured(file_id(path), "hot_and_complex", round(risk, 3))


def find_hotspots(
    *,
    files: Mapping[str, HeadFile],
    churn: Mapping[str, float],
    commits: Mapping[str, float],
    cognitive: Mapping[str, float],
) -> Iterator[Found]:
    """Yield the files above the percentile in both, unless they are small or quiet."""
    for path, risk in _risks(files, churn, cognitive).items():
        if (
            risk > threshold("risk.hot-and-complex")
            and commits.get(path, 0) >= _LEAST_COMMITS
            and cognitive[path] >= _LEAST_COGNITIVE
        ):
            yield Found(
                rule="risk.hot-and-complex",
                path=path,
                line=1,
                end_line=files[path].lines,
                message=(
                    f"{commits[path]:.0f} recent commits changed {churn[path]:.0f} lines here;"
                    f" the cognitive complexity is {cognitive[path]:.0f}."
                ),
                severity=severity("risk.hot-and-complex"),
                confidence=round(risk, 2),
            )


def _risks(
    files: Mapping[str, HeadFile], churn: Mapping[str, float], cognitive: Mapping[str, float]
) -> dict[str, float]:
    """Return the smaller percentile of each file with churn; tests and others have none."""
    code = [path for path, file in files.items() if not file.is_aside and cognitive.get(path)]
    if len(code) < _LEAST_FILES:
        return {}
    all_churn = sorted(churn.get(path, 0) for path in code)
    all_complexity = sorted(cognitive[path] for path in code)
    return {
        path: min(
            bisect_right(all_churn, churn[path]) / len(code),
            bisect_right(all_complexity, cognitive[path]) / len(code),
        )
        for path in code
        if churn.get(path)
    }
