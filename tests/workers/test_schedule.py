import inspect

import pytest

from workers import queue
from workers.app import app
from workers.queue import Queue
from workers.schedule import SCHEDULE

# What sends one message with ids; what takes the time, too, has tests of its own.
TIMED = {"note_recalled", "learn_from_session", "end_session"}
ASKED = [
    ask
    for name, ask in vars(queue).items()
    if inspect.isfunction(ask)
    and ask.__module__ == queue.__name__
    and not name.startswith("_")
    and name not in {"depths", *TIMED}
]


@pytest.fixture(scope="module")
def registered():
    app.loader.import_default_modules()
    return app.tasks


@pytest.mark.parametrize("entry", SCHEDULE.values(), ids=SCHEDULE)
def test_what_beat_sends_is_a_task(entry, registered):
    assert entry["task"] in registered


@pytest.mark.parametrize("entry", SCHEDULE.values(), ids=SCHEDULE)
def test_a_message_of_beat_dies_when_the_next_is_due(entry):
    assert entry["options"]["expires"] == entry["schedule"]


@pytest.mark.parametrize("ask", ASKED, ids=lambda ask: ask.__name__)
def test_what_can_be_asked_for_is_a_task_with_these_arguments(ask, registered, monkeypatch):
    sent = []
    monkeypatch.setattr(
        queue, "_send", lambda task, _queue, *, delay_seconds=0, **given: sent.append((task, given))
    )
    wanted = [
        name
        for name, parameter in inspect.signature(ask).parameters.items()
        if parameter.default is inspect.Parameter.empty
    ]
    ask(**dict.fromkeys(wanted, "id"))

    ((task, given),) = sent
    inspect.signature(registered[task].run).bind(**given)
    assert set(wanted) <= given.keys()


def test_a_task_without_a_queue_goes_to_maintenance():
    assert app.conf.task_default_queue == Queue.MAINTENANCE
