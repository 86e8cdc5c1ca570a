"""Memories as a vault of Markdown files that a person opens in Obsidian, edits, and brings back.

One file a memory: YAML front matter, then the content as it is. Links to other memories are
wikilinks in the front matter, so that Obsidian draws them and the content stays untouched. `id`
and `version` say what the file is an edit of. Pure.
"""

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import yaml

from memory.portability.records import Kind, Line, Record

INDEX = "index.md"
MANIFEST = ".codemem.txt"
MAXIMUM_NOTE_BYTES = 1 << 20

_FENCE = "---"
_FRONT = (
    "id",
    "version",
    "type",
    "repository",
    "branch",
    "visibility",
    "state",
    "tags",
    "importance",
    "confidence",
    "pinned",
    "author",
    "agent",
    "source",
    "created_at",
    "updated_at",
    "expires_at",
    "rationale",
    "alternatives",
    "acceptance_criteria",
    "evidence",
)
_FROM_LINKS = frozenset({"links", "code", "aliases"})
_SLUG_WORDS = 8
_SLUG_CHARACTERS = 60


class NoteInvalid(Exception):
    """A file is no note that can be taken; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One file of a vault: its path with forward slashes, and its text."""

    path: str
    text: str


class Links:
    """What each memory leads to, gathered before the notes are written."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._links: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        self._code: defaultdict[str, list[str]] = defaultdict(list)

    def note(self, record: Record) -> None:
        if record["record"] == Kind.MEMORY:
            self._paths[record["id"]] = path_of(record)
        elif record["record"] == Kind.SUCCESSION:
            self._links[record["by"]].append(("SUPERSEDES", record["memory"]))
        elif record["record"] == Kind.LINK and "memory" in record["source"]:
            source, target = record["source"]["memory"], record["target"]
            if "memory" in target:
                self._links[source].append((record["kind"], target["memory"]))
            else:
                self._code[source].append(f"{record['kind']} {target['id']}")

    def of(self, memory_id: str) -> dict[str, list[str]]:
        """Return the front matter's links of one memory; those to files of this vault."""
        links = [
            f"[[{self._paths[other].removesuffix('.md')}|{kind}]]"
            for kind, other in sorted(self._links[memory_id])
            if other in self._paths
        ]
        return {
            name: values
            for name, values in (("links", links), ("code", sorted(self._code[memory_id])))
            if values
        }


@dataclass(slots=True, kw_only=True)
class Index:
    """The page that leads to every note, by repository and type."""

    namespace: str
    _entries: list[tuple[str, str, str]] = field(default_factory=list)
    _ids: list[str] = field(default_factory=list)

    def note(self, record: Record, note: Note) -> None:
        place = f"{record.get('repository') or 'the whole namespace'}: {record['type']}"
        self._entries.append((place, note.path, _title(record["content"])))
        self._ids.append(record["id"])

    def notes(self) -> list[Note]:
        lines = [f"# {self.namespace}", "", f"{len(self._entries):,} memories.", ""]
        last = ""
        for place, path, title in sorted(self._entries):
            if place != last:
                lines += ["", f"## {place}", ""]
                last = place
            lines.append(f"- [[{path.removesuffix('.md')}|{title}]]")
        manifest = "\n".join(sorted(self._ids))
        return [
            Note(path=INDEX, text="\n".join(lines) + "\n"),
            Note(path=MANIFEST, text=f"{manifest}\n"),
        ]


def note_of(record: Record, *, links: Links) -> Note:
    """Return a memory as its file."""
    front: dict[str, Any] = {
        name: record[name] for name in _FRONT if record.get(name) not in (None, "", [], {}, False)
    }
    front |= links.of(record["id"])
    matter = yaml.safe_dump(front, allow_unicode=True, sort_keys=False, width=100)
    return Note(path=path_of(record), text=f"{_FENCE}\n{matter}{_FENCE}\n\n{record['content']}\n")


def path_of(record: Record) -> str:
    """Return where a memory's file is: by repository and type, named by its first words and id."""
    folder = record.get("repository") or "_namespace"
    return f"{folder}/{record['type']}/{_slug(record['content'])}-{record['id'][-8:]}.md"


def line_of(number: int, note: Note) -> Line | None:
    """Return a file as a record; None for what is not a memory's (the index, settings)."""
    name = note.path.rpartition("/")[2]
    if not name.endswith(".md") or name.startswith(".") or note.path == INDEX:
        return None
    try:
        return Line(number=number, record=_record(note.text))
    except NoteInvalid as error:
        return Line(number=number, problem=f"{note.path[-200:]}: {error}")


def _record(text: str) -> Record:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    front, content = _parted(text)
    if unknown := [name for name in front if name not in _FRONT and name not in _FROM_LINKS]:
        raise NoteInvalid(f"There is no property {str(unknown[0])[:40]!r}.")
    record = {name: _plain(value) for name, value in front.items() if name in _FRONT}
    if isinstance(record.get("tags"), str):
        record["tags"] = [tag for part in record["tags"].split(",") if (tag := part.strip())]
    # Obsidian writes a property that was emptied as null.
    record = {name: value for name, value in record.items() if value is not None}
    return {**record, "content": content}


def _parted(text: str) -> tuple[dict[str, Any], str]:
    """Return front matter and content; a file without the first is all content."""
    if not text.startswith(f"{_FENCE}\n"):
        return {}, text.strip("\n")
    matter, fence, content = text[len(_FENCE) + 1 :].partition(f"\n{_FENCE}\n")
    if not fence:
        if not matter.endswith(f"\n{_FENCE}"):
            raise NoteInvalid("The front matter has no end; it needs a line of three dashes.")
        matter = matter.removesuffix(f"\n{_FENCE}")
    try:
        front = _load(matter)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise NoteInvalid(f"The front matter is not YAML: {str(error)[:200]}") from error
    if front is None:
        front = {}
    if not isinstance(front, dict) or not all(isinstance(name, str) for name in front):
        raise NoteInvalid("The front matter must be properties, such as `type: decision`.")
    return front, content.strip("\n")


class _Loader(yaml.SafeLoader):
    """YAML without anchors (a few lines of which make gigabytes) and with times left as text."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not taken")
        return super().compose_node(parent, index)


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _load(matter: str) -> Any:
    return yaml.load(matter, Loader=_Loader)  # noqa: S506  a SafeLoader that takes even less


def _plain(value: Any) -> Any:
    """Return YAML's value as JSON would have it."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _title(content: str) -> str:
    first = next((line.strip("# ") for line in content.splitlines() if line.strip("# ")), content)
    return re.sub(r"[\[\]|]", " ", first)[:100].strip()


def _slug(content: str) -> str:
    """Return the first words in a form that every file system takes, in their own script."""
    words = re.findall(r"\w+", unicodedata.normalize("NFC", content.lower()))[:_SLUG_WORDS]
    slug = "-".join(words).encode()[:_SLUG_CHARACTERS].decode(errors="ignore").strip("-_.")
    return slug or "memory"
