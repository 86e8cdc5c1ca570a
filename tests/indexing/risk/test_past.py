import pytest

from indexing.risk.past import PastChange, PastChanges, is_shipped, says_fix

DAY = 86_400.0
NOW = 1_000 * DAY


def change(day: float, *files: int, fix: bool = False, author: str = "ann") -> PastChange:
    return PastChange(day * DAY, int(day), author, fix, files)


def past(*changes: PastChange, files=(1,), until: int | None = None, now: float = NOW):
    return PastChanges(changes).of(files, until=until, now=now)


@pytest.mark.parametrize(
    ("subject", "is_fix"),
    [
        ("Fix crash on empty input", True),
        ("fixed #1234: wrong rounding", True),
        ('Revert "Add tax"', True),
        ("Handle None (bug 12)", True),
        ("Fix typo in README", False),
        ("Fix lint errors", False),
        ("fix flaky tests", False),
        ("Add prefix to names", False),
        ("Add a feature\n\nIt fixes nothing.", False),
    ],
)
def test_a_commit_says_that_it_mends_code(subject, is_fix):
    assert says_fix(subject) is is_fix


def test_only_programs_count():
    assert is_shipped("a/b.py")
    assert not is_shipped("tests/test_b.py")
    assert not is_shipped("README.md")
    assert not is_shipped("data.bin")


def test_changes_fade():
    new, old = past(change(999, 1)), past(change(820, 1))

    assert old.churn == pytest.approx(new.churn / 2, rel=0.01)


def test_the_file_with_most_speaks_for_all():
    found = past(change(900, 1), change(901, 2), change(902, 2), files=(1, 2, 3))

    assert found.churn == pytest.approx(past(change(901, 2), change(902, 2), files=(2,)).churn)
    assert found.commits == 3


def test_what_landed_later_is_not_known_yet():
    changes = (change(900, 1), change(950, 1, fix=True))

    assert past(*changes, until=949).mended == 0
    assert past(*changes, until=950).mended == 1


def test_authors_of_long_ago_are_forgotten():
    assert past(change(100, 1), change(900, 1, author="ben"), now=NOW).authors == 1


def test_a_reformatting_says_nothing():
    assert past(change(900, *range(60))).commits == 0


def test_the_repositorys_usual_rate_is_of_changes_that_were_followed():
    fixed = [change(day + n, n, fix=bool(n % 2)) for day in range(400, 600, 20) for n in (1,)]
    quiet = [change(day, 7) for day in range(400, 600, 20)]

    assert past(*fixed).usual_rate > past(*quiet).usual_rate


def test_the_usual_rate_tells_nothing_of_fixes_that_were_not_there_yet():
    changes = [one for n in range(50) for one in (change(500 + n, n), change(600 + n, n, fix=True))]

    before = PastChanges(changes).of((), until=599, now=690 * DAY).usual_rate
    after = PastChanges(changes).of((), until=None, now=690 * DAY).usual_rate

    assert before < after
