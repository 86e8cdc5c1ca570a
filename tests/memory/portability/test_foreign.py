"""Other tools' files: the reference system's export, notes of others, instruction files."""

import io
import json
import zipfile
from typing import Any

import pytest

from memory.models import Memory
from memory.portability.exporting import Format
from memory.portability.foreign import native, states
from tests.memory.portability.conftest import Carrier

pytestmark = pytest.mark.django_db

# As the reference system writes it: numbers, names of its own, no repository and no expiry.
REFERENCE = {
    "id": "0b54b7a0-5a4e-4c6d-9a3b-3f6a2f0c7e11",
    "content": "Uploads are retried three times.",
    "memory_type": "decision",
    "importance": 0.8,
    "confidence": 0.9,
    "access_count": 4,
    "content_hash": "ab12",
    "tags": ["uploads"],
    "metadata": {"tool": "Edit"},
    "namespace": "old-folder",
    "created_at": 1_767_225_600,
    "updated_at": "2026-01-01T00:00:00+00:00",
    "last_accessed_at": None,
}


def packed(name: str, text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, text)
    return buffer.getvalue()


def test_a_line_of_the_reference_becomes_a_memory_once(carrier: Carrier) -> None:
    content = json.dumps(REFERENCE).encode() + b"\n"
    report = carrier.into(content)
    assert (report.created, report.problem_count) == (1, 0)
    memory = Memory.objects.get()
    assert (memory.memory_type, memory.importance, memory.tags) == ("decision", 0.8, ["uploads"])
    assert str(memory.pk) == REFERENCE["id"]
    assert memory.created_at.year == 2026
    assert carrier.into(content).unchanged == 1


@pytest.mark.parametrize(
    ("record", "made"),
    [
        ({"memory": "Likes tea."}, {"content": "Likes tea.", "type": "context"}),
        ({"text": "x", "category": "rule", "id": 7}, {"content": "x", "type": "rule"}),
        (
            {"content": "x", "memory_type": "wish", "created_at": "soon"},
            {"content": "x", "type": "context"},
        ),
        (
            {"content": "x", "kind": "fix", "created_at": 10**30},
            {"content": "x", "type": "fix"},
        ),
        ({"content": "x"}, {"content": "x"}),
        ({"content": "x", "type": "rule"}, {"content": "x", "type": "rule"}),
        ({"record": "link"}, {"record": "link"}),
        ({"memory": {"id": 3}}, {"memory": {"id": 3}}),
    ],
)
def test_what_others_call_it_is_read_and_ours_left_alone(
    record: dict[str, Any], made: dict[str, Any]
) -> None:
    assert native(record) == made


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md", ".cursorrules", "python.mdc"])
def test_an_instruction_file_becomes_its_statements(name: str, carrier: Carrier) -> None:
    text = "---\nalwaysApply: true\n---\n# Testing\n\n- Never mock the database.\n- Always lint.\n"
    text += "- Never push to the main branch.\n"
    report = carrier.into(packed(name, text), form=Format.MARKDOWN)
    assert report.problem_count == 0
    assert set(Memory.objects.values_list("content", "memory_type")) == {
        ("Testing: Never mock the database.", "rule"),
        ("Testing: Never push to the main branch.", "rule"),
    }
    assert carrier.into(packed(name, text), form=Format.MARKDOWN).created == 0


def test_a_note_of_a_vault_stays_a_note() -> None:
    assert not states("decision/claude-is-fast.md", "---\nid: x\nversion: 2\n---\nx")
    assert not states("CLAUDE.md", "---\nid: x\nversion: 2\n---\nx")
