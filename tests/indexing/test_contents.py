from collections.abc import Iterable, Iterator

import pytest

from indexing import contents, extraction
from indexing.contents import Content, Unread, blob_id, facts_of
from indexing.extraction import Skipped
from indexing.facts import BlobFacts
from indexing.git import BlobContent, BlobMissing, BlobTooLarge
from indexing.models import BlobFacts as BlobFactsRow
from tests.indexing.checkout import Checkout

pytestmark = pytest.mark.django_db

ONE = b"def one():\n    pass\n"
TWO = b"def two():\n    pass\n"


class Blobs:
    """Blobs by id as a mirror would read them; notes what it was asked for."""

    def __init__(self, *sources: bytes) -> None:
        self.contents: dict[str, BlobContent] = {blob_id(source): source for source in sources}
        self.asked: list[str] = []

    def read(self, blobs: Iterable[str]) -> Iterator[tuple[str, BlobContent]]:
        for blob in blobs:
            self.asked.append(blob)
            yield blob, self.contents.get(blob, BlobMissing())


def python(path: str, source: bytes) -> Content:
    return Content(path=path, blob=blob_id(source), language="python")


def names(facts: BlobFacts | Unread) -> list[str]:
    assert isinstance(facts, BlobFacts)
    return [definition.name for definition in facts.definitions]


@pytest.fixture
def flaky(monkeypatch):
    """Return a way to have the first reading of each blob end with a reason."""
    extract_all, seen = extraction.extract_all, set()

    def begin(reason: str, *, always: bool = False) -> None:
        def extracting(jobs, **given):
            for key, outcome in extract_all(jobs, **given):
                is_first = key not in seen
                seen.add(key)
                yield key, Skipped(reason) if is_first or always else outcome

        monkeypatch.setattr(extraction, "extract_all", extracting)

    return begin


def test_a_blob_has_the_id_that_git_gives_it(tmp_path):
    checkout = Checkout(tmp_path)
    checkout.commit({"a.py": ONE})
    assert blob_id(ONE) == checkout.git("rev-parse", "HEAD:a.py").strip()


def test_new_content_is_parsed_and_known_content_is_not_read():
    blobs = Blobs(ONE, TWO)
    first = facts_of([python("a.py", ONE)], read=blobs.read, processes=1)
    assert names(first["a.py"]) == ["one"]

    both = facts_of([python("b.py", ONE), python("c.py", TWO)], read=blobs.read, processes=1)

    assert (names(both["b.py"]), names(both["c.py"])) == (["one"], ["two"])
    assert blobs.asked == [blob_id(ONE), blob_id(TWO)]
    assert BlobFactsRow.objects.count() == 2


def test_content_that_stands_twice_is_read_once_for_each_language():
    blobs = Blobs(b"const one = () => 1\n")
    (blob,) = blobs.contents
    wanted = [
        Content(path="a.ts", blob=blob, language="typescript"),
        Content(path="b.ts", blob=blob, language="typescript"),
        Content(path="c.js", blob=blob, language="javascript"),
    ]
    found = facts_of(wanted, read=blobs.read, processes=1)

    assert found["a.ts"] is found["b.ts"]
    assert all(names(facts) == ["one"] for facts in found.values())
    assert len(blobs.asked) == 1
    assert set(BlobFactsRow.objects.values_list("language", flat=True)) == {
        *("typescript", "javascript")
    }


def test_a_path_not_worth_reading_says_nothing_about_its_content():
    blobs = Blobs(ONE)
    vendored, own = "node_modules/lib/a.py", "a.py"

    found = facts_of([python(own, ONE), python(vendored, ONE)], read=blobs.read, processes=1)

    assert found[vendored] == Unread("vendored")
    assert names(found[own]) == ["one"]


def test_why_content_has_no_facts_is_remembered():
    binary = b"x = 1\n\0"
    blobs = Blobs(binary)
    for _ in range(2):
        found = facts_of([python("a.py", binary)], read=blobs.read, processes=1)
        assert found["a.py"] == Unread("binary")
    assert len(blobs.asked) == 1


@pytest.mark.parametrize(
    ("content", "reason"), [(BlobMissing(), "object-missing"), (BlobTooLarge(9), "too-large")]
)
def test_what_could_not_be_read_is_read_the_next_time(content, reason):
    blobs = Blobs(ONE)
    blobs.contents[blob_id(ONE)] = content
    found = facts_of([python("a.py", ONE)], read=blobs.read, processes=1)
    assert found["a.py"] == Unread(reason)

    blobs.contents[blob_id(ONE)] = ONE
    found = facts_of([python("a.py", ONE)], read=blobs.read, processes=1)
    assert names(found["a.py"]) == ["one"]


@pytest.mark.parametrize("reason", ["crash", "timeout"])
def test_a_child_that_died_once_is_given_a_second_chance(flaky, reason):
    flaky(reason)
    found = facts_of([python("a.py", ONE)], read=Blobs(ONE).read, processes=1)
    assert names(found["a.py"]) == ["one"]
    assert BlobFactsRow.objects.get().skipped == ""


def test_content_that_kills_every_child_is_not_tried_in_later_runs(flaky):
    flaky("crash", always=True)
    blobs = Blobs(ONE)
    for _ in range(2):
        found = facts_of([python("a.py", ONE)], read=blobs.read, processes=1)
        assert found["a.py"] == Unread("crash")
    assert len(blobs.asked) == 2


def test_a_long_reason_is_cut_to_what_is_stored(flaky):
    flaky("error:" + "X" * 100)
    found = facts_of([python("a.py", ONE)], read=Blobs(ONE).read, processes=1)
    assert found["a.py"] == Unread(("error:" + "X" * 100)[:30])


def test_what_was_parsed_is_kept_as_it_comes(monkeypatch):
    monkeypatch.setattr(contents, "_BATCH", 2)
    sources = [b"x = %d\n" % number for number in range(5)]
    blobs = Blobs(*sources)
    stored = []

    facts_of(
        [python(f"{number}.py", source) for number, source in enumerate(sources)],
        read=blobs.read,
        processes=1,
        on_parsed=lambda done: stored.append((done, BlobFactsRow.objects.count())),
    )

    assert [done for done, _ in stored] == [1, 2, 3, 4, 5]
    assert stored[-1] == (5, 4)
    assert BlobFactsRow.objects.count() == 5


def test_facts_come_packed_to_those_who_want_only_a_part_of_them():
    keys = [contents.Key(blob_id(source), "python") for source in (ONE, TWO)]
    blobs = Blobs(ONE, TWO)
    for _ in range(2):
        found = dict(contents.each_of(keys, read=blobs.read, processes=1, unpack=bytes))
        packed = [facts for key in keys if isinstance(facts := found[key], bytes)]
        assert list(map(names, map(BlobFacts.from_bytes, packed))) == [["one"], ["two"]]
    assert len(blobs.asked) == 2


def test_facts_that_another_run_stored_meanwhile_are_kept():
    key = contents.Key(blob_id(ONE), "python")
    facts = BlobFacts(language="python", lines=2)
    parsed = contents._Parsed(facts.to_bytes(), facts)
    contents._store([contents._row(key, parsed)])
    contents._store([contents._row(key, parsed)])
    assert BlobFactsRow.objects.count() == 1
