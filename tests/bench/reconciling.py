"""How well `memory/reconciling.py` tells twins, updates and contradictions apart.

    python -m tests.bench.reconciling [REPOSITORY...] [--show]

Labelled pairs (`reconciling_pairs.py`): half of them chose the rules, the other half is reported
apart. Real ones: all pairs of the subjects of a repository's commits that are nearer than .92 by
cosine, which are different commits: whatever is called the same of them is printed with `--show`,
for somebody to judge, beside how many nearness alone would have called the same.
"""

import argparse
import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import django
import numpy as np

_MODELS = Path(os.environ.get("CODEMEM_MODELS_DIRECTORY", ".local/models"))
_MOST_SUBJECTS = 600
_SHORTEST_SUBJECT = 25
_AT_ONCE = 64
_NEAR = 0.92


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="tests.bench.reconciling", description=__doc__)
    parser.add_argument("repositories", nargs="*", type=Path)
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    _report_labelled(is_shown=arguments.show)
    for repository in arguments.repositories:
        _report_commits(repository, is_shown=arguments.show)


def _report_labelled(*, is_shown: bool) -> None:
    from memory.reconciling import compare
    from memory.values import MemoryType
    from tests.bench import reconciling_pairs as pairs

    kinds = {
        "same": pairs.SAME,
        "update": pairs.UPDATE,
        "conflict": pairs.CONFLICT,
        "distinct": pairs.DISTINCT,
    }
    said: dict[tuple[str, str], Counter[str]] = {}
    by_cosine: Counter[tuple[str, str]] = Counter()
    for kind, rows in kinds.items():
        vectors = _vectors([text for pair in rows for text in pair])
        for number, (old, new) in enumerate(rows):
            half = "even" if number % 2 == 0 else "odd"
            cosine = float(vectors[2 * number] @ vectors[2 * number + 1])
            verdict = compare(new=new, old=old, cosine=cosine, memory_type=MemoryType.DECISION)
            relation = verdict.relation.value if verdict else "nothing"
            said.setdefault((half, kind), Counter())[relation] += 1
            by_cosine[half, kind] += cosine >= 0.95
            if is_shown and relation != kind:
                print(f"    {kind} called {relation} ({cosine:.2f}): {old} | {new}")
    for (half, kind), counts in sorted(said.items()):
        total = counts.total()
        print(
            f"{half} {kind}: {counts[kind]} of {total} as labelled"
            f"; {dict(counts)}; {by_cosine[half, kind]} by cosine >= .95 alone the same"
        )


def _report_commits(repository: Path, *, is_shown: bool) -> None:
    from memory.reconciling import compare
    from memory.values import MemoryType

    subjects = _subjects(repository)
    vectors = _vectors(subjects)
    counts: Counter[str] = Counter()
    nearest = 0
    for first, second, cosine in _near_pairs(vectors):
        nearest += cosine >= 0.95
        old, new = subjects[first], subjects[second]
        verdict = compare(new=new, old=old, cosine=cosine, memory_type=MemoryType.DECISION)
        relation = verdict.relation.value if verdict else "nothing"
        counts[relation] += 1
        if is_shown and relation in {"same", "conflict"}:
            print(f"    {relation} {cosine:.2f}: {old} | {new}")
    print(
        f"{repository.parent.name}: {len(subjects)} subjects, {counts.total()} pairs >= {_NEAR};"
        f" by cosine >= .95 alone the same: {nearest}; said: {dict(counts)}"
    )


def _near_pairs(vectors: np.ndarray) -> Iterator[tuple[int, int, float]]:
    cosines = vectors @ vectors.T
    rows, columns = np.nonzero(np.triu(cosines, 1) >= _NEAR)
    for first, second in zip(rows.tolist(), columns.tolist(), strict=True):
        yield first, second, float(cosines[first, second])


def _subjects(repository: Path) -> list[str]:
    run = subprocess.run(
        ["git", "-C", str(repository), "log", "--no-merges", "--format=%s", "--max-count=4000"],
        capture_output=True,
        check=True,
    )
    lines = dict.fromkeys(run.stdout.decode("utf-8", "replace").splitlines())
    return [line for line in lines if len(line) >= _SHORTEST_SUBJECT][:_MOST_SUBJECTS]


def _vectors(texts: Sequence[str]) -> np.ndarray:
    from codemem.embedding.local import LocalProvider

    provider = LocalProvider(models_directory=_MODELS)
    batches = [texts[at : at + _AT_ONCE] for at in range(0, len(texts), _AT_ONCE)]
    return np.vstack([provider.embed(batch, kind="document") for batch in batches])


if __name__ == "__main__":
    main()
