"""The CSV form: safe in spreadsheets, whole again without them, and an edit when it comes back."""

import csv
import io
from uuid import UUID

import pytest

from memory.models import Memory, MemoryVersion
from memory.portability import tables
from memory.portability.exporting import Format
from memory.portability.tables import TableInvalid
from tests.memory.portability.conftest import Carrier, wipe


@pytest.mark.parametrize(
    "cell",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'quoted'", "''", "plain", "", "a=b"],
)
def test_no_cell_is_a_formula_and_each_comes_back(cell: str) -> None:
    assert not tables.safe(cell).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert tables.plain(tables.safe(cell)) == cell


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))


def table(*cells: dict[str, str]) -> bytes:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(dict.fromkeys(name for row in cells for name in row)))
    writer.writeheader()
    writer.writerows(cells)
    return buffer.getvalue().encode()


@pytest.mark.django_db
def test_the_table_has_every_memory_and_opens_in_excel(carrier: Carrier, everything) -> None:
    content = carrier.out(Format.CSV)
    assert content.startswith(b"\xef\xbb\xbfid,version,type,content,")
    contents = [row["content"] for row in rows(content)]
    assert len(contents) == 5
    assert "'=SUM(A1) is not a formula here" in contents
    assert "Sessions end after an hour.\n\n- because of audits\n- measured, too" in contents


@pytest.mark.django_db
def test_what_was_not_edited_changes_nothing(carrier: Carrier, everything: list[UUID]) -> None:
    report = carrier.into(carrier.out(Format.CSV), Format.CSV)
    assert (report.unchanged, report.changed, report.created, report.problems) == (5, 0, 0, [])


@pytest.mark.django_db
def test_an_edited_cell_refines_its_memory(carrier: Carrier, everything: list[UUID]) -> None:
    edited = carrier.out(Format.CSV).replace(b"Sessions end after an hour.", b"Sessions end soon.")
    report = carrier.into(edited, Format.CSV)
    assert (report.unchanged, report.changed, report.problems) == (4, 1, [])
    memory = Memory.objects.get(pk=everything[0])
    assert memory.content.startswith("Sessions end soon.")
    assert memory.version == 3
    assert MemoryVersion.objects.filter(memory=memory, change="refined").count() == 2


@pytest.mark.django_db
def test_rows_without_an_id_are_new_once(carrier: Carrier) -> None:
    content = table({"content": "Deploy on Mondays.", "tags": "ops, weekly", "type": "rule"})
    assert carrier.into(content, Format.CSV).created == 1
    assert carrier.into(content, Format.CSV).unchanged == 1
    assert Memory.objects.get().tags == ["ops", "weekly"]


@pytest.mark.django_db
def test_a_wiped_table_comes_back_under_its_ids(carrier: Carrier, everything: list[UUID]) -> None:
    content = carrier.out(Format.CSV)
    wipe(carrier.namespace)
    assert carrier.into(content, Format.CSV).problems == []
    assert set(Memory.objects.values_list("pk", flat=True)) == set(everything)


@pytest.mark.django_db
def test_bad_rows_are_told_by_line(carrier: Carrier) -> None:
    content = table(
        {"content": "Two\nlines.", "importance": "0.5"},
        {"content": "Too much.", "importance": "lots"},
        {"content": "Good.", "importance": ""},
    )
    report = carrier.into(content, Format.CSV)
    assert report.created == 2
    ((line, reason),) = [(problem.line, problem.reason) for problem in report.problems]
    assert line == 4
    assert "importance cannot be read: 'lots'" in reason


@pytest.mark.django_db
@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"content,colour\nx,red\n"])
def test_another_table_is_refused(carrier: Carrier, content: bytes) -> None:
    with pytest.raises(TableInvalid):
        carrier.into(content, Format.CSV)
