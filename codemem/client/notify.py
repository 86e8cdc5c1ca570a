"""Which files were touched: told by the kernel on Linux (inotify), elsewhere by looking again.

Knows folders and names, not what they mean. inotify is asked through ctypes, so that the client
needs nothing but Python.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_CLOSED_AFTER_WRITING: Final = 0x008
_MOVED_FROM: Final = 0x040
_MOVED_TO: Final = 0x080
_CREATED: Final = 0x100
_DELETED: Final = 0x200
_OVERFLOWED: Final = 0x4000
_IS_FOLDER: Final = 0x4000_0000
_WATCHED: Final = _CLOSED_AFTER_WRITING | _MOVED_FROM | _MOVED_TO | _CREATED | _DELETED
_ONLY_FOLDERS: Final = 0x0100_0000
_EVENT: Final = struct.Struct("iIII")
_POLL_SECONDS: Final = 1.0


class Touched(NamedTuple):
    """What happened: paths that were touched, and whether more than those may differ."""

    paths: frozenset[str]
    is_unclear: bool


class NoNotification(Exception):
    """The kernel does not tell, or not of so many folders."""


class Kernel:
    """inotify over the folders of a work tree and Git's own folder."""

    def __init__(self, top: Path, git_folder: Path) -> None:
        if not sys.platform.startswith("linux"):
            raise NoNotification("There is no inotify here.")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._descriptor < 0:
            raise NoNotification("inotify has no more instances to give.")
        self._top = top
        self._folders: dict[int, str] = {}
        self._git = self._add(os.fsencode(git_folder))

    def watch(self, folders: Iterable[str]) -> None:
        """Watch these folders (relative, "" is the top), too; raise NoNotification."""
        known = set(self._folders.values())
        for folder in folders:
            if folder not in known:
                self._folders[self._add(os.fsencode(self._top / folder))] = folder

    def wait(self, *, quiet_seconds: float, patience_seconds: float) -> Touched:
        """Return what was touched, once nothing more comes for a while; nothing after patience."""
        paths: set[str] = set()
        is_unclear = False
        deadline = time.monotonic() + patience_seconds
        limit = patience_seconds
        while select.select([self._descriptor], [], [], limit)[0]:
            for descriptor, mask, name in self._events():
                is_unclear |= self._note(descriptor, mask, name, paths)
            limit = min(quiet_seconds, max(0.0, deadline - time.monotonic()))
        return Touched(frozenset(paths), is_unclear)

    def close(self) -> None:
        os.close(self._descriptor)

    def _note(self, descriptor: int, mask: int, name: str, paths: set[str]) -> bool:
        """Note a touched file; return whether more than one file may differ now."""
        if mask & _OVERFLOWED:
            return True
        if descriptor == self._git:
            # A commit, a switch, a rebase: the index or HEAD is another.
            return name in {"index", "HEAD"} and not mask & _DELETED
        folder = self._folders.get(descriptor)
        if folder is None or name == ".git":
            return False
        if mask & _IS_FOLDER:
            return True
        if mask & (_CLOSED_AFTER_WRITING | _MOVED_FROM | _MOVED_TO | _DELETED):
            paths.add(f"{folder}/{name}" if folder else name)
        return name == ".gitignore"

    def _events(self) -> list[tuple[int, int, str]]:
        try:
            data = os.read(self._descriptor, 1 << 18)
        except BlockingIOError:
            return []
        events, at = [], 0
        while at < len(data):
            descriptor, mask, _, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size
            events.append((descriptor, mask, os.fsdecode(data[at : at + length].rstrip(b"\0"))))
            at += length
        return events

    def _add(self, place: bytes) -> int:
        descriptor: int = self._libc.inotify_add_watch(
            self._descriptor, place, _WATCHED | _ONLY_FOLDERS
        )
        if descriptor >= 0:
            return descriptor
        number = ctypes.get_errno()
        if number in {2, 20}:  # gone meanwhile
            return -1
        raise NoNotification(f"inotify refuses: {os.strerror(number)}.")


class Looking:
    """Where the kernel does not tell: every second everything may differ."""

    def watch(self, folders: Iterable[str]) -> None:
        """Nothing needs to be watched."""

    def wait(self, *, quiet_seconds: float, patience_seconds: float) -> Touched:
        time.sleep(max(quiet_seconds, min(_POLL_SECONDS, patience_seconds)))
        return Touched(frozenset(), is_unclear=True)

    def close(self) -> None:
        """Nothing is held."""


def notifier(top: Path, git_folder: Path, folders: Iterable[str]) -> Kernel | Looking:
    """Return the kernel's word where it gives it for all folders, else one who looks."""
    try:
        kernel = Kernel(top, git_folder)
    except (NoNotification, OSError, AttributeError):
        return Looking()
    try:
        kernel.watch(folders)
    except NoNotification:
        kernel.close()
        return Looking()
    return kernel
