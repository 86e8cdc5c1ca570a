"""Crash- and hang-proof extraction: blobs are parsed in child processes that may die.

Plain subprocesses, because a Celery prefork worker may not start multiprocessing children; framed
bytes and JSON both ways, because nothing from a process that read hostile bytes is unpickled. A
child that crashes, hangs or grows costs the one file it was reading and is replaced. One that has
read little waits for the next call: to start it takes longer than to parse a pull request.
"""

import os
import selectors
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, overload

from indexing.extraction_child import FACTS, IDLE_SECONDS, JOB_HEADER, REPLY_HEADER
from indexing.facts import BlobFacts, FactsMalformed
from indexing.languages import Language

SILENCE_SECONDS = 15.0
"""A child that neither takes nor gives a byte for so long is killed."""

FILES_PER_CHILD = 2000
"""Children are replaced after so many files: native memory is not given back otherwise."""

_FILES_OF_IDLE = 500  # after more, a child holds memory that a waiting one should not
_MOST_IDLE = 2
_TAKEN_BEFORE_SECONDS = IDLE_SECONDS - 30  # well before it ends by itself

_CHILD_COMMAND = (sys.executable, "-m", "indexing.extraction_child")
_CHECKOUT = Path(__file__).resolve().parents[1]
_READ_BYTES = 1 << 20
_MAX_REPLY_BYTES = 64 << 20

Key = TypeVar("Key", bound=Hashable)
Facts = TypeVar("Facts")


@dataclass(frozen=True, slots=True)
class Job(Generic[Key]):
    """One blob to read; `key` comes back with the answer."""

    key: Key
    language: Language
    source: bytes


@dataclass(frozen=True, slots=True)
class Skipped:
    """Why a blob has no facts: a `skip_reason`, crash, timeout, memory, malformed or error:NAME."""

    reason: str


@overload
def extract_all(
    jobs: Iterable[Job[Key]], *, processes: int, command: Sequence[str] = _CHILD_COMMAND
) -> Generator[tuple[Key, BlobFacts | Skipped], None, None]: ...


@overload
def extract_all(
    jobs: Iterable[Job[Key]],
    *,
    processes: int,
    command: Sequence[str] = _CHILD_COMMAND,
    unpack: Callable[[bytes], Facts],
) -> Generator[tuple[Key, Facts | Skipped], None, None]: ...


def extract_all(
    jobs: Iterable[Job[Key]],
    *,
    processes: int,
    command: Sequence[str] = _CHILD_COMMAND,
    unpack: Callable[[bytes], Any] = BlobFacts.from_bytes,
) -> Generator[tuple[Key, Any], None, None]:
    """Yield the facts of every job's blob, in the order they are ready.

    `jobs` is read lazily, one ahead per child. Children end with the iterator, also when it is
    closed early, but for a few that have nothing left to do and wait. `command` starts a child
    that speaks `indexing.extraction_child`'s frames. `unpack` makes of the packed facts what the
    caller wants of them; it may raise FactsMalformed.
    """
    pending = iter(jobs)
    with selectors.DefaultSelector() as selector:
        children: list[_Child[Key]] = []
        try:
            for job in pending:
                children.append(_Child(command, selector, unpack))
                children[-1].give(job)
                if len(children) == processes:
                    break
            while any(child.job for child in children):
                yield from _finished(children, selector)
                _give_more(children, pending)
        finally:
            for child in children:
                child.end()


def _finished(
    children: "list[_Child[Key]]", selector: selectors.BaseSelector
) -> Iterator[tuple[Key, Any]]:
    for ready, _events in selector.select(timeout=0.5):
        ready.data()
    for child in children:
        answer = child.answer()
        if answer is not None:
            yield answer


def _give_more(children: "list[_Child[Key]]", pending: Iterator[Job[Key]]) -> None:
    for child in children:
        if child.job is None:
            job = next(pending, None)
            if job is None:
                return
            child.give(job)


def end_idle() -> None:
    """End the children that wait for a next call; a later one starts its own."""
    for waiting in _IDLE.values():
        while waiting:
            waiting.pop().end()


class _Process:
    """A child process and the pipes to it, which serve one call after another."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = tuple(command)
        self.files = 0
        self.used_at = time.monotonic()
        child_stdin, self.stdin = os.pipe()
        self.stdout, child_stdout = os.pipe()
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=child_stdin,
                stdout=child_stdout,
                stderr=subprocess.DEVNULL,
                cwd=_CHECKOUT,
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},
                start_new_session=True,
            )
        finally:
            os.close(child_stdin)
            os.close(child_stdout)
        for pipe in (self.stdin, self.stdout):
            os.set_blocking(pipe, False)

    @classmethod
    def taken(cls, command: Sequence[str]) -> "_Process":
        """Return one that waits, else a new one."""
        waiting = _IDLE[tuple(command)]
        while waiting:
            try:
                process = waiting.pop()
            except IndexError:  # another thread was faster
                break
            if process.is_fit():
                return process
            process.end()
        return cls(command)

    def leave(self) -> None:
        """Let it wait for the next call if it is good for one, and else end it."""
        waiting = _IDLE[self.command]
        if self.files <= _FILES_OF_IDLE and len(waiting) < _MOST_IDLE and self.is_fit():
            waiting.append(self)
        else:
            self.end()

    def is_fit(self) -> bool:
        """Return whether it may get a job: it is alive, awake, and has said nothing unasked."""
        if time.monotonic() - self.used_at > _TAKEN_BEFORE_SECONDS:
            return False
        try:
            os.read(self.stdout, 1)
        except BlockingIOError:
            return True
        return False

    def end(self) -> None:
        """Kill and reap it; it holds nothing worth a goodbye."""
        os.close(self.stdin)
        os.close(self.stdout)
        self._process.kill()
        self._process.wait()


_IDLE: Final[defaultdict[tuple[str, ...], deque[_Process]]] = defaultdict(deque)
# A fork has no children; those of its parent end by themselves.
os.register_at_fork(after_in_child=_IDLE.clear)


class _Child(Generic[Key]):
    """One child process and the job it has; pipes never block, so no child can stop the parent."""

    def __init__(
        self,
        command: Sequence[str],
        selector: selectors.BaseSelector,
        unpack: Callable[[bytes], Any],
    ) -> None:
        self._selector = selector
        self._unpack = unpack
        self._start(_Process.taken(command))

    def give(self, job: Job[Key]) -> None:
        if self._process.files >= FILES_PER_CHILD or not self._process.is_fit():
            self._replace()
        name = job.language.name.encode()
        self.job: Job[Key] | None = job
        self._process.files += 1
        self._unsent = memoryview(JOB_HEADER.pack(len(name), len(job.source)) + name + job.source)
        self._received = bytearray()
        self._hear()
        self._selector.register(self._process.stdin, selectors.EVENT_WRITE, self._send)

    def answer(self) -> tuple[Key, Any] | None:
        """Return the job's key and outcome once there is one; the child is then free."""
        if self.job is None:
            return None
        outcome = self._outcome()
        if outcome is None:
            return None
        key, self.job = self.job.key, None
        if isinstance(outcome, Skipped) and outcome in _REPLACE_AFTER:
            self._replace()
        return key, outcome

    def end(self) -> None:
        self._forget_pipes()
        if self.job is None:
            self._process.leave()
        else:
            self._process.end()

    def _start(self, process: _Process) -> None:
        self._process = process
        self.job = None
        self._has_ended = False
        self._unsent = memoryview(b"")
        self._received = bytearray()
        self._selector.register(process.stdout, selectors.EVENT_READ, self._receive)

    def _replace(self) -> None:
        self._forget_pipes()
        self._process.end()
        self._start(_Process(self._process.command))

    def _forget_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe in self._selector.get_map():
                self._selector.unregister(pipe)

    def _hear(self) -> None:
        self._process.used_at = time.monotonic()

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._process.stdin, self._unsent) :]
        except BrokenPipeError:
            self._unsent = memoryview(b"")  # it died: reading will say so
        self._hear()
        if not self._unsent:
            self._selector.unregister(self._process.stdin)

    def _receive(self) -> None:
        received = os.read(self._process.stdout, _READ_BYTES)
        self._received += received
        self._hear()
        if not received:
            self._has_ended = True
            self._selector.unregister(self._process.stdout)

    def _outcome(self) -> Any:
        reply = self._reply()
        if reply is not None:
            return _decoded(reply, self._unpack)
        if self._has_ended:
            return _CRASHED
        silence = time.monotonic() - self._process.used_at
        return _TIMED_OUT if silence > SILENCE_SECONDS else None

    def _reply(self) -> bytes | None:
        start = REPLY_HEADER.size
        if len(self._received) < start:
            return None
        (length,) = REPLY_HEADER.unpack_from(self._received)
        if length > _MAX_REPLY_BYTES:
            return b""
        is_whole = len(self._received) >= start + length
        return bytes(self._received[start : start + length]) if is_whole else None


_CRASHED = Skipped("crash")
_TIMED_OUT = Skipped("timeout")
_MALFORMED = Skipped("malformed")
_REPLACE_AFTER = frozenset({_CRASHED, _TIMED_OUT, _MALFORMED})


def _decoded(reply: bytes, unpack: Callable[[bytes], Any]) -> Any:
    if not reply:
        return _MALFORMED
    if reply[:1] != FACTS:
        return Skipped(reply[1:].decode("utf-8", "replace"))
    try:
        return unpack(reply[1:])
    except FactsMalformed:
        return _MALFORMED
