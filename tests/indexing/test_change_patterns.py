"""Patterns of code: what changes together, and what changes often though nobody decided on it."""

from collections.abc import Callable
from typing import Any

import pytest

from codemem.accounts.models import Namespace, User
from graph import services as graph
from graph.models import Repository
from indexing import change_patterns as patterns
from indexing.models import FileChange, Metric
from memory.models import Memory
from memory.patterns import Pattern, PatternKind
from memory.services import store_memory
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db

Detect = Callable[..., list[Pattern]]


@pytest.fixture
def history(repository: Repository) -> Repository:
    """Give three files a history: two that go together, one that is busy alone."""
    facts = [
        factories.symbol_fact(f"src/{name}.py", "run") for name in ("api", "schema", "busy", "calm")
    ]
    graph.put(repository_id=repository.pk, ref_name="main", snapshot=factories.snapshot(*facts))
    together = ("src/api.py", "src/schema.py")
    graph.store_co_changes(
        repository_id=repository.pk,
        pairs=[
            (*together, 0.9, 18, 4.0),
            (*together[::-1], 0.75, 18, 4.0),
            ("src/busy.py", "src/calm.py", 0.2, 9, 2.0),
            ("src/calm.py", "src/busy.py", 1.0, 9, 2.0),
        ],
    )
    for path, commits in (("src/busy.py", 40), ("src/api.py", 20), ("src/calm.py", 2)):
        Metric.objects.create(
            repository=repository,
            node=f"file:{path}",
            name="recent_commits",
            value=commits,
            since_commit="1" * 40,
            since_at=NOW,
        )
        for author in ("ada@x", "bob@x"):
            FileChange.objects.create(
                repository=repository,
                commit=author.encode().hex().ljust(40, "0"),
                author=author,
                committed_at=NOW,
                path=path,
                lines_added=1,
                lines_removed=0,
                files_in_commit=1,
            )
    return repository


@pytest.fixture
def detect(history: Repository) -> Detect:
    def detect(user: User, **changes: Any) -> list[Pattern]:
        return patterns.detect(
            caller=factories.caller_of(user),
            namespace_id=history.namespace_id,
            now=NOW,
            **changes,
        )

    return detect


def note(user: User, repository: Repository, content: str, **changes: Any) -> Memory:
    outcome = store_memory(
        caller=factories.caller_of(user),
        namespace_id=repository.namespace_id,
        repository_id=repository.pk,
        content=content,
        memory_type="decision",
        now=NOW,
        **changes,
    )
    return Memory.objects.get(pk=outcome.memory.id)


def subjects(found: list[Pattern], kind: PatternKind) -> list[str]:
    return [one.subject for one in found if one.kind is kind]


def test_files_that_go_together_both_ways_are_told_with_what_is_known(
    detect: Detect, history: Repository, writer: User
):
    memory = note(writer, history, "`src/api.py` follows the schema.")
    (pair,) = (one for one in detect(writer) if one.kind is PatternKind.CHANGES_TOGETHER)
    assert pair.subject == "src/api.py src/schema.py"
    assert (pair.frequency, pair.people, pair.memory_ids) == (18, 2, (memory.pk,))
    assert "18 of 24 changes" in pair.description
    assert 0.5 < pair.confidence < 0.75
    assert not subjects(detect(writer, minimum=19), PatternKind.CHANGES_TOGETHER)


def test_hot_files_without_a_decision_are_told_until_there_is_one(
    detect: Detect, history: Repository, writer: User
):
    hot = PatternKind.HOT_WITHOUT_DECISION
    assert subjects(detect(writer), hot) == ["src/busy.py", "src/api.py"]
    decision = note(writer, history, "`src/busy.py` is to be taken apart.")
    assert subjects(detect(writer), hot) == ["src/api.py"]
    Memory.objects.filter(pk=decision.pk).update(state="retired")
    assert subjects(detect(writer), hot) == ["src/busy.py", "src/api.py"]


def test_what_somebody_keeps_to_themselves_is_a_decision_for_them_alone(
    detect: Detect, history: Repository, writer: User, owner: User
):
    note(writer, history, "`src/busy.py` is to be taken apart.", visibility="private")
    hot = PatternKind.HOT_WITHOUT_DECISION
    assert subjects(detect(writer), hot) == ["src/api.py"]
    assert subjects(detect(owner), hot) == ["src/busy.py", "src/api.py"]
    note(writer, history, "`src/schema.py` has a secret.", visibility="private")
    (pair,) = (one for one in detect(owner) if one.kind is PatternKind.CHANGES_TOGETHER)
    assert pair.memory_ids == ()


def test_other_repositories_and_namespaces_tell_nothing(
    detect: Detect, history: Repository, namespace: Namespace, writer: User, outsider: User
):
    other = factories.make_repository(namespace)
    assert detect(writer, repository_id=other.pk) == []
    assert detect(writer, repository_id=history.pk)
    assert detect(outsider) == []
