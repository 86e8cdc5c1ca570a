"""`codemem import`: a file or a folder of notes to the server, part by part, with one report."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple
from urllib.parse import urlencode

from codemem.client.failure import ExitStatus, Failure
from codemem.client.place import namespace_of
from codemem.client.progress import Progress
from codemem.client.terminal import block, note, print_json, styled
from codemem.client.transport import Refused, Unreachable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from codemem.client.scope import Scope
    from codemem.client.transport import Server

_PART_BYTES: Final = 1 << 20
_MAXIMUM_NOTE_BYTES: Final = 1 << 20
_SHOWN_PROBLEMS: Final = 20
_KEPT_PROBLEMS: Final = 200
_MANIFEST: Final = ".codemem.txt"
_ZIP: Final = b"PK"
_JSON_OPENING: Final = b'{"header":'
_FORMS: Final = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".mdc": "markdown",
    ".cursorrules": "markdown",
    ".windsurfrules": "markdown",
}
_MEDIA: Final = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv",
    "markdown": "application/zip",
}
_ID: Final = re.compile(r"^id:\s*['\"]?([0-9a-fA-F-]{36})['\"]?\s*$", re.MULTILINE)
_COUNTED: Final = (
    ("created", "new"),
    ("changed", "changed"),
    ("unchanged", "as they were"),
    ("duplicates", "duplicates passed over"),
    ("mapped", "under another id"),
    ("redacted", "with secrets or hidden signs taken out"),
    ("queued", "waiting for a person, because they give orders to agents"),
    ("links", "links"),
    ("settings", "settings"),
    ("reviews", "proposals"),
    ("left_out", "details left out"),
    ("retired", "retired"),
)


class FileUnusable(Failure):
    """There is no such file, or it is none that can be imported."""

    code = "file_unusable"


class Part(NamedTuple):
    """Some whole lines or notes of a file, and the number of the first line."""

    content: bytes
    first_line: int
    done: int


def run(*, server: Server, scope: Scope, options: argparse.Namespace) -> ExitStatus:
    """Send the file and say what became of it; 1 when something could not be taken."""
    path = Path(options.path)
    form = options.format or _form_of(path)
    if options.retire_missing and not path.is_dir():
        raise FileUnusable("--retire-missing needs the folder of an exported vault.")
    namespace = namespace_of(server=server, scope=scope)
    report = _send(server, namespace, path, form, options)
    if options.retire_missing:
        report["retired"] = _retire_missing(server, namespace, path, dry_run=options.dry_run)
    if options.json:
        print_json(report)
    else:
        _tell(report, dry_run=options.dry_run)
    return ExitStatus.PROBLEMS_FOUND if report.get("problem_count") else ExitStatus.OK


def _form_of(path: Path) -> str:
    if path.is_dir():
        return "markdown"
    if str(path) == "-":
        return "jsonl"
    if form := _FORMS.get(path.suffix.lower()) or _FORMS.get(path.name.lower()):
        return form
    raise FileUnusable(
        f"What {path.name} is cannot be told from its name.",
        hint="Say so: --format jsonl, json, csv or markdown.",
    )


def _send(
    server: Server, namespace: str, path: Path, form: str, options: argparse.Namespace
) -> dict[str, Any]:
    # A JSON export has a record on each line: without its frame it is JSON Lines.
    sent_as = "jsonl" if form == "json" else form
    query = {"namespace": namespace, "format": sent_as}
    query |= {"dry_run": "true"} if options.dry_run else {}
    query |= {"skip_duplicates": "true"} if options.skip_duplicates else {}
    report: dict[str, Any] = {"problems": []}
    progress = Progress("importing")
    total = path.stat().st_size if path.is_file() else 0
    unit = "files" if path.is_dir() else ""
    try:
        for part in _parts(path, form):
            address = f"/api/v1/imports?{urlencode(query | {'first_line': part.first_line})}"
            _add(report, server.upload(address, part.content, content_type=_MEDIA[sent_as]))
            progress.show(part.done, total, unit=unit)
    except OSError as error:
        raise FileUnusable(f"Cannot read {path}: {error.strerror}.") from error
    except (Refused, Unreachable):
        progress.end()
        if report.get("created"):
            note(f"{report['created']:,} memories are in; importing again goes on from there.")
        raise
    finally:
        progress.end()
    return report


def _add(report: dict[str, Any], answer: dict[str, Any]) -> None:
    """Add one part's report to the whole one's."""
    for name, value in answer.items():
        if isinstance(value, int) and not isinstance(value, bool):
            report[name] = report.get(name, 0) + value
    problems = answer.get("problems")
    if isinstance(problems, list):
        report["problems"] = (report["problems"] + problems)[:_KEPT_PROBLEMS]


def _parts(path: Path, form: str) -> Iterator[Part]:
    if path.is_dir():
        yield from _note_parts(path)
        return
    with _opened(path) as file:
        if form == "markdown":
            content = file.read()
            if not content.startswith(_ZIP):
                content = _packed([(path.name, content)])
            yield Part(content, 1, path.stat().st_size if path.is_file() else len(content))
        elif form == "csv":
            yield from _table_parts(file)
        else:
            yield from _line_parts(_unframed(file) if form == "json" else file)


def _opened(path: Path) -> BinaryIO:
    if str(path) == "-":
        return sys.stdin.buffer
    try:
        return path.open("rb")
    except OSError as error:
        raise FileUnusable(f"Cannot read {path}: {error.strerror}.") from error


def _line_parts(lines: Iterator[bytes] | BinaryIO) -> Iterator[Part]:
    waiting, first, done = bytearray(), 1, 0
    number = 0
    for number, line in enumerate(lines, start=1):
        if waiting and len(waiting) + len(line) > _PART_BYTES:
            yield Part(bytes(waiting), first, done)
            waiting.clear()
            first = number
        waiting += line
        done += len(line)
    if waiting:
        yield Part(bytes(waiting), first, done)


def _unframed(file: BinaryIO) -> Iterator[bytes]:
    """Yield a JSON export's records as lines, the header first."""
    opening = file.readline().strip().removeprefix(b"\xef\xbb\xbf")
    if not opening.startswith(_JSON_OPENING):
        raise FileUnusable(
            "This is not a JSON export of codemem.",
            hint="Bring other programs' memories as JSON Lines or CSV.",
        )
    yield opening.removeprefix(_JSON_OPENING).removesuffix(b',"records":[') + b"\n"
    for line in file:
        if line.strip() != b"]}":
            yield line.strip().removesuffix(b",") + b"\n"


def _table_parts(file: BinaryIO) -> Iterator[Part]:
    """Yield rows with the heading in front of each part, as text that nothing was changed in."""
    import csv

    csv.field_size_limit(1 << 24)
    text = _Kept(io.TextIOWrapper(file, "utf-8-sig", newline=""))
    rows = csv.reader(text)
    try:
        next(rows, None)
        heading = text.taken()
        waiting, first, last = "", 2, 1
        for _ in rows:
            row = text.taken()
            if waiting and len(waiting) + len(row) > _PART_BYTES:
                yield Part((heading + waiting).encode(), first - 1, text.characters)
                waiting, first = "", last + 1
            waiting += row
            last = rows.line_num
    except (csv.Error, UnicodeDecodeError) as error:
        raise FileUnusable(
            f"The table cannot be read near line {rows.line_num + 1}: {error}.",
            hint="Save it as “CSV UTF-8”.",
        ) from error
    if waiting:
        yield Part((heading + waiting).encode(), first - 1, text.characters)


class _Kept:
    """Lines of a text that remembers what was taken of it since the last time."""

    def __init__(self, lines: io.TextIOWrapper) -> None:
        self._lines = lines
        self._taken: list[str] = []
        self.characters = 0

    def __iter__(self) -> _Kept:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._taken.append(line)
        self.characters += len(line)
        return line

    def taken(self) -> str:
        text = "".join(self._taken)
        self._taken.clear()
        return text


def _note_parts(folder: Path) -> Iterator[Part]:
    waiting: list[tuple[str, bytes]] = []
    size = done = 0
    for path in _notes(folder):
        content = path.read_bytes()
        done += 1
        if len(content) > _MAXIMUM_NOTE_BYTES:
            note(f"{path} is over a megabyte; it is left out.")
            continue
        waiting.append((path.relative_to(folder).as_posix(), content))
        size += len(content)
        if size > _PART_BYTES:
            yield Part(_packed(waiting), 1, done)
            waiting, size = [], 0
    if waiting:
        yield Part(_packed(waiting), 1, done)


def _notes(folder: Path) -> Iterator[Path]:
    """Yield the Markdown files of a vault; not what Obsidian and Git keep beside them."""
    for path in sorted(folder.rglob("*.md")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and path.is_file() and not path.is_symlink():
            yield path


def _packed(notes: list[tuple[str, bytes]]) -> bytes:
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in notes:
            archive.writestr(name, content)
    return buffer.getvalue()


def _retire_missing(server: Server, namespace: str, folder: Path, *, dry_run: bool) -> int:
    """Retire what the vault was exported with and has no file of any more."""
    manifest = folder / _MANIFEST
    if not manifest.is_file():
        raise FileUnusable(f"{folder} has no {_MANIFEST}: it is not an exported vault.")
    exported = {line for line in manifest.read_text().split() if line}
    present = {
        found[1].lower()
        for path in _notes(folder)
        if (found := _ID.search(path.read_text(encoding="utf-8-sig", errors="replace")))
    }
    missing = sorted(exported - present)
    for memory_id in () if dry_run else missing:
        arguments = {"id": memory_id, "namespace": namespace, "reason": "Deleted from a vault."}
        server.call_tool("delete_memory", arguments)
    return len(missing)


def _tell(report: dict[str, Any], *, dry_run: bool) -> None:
    parts = [f"{report[name]:,} {words}" for name, words in _COUNTED if report.get(name)]
    would = "Would be: " if dry_run else ""
    print(f"{would}{', '.join(parts) or 'nothing new'}.")
    problems = report["problems"]
    for problem in problems[:_SHOWN_PROBLEMS]:
        print(f"  line {problem['line']:,}: {block(problem['reason'])}")
    if (count := report.get("problem_count", 0)) > len(problems[:_SHOWN_PROBLEMS]):
        print(f"  and {count - len(problems[:_SHOWN_PROBLEMS]):,} more")
    if count:
        print(styled(f"{count:,} could not be taken.", "yellow"))
