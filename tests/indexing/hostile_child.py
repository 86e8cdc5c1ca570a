"""Extraction's real child, except that some sources crash it, hang it, make it lie or talk."""

import os
import signal
import sys
import threading
import time

from indexing import extraction_child
from indexing.extraction_child import Reader

_reply = extraction_child._reply


def reply(language: str, source: bytes, read: Reader) -> bytes:
    if source == b"crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if source == b"hang":
        time.sleep(600)
    if source == b"exit":
        sys.exit(3)
    if source == b"lie":
        return extraction_child.FACTS + b"not facts"
    if source == b"grow":
        return extraction_child.FACTS + bytes(4 << 30)
    if source == b"chatter":
        threading.Timer(0.05, lambda: os.write(1, b"unasked")).start()
    return _reply(language, source, read)


if __name__ == "__main__":
    extraction_child._reply = reply
    extraction_child.main()
