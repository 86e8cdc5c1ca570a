"""The process that reads hostile bytes: framed jobs on stdin, framed facts on stdout.

Started by `indexing.extraction` as `python -m indexing.extraction_child`, with limits on memory,
open files and core dumps that it sets on itself before it reads the first job.

A job is two lengths, the language's name and the source. A reply is one length, then one byte
(FACTS or SKIPPED) and the facts' bytes or the reason.
"""

import gc
import resource
import select
import struct
import sys
from collections.abc import Callable
from typing import BinaryIO

from indexing.languages import Language, language_named
from indexing.parsing import extract, skip_reason

JOB_HEADER = struct.Struct("<II")
REPLY_HEADER = struct.Struct("<I")
FACTS, SKIPPED = b"F", b"S"

IDLE_SECONDS = 300
"""Without a job for so long, a child ends."""

_MEMORY_BYTES = 2 << 30
_OPEN_FILES = 64


Reader = Callable[[Language, bytes], bytes]
"""Makes of a source what is answered."""


def main(read: Reader | None = None) -> None:
    """Answer jobs: with the facts of each source, if not with what `read` makes of it."""
    _limit_resources()
    # Parsing makes no cycles, and looking for them took a fifth of its time.
    gc.disable()
    _serve(sys.stdin.buffer, sys.stdout.buffer, read or _facts)


def _limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))


def _serve(jobs: BinaryIO, replies: BinaryIO, read: Reader) -> None:
    while _is_given(jobs) and len(header := jobs.read(JOB_HEADER.size)) == JOB_HEADER.size:
        name_bytes, source_bytes = JOB_HEADER.unpack(header)
        language = jobs.read(name_bytes).decode()
        reply = _reply(language, jobs.read(source_bytes), read)
        replies.write(REPLY_HEADER.pack(len(reply)) + reply)
        replies.flush()


def _is_given(jobs: BinaryIO) -> bool:
    # One job is on its way at a time, so none can lie in the buffer that this does not see.
    ready, _, _ = select.select([jobs], [], [], IDLE_SECONDS)
    return bool(ready)


def _reply(language: str, source: bytes, read: Reader) -> bytes:
    reason = skip_reason("", source)
    if reason:
        return SKIPPED + reason.encode()
    try:
        return FACTS + read(language_named(language), source)
    except MemoryError:
        return SKIPPED + b"memory"
    except Exception as error:  # noqa: BLE001 - one strange file must not cost the others
        return SKIPPED + f"error:{type(error).__name__}".encode()


def _facts(language: Language, source: bytes) -> bytes:
    return extract(language, source).to_bytes()


if __name__ == "__main__":
    main()
