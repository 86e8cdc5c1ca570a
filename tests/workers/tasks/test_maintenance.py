import pytest

from codemem.embedding import EmbeddingUnavailable
from memory import services as memory
from workers.tasks.maintenance import build_vector_indexes, embed_missing, expire_memories

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
