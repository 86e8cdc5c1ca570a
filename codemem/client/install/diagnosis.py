"""What `codemem doctor` finds about coding agents: their files, the shim, the spool, the trust.

An event is sent through the real shim, as an agent would, and must come back answered. What that
leaves on the server is one session without any content, ended at once.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import uuid
from typing import TYPE_CHECKING, Any, Final

from codemem.client.checks import Check, Outcome
from codemem.client.failure import Failure
from codemem.client.install import changes, machine, templates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from codemem.client.install.templates import Client
    from codemem.client.scope import Scope

_RIGHT: Final = "hooks:write"
_SHIM_SECONDS: Final = 15
_LATE_SECONDS: Final = 120
_TRUST: Final = re.compile(r"(?m)^\s*trusted_hash\s*=|^\s*\[hooks\.state")


def check_clients(*, scope: Scope) -> Iterator[Check]:
    """Yield one check for each client that is here: whether codemem is in its files."""
    toplevel = scope.checkout.toplevel if scope.checkout else None
    found = machine.chosen(None)
    if not found:
        return
    shim = changes.shim_path()
    if any(_is_set_up(client, None) for client in found) and not shim.exists():
        yield Check("hook shim", Outcome.FAIL, f"{shim} is missing", "Run: codemem init")
    for client in found:
        yield _check_client(client, toplevel)


def check_spool() -> Iterator[Check]:
    """Yield what waits to be sent, and whether anything had to be dropped."""
    state = changes.state_folder()
    spool = state / "spool"
    if not spool.is_dir():
        return
    waiting = sorted(spool.glob("*.event"))
    if not waiting:
        yield Check("hook spool", Outcome.OK, "nothing waits to be sent")
    else:
        since = time.time() - waiting[0].stat().st_mtime
        kilobytes = sum(one.stat().st_size for one in waiting) // 1024
        message = f"{len(waiting)} events wait, {kilobytes} kB, the oldest for {since:.0f} seconds"
        is_late = since > _LATE_SECONDS
        hint = "They are sent in order once the server answers." if is_late else None
        yield Check("hook spool", Outcome.WARN if is_late else Outcome.OK, message, hint)
    dropped = state / "dropped"
    if dropped.exists():
        moment = dropped.read_text(errors="replace").strip()[:15]
        yield Check(
            "hook spool",
            Outcome.WARN,
            f"events had to be dropped, last at {moment} UTC",
            f"The spool was full, or the server kept failing at them. Then: rm {dropped}",
        )


def check_hooks(me: dict[str, Any], *, scope: Scope) -> Iterator[Check]:
    """Yield whether the token may send events, and whether one arrives through the shim."""
    if not changes.shim_path().exists():
        return
    token = me.get("token")
    scopes = token.get("scopes") if isinstance(token, dict) else None
    if isinstance(scopes, list) and _RIGHT not in scopes and "all" not in scopes:
        yield Check(
            "hook right",
            Outcome.WARN,
            f"the token has no scope {_RIGHT}: nothing of your sessions is captured",
            "Make a token with it, then: codemem login",
        )
        return
    for program in ("sh", "curl"):
        if shutil.which(program) is None:
            yield Check("hook event", Outcome.FAIL, f"{program} is not installed")
            return
    yield _send_event(scope)


def _check_client(client: Client, toplevel: Path | None) -> Check:
    name = client.name
    for folder, where in ((None, "for you"), (toplevel, "in this project")):
        if where == "in this project" and folder is None:
            continue
        try:
            missing = _missing(client, folder)
        except Failure as failure:
            return Check(name, Outcome.FAIL, failure.message, failure.hint)
        if not missing:
            return _check_trust(client, where)
        if _is_set_up(client, folder):
            files = ", ".join(path.name for path in missing)
            hint = f"Run: codemem init --only {name}"
            return Check(name, Outcome.WARN, f"set up {where}, but {files} is out of date", hint)
    if name == "claude-code" and _has_plugin():
        return Check(name, Outcome.OK, "set up by the plugin")
    return Check(
        name, Outcome.WARN, "is here, but not connected", f"Run: codemem init --only {name}"
    )


def _check_trust(client: Client, where: str) -> Check:
    """Codex runs no hook that nobody trusted, and says nothing about it."""
    if client.name == "codex":
        config = machine.place(".codex/config.toml", scope=templates.USER, toplevel=None)
        text = config.read_text(errors="replace") if config.exists() else ""
        if not _TRUST.search(text):
            return Check(
                client.name,
                Outcome.WARN,
                f"set up {where}, but none of its hooks is trusted yet: they do not run",
                "Start codex, type /hooks, and trust codemem's",
            )
    return Check(client.name, Outcome.OK, f"set up {where}")


def _missing(client: Client, toplevel: Path | None) -> list[Path]:
    """Return the files that lack something of ours.

    What is ours is told by its name, not its value: a person may have set it up over http.
    """
    missing = []
    for file, path in _files(client, toplevel):
        text = path.read_text(errors="replace") if path.exists() else ""
        has_hooks = any(piece.is_element for piece in file.pieces) or bool(file.text)
        has_server = any(piece.path[-1] == templates.NAME for piece in file.pieces)
        if (has_hooks and templates.SHIM_MARK not in text) or (
            has_server and templates.NAME not in text
        ):
            missing.append(path)
    return missing


def _is_set_up(client: Client, toplevel: Path | None) -> bool:
    files = _files(client, toplevel)
    return len(_missing(client, toplevel)) < len(files)


def _files(client: Client, toplevel: Path | None) -> list[tuple[templates.ClientFile, Path]]:
    scope = templates.PROJECT if toplevel else templates.USER
    connection = machine.connection(url="", scope=scope, transport="http", client=client.name)
    return [
        (file, machine.place(file.place, scope=scope, toplevel=toplevel))
        for file in templates.files(client.name, scope=scope, connection=connection)
    ]


def _has_plugin() -> bool:
    settings = machine.place(".claude/settings.json", scope=templates.USER, toplevel=None)
    text = settings.read_text(errors="replace") if settings.exists() else ""
    return re.search(r'"codemem@[^"]+"\s*:\s*true', text) is not None


def _send_event(scope: Scope) -> Check:
    """Open a private session through the shim, and end it."""
    session = f"codemem-doctor-{uuid.uuid4().hex[:12]}"
    started = time.monotonic()
    answer = _shim("open", "SessionStart", session, scope)
    milliseconds = (time.monotonic() - started) * 1000
    if answer is None:
        return Check("hook event", Outcome.FAIL, "the shim did not come to an end")
    _shim("ask", "SessionEnd", session, scope)
    if b"additionalContext" in answer:
        message = f"an event went through the shim and was answered in {milliseconds:.0f} ms"
        return Check("hook event", Outcome.OK, message)
    if (changes.state_folder() / "away").exists():
        return Check(
            "hook event",
            Outcome.FAIL,
            "the event waits in the spool: the server did not take it in time",
            "It is sent again by itself; look at the server if this stays.",
        )
    return Check(
        "hook event",
        Outcome.WARN,
        "an event went through the shim, but the server opens no session for this directory",
        "It captures in checkouts of registered repositories that you may write to.",
    )


def _shim(mode: str, event: str, session: str, scope: Scope) -> bytes | None:
    payload = {
        "hook_event_name": event,
        "session_id": session,
        "cwd": str(scope.directory),
        "source": "startup",
        "reason": "other",
    }
    try:
        finished = subprocess.run(
            ["sh", str(changes.shim_path()), mode, "claude-code", event],
            input=json.dumps(payload).encode(),
            env=os.environ | {"CODEMEM_CAPTURE": "metadata"},
            capture_output=True,
            timeout=_SHIM_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return finished.stdout
