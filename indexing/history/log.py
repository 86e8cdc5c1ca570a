"""What Git tells about history: the main line, commits, and what each of them changed.

Reads streams of `git rev-list`, `git log` and `git diff-tree`; knows nothing of symbols or rows.
"""

import itertools
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from graph.events import Happening
from indexing.git import CommitInfo, Mirror

_FORMAT = "--format=%H%x00%P%x00%an%x00%ae%x00%at%x00%ct%x00%s%x00%b%x00"
_FIELDS = 8
_NO_FILES = frozenset({b"000000", b"120000", b"160000"})  # nothing, a link, a submodule
_LONGEST_NAME = 200
_LONGEST_EMAIL = 320
_LONGEST_SUBJECT = 500
_LONGEST_BODY = 20_000


@dataclass(frozen=True, slots=True)
class Change:
    """One path that a commit changed; for a merge, one in which it differs from every parent.

    `old_blobs` has one for each parent, None where the path was no file. Links and submodules
    are no files. `old_path` is another one than `path` only when the file moved.
    """

    happening: Happening
    old_path: str
    path: str
    old_blobs: tuple[str | None, ...]
    blob: str | None


def main_line(mirror: Mirror, head: str) -> Generator[str, None, None]:
    """Yield the commits that first parents lead to, newest first."""
    for line in mirror.records("rev-list", "--first-parent", shas=[head], ended_by=b"\n"):
        yield line.decode("ascii")


def parents_since(mirror: Mirror, head: str, *, base: str | None) -> dict[str, tuple[str, ...]]:
    """Return the parents of every commit that leads to `head` and not to `base`, newest first."""
    arguments = ("rev-list", "--parents", "--topo-order", *_without(base))
    lines = mirror.records(*arguments, shas=[head], ended_by=b"\n")
    rows = (line.decode("ascii").split() for line in lines)
    return {sha: tuple(parents) for sha, *parents in rows}


def commits_since(mirror: Mirror, head: str, *, base: str | None) -> Iterator[CommitInfo]:
    """Yield every commit that leads to `head` and not to `base`, newest first."""
    records = mirror.records(
        *("log", "--no-show-signature", "--no-decorate", "--no-notes", "--encoding=UTF-8"),
        *("--no-mailmap", _FORMAT, *_without(base)),
        shas=[head],
    )
    while fields := tuple(itertools.islice(records, _FIELDS)):
        if len(fields) < _FIELDS:
            return  # the line end after the last commit
        yield _commit(tuple(map(_text, fields)))


def changes_of(
    mirror: Mirror, shas: Sequence[str], *, finds_renames: bool = True
) -> Iterator[tuple[str, tuple[Change, ...]]]:
    """Yield what commits changed against all their parents, in this order."""
    found = _diffs(mirror, ["-c", "--find-renames" if finds_renames else "--no-renames"], shas)
    yield from ((sha, found.get(sha, ())) for sha in shas)


def steps_of(
    mirror: Mirror, steps: Sequence[tuple[str, str | None]]
) -> Iterator[tuple[str, tuple[Change, ...]]]:
    """Yield what commits changed against one parent each, without looking for renames."""
    lines = [f"{sha} {parent}" if parent else sha for sha, parent in steps]
    found = _diffs(mirror, ["--no-renames"], lines)
    yield from ((sha, found.get(sha, ())) for sha, _ in steps)


def _diffs(
    mirror: Mirror, options: Sequence[str], questions: Iterable[str]
) -> Mapping[str, tuple[Change, ...]]:
    records = mirror.records(
        *("diff-tree", "--stdin", "--root", "-r", "-z", "--raw", "--no-abbrev", *options),
        questions="".join(f"{line}\n" for line in questions).encode("ascii"),
    )
    found: dict[str, list[Change]] = {}
    current: list[Change] = []
    for record in records:
        if not record.startswith(b":"):
            current = found.setdefault(record.decode("ascii").strip(), [])
            continue
        path = next(records)
        new_path = next(records) if _has_two_paths(record) else path
        change = _change(record, path, new_path)
        if change is not None:
            current.append(change)
    return {sha: tuple(changes) for sha, changes in found.items()}


def _has_two_paths(meta: bytes) -> bool:
    # A merge's records name the path that is left only.
    return not meta.startswith(b"::") and meta.rpartition(b" ")[2][:1] in b"RC"


def _change(meta: bytes, old_path: bytes, path: bytes) -> Change | None:
    """Read `:modes shas status`, with as many old modes and shas as there are colons."""
    parents = len(meta) - len(meta.lstrip(b":"))
    fields = meta[parents:].split(b" ")
    modes, shas = fields[: parents + 1], fields[parents + 1 : 2 * parents + 2]
    *old_blobs, blob = (_blob(mode, sha) for mode, sha in zip(modes, shas, strict=True))
    before, now = _text(old_path), _text(path)
    if blob is None:
        happening = Happening.REMOVED
    elif not any(old_blobs):
        happening = Happening.ADDED
    else:
        happening = Happening.MODIFIED if before == now else Happening.MOVED
    is_file = blob is not None or any(old_blobs)
    return Change(happening, before, now, tuple(old_blobs), blob) if is_file else None


def _blob(mode: bytes, sha: bytes) -> str | None:
    return None if mode in _NO_FILES else sha.decode("ascii")


def _commit(fields: Sequence[str]) -> CommitInfo:
    sha, parents, name, email, authored, committed, subject, body = fields
    return CommitInfo(
        sha=sha.strip(),
        parents=tuple(parents.split()),
        tree="",
        author_name=name[:_LONGEST_NAME],
        author_email=email[:_LONGEST_EMAIL],
        authored_at=_moment(authored),
        committed_at=_moment(committed),
        subject=subject[:_LONGEST_SUBJECT],
        body=body.strip("\n")[:_LONGEST_BODY],
    )


def _moment(seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), tz=UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, tz=UTC)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _without(base: str | None) -> list[str]:
    return [f"^{base}"] if base else []
