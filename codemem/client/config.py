"""`codemem config`: the settings of a namespace, which the server keeps for everybody in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from codemem.client.failure import ExitStatus, Failure
from codemem.client.place import namespace_of
from codemem.client.terminal import line, print_json, styled

if TYPE_CHECKING:
    import argparse

    from codemem.client.scope import Scope
    from codemem.client.transport import Server


class SettingUnknown(Failure):
    """The server has no setting of this name."""

    code = "setting_unknown"


def run(*, server: Server, scope: Scope, options: argparse.Namespace) -> ExitStatus:
    """List settings, show one, set one, or take it back to its default."""
    namespace = namespace_of(server=server, scope=scope)
    address = f"/api/v1/namespaces/{quote(namespace, safe='')}/settings"
    settings = _by_key(server.ask("GET", address))
    if options.action == "list":
        _list(namespace, settings, as_json=options.json)
        return ExitStatus.OK
    if options.action in {"set", "unset"}:
        value = _typed(options.value, settings.get(options.key)) if options.value else None
        # A key that is not there is the server's to refuse: it knows what is spelled like it.
        settings = _by_key(server.ask("PATCH", address, payload={options.key: value}))
    _show(options.key, settings, as_json=options.json)
    return ExitStatus.OK


def _by_key(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    rows = answer.get("settings")
    rows = rows if isinstance(rows, list) else []
    return {str(row.get("key")): row for row in rows if isinstance(row, dict)}


def _typed(text: str, setting: dict[str, Any] | None) -> object:
    """Return what was typed as the setting's own type; what does not fit is the server's to say."""
    default = setting.get("default") if setting else None
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}.get(text.lower(), text)
        if isinstance(default, int):
            return int(text)
        if isinstance(default, float):
            return float(text)
    except ValueError:
        pass
    return text


def _list(namespace: str, settings: dict[str, dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json({"namespace": namespace, "settings": list(settings.values())})
        return
    width = max((len(key) for key in settings), default=0)
    for key, row in settings.items():
        mark = "" if row.get("is_default") else f"  (default {_text(row.get('default'))})"
        value = _text(row.get("value"))
        shown = value if row.get("is_default") else styled(value, "bold")
        print(f"{line(key):<{width}}  {shown}{mark}")


def _show(key: str, settings: dict[str, dict[str, Any]], *, as_json: bool) -> None:
    row = settings.get(key)
    if row is None:
        raise SettingUnknown(
            f"There is no setting {key!r}.", hint="`codemem config list` shows them all."
        )
    if as_json:
        print_json(row)
        return
    print(f"{line(key)} = {_text(row.get('value'))}  (default {_text(row.get('default'))})")
    print(f"  {line(row.get('description'))}")
    print(f"  {line(row.get('accepts'))}; set by a {line(row.get('settable_by'))}")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else line(value)
