from pathlib import Path
from typing import Any

import pytest

from indexing.scip.index import Encoding, IndexFile, IndexTooLarge, message_class


def written(path: Path, index: Any, *, cut: int = 0) -> IndexFile:
    data = index.SerializeToString()
    path.write_bytes(data[: len(data) - cut])
    return IndexFile(path, max_bytes=1 << 20)


def index_of(*paths: str) -> Any:
    index = message_class("Index")()
    for path in paths:
        document = index.documents.add(relative_path=path, position_encoding=1)
        document.occurrences.add(range=[3, 4, 8], symbol="s m p v a.", symbol_roles=1)
    return index


def test_documents_come_with_their_occurrences(tmp_path: Path) -> None:
    (document,) = written(tmp_path / "i", index_of("a.py")).documents()
    assert (document.path, document.encoding) == ("a.py", Encoding.UTF8)
    assert document.occurrences == ((3, 4, 8, "s m p v a.", True),)


def test_typed_ranges_are_read_like_packed_ones(tmp_path: Path) -> None:
    index = message_class("Index")()
    occurrence = index.documents.add(relative_path="a.py").occurrences.add(symbol="s m p v a.")
    occurrence.single_line_range.line = 7
    occurrence.single_line_range.end_character = 2
    (document,) = written(tmp_path / "i", index).documents()
    assert document.occurrences == ((7, 0, 2, "s m p v a.", False),)


def test_ranges_over_lines_and_negative_ones_are_left_out(tmp_path: Path) -> None:
    index = message_class("Index")()
    document = index.documents.add(relative_path="a.py", position_encoding=9)
    for numbers in ([1, 2, 3, 4], [-1, 0, 4], [], [1]):
        document.occurrences.add(range=numbers, symbol="s m p v a.")
    (read,) = written(tmp_path / "i", index).documents()
    assert (read.occurrences, read.encoding) == ((), Encoding.UNSPECIFIED)


def test_what_is_before_the_cut_is_read(tmp_path: Path) -> None:
    index = written(tmp_path / "i", index_of("a.py", "b.py"), cut=3)
    assert [document.path for document in index.documents()] == ["a.py"]
    assert not index.is_whole


def test_a_document_that_is_no_document_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "i"
    # Field 2 of two bytes, which are the beginning of a longer field; then a whole document.
    path.write_bytes(b"\x12\x02\x0a\x7f" + index_of("a.py").SerializeToString())
    index = IndexFile(path, max_bytes=1 << 20)
    assert [document.path for document in index.documents()] == ["a.py"]
    assert index.malformed == 1


@pytest.mark.parametrize("data", [b"", b"\xff" * 100, b"\0" * 4096, b"\x08\x01" * 5_000_00])
def test_bytes_that_are_no_index_say_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "i").write_bytes(data)
    index = IndexFile(tmp_path / "i", max_bytes=1 << 20)
    assert list(index.documents()) == []


def test_an_index_above_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "i").write_bytes(b"\0" * 11)
    with pytest.raises(IndexTooLarge, match="11 bytes"):
        IndexFile(tmp_path / "i", max_bytes=10)
