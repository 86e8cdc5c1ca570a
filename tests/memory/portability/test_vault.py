"""The Markdown vault: opened in Obsidian, edited there, brought back."""

import io
import re
import zipfile
from collections.abc import Mapping
from uuid import UUID

import pytest

from codemem.accounts.models import Namespace, User
from memory.models import Memory
from memory.portability import importing, vault
from memory.portability.exporting import Format
from memory.portability.importing import ArchiveInvalid
from tests import factories
from tests.memory.portability.conftest import RIGHT_TO_LEFT, Carrier, wipe

pytestmark = pytest.mark.django_db


def unpacked(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def packed(files: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def note(files: Mapping[str, str], words: str) -> str:
    (path,) = [path for path, text in files.items() if words in text and path != vault.INDEX]
    return path


def reasons(report) -> list[str]:
    return [problem.reason for problem in report.problems]


def test_each_memory_is_a_file_and_links_are_wikilinks(carrier: Carrier, everything) -> None:
    files = unpacked(carrier.out(Format.MARKDOWN))
    decision = note(files, "Sessions end after an hour.")
    assert re.fullmatch(r"app/decision/sessions-end-after-an-hour-[\w-]+\.md", decision)
    assert "tags:\n- auth\n- time\n" in files[decision]
    assert files[decision].endswith(
        "---\n\nSessions end after an hour.\n\n- because of audits\n- measured, too\n"
    )
    assert f"[[{decision.removesuffix('.md')}|CONTRADICTS]]" in files[note(files, "=SUM(A1)")]
    assert "RELATES_TO sym:src/user.py#User.save" in files[decision]
    assert RIGHT_TO_LEFT in files[note(files, RIGHT_TO_LEFT)]
    assert f"[[{decision.removesuffix('.md')}|Sessions end after an hour.]]" in files["index.md"]


def test_the_same_memories_are_the_same_zip(carrier: Carrier, everything) -> None:
    assert carrier.out(Format.MARKDOWN) == carrier.out(Format.MARKDOWN)


def test_an_unedited_vault_changes_nothing(carrier: Carrier, everything) -> None:
    report = carrier.into(carrier.out(Format.MARKDOWN), Format.MARKDOWN)
    assert (report.unchanged, report.changed, report.created, report.problems) == (5, 0, 0, [])


def test_a_vault_edited_on_windows_changes_nothing_else(carrier: Carrier, everything) -> None:
    files = unpacked(carrier.out(Format.MARKDOWN))
    windows = {name: "\ufeff" + text.replace("\n", "\r\n") for name, text in files.items()}
    assert carrier.into(packed(windows), Format.MARKDOWN).unchanged == 5


def test_edited_new_and_deleted_files(carrier: Carrier, everything: list[UUID]) -> None:
    files = unpacked(carrier.out(Format.MARKDOWN))
    decision = note(files, "Sessions end after an hour.")
    files[decision] = (
        files[decision].replace("after an hour", "after a day").replace("- time\n", "- clock\n")
    )
    files["ideas/new.md"] = "Rotate the signing keys.\n"
    del files[note(files, "I like short names.")]

    report = carrier.into(packed(files), Format.MARKDOWN)

    assert (report.changed, report.created, report.unchanged) == (1, 1, 3)
    memory = Memory.objects.get(pk=everything[0])
    assert memory.content.startswith("Sessions end after a day.")
    assert (memory.tags, memory.version) == (["auth", "clock"], 3)
    assert memory.versions.get(number=2).changed_by_name == "olga"
    assert Memory.objects.filter(pk=everything[2]).exists(), "a missing file retires nothing"
    assert carrier.into(packed(files), Format.MARKDOWN).changed == 0, "the same edit again is none"


def test_an_edit_of_what_was_changed_meanwhile_is_a_conflict(
    carrier: Carrier, everything: list[UUID]
) -> None:
    exported = carrier.out(Format.MARKDOWN)
    files = unpacked(exported)
    decision = note(files, "Sessions end after an hour.")
    mine = files | {decision: files[decision].replace("after an hour", "after a day")}
    theirs = files | {decision: files[decision].replace("after an hour", "at midnight")}
    carrier.into(packed(theirs), Format.MARKDOWN)

    report = carrier.into(packed(mine), Format.MARKDOWN)

    assert report.changed == 0
    assert "is at version 3 by now, and the file is an edit of version 2" in reasons(report)[0]
    assert "at midnight" in Memory.objects.get(pk=everything[0]).content
    unedited = carrier.into(exported, Format.MARKDOWN)
    assert (unedited.unchanged, reasons(unedited)) == (5, []), "an old file that says nothing new"


def test_a_file_changes_no_state_and_nobody_elses_memory(
    carrier: Carrier, everything: list[UUID], writer: User
) -> None:
    files = unpacked(carrier.out(Format.MARKDOWN))
    rule = note(files, RIGHT_TO_LEFT)
    edited = files | {rule: files[rule].replace("state: active", "state: retired")}
    assert "does not change state" in reasons(carrier.into(packed(edited), Format.MARKDOWN))[0]
    walter = Carrier(factories.caller_of(writer), carrier.namespace)
    files = {rule: files[rule].replace("type: rule", "type: insight")}
    assert "maintainer" in reasons(walter.into(packed(files), Format.MARKDOWN))[0]


def test_a_wiped_vault_comes_back_under_its_ids(carrier: Carrier, everything: list[UUID]) -> None:
    content = carrier.out(Format.MARKDOWN)
    wipe(carrier.namespace)
    assert carrier.into(content, Format.MARKDOWN).problems == []
    assert set(Memory.objects.values_list("pk", flat=True)) == set(everything)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("---\ntype: [unclosed\n---\nx\n", "not YAML"),
        ("---\ntype: rule\nno end\n", "has no end"),
        ("---\n- a\n- b\n---\nx\n", "must be properties"),
        ("---\ncolour: red\n---\nx\n", "no property 'colour'"),
        ("---\na: &a [x, x]\nb: [*a, *a]\n---\nx\n", "not YAML"),
        ("---\ntype: !!python/object/apply:os.system [ls]\n---\nx\n", "not YAML"),
        ("---\ntype: rule\n---\n", "content is empty"),
        (b"\xff\xfe\x00", "not UTF-8"),
        ("x" * (vault.MAXIMUM_NOTE_BYTES + 1), "over a megabyte"),
    ],
)
def test_bad_notes_are_told_and_the_others_taken(carrier: Carrier, text, reason: str) -> None:
    noise = "".join(f"{number:x}" for number in range(30_000))
    files = {"a.md": text, "b.md": "A good one.\n", "picture.bin": noise}
    report = carrier.into(packed(files), Format.MARKDOWN)
    assert report.created == 1
    assert reason in reasons(report)[0]


def test_a_bomb_is_not_unpacked(carrier: Carrier) -> None:
    with pytest.raises(ArchiveInvalid, match="too large"):
        carrier.into(packed({"a.md": "0" * 50_000_000}), Format.MARKDOWN)
    with pytest.raises(ArchiveInvalid, match="not a zip"):
        carrier.into(b"PK nonsense", Format.MARKDOWN)


def test_a_zip_that_lies_about_its_sizes_is_still_bounded(
    carrier: Carrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MAXIMUM_UNPACKED_BYTES", 100_000)
    monkeypatch.setattr(importing, "_refuse_bomb", lambda _entries: None)
    with pytest.raises(ArchiveInvalid, match="too large"):
        carrier.into(packed({"a.md": "0" * 200_000}), Format.MARKDOWN)


def test_paths_cannot_lead_anywhere(carrier: Carrier, namespace: Namespace) -> None:
    report = carrier.into(packed({"../../etc/passwd.md": "Root is everywhere."}), Format.MARKDOWN)
    assert report.created == 1, "a path is only a name here: nothing is written to disk"
