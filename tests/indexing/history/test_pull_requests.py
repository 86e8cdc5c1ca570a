import pytest

from indexing.history.authors import is_bot
from indexing.history.pull_requests import Merged, merged_by

MERGES = {
    "github": (
        "Merge pull request #123 from olga/fix-totals",
        "Round totals\n\nMore words.",
        Merged(number=123, title="Round totals", branch="olga/fix-totals"),
    ),
    "github, squashed": ("Round totals (#123)", "", Merged(number=123, title="Round totals")),
    "a squashed revert": (
        'Revert "Round totals (#123)" (#130)',
        "",
        Merged(number=130, title='Revert "Round totals (#123)"'),
    ),
    "gitlab": (
        "Merge branch 'fix-totals' into 'main'",
        "Round totals\n\nSee merge request shop/app!45",
        Merged(number=45, title="Round totals", branch="fix-totals"),
    ),
    "gitlab, nothing but the trailer": (
        "Merge branch 'fix-totals' into 'main'",
        "See merge request !45",
        Merged(number=45, title="Merge branch 'fix-totals' into 'main'", branch="fix-totals"),
    ),
    "gitlab, squashed": (
        "Round totals",
        "* one\n* two\n\nSee merge request shop/app!45",
        Merged(number=45, title="Round totals"),
    ),
    "gitea": (
        "Merge pull request 'Round totals' (#7) from olga/fix into main",
        "Reviewed-on: https://git.example/shop/app/pulls/7",
        Merged(number=7, title="Round totals", branch="olga/fix"),
    ),
    "gitea, squashed without a number": (
        "Round totals",
        "Reviewed-on: https://git.example/shop/app/pulls/7",
        Merged(number=7, title="Round totals"),
    ),
    "bitbucket": (
        "Merged in fix-totals (pull request #9)",
        "Round totals\n\nApproved-by: Mary",
        Merged(number=9, title="Round totals", branch="fix-totals"),
    ),
    "bitbucket server": (
        "Merge pull request #9 in SHOP/app from fix-totals to main",
        "* commit 'abc':\n  Round totals",
        Merged(number=9, title="* commit 'abc':", branch="fix-totals"),
    ),
    "bitbucket server, squashed": (
        "Pull request #9: Round totals",
        "",
        Merged(number=9, title="Round totals"),
    ),
    "azure": ("Merged PR 11: Round totals", "", Merged(number=11, title="Round totals")),
}


@pytest.mark.parametrize("name", MERGES)
def test_a_merge_names_its_pull_request(name):
    subject, body, expected = MERGES[name]
    assert merged_by(subject=subject, body=body) == expected


@pytest.mark.parametrize(
    "subject",
    [
        "Round totals",
        "Fix #123",
        "See (#123) for more",
        "Merge branch 'main' of git.example:shop/app",
        "Round (#99999999999999999999)",
        "Round (#0)",
    ],
)
def test_other_commits_name_none(subject):
    assert merged_by(subject=subject, body="Refs !5 and #6") is None


@pytest.mark.parametrize(
    ("name", "email", "expected"),
    [
        ("dependabot[bot]", "49699333+dependabot[bot]@users.noreply.github.com", True),
        ("Renovate Bot", "bot@renovateapp.com", True),
        ("github-actions", "actions@github.com", True),
        ("pre-commit-ci", "x@example.org", True),
        ("Olga Abbott", "olga@example.org", False),
        ("Bottom Weaver", "12+nick@users.noreply.github.com", False),
        ("GitHub", "noreply@github.com", False),
        ("Talbot", "talbot@example.org", False),
    ],
)
def test_programs_are_told_from_people(name, email, expected):
    assert is_bot(name=name, email=email) is expected
