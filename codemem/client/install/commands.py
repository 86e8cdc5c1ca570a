"""`codemem init` and `codemem uninstall`: the files of the coding agents on this machine."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codemem.client.failure import ExitStatus, Failure
from codemem.client.install import changes, machine, templates
from codemem.client.install.changes import Change
from codemem.client.terminal import block, note, print_json, styled

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from codemem.client.install.templates import Client, ClientFile
    from codemem.client.scope import Scope


class ConsentNeeded(Failure):
    """Files would change, and there is nobody to ask."""

    code = "consent_needed"


class NoCheckout(Failure):
    """There is no project around the current directory."""

    code = "no_checkout"


class NoClient(Failure):
    """No coding agent was found on this machine."""

    code = "no_client"


def init(*, url: str, scope: Scope, options: argparse.Namespace) -> ExitStatus:
    """Show what connecting the agents here would change, ask, and write it."""
    toplevel = _toplevel(scope, options)
    clients = machine.chosen(options.only)
    if not clients:
        raise NoClient(
            "No coding agent was found on this machine.",
            hint="Name yours with --only, for example: codemem init --only claude-code",
        )
    wanted = [_shim()]
    for client in clients:
        wanted += _installed(client, url=url, toplevel=toplevel, options=options)
    if options.instructions:
        wanted += [
            changes.with_block(path, is_private=toplevel is None)
            for path in _instruction_paths(clients, options=options, toplevel=toplevel)
        ]
    remarks = [client.remark for client in clients if client.remark and not options.json]
    return _carry_out(wanted, clients=clients, remarks=remarks, options=options, verb="init")


def uninstall(*, scope: Scope, options: argparse.Namespace) -> ExitStatus:
    """Restore the files that nobody has touched since, and take ours out of the others."""
    toplevel = _toplevel(scope, options)
    clients = machine.chosen(options.only) if options.only else templates.CLIENTS
    wanted = []
    for client in clients:
        for file, path in _files(client, url="", toplevel=toplevel, options=options):
            is_private = toplevel is None
            original = changes.restored(path, is_private=is_private)
            wanted.append(original or changes.cleared(path, file, is_private=is_private))
    for path in _instruction_paths(clients, options=options, toplevel=toplevel):
        original = changes.restored(path, is_private=toplevel is None)
        wanted.append(original or changes.without_block(path, is_private=toplevel is None))
    if toplevel is None and not options.only:
        wanted.append(_without_shim())
    return _carry_out(wanted, clients=clients, remarks=[], options=options, verb="uninstall")


def _carry_out(
    wanted: Sequence[Change],
    *,
    clients: Sequence[Client],
    remarks: Sequence[str],
    options: argparse.Namespace,
    verb: str,
) -> ExitStatus:
    pending = [change for change in wanted if change.action != "keep"]
    changes.check_writable(pending)
    if not options.json:
        _show(pending)
    if pending and not options.dry_run:
        _ask(options)
        backups = changes.write(pending)
        if verb == "init":
            changes.remember(pending, backups)
        else:
            _drop(backups)
            changes.forget(pending)
    _tell(wanted, clients=clients, remarks=remarks, options=options)
    return ExitStatus.OK


def _drop(backups: dict[Path, Path]) -> None:
    # What uninstalling takes out is ours: nobody needs it back.
    for backup in backups.values():
        backup.unlink(missing_ok=True)


def _toplevel(scope: Scope, options: argparse.Namespace) -> Path | None:
    if not options.project:
        return None
    if scope.checkout is None or scope.checkout.toplevel is None:
        raise NoCheckout(scope.git_problem or "This directory is in no work tree of Git.")
    return scope.checkout.toplevel


def _shim() -> Change:
    path = changes.shim_path()
    text = Path(__file__).with_name("codemem-hook").read_bytes()
    before = path.read_bytes() if path.exists() else None
    return Change(path, before, text)


def _without_shim() -> Change:
    path = changes.shim_path()
    return Change(path, path.read_bytes() if path.exists() else None, None)


def _installed(
    client: Client, *, url: str, toplevel: Path | None, options: argparse.Namespace
) -> list[Change]:
    return [
        changes.installed(path, file, is_private=toplevel is None)
        for file, path in _files(client, url=url, toplevel=toplevel, options=options)
    ]


def _files(
    client: Client, *, url: str, toplevel: Path | None, options: argparse.Namespace
) -> list[tuple[ClientFile, Path]]:
    scope = templates.PROJECT if toplevel else templates.USER
    transport = getattr(options, "transport", "auto")
    connection = machine.connection(url=url, scope=scope, transport=transport, client=client.name)
    return [
        (file, machine.place(file.place, scope=scope, toplevel=toplevel))
        for file in templates.files(client.name, scope=scope, connection=connection)
    ]


def _instruction_paths(
    clients: Sequence[Client], *, options: argparse.Namespace, toplevel: Path | None
) -> list[Path]:
    scope = templates.PROJECT if options.project else templates.USER
    places = [
        relative
        for client in clients
        for relative in templates.instruction_places(client.name, scope=scope)
    ]
    return [
        machine.place(relative, scope=scope, toplevel=toplevel)
        for relative in dict.fromkeys(places)
    ]


def _show(pending: Sequence[Change]) -> None:
    for change in pending:
        verb = {"create": "new", "change": "changed", "delete": "removed"}[change.action]
        print(styled(f"{verb}: {block(change.path)}", "bold"))
        if change.path.name == "codemem-hook":
            continue  # a program: its text would hide the rest
        for line in diff(change):
            color = {"+": "green", "-": "red"}.get(line[:1])
            print(f"  {styled(block(line), color) if color else block(line)}")


def diff(change: Change) -> list[str]:
    """Return the lines that change, with two around them."""
    before = (change.before or b"").decode("utf-8", "replace").splitlines()
    after = (change.after or b"").decode("utf-8", "replace").splitlines()
    return [
        line
        for line in difflib.unified_diff(before, after, n=2, lineterm="")
        if not line.startswith(("---", "+++"))
    ]


def _ask(options: argparse.Namespace) -> None:
    if options.yes:
        return
    if options.json or not sys.stdin.isatty():
        raise ConsentNeeded(
            "Nothing was written: there is nobody to ask.",
            hint="Say --yes to write it, or --dry-run to see it.",
        )
    print("Write this? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise ConsentNeeded("Nothing was written.")


def _tell(
    wanted: Sequence[Change],
    *,
    clients: Sequence[Client],
    remarks: Sequence[str],
    options: argparse.Namespace,
) -> None:
    if options.json:
        print_json(_as_json(wanted, clients=clients, is_dry_run=options.dry_run))
        return
    count = sum(change.action != "keep" for change in wanted)
    if not count:
        note("Nothing to change: everything is as it should be.")
    elif options.dry_run:
        note(f"{count} files would change; nothing was written.")
    else:
        note(f"{count} files written.")
    for remark in remarks:
        note(remark)


def _as_json(
    wanted: Sequence[Change], *, clients: Sequence[Client], is_dry_run: bool
) -> dict[str, Any]:
    return {
        "clients": [client.name for client in clients],
        "written": not is_dry_run,
        "files": [
            {"path": str(change.path), "action": change.action, "diff": diff(change)}
            if change.path.name != "codemem-hook"
            else {"path": str(change.path), "action": change.action}
            for change in wanted
            if change.action != "keep" or change.after is not None
        ],
    }
