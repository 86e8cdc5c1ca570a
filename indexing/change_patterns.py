"""Patterns in how code changes, and in what is not known about it: metrics and co-change edges.

Beside `memory.patterns`, which reads memories alone. What the caller may not read, code or
memories, is in no pattern and in no count.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final
from uuid import UUID

from codemem.accounts.values import Action, Caller
from graph import queries as graph
from graph.models import Repository
from graph.values import file_id
from indexing.models import FileChange, Metric
from memory import patterns as memory
from memory.patterns import MAXIMUM_OF_A_KIND, Pattern, PatternKind, certainty

_TOGETHER: Final = 0.6  # of the changes of either file, in how many the other one changes, too
_LEAST_COMMITS: Final = 5
_MOST_PAIRS: Final = 200
_HOTTEST: Final = 100


def detect(
    *,
    caller: Caller,
    namespace_id: UUID,
    now: datetime,
    repository_id: UUID | None = None,
    minimum: int = 3,
) -> list[Pattern]:
    """Return what recurs in the changes of the repositories that the caller may read.

    Files that change together, and files that change often though no decision, rule or requirement
    that the caller may read is about them; of each kind the surest. Five queries a repository.
    """
    repositories = graph.visible_repositories(caller=caller, action=Action.READ_GRAPH).filter(
        namespace_id=namespace_id
    )
    if repository_id is not None:
        repositories = repositories.filter(pk=repository_id)
    found: list[Pattern] = []
    for repository in repositories.order_by("name"):
        found += _changing_together(repository, caller, now=now, minimum=minimum)
        found += _hot_without_decision(repository, caller, now=now, minimum=minimum)
    ranked = sorted(found, key=lambda one: (-one.confidence, -one.frequency, one.subject))
    return [
        pattern
        for kind in (PatternKind.CHANGES_TOGETHER, PatternKind.HOT_WITHOUT_DECISION)
        for pattern in [one for one in ranked if one.kind is kind][:MAXIMUM_OF_A_KIND]
    ]


def _changing_together(
    repository: Repository, caller: Caller, *, now: datetime, minimum: int
) -> Iterator[Pattern]:
    pairs = graph.co_changed_pairs(
        namespace_id=repository.namespace_id,
        repository_id=repository.pk,
        minimum_support=minimum,
        minimum_confidence=_TOGETHER,
        limit=_MOST_PAIRS,
    )
    surest = sorted(
        pairs,
        key=lambda pair: (-certainty(pair.support, pair.changes), -pair.support, pair.paths),
    )[:MAXIMUM_OF_A_KIND]
    paths = {path for pair in surest for path in pair.paths}
    known = memory.memories_naming(
        caller=caller,
        namespace_id=repository.namespace_id,
        repository_id=repository.pk,
        paths=paths,
        now=now,
    )
    authors = _authors(repository, paths)
    for pair in surest:
        first, second = pair.paths
        yield Pattern(
            kind=PatternKind.CHANGES_TOGETHER,
            description=f"`{first}` and `{second}` change together: {pair.support} of"
            f" {pair.changes} changes of the one that changes more ({repository.name})",
            frequency=pair.support,
            confidence=round(certainty(pair.support, pair.changes), 3),
            memory_ids=tuple(sorted({*known.get(first, ()), *known.get(second, ())}))[
                : memory.MAXIMUM_MEMORIES
            ],
            people=len(authors.get(first, frozenset()) | authors.get(second, frozenset())),
            subject=f"{first} {second}",
        )


def _hot_without_decision(
    repository: Repository, caller: Caller, *, now: datetime, minimum: int
) -> Iterator[Pattern]:
    metrics = Metric.objects.filter(
        repository=repository,
        name="recent_commits",
        until_at=None,
        value__gte=max(minimum, _LEAST_COMMITS),
    )
    hottest = dict(metrics.order_by("-value", "node").values_list("node", "value")[:_HOTTEST])
    commits = {node.removeprefix(file_id("")): int(value) for node, value in hottest.items()}
    decided = memory.memories_naming(
        caller=caller,
        namespace_id=repository.namespace_id,
        repository_id=repository.pk,
        paths=set(commits),
        now=now,
        memory_types=memory.DECIDING,
    )
    bare = [path for path in commits if not decided.get(path)][:MAXIMUM_OF_A_KIND]
    authors = _authors(repository, set(bare))
    for path in bare:
        yield Pattern(
            kind=PatternKind.HOT_WITHOUT_DECISION,
            description=f"`{path}` changed in {commits[path]} recent commits, and no decision, rule"
            f" or requirement is about it ({repository.name})",
            frequency=commits[path],
            confidence=round(certainty(commits[path], commits[path]), 3),
            memory_ids=(),
            people=len(authors.get(path, ())),
            subject=path,
        )


def _authors(repository: Repository, paths: set[str]) -> dict[str, frozenset[str]]:
    rows = FileChange.objects.filter(repository=repository, path__in=paths)
    found: dict[str, set[str]] = {}
    for path, author in rows.values_list("path", "author").distinct():
        found.setdefault(path, set()).add(author)
    return {path: frozenset(names) for path, names in found.items()}
