"""`codemem export`: a namespace's memories as a file, or as a folder of Markdown."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import urlencode

from codemem.client.failure import ExitStatus, Failure
from codemem.client.place import namespace_of
from codemem.client.progress import Progress
from codemem.client.terminal import print_json

if TYPE_CHECKING:
    import argparse

    from codemem.client.scope import Scope
    from codemem.client.transport import Server

_SUFFIXES: Final = {"jsonl": ".jsonl", "json": ".json", "csv": ".csv", "markdown": "-vault"}
_MAXIMUM_FILES: Final = 1_000_000
_MAXIMUM_NOTE_BYTES: Final = 8 << 20


class OutputExists(Failure):
    """There is something where the export would go."""

    code = "output_exists"


class OutputUnwritable(Failure):
    """The file or folder cannot be written."""

    code = "output_unwritable"


class ExportBroken(Failure):
    """What came is not what the server said it would send."""

    code = "export_broken"
    status = ExitStatus.UNREACHABLE


def run(*, server: Server, scope: Scope, options: argparse.Namespace) -> ExitStatus:
    """Fetch the export and put it where it was wanted, whole or not at all."""
    namespace = namespace_of(server=server, scope=scope)
    output = options.output or f"{namespace}{_SUFFIXES[options.format]}"
    if output != "-":
        _refuse_to_write_over(Path(output), force=options.force)
    address = f"/api/v1/exports?{urlencode(_query(namespace, options), doseq=True)}"
    progress = Progress("exporting")
    with tempfile.TemporaryFile(prefix="codemem-") as file:
        try:
            server.download(address, into=file, on_part=progress.show)
        finally:
            progress.end()
        size = file.tell()
        file.seek(0)
        if options.format == "jsonl":
            _check_digest(file)
        try:
            _put(file, output, form=options.format)
        except OSError as error:
            raise OutputUnwritable(f"Cannot write {output}: {error.strerror}.") from error
    _tell(namespace, output, size, as_json=options.json)
    return ExitStatus.OK


def _query(namespace: str, options: argparse.Namespace) -> dict[str, Any]:
    query: dict[str, Any] = {"namespace": namespace, "format": options.format}
    if options.type:
        query["type"] = options.type
    if options.active_only:
        query["active_only"] = "true"
    if options.only_repository:
        query["repository"] = options.only_repository
    if options.vectors:
        query["vectors"] = "true"
    return query


def _refuse_to_write_over(output: Path, *, force: bool) -> None:
    is_empty_folder = output.is_dir() and not any(output.iterdir())
    if output.exists() and not is_empty_folder and not force:
        raise OutputExists(
            f"{output} is there already.",
            hint="Choose another with -o, or write over with --force.",
        )


def _check_digest(file: BinaryIO) -> None:
    """Compare the body with the digest that its first line names."""
    header = json.loads(file.readline() or b"{}")
    digest = hashlib.sha256()
    while part := file.read(1 << 20):
        digest.update(part)
    file.seek(0)
    if header.get("sha256") != digest.hexdigest():
        raise ExportBroken("The export is not whole: its digest is another.", hint="Try again.")


def _put(file: BinaryIO, output: str, *, form: str) -> None:
    if output == "-":
        _copy(file, sys.stdout.buffer)
    elif form == "markdown":
        _unpack(file, Path(output))
    else:
        path = Path(output)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            # What a team knows is not for everybody on this machine.
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as to:
                _copy(file, to)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def _unpack(file: BinaryIO, folder: Path) -> None:
    """Write the notes of a vault; nothing outside of the folder, whatever the names say."""
    import zipfile

    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        if len(entries) > _MAXIMUM_FILES:
            raise ExportBroken("The vault has more files than any that codemem writes.")
        for entry in entries:
            parts = PurePosixPath(entry.filename).parts
            if (
                not parts
                or entry.is_dir()
                or any(part in {"..", "/"} or "\\" in part for part in parts)
            ):
                raise ExportBroken(f"The vault has a file of the name {entry.filename!r}.")
            path = folder.joinpath(*parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as note:
                path.write_bytes(note.read(_MAXIMUM_NOTE_BYTES))


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    while part := source.read(1 << 20):
        target.write(part)


def _tell(namespace: str, output: str, size: int, *, as_json: bool) -> None:
    if output == "-":
        return
    if as_json:
        print_json({"namespace": namespace, "output": output, "bytes": size})
    else:
        print(f"{namespace} is in {output} ({size:,} bytes).")
