"""Files of other programs as they would become: computed whole, shown, then written at once.

Nothing is written until every file is known to be readable, well formed and writable. Every file
that changes keeps a backup, and a record says what we left, so that an untouched file can be
restored to the byte.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codemem.client.failure import Failure
from codemem.client.install import jsonc, templates, toml_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codemem.client.install.templates import ClientFile, Piece

_PRIVATE_FILE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_READABLE_FILE: Final = 0o644


class FileUnfit(Failure):
    """A file cannot be read, understood or written, so nothing was."""

    code = "file_unfit"


class Change(NamedTuple):
    """A file before and after. None is a file that is not there."""

    path: Path  # as the client knows it; may be a symbolic link
    before: bytes | None
    after: bytes | None
    is_private: bool = True  # of one person, not of a repository

    @property
    def action(self) -> str:
        if self.before == self.after:
            return "keep"
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "change"


# --- What a file becomes -------------------------------------------------------------------------


def installed(path: Path, file: ClientFile, *, is_private: bool) -> Change:
    """Return a file with our pieces in it. Raises FileUnfit."""
    before = _read(path)
    if file.text:
        return Change(path, before, file.text.encode(), is_private)
    text = _decoded(before or b"", path)
    try:
        for piece in file.pieces:
            text = _with(text, file, piece)
    except jsonc.Malformed as error:
        raise _malformed(path, error) from error
    return Change(path, before, text.encode(), is_private)


def content_of(file: ClientFile) -> str:
    """Return a file that holds nothing but ours."""
    text = file.text
    for piece in file.pieces:
        text = _with(text, file, piece)
    return text


def cleared(path: Path, file: ClientFile, *, is_private: bool) -> Change:
    """Return a file without anything of ours. Raises FileUnfit."""
    before = _read(path)
    if before is None:
        return Change(path, None, None, is_private)
    if file.text:
        is_ours = b"codemem uninstall" in before
        return Change(path, before, None if is_ours else before, is_private)
    text, original = _decoded(before, path), _original(path)
    try:
        for piece in reversed(file.pieces):
            text = _without(text, file, piece, original)
    except jsonc.Malformed as error:
        raise _malformed(path, error) from error
    if _is_bare(text, file) and _made_by_us(path):
        return Change(path, before, None, is_private)
    return Change(path, before, text.encode(), is_private)


def with_block(path: Path, *, is_private: bool) -> Change:
    """Return an instruction file with our block, in its old place or at the end."""
    before = _read(path)
    text = _decoded(before or b"", path)
    line_end = "\r\n" if "\r\n" in text else "\n"
    block = templates.instruction_block().replace("\n", line_end)
    head, found, tail = _split_block(text)
    if found:
        text = f"{head}{block}{tail}"
    else:
        gap = "" if not text else line_end if text.endswith("\n") else line_end * 2
        text = f"{text}{gap}{block}"
    return Change(path, before, text.encode(), is_private)


def without_block(path: Path, *, is_private: bool) -> Change:
    """Return an instruction file without our block; one that held nothing else goes."""
    before = _read(path)
    if before is None:
        return Change(path, None, None, is_private)
    head, found, tail = _split_block(_decoded(before, path))
    if not found:
        return Change(path, before, before, is_private)
    if not tail.strip():
        head, tail = head.rstrip("\r\n") + ("\r\n" if "\r\n" in head else "\n"), ""
    left = f"{head}{tail}" if head.strip() or tail.strip() else None
    after = None if left is None else left.encode()
    return Change(path, before, after, is_private)


def _split_block(text: str) -> tuple[str, bool, str]:
    head, begin, rest = text.partition(templates.BLOCK_BEGIN)
    _, end, tail = rest.partition(templates.BLOCK_END)
    if not begin or not end:
        return text, False, ""
    line_end = "\r\n" if tail.startswith("\r\n") else "\n"
    return head, True, tail.removeprefix(line_end)


def _with(text: str, file: ClientFile, piece: Piece) -> str:
    if file.format == templates.TOML:
        assert isinstance(piece.value, dict)
        return toml_tables.with_table(text, piece.path, piece.value)
    if not piece.is_element:
        if piece.path[-1] != templates.NAME and _has(text, piece.path):
            return text  # a version that the file states already
        return jsonc.with_member(text, piece.path, piece.value)
    present = _elements(text, piece.path)
    ours = [element for element in present if _is_ours(element)]
    if ours == [piece.value]:
        return text
    return jsonc.with_element(
        jsonc.without_elements(text, piece.path, _is_ours), piece.path, piece.value
    )


def _without(text: str, file: ClientFile, piece: Piece, original: str) -> str:
    if file.format == templates.TOML:
        return toml_tables.without_table(text, piece.path)
    if not piece.is_element:
        if piece.path[-1] != templates.NAME:
            return text
        text = jsonc.without_member(text, piece.path)
        return _without_empty(text, piece.path[:-1], original)
    if not any(map(_is_ours, _elements(text, piece.path))):
        return text
    text = jsonc.without_elements(text, piece.path, _is_ours)
    return _without_empty(text, piece.path, original)


def _without_empty(text: str, path: Sequence[str], original: str) -> str:
    """Return the text without lists and objects that are empty now and were not there before."""
    while path and _at(text, path) in ([], {}) and not _has(original, path):
        text = jsonc.without_member(text, path)
        path = path[:-1]
    return text


def _original(path: Path) -> str:
    """Return the file as it was before `init`, empty where that is not known."""
    entry = record().get(str(path))
    content = _read(Path(entry["backup"])) if entry and entry["backup"] else None
    return _decoded(content or b"", path)


def _is_bare(text: str, file: ClientFile) -> bool:
    if file.format == templates.TOML:
        return not text.strip()
    return jsonc.value_of(text) in (None, {}, {"version": 1})


def _made_by_us(path: Path) -> bool:
    entry = record().get(str(path))
    return entry is not None and entry["backup"] is None


def _is_ours(element: Any) -> bool:
    return templates.SHIM_MARK in json.dumps(element)


def _elements(text: str, path: Sequence[str]) -> list[Any]:
    found = _at(text, path)
    return found if isinstance(found, list) else []


def _has(text: str, path: Sequence[str]) -> bool:
    return _at(text, path) is not None


def _at(text: str, path: Sequence[str]) -> Any:
    value = jsonc.value_of(text)
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileUnfit(f"Cannot read {path}: {error.strerror}. Nothing was written.") from error


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FileUnfit(f"{path} is not UTF-8. Nothing was written.") from error


def _malformed(path: Path, error: jsonc.Malformed) -> FileUnfit:
    return FileUnfit(
        f"{path} cannot be edited: {error.message}. Nothing was written.",
        hint="Repair it, or leave its client out with --only.",
    )


# --- Writing -------------------------------------------------------------------------------------


def state_folder() -> Path:
    """Return where the spool, the backups of checkouts' files and our record are."""
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "state") / "codemem"


def shim_path() -> Path:
    """Return where `init` puts the shim."""
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    base = base if base.is_absolute() else Path.home() / ".local" / "share"
    return base / "codemem" / "codemem-hook"


def shim_command() -> str:
    """Return the beginning of the shell command that runs the shim."""
    return f"sh {shlex.quote(str(shim_path()))}"


def check_writable(changes: Iterable[Change]) -> None:
    """Raise FileUnfit if one of the files may not be written."""
    for change in changes:
        target = _target(change.path)
        if change.before is not None and not target.stat().st_mode & stat.S_IWUSR:
            raise FileUnfit(
                f"{change.path} is read-only. Nothing was written.",
                hint="Make it writable, or leave its client out with --only.",
            )
        folder = target.parent
        while not folder.exists():
            folder = folder.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise FileUnfit(f"{folder} is not a folder that you may write to.")


def write(changes: Sequence[Change]) -> dict[Path, Path]:
    """Write all files, and return where the backups of those are that were there.

    Raises FileUnfit before the first write if a file has changed since it was read.
    """
    for change in changes:
        if _read(change.path) != change.before:
            raise FileUnfit(f"{change.path} has just been changed by somebody else. Try again.")
    backups = {change.path: _back_up(change) for change in changes if change.before is not None}
    for change in changes:
        _put(change)
    return backups


def restored(path: Path, *, is_private: bool) -> Change | None:
    """Return the file as it was before `init`, if nobody has changed it since."""
    entry = record().get(str(path))
    before = _read(path)
    if entry is None or before is None or _digest(before) != entry["left"]:
        return None
    if entry["backup"] is None:
        return Change(path, before, None, is_private)
    original = _read(Path(entry["backup"]))
    return None if original is None else Change(path, before, original, is_private)


def remember(changes: Sequence[Change], backups: dict[Path, Path]) -> None:
    """Record what `init` left, and from which backup the file comes back as it was."""
    known = record()
    for change in changes:
        entry = known.get(str(change.path))
        was_ours = entry and change.before is not None and _digest(change.before) == entry["left"]
        # A second `init` on our own work: what was there before the first one is the original.
        backup = entry["backup"] if entry and was_ours else backups.get(change.path)
        known[str(change.path)] = {
            "left": _digest(change.after or b""),
            "backup": str(backup) if backup else None,
        }
    _write_record(known)


def forget(changes: Sequence[Change]) -> None:
    """Take files out of the record, and their backups away where the original is back."""
    known = record()
    for change in changes:
        entry = known.pop(str(change.path), None)
        if entry and entry["backup"]:
            backup = Path(entry["backup"])
            if _read(backup) == change.after:
                backup.unlink()
    _write_record(known)


def record() -> dict[str, Any]:
    """Return what `init` wrote, by path; nothing where the record is lost."""
    try:
        known = json.loads((state_folder() / "installed.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write_record(known: dict[str, Any]) -> None:
    path = state_folder() / "installed.json"
    path.parent.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(known, indent=2))
    draft.chmod(_PRIVATE_FILE)
    draft.replace(path)


def _back_up(change: Change) -> Path:
    """Keep a file beside itself; one of a checkout elsewhere, so that nobody commits it."""
    moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    target = _target(change.path)
    name = f"{target.name}.before-codemem-{moment}"
    backup = target.with_name(name)
    if not change.is_private:
        place = sha256(os.fsencode(target)).hexdigest()[:8]
        backup = state_folder() / "backups" / f"{place}-{name}"
        backup.parent.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)
    number = 0
    while backup.exists():
        number += 1
        backup = backup.with_name(f"{name}-{number}")
    _create(backup, change.before or b"", mode=stat.S_IMODE(target.stat().st_mode))
    return backup


def _put(change: Change) -> None:
    target = _target(change.path)
    if change.after is None:
        target.unlink()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = _PRIVATE_FILE if change.is_private else _READABLE_FILE
    if change.before is not None:
        mode = stat.S_IMODE(target.stat().st_mode)
    draft = target.with_name(f".{target.name}.codemem-{os.getpid()}")
    draft.unlink(missing_ok=True)
    _create(draft, change.after, mode=mode)
    # Beside it and moved: a client that reads just now finds the old file or the new one.
    draft.replace(target)


def _create(path: Path, content: bytes, *, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(mode)


def _target(path: Path) -> Path:
    """Return the file behind links: people keep their settings in a repository of dotfiles."""
    return path.resolve()


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
