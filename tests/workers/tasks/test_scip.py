"""What compilers said is resolved by an index run of its own, and a newer commit asked about."""

import pytest

from indexing.models import IndexRun
from indexing.scip import refinement
from indexing.scip.refinement import Refined
from workers import queue
from workers.tasks.scip import refine

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch):
    messages = []
    for name in ("index", "refine"):
        monkeypatch.setattr(
            queue, name, lambda _name=name, **given: messages.append((_name, *given.values()))
        )
    return messages


@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize("has_answers", [False, True])
def test_new_answers_are_resolved_and_newer_commits_asked_about(
    repository, sent, monkeypatch, has_answers, is_behind
):
    refined = Refined(has_answers=has_answers, is_behind=is_behind)
    monkeypatch.setattr(refinement, "refine", lambda *, repository_id: refined)

    refine(repository_id=str(repository.pk))

    runs = IndexRun.objects.filter(repository=repository, requested_by="scip")
    expected = [("index", run.pk) for run in runs]
    expected += [("refine", repository.pk)] if is_behind else []
    assert sent == expected
    assert runs.exists() is has_answers
