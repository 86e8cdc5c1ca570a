"""Export, wipe, import, export again: the same bytes."""

import hashlib
import json
from typing import Any
from uuid import UUID

import pytest

from memory.models import Anchor, Feedback, Memory, MemoryUse, MemoryVersion
from memory.portability import reading
from tests.memory.portability.conftest import Carrier, wipe

pytestmark = pytest.mark.django_db


def records(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def test_export_wipe_import_and_export_are_the_same_bytes(carrier: Carrier, everything) -> None:
    before = carrier.out()
    wipe(carrier.namespace)
    assert Memory.objects.count() == 0

    report = carrier.into(before)

    assert report.problems == []
    assert report.created == 5
    assert carrier.out().splitlines()[1:] == before.splitlines()[1:]
    assert carrier.out() == before


def test_the_archive_has_everything(carrier: Carrier, everything) -> None:
    header, *rest = records(carrier.out())
    kinds = [record["record"] for record in rest]
    assert header["counts"] == {"settings": 1, "memories": 5, "links": 5, "successions": 1}
    assert kinds == sorted(kinds, key=["settings", "memory", "link", "succession", "review"].index)
    decision = next(record for record in rest if record["record"] == "memory")
    assert len(decision["versions"]) == 1
    assert len(decision["anchors"]) == len(decision["feedback"]) == 2
    assert decision["use"]["recalled"] == 7


def test_the_header_has_the_digest_of_what_follows(carrier: Carrier, everything) -> None:
    header, _, body = carrier.out().partition(b"\n")
    assert json.loads(header)["sha256"] == hashlib.sha256(body).hexdigest()


def test_every_column_of_a_memory_is_carried_or_named_as_not() -> None:
    columns = {field.name for field in Memory._meta.concrete_fields}
    named = reading.CARRIED.keys() | reading.DERIVED | reading.LOCAL
    assert columns == named, "a new column is either in the archive or named as derived or local"


@pytest.mark.parametrize(
    ("table", "key", "renamed", "left"),
    [
        (
            MemoryVersion,
            "versions",
            {"changed_by_name": "by"},
            {"id", "memory", "changed_by", "token_id", "tokens", "lexemes"},
        ),
        (Anchor, "anchors", {}, {"id", "memory"}),
        (Feedback, "feedback", {"session_id": "session"}, {"id", "memory"}),
        (MemoryUse, "use", {}, {"memory"}),
    ],
)
def test_every_column_that_hangs_on_a_memory_is_carried(
    carrier: Carrier, everything: list[UUID], *, table: Any, key: str, renamed: Any, left: Any
) -> None:
    rows = Memory.objects.filter(pk=everything[0])
    memory = reading.whole(rows, caller=carrier.caller).get()
    names = reading.repository_names(carrier.namespace.pk)
    carried = reading.memory_record(memory, names)[key]
    carried = carried if isinstance(carried, dict) else carried[0]
    columns = {field.name for field in table._meta.concrete_fields} - left
    assert {renamed.get(name, name) for name in columns} == carried.keys()
