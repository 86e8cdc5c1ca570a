"""Measure the server on a large synthetic team: `make bench`, or deploy/bench.sh with arguments.

Figures, not assertions: what is fast enough depends on the machine, so targets are printed beside.
"""

import argparse
import os
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.bench.dataset import Dataset
    from tests.bench.measuring import Figure


def main() -> None:
    """Load the data if it is not there, measure, print, save."""
    arguments = _arguments()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    # Models may be imported only now.
    from tests.bench import report
    from tests.bench.dataset import Sizes, ensure_dataset

    sizes = Sizes(symbols=arguments.symbols, edges=arguments.edges, memories=arguments.memories)
    data = ensure_dataset(sizes, say=_say)
    machine = report.machine_facts()
    figures = []
    for name, measure in _groups(arguments.directory).items():
        if arguments.only in (None, name):
            _say(f"measuring {name}")
            figures += list(measure(data))
    run = report.Run(
        at=datetime.now(UTC),
        sizes=sizes,
        machine=machine,
        load_seconds=data.load_seconds,
        figures=tuple(figures),
    )
    results = arguments.directory / "results.json"
    print(report.table(run, before=report.figures_before(results, sizes)))
    report.save(run, results)
    _say(f"also in {results}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.bench", description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="Where results go.")
    parser.add_argument("--only", choices=["graph", "recall", "tools"])
    parser.add_argument("--symbols", type=int, default=200_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--memories", type=int, default=100_000)
    return parser.parse_args()


def _groups(directory: Path) -> "dict[str, Callable[[Dataset], Iterator[Figure]]]":
    from tests.bench.graph_figures import graph_figures
    from tests.bench.recall_figures import recall_figures
    from tests.bench.tool_figures import tool_figures

    return {
        "graph": graph_figures,
        "recall": recall_figures,
        "tools": partial(tool_figures, log=directory / "web.log"),
    }


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
