"""Crash- and hang-proof extraction: blobs are parsed in child processes that may die.

Plain subprocesses, because a Celery prefork worker may not start multiprocessing children; framed
bytes and JSON both ways, because nothing from a process that read hostile bytes is unpickled. A
child that crashes, hangs or grows costs the one file it was reading and is replaced.
"""

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from indexing.extraction_child import FACTS, JOB_HEADER, REPLY_HEADER
from indexing.facts import BlobFacts, FactsMalformed
from indexing.languages import Language

SILENCE_SECONDS = 15.0
"""A child that neither takes nor gives a byte for so long is killed."""

FILES_PER_CHILD = 2000
"""Children are replaced after so many files: native memory is not given back otherwise."""

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
    closed early. `command` starts a child that speaks `indexing.extraction_child`'s frames.
    `unpack` makes of the packed facts what the caller wants of them; it may raise FactsMalformed.
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


class _Child(Generic[Key]):
    """One child process and the job it has; pipes never block, so no child can stop the parent."""

    def __init__(
        self,
        command: Sequence[str],
        selector: selectors.BaseSelector,
        unpack: Callable[[bytes], Any],
    ) -> None:
        self._command = command
        self._selector = selector
        self._unpack = unpack
        self._start()

    def give(self, job: Job[Key]) -> None:
        if self._files == FILES_PER_CHILD:
            self._replace()
        name = job.language.name.encode()
        self.job: Job[Key] | None = job
        self._files += 1
        self._unsent = memoryview(JOB_HEADER.pack(len(name), len(job.source)) + name + job.source)
        self._received = bytearray()
        self._heard_at = time.monotonic()
        self._selector.register(self._stdin, selectors.EVENT_WRITE, self._send)

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
        """Kill and reap the process; it holds nothing worth a goodbye."""
        for pipe in (self._stdin, self._stdout):
            if pipe in self._selector.get_map():
                self._selector.unregister(pipe)
            os.close(pipe)
        self._process.kill()
        self._process.wait()

    def _start(self) -> None:
        child_stdin, self._stdin = os.pipe()
        self._stdout, child_stdout = os.pipe()
        try:
            self._process = subprocess.Popen(
                self._command,
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
        for pipe in (self._stdin, self._stdout):
            os.set_blocking(pipe, False)
        self.job = None
        self._files = 0
        self._has_ended = False
        self._unsent = memoryview(b"")
        self._received = bytearray()
        self._selector.register(self._stdout, selectors.EVENT_READ, self._receive)

    def _replace(self) -> None:
        self.end()
        self._start()

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._stdin, self._unsent) :]
        except BrokenPipeError:
            self._unsent = memoryview(b"")  # it died: reading will say so
        self._heard_at = time.monotonic()
        if not self._unsent:
            self._selector.unregister(self._stdin)

    def _receive(self) -> None:
        received = os.read(self._stdout, _READ_BYTES)
        self._received += received
        self._heard_at = time.monotonic()
        if not received:
            self._has_ended = True
            self._selector.unregister(self._stdout)

    def _outcome(self) -> Any:
        reply = self._reply()
        if reply is not None:
            return _decoded(reply, self._unpack)
        if self._has_ended:
            return _CRASHED
        return _TIMED_OUT if time.monotonic() - self._heard_at > SILENCE_SECONDS else None

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
