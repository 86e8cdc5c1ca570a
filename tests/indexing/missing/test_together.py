import pytest

from indexing.missing.together import Company, PastCommit, PastCommits

DAY = 86_400.0


def past(*files: tuple[int, ...], days_apart: float = 1.0) -> PastCommits:
    """Commits that landed one after the other, oldest first."""
    return PastCommits(
        [PastCommit(place, place * days_apart * DAY, one) for place, one in enumerate(files)]
    )


def test_what_changed_with_a_file_speaks_for_it():
    found = past((1, 2), (1, 2), (1, 3), (4,)).likely_with([1], about={}, until=None).by_files
    assert found[2] > found[3] > 0
    assert 4 not in found


def test_a_large_commit_says_less_and_a_huge_one_nothing():
    huge = tuple(range(1, 60))
    found = past((1, 2), (1, 3, 5, 6, 7), huge).likely_with([1], about={}, until=None).by_files
    assert found[2] > found[3]
    assert 50 not in found


def test_an_old_commit_says_less_than_a_new_one():
    found = past((1, 2), (1, 3), days_apart=730).likely_with([1], about={}, until=None).by_files
    assert found[2] == pytest.approx(found[3] / 2)


def test_a_commit_with_more_of_the_shown_files_says_more():
    found = past((1, 2, 3), (1, 8, 4), (9,)).likely_with([1, 2], about={}, until=None).by_files
    assert found[3] > found[4]


def test_nothing_is_known_that_landed_later():
    commits = past((1, 2), (1, 3))
    assert 3 not in commits.likely_with([1], about={}, until=0).by_files
    assert commits.company(1, 3, until=0) == Company(together=0, commits=1)


def test_company_counts_the_commits_of_a_file_and_those_of_both():
    assert past((1, 2), (1,), (2,)).company(1, 2, until=None) == Company(together=1, commits=2)


def test_files_without_history_speak_for_nothing():
    assert past((1, 2)).likely_with([7], about={}, until=None).by_files == {}
    assert past().likely_with([], about={}, until=None).by_files == {}


def test_commits_whose_message_speaks_of_the_change_speak_for_their_files():
    commits = PastCommits(
        [
            PastCommit(0, 0.0, (1, 2), "Count taxes of an order"),
            PastCommit(1, 0.0, (1, 3), "Mend a typo"),
            PastCommit(2, 0.0, (4,), "Round taxes"),
            *(PastCommit(3, 0.0, (9,), "Something else") for _ in range(9)),
        ]
    )
    found = commits.likely_with([1], about={"taxes": 1.0}, until=None).by_message
    assert found[2] > found[4] > 0
    assert 3 not in found
    assert 4 not in commits.likely_with([1], about={"taxes": 1.0}, until=1).by_message
