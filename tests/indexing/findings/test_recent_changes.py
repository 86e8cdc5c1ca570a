"""Recent changes: read from Git once, followed over renames, read anew after a rewrite."""

from datetime import timedelta

import pytest

from graph.models import Repository
from indexing.findings import recent_changes, services
from indexing.git import Mirror, ObjectMissing
from indexing.mirrors import mirror_path
from indexing.models import FileChange
from tests.factories import NOW
from tests.indexing.checkout import Checkout

WINDOW = timedelta(days=365)


@pytest.fixture
def mirror(mirrored: Repository) -> Mirror:
    services.ensure_analysis(repository_id=mirrored.pk, now=NOW)
    return Mirror.create(mirror_path(mirrored.pk))


def test_changes_are_read_once_per_commit(
    mirrored: Repository, mirror: Mirror, source: Checkout
) -> None:
    source.commit({"a.py": "1\n2\n", "b.py": "1\n"})
    assert _follow(mirrored, mirror, source) == {("a.py", 2, 0, 2), ("b.py", 1, 0, 2)}

    FileChange.objects.update(lines_added=9)  # what was read before is not read again
    source.commit({"a.py": "1\n3\n"})

    assert _follow(mirrored, mirror, source) == {
        ("a.py", 9, 0, 2),
        ("b.py", 9, 0, 2),
        ("a.py", 1, 1, 1),
    }


def test_a_file_takes_its_history_along_when_it_is_renamed(
    mirrored: Repository, mirror: Mirror, source: Checkout
) -> None:
    source.commit({"old.py": "some\nlines\nthat\nstay\n"})
    _follow(mirrored, mirror, source)
    source.git("mv", "old.py", "new.py")
    source.commit({})
    source.git("mv", "new.py", "newest.py")
    source.commit({})

    paths = {change[0] for change in _follow(mirrored, mirror, source)}

    assert paths == {"newest.py"}
    assert FileChange.objects.count() == 3


def test_renames_within_one_reading_are_followed_too(
    mirrored: Repository, mirror: Mirror, source: Checkout
) -> None:
    source.commit({"old.py": "some\nlines\nthat\nstay\n"})
    source.git("mv", "old.py", "new.py")
    source.commit({})

    assert {change[0] for change in _follow(mirrored, mirror, source)} == {"new.py"}


def test_a_rewritten_history_is_read_anew(
    mirrored: Repository, mirror: Mirror, source: Checkout
) -> None:
    source.commit({"a.py": "1\n"})
    source.commit({"b.py": "1\n"})
    _follow(mirrored, mirror, source)
    source.git("reset", "--quiet", "--hard", "HEAD~1")
    source.commit({"c.py": "1\n"})

    assert {change[0] for change in _follow(mirrored, mirror, source)} == {"a.py", "c.py"}


def test_odd_names_and_binary_files_are_read(
    mirrored: Repository, mirror: Mirror, source: Checkout
) -> None:
    source.commit({"a\tb\n.py": "1\n", "é.bin": b"\0\1\2", "-x": "1\n"})

    assert _follow(mirrored, mirror, source) == {
        ("a\tb\n.py", 1, 0, 3),
        ("é.bin", 0, 0, 3),
        ("-x", 1, 0, 3),
    }


def test_lines_belong_to_who_wrote_them_last(mirror: Mirror, source: Checkout) -> None:
    source.commit({"a.py": "1\n2\n3\n"})
    source.write({"a.py": "1\n2\nthree\nfour\n"})
    source.git("-c", "user.email=bob@example.org", "commit", "-qam", "Change")
    head = _fetched(mirror, source)

    lines = mirror.authors_of_lines(head, "a.py", timeout_seconds=10)

    assert lines == {"test@example.org": 2, "bob@example.org": 2}
    with pytest.raises(ObjectMissing):
        mirror.authors_of_lines(head, "nothing.py", timeout_seconds=10)


def test_words_are_found_whole_in_text_files(mirror: Mirror, source: Checkout) -> None:
    source.commit({"a.py": "one two\none\n", "b c.md": "done twofold\n", "d:e.txt": "two\n"})
    head = _fetched(mirror, source)

    found = sorted(mirror.occurrences(head, ["one", "two", "none"]))

    assert found == [("a.py", "one"), ("a.py", "one"), ("a.py", "two"), ("d:e.txt", "two")]
    assert list(mirror.occurrences(head, [])) == []
    assert list(mirror.occurrences(head, ["nowhere"])) == []


def _follow(
    repository: Repository, mirror: Mirror, source: Checkout
) -> set[tuple[str, int, int, int]]:
    head = mirror.commit(_fetched(mirror, source))
    changes = recent_changes.follow(
        repository_id=repository.pk, mirror=mirror, head=head, window=WINDOW
    )
    return {(one.path, one.lines_added, one.lines_removed, one.files_in_commit) for one in changes}


def _fetched(mirror: Mirror, source: Checkout) -> str:
    mirror.fetch(str(source.path), timeout_seconds=30)
    return mirror.resolve("refs/heads/main")
