"""`codemem hooks`: Git hooks that show the work tree after a commit or a switch of branches.

A hook starts `codemem watch --once` in the background and ends: it neither slows a commit nor
fails it. Ours is a marked block, so that a hook that is there already stays, and ours comes off.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from codemem.client.failure import ExitStatus, Failure
from codemem.client.terminal import note, print_json

if TYPE_CHECKING:
    from pathlib import Path

    from codemem.client.scope import Scope

_HOOKS: Final = ("post-commit", "post-checkout", "post-merge", "post-rewrite")
_BEGIN: Final = "# >>> codemem (codemem hooks remove takes this out)"
_END: Final = "# <<< codemem"
_SHELLS: Final = ("#!/bin/sh", "#!/usr/bin/env sh", "#!/bin/bash", "#!/usr/bin/env bash")


class NoHooks(Failure):
    """There is no place for hooks, or one of them is no shell script."""

    code = "no_hooks"


def install(*, scope: Scope, as_json: bool) -> ExitStatus:
    """Put our block into each hook; doing it again changes nothing."""
    folder = _folder(scope)
    folder.mkdir(parents=True, exist_ok=True)
    for name in _HOOKS:
        _write(folder / name, _without_block(_read(folder / name)) + _block())
    return _tell("installed", folder, as_json=as_json)


def remove(*, scope: Scope, as_json: bool) -> ExitStatus:
    """Take our block out of each hook; a hook that was only ours goes."""
    folder = _folder(scope)
    for name in _HOOKS:
        place = folder / name
        if place.exists() and _BEGIN in (text := place.read_text(errors="surrogateescape")):
            left = _without_block(text)
            if left.strip() in {"", _SHELLS[0]}:
                place.unlink()
            else:
                _write(place, left)
    return _tell("removed", folder, as_json=as_json)


def _block() -> str:
    command = " ".join(map(shlex.quote, (sys.executable, "-m", "codemem.client")))
    paths = os.pathsep.join(path for path in sys.path if path)
    # Git sets GIT_DIR and GIT_INDEX_FILE for hooks; a command of its own must find them by itself.
    return (
        f"{_BEGIN}\n"
        "(\n"
        "  unset $(git rev-parse --local-env-vars 2>/dev/null)\n"
        f"  PYTHONPATH={shlex.quote(paths)} exec {command} watch --once\n"
        ") >/dev/null 2>&1 </dev/null &\n"
        f"{_END}\n"
    )


def _read(place: Path) -> str:
    if not place.exists():
        return f"{_SHELLS[0]}\n"
    text = place.read_text(errors="surrogateescape")
    first = text.split("\n", 1)[0].strip()
    if first not in _SHELLS:
        raise NoHooks(
            f"{place} is no shell script, so nothing can be added to it.",
            hint="Call `codemem watch --once` from it yourself.",
        )
    return text if text.endswith("\n") else f"{text}\n"


def _without_block(text: str) -> str:
    before, begin, rest = text.partition(_BEGIN)
    if not begin:
        return text
    return before + rest.partition(f"{_END}\n")[2]


def _write(place: Path, text: str) -> None:
    # Written beside and moved: a commit in between finds the old hook or the new one.
    beside = place.with_name(f".{place.name}.codemem")
    beside.write_text(text, errors="surrogateescape")
    beside.chmod((place.stat().st_mode if place.exists() else 0o644) | 0o111)
    beside.replace(place)


def _folder(scope: Scope) -> Path:
    if scope.checkout is None or scope.checkout.toplevel is None:
        raise NoHooks(scope.git_problem or "This directory is in no work tree of Git.")
    finished = subprocess.run(
        ["git", "rev-parse", "--git-path", "hooks"],
        cwd=scope.checkout.toplevel,
        capture_output=True,
        check=False,
    )
    if finished.returncode:
        raise NoHooks("git does not say where its hooks are.")
    return scope.checkout.toplevel / os.fsdecode(finished.stdout.strip())


def _tell(what: str, folder: Path, *, as_json: bool) -> ExitStatus:
    if as_json:
        print_json({what: list(_HOOKS), "folder": str(folder)})
    else:
        note(f"Hooks {what} in {folder}: {', '.join(_HOOKS)}.")
    return ExitStatus.OK
