"""How often the rules of `memory/safety_rules.py` hit where they should not, and where they should.

    python -m tests.bench.redaction REPOSITORY... [--held-out REPOSITORY...] [--show]

Reads the commit messages and the paragraphs of the documents of Git repositories, which hold hardly
a secret: what is found there is counted by rule, for the repositories that the rules were tuned on
and for the others apart. Recall is that of the samples which `tests/memory/secret_samples.py` makes
at run time. `--show` prints where the hits are, for somebody to judge them.
"""

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from memory.safety import cleaned
from memory.safety_rules import ORDERS, SECRETS
from tests.memory.secret_samples import HARMLESS, orders, secrets

_MOST_COMMITS = 6_000
_MOST_DOCUMENTS = 400
_LONGEST = 20_000
_DOCUMENTS = (".md", ".mdx", ".rst", ".adoc")
_CONTEXT = 60


def main() -> None:
    """Measure and print."""
    arguments = _arguments()
    for name, repositories in (
        ("tuned on", arguments.repositories),
        ("held out", arguments.held_out),
    ):
        if repositories:
            _report(name, repositories, is_shown=arguments.show)
    _report_recall()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.bench.redaction", description=__doc__)
    parser.add_argument("repositories", nargs="*", type=Path)
    parser.add_argument("--held-out", nargs="*", type=Path, default=[])
    parser.add_argument("--show", action="store_true")
    return parser.parse_args()


def _report(name: str, repositories: Sequence[Path], *, is_shown: bool) -> None:
    texts: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    hit_texts = 0
    started = time.perf_counter()
    for repository in repositories:
        for kind, text in _texts(repository):
            texts[kind] += 1
            found = cleaned(text[:_LONGEST])
            names = [*found.redactions, *found.flags]
            hits.update(f"{kind} {rule}" for rule in names)
            hit_texts += bool(names)
            if names and is_shown:
                _show(repository, text)
    seconds = time.perf_counter() - started
    print(f"{name}: {len(repositories)} repositories, {dict(texts)}")
    print(f"  texts with a hit: {hit_texts} of {texts.total():,}", end="")
    print(f" ({1000 * hit_texts / max(texts.total(), 1):.2f} in 1,000)")
    for rule, count in hits.most_common():
        print(f"    {rule}: {count}")
    print(f"  {1e6 * seconds / max(texts.total(), 1):.0f} us for each, Git included")


def _report_recall() -> None:
    missed = []
    wanted = [(rule, text, secret) for rule, rows in secrets().items() for text, secret in rows]
    for rule, text, secret in wanted:
        if secret in cleaned(text).text:
            missed.append(rule)
    ordered = [(rule, text) for rule, texts in orders().items() for text in texts]
    missed += [rule for rule, text in ordered if rule not in cleaned(text).flags]
    total = len(wanted) + len(ordered)
    print(f"recall: {total - len(missed)} of {total} samples found; missed: {missed or 'none'}")
    wrong = [text for text in HARMLESS if cleaned(text).redactions or cleaned(text).flags]
    print(f"harmless samples hit: {len(wrong)} of {len(HARMLESS)}")


def _texts(repository: Path) -> Iterator[tuple[str, str]]:
    """Yield what a repository's people wrote: messages, and paragraphs of documents."""
    log = _git(repository, "log", f"--max-count={_MOST_COMMITS}", "--format=%B%x00", "HEAD")
    for message in log.split("\0"):
        if message.strip():
            yield "message", message.strip()
    listed = _git(repository, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    for path in [path for path in listed if path.endswith(_DOCUMENTS)][:_MOST_DOCUMENTS]:
        for paragraph in _git(repository, "show", f"HEAD:{path}").split("\n\n"):
            if paragraph.strip():
                yield "paragraph", paragraph


def _git(repository: Path, *arguments: str) -> str:
    run = subprocess.run(
        ["git", "-C", str(repository), *arguments],
        capture_output=True,
        check=True,
    )
    return run.stdout.decode("utf-8", "replace")


def _show(repository: Path, text: str) -> None:
    places = [
        match for rule in SECRETS for match in rule.pattern.finditer(text) if rule.is_one(match)
    ]
    places += [match for rule in ORDERS if (match := rule.pattern.search(text))]
    for match in places:
        around = text[max(match.start() - _CONTEXT, 0) : match.end() + _CONTEXT]
        print(f"  {repository.parent.name}: {' '.join(around.split())[:200]}", file=sys.stderr)


if __name__ == "__main__":
    main()
