"""Print precision and recall of calls; `deploy/bench_graph.sh` runs it."""

import argparse
import sys
from pathlib import Path

from tests.bench.accuracy.cases import LANGUAGES, calls_found, read_cases
from tests.bench.accuracy.measure import Accuracy, Comparison, compare
from tests.bench.accuracy.repositories import (
    REPOSITORIES,
    Measured,
    find_mirror,
    installed_for,
    read_sources,
)

_HEADER = (
    f"{'repository':22}{'language':12}{'use':10}{'layer':10}"
    f"{'true':>7}{'found':>7}{'P':>7}{'R':>7}{'strict P':>10}"
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench-graph")
    parser.add_argument("--mirrors", type=Path, required=True, help="folder of bare repositories")
    parser.add_argument("--cache", type=Path, required=True, help="where indexes are kept")
    parser.add_argument("--tools", type=Path, required=True, help="folder of the indexers")
    parser.add_argument("--only", default="", help="repositories whose name contains this")
    parser.add_argument("--examples", type=int, default=0, help="errors to show of each repository")
    options = parser.parse_args()
    _print_cases()
    print(f"\nCalls against compilers' indexes, as (caller, callee) pairs\n{_HEADER}")
    for measured in REPOSITORIES:
        if options.only in measured.name:
            _print_repository(measured, options)


def _print_cases() -> None:
    print("Calls of the hand-made cases, without compilers")
    for language in LANGUAGES:
        cases = list(read_cases(language))
        true = {(case.name, call) for case in cases for call in case.calls}
        found = {(case.name, call) for case in cases for call in calls_found(case)}
        right = len(true & found)
        print(
            f"{language:22}{len(cases):3} cases{len(true):6} calls"
            f"  P {right / max(len(found), 1):.3f}  R {right / max(len(true), 1):.3f}"
        )


def _print_repository(measured: Measured, options: argparse.Namespace) -> None:
    mirror = find_mirror(measured.name, options.mirrors)
    installed = installed_for(measured, options.tools)
    if mirror is None or installed is None:
        missing = "is not in the folder of mirrors" if mirror is None else "has no indexer here"
        print(f"{measured.name:22}{measured.indexer:12}{missing}")
        return
    sources = read_sources(
        measured, mirror=mirror, installed=installed, cache=options.cache, tools=options.tools
    )
    found = compare(sources.files, sources.manifests, sources.bound.answers)
    for layer, accuracy in (("rules", found.without), ("+ SCIP", found.with_answers)):
        _print_accuracy(measured, layer, accuracy)
    rules = (f"{rule} {right}/{right + wrong}" for rule, (right, wrong) in found.rules.items())
    print(f"    right of known sites by rule: {', '.join(rules)}")
    if sources.reason:
        print(f"    the index is partial: {sources.reason}")
    _print_examples(found, options.examples)
    sys.stdout.flush()


def _print_accuracy(measured: Measured, layer: str, accuracy: Accuracy) -> None:
    use = "held out" if measured.is_held_out else "tuned on"
    print(
        f"{measured.name:22}{measured.indexer:12}{use:10}{layer:10}"
        f"{len(accuracy.truth):7,}{len(accuracy.predicted):7,}"
        f"{accuracy.precision:7.3f}{accuracy.recall:7.3f}{accuracy.strict_precision:10.3f}"
    )


def _print_examples(found: Comparison, count: int) -> None:
    for kind in ("wrong", "missed"):
        examples = [example for example in found.examples if example[0] == kind]
        for _, path, line, one, other in examples[:: max(1, len(examples) // max(count, 1))][
            :count
        ]:
            print(f"    {kind} {path}:{line} {one} -> {other or 'outside'}")


if __name__ == "__main__":
    main()
