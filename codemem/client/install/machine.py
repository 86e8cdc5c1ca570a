"""Which clients are on this machine, and how they reach the server from here."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codemem.client.failure import Failure
from codemem.client.install import templates
from codemem.client.install.changes import shim_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemem.client.install.templates import Client

_COMMANDS: Final = {
    "claude-code": ("claude",),
    "codex": ("codex",),
    "cursor": ("cursor", "cursor-agent"),
    "windsurf": ("windsurf",),
    "gemini": ("gemini",),
    "opencode": ("opencode",),
    "vscode": ("code",),
}
_FOLDERS: Final = {
    "claude-code": (".claude",),
    "codex": (".codex",),
    "cursor": (".cursor",),
    "windsurf": (".codeium/windsurf",),
    "gemini": (".gemini",),
    "opencode": (".config/opencode",),
    "vscode": (".config/Code/User", "Library/Application Support/Code/User"),
}
# Written for a project by somebody whose name is not yet known: found by everybody's own shell.
_ANYBODYS_SHIM: Final = 'sh "${XDG_DATA_HOME:-$HOME/.local/share}/codemem/codemem-hook"'


class ClientUnknown(Failure):
    """There is no such client."""

    code = "client_unknown"


def chosen(only: str | None) -> tuple[Client, ...]:
    """Return the clients that are meant: the named ones, else those that are found here."""
    if only is None:
        return tuple(client for client in templates.CLIENTS if is_here(client.name))
    names = [name.strip() for name in only.split(",") if name.strip()]
    known = [client.name for client in templates.CLIENTS]
    if wrong := [name for name in names if name not in known]:
        raise ClientUnknown(
            f"There is no client {', '.join(wrong)}.", hint=f"There are: {', '.join(known)}."
        )
    return tuple(client for client in templates.CLIENTS if client.name in names)


def is_here(client: str) -> bool:
    """Tell whether a client is installed, or has been used by this person."""
    if any(shutil.which(command) for command in _COMMANDS[client]):
        return True
    return any((Path.home() / folder).is_dir() for folder in _FOLDERS[client])


def place(relative: str, *, scope: str, toplevel: Path | None) -> Path:
    """Return where a file of a client is, following the variables that move it."""
    if scope == templates.PROJECT:
        assert toplevel is not None
        return toplevel / relative
    home = Path.home()
    moved = (
        (".claude.json", "CLAUDE_CONFIG_DIR", ".claude.json"),
        (".claude/", "CLAUDE_CONFIG_DIR", ""),
        (".codex/", "CODEX_HOME", ""),
        (".config/opencode/", "XDG_CONFIG_HOME", "opencode/"),
        (".config/Code/", "XDG_CONFIG_HOME", "Code/"),
    )
    for prefix, variable, instead in moved:
        base = os.environ.get(variable, "")
        if relative.startswith(prefix) and Path(base).is_absolute():
            return Path(base) / (instead + relative.removeprefix(prefix))
    if relative.startswith(".config/Code/") and sys.platform == "darwin":
        library = home / "Library" / "Application Support"
        return library / relative.removeprefix(".config/")
    found = home / relative
    # opencode reads either name; a second file beside the person's own would be confusing.
    if found.name == "opencode.json" and found.with_name("opencode.jsonc").exists():
        return found.with_name("opencode.jsonc")
    return found


def connection(*, url: str, scope: str, transport: str, client: str) -> templates.Connection:
    """Return how a client of this machine reaches the server.

    With `auto`, MCP goes over HTTP where the client can take the token from the environment or
    ask the shim for it, else through `codemem serve`, so that the token is in one file only.
    """
    is_project = scope == templates.PROJECT
    has_variable = bool(os.environ.get(templates.TOKEN_VARIABLE))
    asks_shim = client == "claude-code"
    bridges = transport == "stdio" or (
        transport == "auto" and not asks_shim and (is_project or not has_variable)
    )
    return templates.Connection(
        url=url,
        shim=_ANYBODYS_SHIM if is_project else shim_command(),
        bridge=_bridge(is_project=is_project) if bridges else (),
        bridge_environment=_bridge_environment(is_project=is_project) if bridges else (),
        asks_shim_for_headers=asks_shim and transport == "auto",
        is_optional=is_project,
    )


def _bridge(*, is_project: bool) -> tuple[str, ...]:
    command = shutil.which("codemem")
    if is_project:
        return ("codemem", "serve")
    return (command, "serve") if command else (*_module(), "serve")


def _module() -> Sequence[str]:
    return (sys.executable, "-m", "codemem.client")


def _bridge_environment(*, is_project: bool) -> tuple[tuple[str, str], ...]:
    # Run from a checkout instead of an installation, Python has to be told where.
    paths = os.environ.get("PYTHONPATH")
    if is_project or shutil.which("codemem") or not paths:
        return ()
    return (("PYTHONPATH", paths),)
