import pytest
import structlog
from prometheus_client import REGISTRY

from workers.app import app
from workers.base import Task


@pytest.fixture
def task():
    """A task that fails at zero, and returns the log's context otherwise."""

    def work(*, number):
        assert number
        return structlog.contextvars.get_contextvars()

    name = "tests.work"
    yield app.task(name=name)(work)
    app.tasks.unregister(name)


def runs(outcome: str) -> float:
    labels = {"task": "tests.work", "outcome": outcome}
    return REGISTRY.get_sample_value("codemem_task_seconds_count", labels) or 0


def test_every_task_is_one_of_ours(task):
    assert isinstance(task, Task)


def test_a_task_logs_under_its_name_and_arguments(task):
    context = task(number=3)
    assert context["task"] == "tests.work"
    assert context["number"] == 3
    assert "task" not in structlog.contextvars.get_contextvars()


def test_a_task_is_counted_by_how_it_ended(task):
    done, failed = runs("done"), runs("failed")

    task(number=1)
    with pytest.raises(AssertionError):
        task(number=0)

    assert (runs("done"), runs("failed")) == (done + 1, failed + 1)
