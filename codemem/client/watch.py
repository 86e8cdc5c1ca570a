"""`codemem watch`: an agent's questions see the files that were just edited.

    a file is touched -> 50 ms of quiet -> its blob id -> what differs, to the server -> queryable

After a restart of the server, a switch of branches or a rebase the whole tree is compared again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from codemem.client.failure import ExitStatus, Failure
from codemem.client.notify import Kernel, NoNotification, notifier
from codemem.client.overlay import Overlay, Shown
from codemem.client.terminal import note, print_json
from codemem.client.transport import Refused, Unreachable
from codemem.client.worktree import WorkTree

if TYPE_CHECKING:
    from codemem.client.notify import Looking
    from codemem.client.scope import Scope
    from codemem.client.transport import Server

QUIET_SECONDS: Final = 0.05
# Shown again before the server lets the overlay expire, and in case it lost it.
_SHOWN_AGAIN_AFTER: Final = 900.0
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
_PREPARE_AGAIN: Final = frozenset({"base_unknown"})


class NoWorkTree(Failure):
    """There are no files here that could differ."""

    code = "no_work_tree"


def run(*, server: Server, scope: Scope, once: bool, as_json: bool) -> ExitStatus:
    """Show the work tree of the current directory to its user; with --once and no longer."""
    tree = _tree(scope)
    overlay = Overlay(server, tree)
    if once:
        overlay.prepare()
        _tell(overlay.show(), as_json=as_json)
        return ExitStatus.OK
    _Watch(tree, overlay, as_json=as_json).run()
    return ExitStatus.OK


def stop(*, server: Server, scope: Scope, as_json: bool) -> ExitStatus:
    """Take the overlay of this work tree away."""
    Overlay(server, _tree(scope)).withdraw()
    if as_json:
        print_json({"withdrawn": True})
    else:
        print("The server has forgotten this work tree.")
    return ExitStatus.OK


def _tree(scope: Scope) -> WorkTree:
    if scope.checkout is None or scope.checkout.toplevel is None:
        raise NoWorkTree(
            scope.git_problem or "This directory is in no work tree of Git.",
            hint="Run it in a checkout, without --repository.",
        )
    return WorkTree(scope.checkout.toplevel)


class _Watch:
    """The loop; every trouble with the server is waited out, and said once."""

    def __init__(self, tree: WorkTree, overlay: Overlay, *, as_json: bool) -> None:
        self._tree = tree
        self._overlay = overlay
        self._as_json = as_json
        self._notifier: Kernel | Looking | None = None
        self._is_prepared = False
        self._shown_at = 0.0
        self._pause = 0.0

    def run(self) -> None:
        has_news = True
        while True:
            if has_news or time.monotonic() - self._shown_at > _SHOWN_AGAIN_AFTER:
                self._show()
            has_news = self._wait()

    def _show(self) -> None:
        try:
            if not self._is_prepared:
                self._prepare()
            shown = self._overlay.show()
        except Unreachable as failure:
            self._wait_out(failure)
        except Refused as failure:
            if failure.code in _PREPARE_AGAIN:
                self._is_prepared = False
            elif failure.http_status < 500:  # noqa: PLR2004
                raise
            self._wait_out(failure)
        else:
            self._shown_at, self._pause = time.monotonic(), 0.0
            _tell(shown, as_json=self._as_json)

    def _prepare(self) -> None:
        # Watched before it is compared: what is touched meanwhile is not missed.
        self._follow_folders()
        self._overlay.prepare()
        self._is_prepared = True

    def _follow_folders(self) -> None:
        folders = self._tree.folders()
        if self._notifier is None:
            self._notifier = notifier(self._tree.directory, self._tree.git_folder(), folders)
            if not isinstance(self._notifier, Kernel):
                note("The system does not tell of changes; looking every second instead.")
            return
        try:
            self._notifier.watch(folders)
        except NoNotification as problem:
            note(str(problem))

    def _wait(self) -> bool:
        """Wait for something to happen; return whether the server has to be told."""
        if self._notifier is None or self._pause:
            time.sleep(self._pause or _FIRST_PAUSE)
            return True
        touched = self._notifier.wait(
            quiet_seconds=QUIET_SECONDS, patience_seconds=_SHOWN_AGAIN_AFTER
        )
        if touched.is_unclear:
            before = dict(self._tree.differences)
            self._follow_folders()
            self._tree.compare_all()
            return before != self._tree.differences
        return bool(touched.paths) and self._tree.compare(touched.paths)

    def _wait_out(self, failure: Failure) -> None:
        if not self._pause:
            note(f"{failure.message} Trying again.")
        self._pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, 2 * self._pause))
        # The server may have been restarted or restored: nothing is taken for known.
        self._is_prepared = False


def _tell(shown: Shown, *, as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps(shown._asdict()), flush=True)
        return
    files = "1 file differs" if shown.files == 1 else f"{shown.files} files differ"
    print(f"{shown.ref}: {files}, shown after {shown.seconds * 1000:.0f} ms", flush=True)
