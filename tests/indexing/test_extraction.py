import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from indexing import extraction
from indexing.extraction import Job, Skipped, extract_all
from indexing.facts import BlobFacts
from indexing.languages import language_named

PYTHON = language_named("python")
HOSTILE = (sys.executable, "-m", "tests.indexing.hostile_child")


def jobs(*sources):
    return [Job(key, PYTHON, source) for key, source in enumerate(sources)]


def children():
    """Processes of which this one is the parent, finished but unreaped ones included."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.add(int(stat.parent.name))
    return found


@pytest.fixture(autouse=True)
def leaves_no_children_and_no_open_files():
    extraction.end_idle()
    before, files = children(), len(list(Path("/proc/self/fd").iterdir()))
    yield
    extraction.end_idle()
    # Fewer is fine: what other tests of this process had open may end meanwhile.
    assert set(children()) <= set(before)
    assert len(list(Path("/proc/self/fd").iterdir())) <= files


def test_every_job_is_answered_once():
    sources = [b"def f%d(): g()\n" % number for number in range(30)]
    answers = dict(extract_all(jobs(*sources), processes=2))
    assert sorted(answers) == list(range(30))
    for number, facts in answers.items():
        assert isinstance(facts, BlobFacts)
        assert [found.name for found in facts.definitions] == [f"f{number}"]


def test_no_jobs_start_no_children():
    assert list(extract_all([], processes=2)) == []


def test_children_skip_what_is_not_worth_reading():
    answers = dict(extract_all(jobs(b"x\0", b"x = 1\n"), processes=1))
    assert answers[0] == Skipped("binary")
    assert isinstance(answers[1], BlobFacts)


def test_a_source_larger_than_a_pipe_arrives_whole():
    source = b"x = 1\n" * 100_000
    ((_, facts),) = extract_all(jobs(source), processes=1)
    assert isinstance(facts, BlobFacts)
    assert facts.lines == 100_000


@pytest.mark.parametrize(
    ("source", "reason"),
    [(b"crash", "crash"), (b"exit", "crash"), (b"lie", "malformed"), (b"grow", "crash")],
)
def test_a_child_that_dies_or_lies_costs_one_file(source, reason):
    answers = dict(
        extract_all(jobs(b"a = 1", source, b"b = 1", source), processes=1, command=HOSTILE)
    )
    assert answers[1] == answers[3] == Skipped(reason)
    assert isinstance(answers[0], BlobFacts)
    assert isinstance(answers[2], BlobFacts)


def test_a_child_that_hangs_is_killed_while_others_work(monkeypatch):
    monkeypatch.setattr(extraction, "SILENCE_SECONDS", 3.0)
    start = time.monotonic()
    answers = dict(
        extract_all(jobs(b"hang", b"a = 1", b"b = 1", b"c = 1"), processes=2, command=HOSTILE)
    )
    assert answers[0] == Skipped("timeout")
    assert sum(isinstance(answer, BlobFacts) for answer in answers.values()) == 3
    assert time.monotonic() - start < 60


def test_children_are_replaced_after_some_files(monkeypatch):
    monkeypatch.setattr(extraction, "FILES_PER_CHILD", 2)
    answers = dict(extract_all(jobs(*[b"a = 1"] * 5), processes=1))
    assert all(isinstance(answer, BlobFacts) for answer in answers.values())


def test_closing_early_ends_the_children():
    before = children()
    answers = extract_all(jobs(*[b"a = 1"] * 50), processes=2)
    next(answers)
    assert len(children() - before) == 2
    answers.close()
    assert len(children() - before) <= 1  # the one whose answer was taken waits
    extraction.end_idle()
    assert children() == before


def test_a_child_with_nothing_left_to_do_serves_the_next_call():
    before = children()
    dict(extract_all(jobs(b"a = 1", b"b = 1"), processes=2))
    waiting = children() - before
    assert len(waiting) == 2
    answers = dict(extract_all(jobs(b"def f(): g()", b"c = 1", b"d = 1"), processes=2))
    assert children() - before == waiting
    assert isinstance(answers[0], BlobFacts)
    assert [found.name for found in answers[0].definitions] == ["f"]


def test_a_child_that_has_read_much_does_not_wait(monkeypatch):
    monkeypatch.setattr(extraction, "_FILES_OF_IDLE", 2)
    before = children()
    dict(extract_all(jobs(b"a = 1", b"b = 1", b"c = 1"), processes=1))
    assert children() == before


def test_only_a_few_children_wait(monkeypatch):
    monkeypatch.setattr(extraction, "_MOST_IDLE", 1)
    before = children()
    dict(extract_all(jobs(b"a = 1", b"b = 1", b"c = 1"), processes=3))
    assert len(children() - before) == 1


def test_a_child_that_died_while_it_waited_is_not_asked():
    dict(extract_all(jobs(b"a = 1"), processes=1))
    (process,) = extraction._IDLE[extraction._CHILD_COMMAND]
    os.kill(process._process.pid, 9)
    process._process.wait()
    ((_, facts),) = extract_all(jobs(b"b = 1"), processes=1)
    assert isinstance(facts, BlobFacts)


def test_a_child_that_spoke_unasked_is_not_asked():
    before = children()
    answers = dict(extract_all(jobs(b"a = 1", b"chatter"), processes=1, command=HOSTILE))
    assert isinstance(answers[1], BlobFacts)
    time.sleep(0.2)  # what it says after its answer
    (talker,) = children() - before
    ((_, facts),) = extract_all(jobs(b"def mine(): pass"), processes=1, command=HOSTILE)
    assert isinstance(facts, BlobFacts)
    assert [found.name for found in facts.definitions] == ["mine"]
    assert talker not in children()


def test_a_child_that_waited_for_long_is_not_asked(monkeypatch):
    before = children()
    dict(extract_all(jobs(b"a = 1"), processes=1))
    (first,) = children() - before
    monkeypatch.setattr(extraction, "_TAKEN_BEFORE_SECONDS", 0)
    dict(extract_all(jobs(b"b = 1"), processes=1))
    assert first not in children()


def test_a_child_without_a_job_ends_by_itself():
    code = "from indexing import extraction_child as child; child.IDLE_SECONDS = 0.1; child.main()"
    reading, writing = os.pipe()
    try:
        silent = subprocess.Popen((sys.executable, "-c", code), stdin=reading)
        assert silent.wait(timeout=60) == 0
    finally:
        os.close(reading)
        os.close(writing)


def test_children_see_no_environment_of_the_server(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "secret")
    answers = extract_all(jobs(b"a = 1", b"b = 1"), processes=1)
    next(answers)
    (child,) = (
        pid for pid in children() if b"extraction" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    assert b"secret" not in Path(f"/proc/{child}/environ").read_bytes()
    answers.close()
