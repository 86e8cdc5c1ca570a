import pytest

from indexing.owners import Owner, owners_by_rule, owners_of, parse

GITHUB = """\
# Everything has an owner.
*           @org/everybody
*.js        @ann ben@example.org
/build/     @ops
docs/*      @writers
apps/       @apps
/apps/**/api @api
/apps/free
with\\ space.py @odd
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README.md", ("@org/everybody",)),
        ("src/deep/a.js", ("@ann", "ben@example.org")),
        ("build/log/x", ("@ops",)),
        ("src/build/log", ("@org/everybody",)),
        ("docs/a.md", ("@writers",)),
        ("docs/deep/a.md", ("@org/everybody",)),
        ("other/apps/x.py", ("@apps",)),
        ("apps/one/two/api/x.py", ("@api",)),
        ("apps/free/x.py", ()),
        ("with space.py", ("@odd",)),
    ],
)
def test_the_last_rule_that_matches_counts(path, owners):
    assert owners_by_rule(parse(GITHUB), path) == owners


def test_sections_of_gitlab_each_have_owners():
    rules = parse("[Code] @dev\n*.py\n^[Docs][2] @docs\n*.md\nx.py @both\n")

    assert owners_by_rule(rules, "a.py") == ("@dev",)
    assert owners_by_rule(rules, "a.md") == ("@docs",)
    assert owners_by_rule(rules, "x.py") == ("@dev", "@both")


def test_a_hostile_file_is_read_in_time_and_order():
    assert parse("!x @a\n" + "*" * 600 + " @a\n[broken\nx.py nobody\n")[-1].owners == ()
    rules = parse("a/**/**/**/**/**/**/b/**/c @a\n" + "*a" * 100 + "b @a\n")
    assert owners_by_rule(rules, "a/" + "x/" * 200 + "a" * 500) == ()


def test_owners_are_those_named_and_those_who_wrote_the_lines():
    owners = owners_of(
        ["a.py", "b.py"],
        rules=parse("*.py @dev\n"),
        lines_by_author={"a.py": {"Ann": 30, "Ben": 10}, "b.py": {"Ben": 60}},
    )

    assert owners == [
        Owner(name="@dev", source="CODEOWNERS", files=2),
        Owner(name="Ben", source="history", files=2, share=0.7),
        Owner(name="Ann", source="history", files=1, share=0.3),
    ]
