import threading
from datetime import timedelta

import pytest
from django.db import connection

from memory import failures
from memory.failures import learning
from memory.models import Failure, FixAttempt, Memory, MemoryVersion, ReviewItem, Session
from memory.services import review
from tests import factories
from tests.memory.failures.conftest import FAILED_RUN, fail

pytestmark = pytest.mark.django_db


def test_a_failed_run_becomes_a_memory_of_what_failed_and_where(play, repository):
    first = play()
    first.prompt("Our customer Jane Roe cannot pay; fix the total.")
    fail(first, command="cd /home/jane/app && pytest -q")
    failure = Failure.objects.select_related("memory").get()
    assert failure.memory.memory_type == "failure"
    assert failure.memory.visibility == "repository"
    assert failure.memory.repository == repository
    assert failure.memory.source == "hook"
    assert failure.paths == ["tests/test_money.py", "src/money.py"]
    assert failure.symbols == ["test_total", "total"]
    assert (failure.command_prefix, failure.occurrences) == ("pytest", 1)
    assert "TypeError: unsupported operand for 'total'" in failure.memory.content
    assert "`pytest -q` fails" in failure.memory.content
    everything = " ".join([failure.memory.content, str(failure.memory.evidence), failure.command])
    assert "Jane" not in everything
    assert "/home" not in everything


def test_reading_twice_learns_once(play):
    first = play()
    fail(first)
    assert first.learn().steps == 0
    assert Failure.objects.get().occurrences == 1


def test_the_same_failure_in_another_session_is_counted_not_stored_again(play):
    fail(play())
    fail(play(at=factories.NOW + timedelta(days=1)))
    failure = Failure.objects.get()
    assert failure.occurrences == 2
    assert Memory.objects.count() == 1
    assert failure.last_seen_at > failure.first_seen_at


def test_the_same_error_elsewhere_is_another_failure(play):
    first = play()
    first.run("pytest -q", FAILED_RUN, exit_code=1)
    first.run("pytest -q", FAILED_RUN.replace("test_money", "test_orders"), exit_code=1)
    first.learn()
    assert Failure.objects.count() == 2


def test_noise_and_looks_teach_nothing(play):
    first = play()
    first.edit("src/money.py", failed="Error: String to replace not found in file.")
    first.run("cat src/gone.py", "cat: src/gone.py: No such file or directory", exit_code=1)
    first.run("grep total src", "", exit_code=1)
    first.learn()
    assert not Failure.objects.exists()
    assert Session.objects.get().learned_up_to == first.ids[-1]


def test_a_check_behind_a_pipe_fails_by_what_it_says(play):
    first = play()
    first.run("pytest -q | tail -5", FAILED_RUN)
    first.learn()
    assert Failure.objects.count() == 1


@pytest.mark.parametrize("capture", ["metadata", "off"])
def test_of_a_private_session_nothing_is_learned(play, capture):
    fail(play(capture=capture))
    assert not Memory.objects.exists()


def test_who_may_not_write_teaches_nothing(play, reader):
    fail(play(user=reader))
    assert not Memory.objects.exists()


def test_a_namespace_may_keep_failures_to_each_user(play, namespace, maintainer):
    namespace.settings = {"failures.shared": False}
    namespace.save()
    fail(play())
    fail(play(user=maintainer))
    assert [row.memory.visibility for row in Failure.objects.all()] == ["private", "private"]


def test_a_change_and_a_passing_check_resolve_a_failure(play):
    first = play()
    fail(first)
    first.edit("src/money.py", content="def total(values):\n    return sum(map(int, values))")
    first.run("pytest -q", "4 passed in 0.1s")
    learned = first.learn()
    failure = Failure.objects.select_related("memory").get()
    assert learned.resolved == (failure.memory_id,)
    assert failure.memory.state == "resolved"
    assert failure.memory.ended_at is not None
    attempt = FixAttempt.objects.get()
    assert attempt.outcome == "succeeded"
    assert attempt.summary == "changing src/money.py (total)"
    assert attempt.validation == "pytest -q"
    assert (attempt.score or 0) >= 3.5
    version = MemoryVersion.objects.get(change="resolved")
    assert "passed after changing src/money.py" in version.reason


def test_failures_of_one_run_are_resolved_together(play):
    first = play()
    both = FAILED_RUN + "FAILED tests/test_tax.py::test_rate - ValueError: no rate\n"
    fail(first, output=both)
    first.edit("src/money.py")
    first.run("pytest", "5 passed")
    first.learn()
    assert {row.memory.state for row in Failure.objects.all()} == {"resolved"}


def test_a_failing_check_after_a_change_is_an_attempt_in_vain(play):
    first = play()
    fail(first)
    first.edit("src/money.py", content="def total(values): ...")
    first.run("pytest -q", FAILED_RUN, exit_code=1)
    first.learn()
    assert FixAttempt.objects.get().outcome == "failed"
    assert Failure.objects.get().memory.state == "active"
    assert Failure.objects.get().occurrences == 2


def test_another_failure_instead_makes_the_attempt_partial(play):
    first = play()
    fail(first)
    first.edit("src/money.py")
    first.run(
        "pytest -q", "FAILED tests/test_tax.py::test_rate - ValueError: no rate\n", exit_code=1
    )
    first.learn()
    attempt = FixAttempt.objects.get()
    assert (attempt.outcome, attempt.failure.symbols[0]) == ("partial", "test_total")


def test_recurrence_opens_a_resolved_failure_again(play):
    first = play()
    fail(first)
    first.edit("src/money.py")
    first.run("pytest -q", "4 passed")
    first.learn()
    fail(play(at=factories.NOW + timedelta(days=3)))
    failure = Failure.objects.select_related("memory").get()
    assert (failure.memory.state, failure.memory.ended_at) == ("active", None)
    assert (failure.reopened, failure.occurrences) == (1, 2)
    assert FixAttempt.objects.get(validation="pytest -q", session=first.session).outcome == (
        "partial"
    )
    assert set(MemoryVersion.objects.values_list("change", flat=True)) == {"resolved", "reopened"}


def test_a_check_that_proves_little_resolves_nothing(play, maintainer):
    fail(play())
    second = play(at=factories.NOW + timedelta(days=1))
    second.edit("src/money.py")
    second.run("pytest tests", "9 passed")
    second.learn()
    # Another session, another file: a wider check of the same tool passes.
    third = play(at=factories.NOW + timedelta(days=2), user=maintainer)
    third.edit("src/other.py")
    third.run("pytest", "9 passed")
    third.learn()
    assert Failure.objects.get().memory.state == "active"


def test_two_runs_that_compete_are_put_before_a_person(play, maintainer):
    first = play()
    first.edit("src/money.py")
    first.run("pytest -q", FAILED_RUN, exit_code=1)
    first.run(
        "pytest -q -x", "FAILED tests/test_tax.py::test_rate - ValueError: no rate\n", exit_code=1
    )
    first.edit("src/tax.py", "src/money.py", content="def rate(): ...")
    first.run("pytest", "9 passed")
    learned = first.learn()
    assert learned.resolved == ()
    assert learned.proposed == 2
    assert {row.memory.state for row in Failure.objects.all()} == {"active"}
    assert all(row.fades_from for row in Failure.objects.all())
    item = ReviewItem.objects.filter(kind="resolve")[0]
    caller = factories.caller_of(maintainer)
    review.decide(caller=caller, item_id=item.pk, approve=True, now=factories.NOW)
    memory = Memory.objects.get(pk=item.memory_ids[0])
    assert memory.state == "resolved"
    assert memory.failure.attempts.get().outcome == "succeeded"


def test_a_recurrence_closes_what_proposed_that_it_was_over(play):
    fail(play())
    failure = Failure.objects.get()
    review.propose(
        namespace_id=failure.namespace_id,
        kind="resolve",
        memory_ids=[failure.memory_id],
        proposal={"operation": "resolve", "arguments": {}},
        reason="It passed.",
        confidence=0.5,
        proposed_by="failures",
        now=factories.NOW,
    )
    fail(play())
    assert ReviewItem.objects.get().state == "overtaken"


def test_a_check_that_passes_without_a_change_resolves_nothing(play):
    first = play()
    fail(first)
    first.run("pytest -q", "4 passed")
    first.learn()
    failure = Failure.objects.get()
    assert failure.memory.state == "active"
    assert failure.fades_from is not None
    assert not FixAttempt.objects.exists()
    assert not ReviewItem.objects.exists()


def test_silence_resolves_nothing(play):
    fail(play())
    for day in range(1, 40):
        quiet = play(at=factories.NOW + timedelta(days=day))
        quiet.edit("src/other.py")
        quiet.run("ruff check .", "All checks passed!")
        quiet.learn()
    assert Failure.objects.get().memory.state == "active"
    assert Failure.objects.get().fades_from is None


def test_what_a_person_retired_is_not_learned_again(play):
    fail(play())
    Memory.objects.update(state="retired")
    fail(play())
    assert Memory.objects.count() == 1
    assert Failure.objects.get().occurrences == 1


def test_a_worker_that_died_in_the_middle_is_followed_by_one_that_goes_on(play, monkeypatch):
    first = play()
    first.run("pytest -q", FAILED_RUN, exit_code=1)

    def die(*_: object, **__: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(learning._Reading, "_saw", die)
        with pytest.raises(RuntimeError):
            first.learn()
    # The memory was stored before; nothing says yet that the step was read.
    assert Memory.objects.count() == 1
    assert Session.objects.get().learned_up_to == 0
    assert first.learn().new
    assert Memory.objects.count() == 1
    assert Failure.objects.get().occurrences == 1


@pytest.mark.django_db(transaction=True)
def test_two_workers_learn_one_failure(play, maintainer):
    sessions = [play(), play(user=maintainer), play()]
    for one in sessions:
        one.run("pytest -q", FAILED_RUN, exit_code=1)
    errors = []

    def learn(one):
        try:
            one.learn()
            one.learn()
        except Exception as error:  # noqa: BLE001  told below
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=learn, args=[one]) for one in [*sessions, *sessions]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert Memory.objects.count() == 1
    assert Failure.objects.get().occurrences == 3


def test_an_answer_is_no_lesson():
    assert failures.is_lesson(is_failure=True, command="")
    assert failures.is_lesson(is_failure=False, command="npm test")
    assert not failures.is_lesson(is_failure=False, command="git status")
