from datetime import timedelta

import pytest
from django.utils import timezone

from codemem.embedding import EmbeddingUnavailable
from graph.models import Layer, Revision
from memory import services as memory
from tests.factories import make_namespace, make_repository
from workers.tasks.maintenance import (
    build_vector_indexes,
    embed_missing,
    expire_memories,
    expire_overlays,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("task", [expire_memories, embed_missing, build_vector_indexes])
def test_upkeep_with_nothing_to_do_may_run_twice(task):
    task()
    task()


def test_a_model_that_is_away_is_no_failure_of_the_task(monkeypatch):
    def refuse(**_):
        raise EmbeddingUnavailable("The model is away.", hint="Wait.")

    monkeypatch.setattr(memory, "embed_missing", refuse)
    embed_missing()


def test_a_branch_that_nobody_used_for_long_is_shown_no_more(settings):
    repository = make_repository(make_namespace(), "app")
    base = Revision.objects.create(repository=repository, commit="a" * 40, committed_at=0)
    for days in (3, 5):
        Layer.objects.create(
            repository=repository,
            ref_name=f"idle-for-{days}",
            base_revision=base,
            commit="b" * 40,
            used_at=timezone.now() - timedelta(days=days),
        )
    settings.BRANCH_IDLE_DAYS = 4

    expire_overlays()

    assert [layer.ref_name for layer in Layer.objects.all()] == ["idle-for-3"]
