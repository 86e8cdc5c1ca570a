from indexing.history.line import landings, members

# a - b ------- m1 - c ---- m2      m1 merges x, y; m2 merges p, which had merged q itself and c
#      \- x - y /    \     /
#           \- q - p - n -/
PARENTS = {
    "a": (),
    "b": ("a",),
    "x": ("b",),
    "y": ("x",),
    "m1": ("b", "y"),
    "c": ("m1",),
    "q": ("x",),
    "p": ("x", "q"),
    "n": ("p", "c"),
    "m2": ("c", "n"),
}
LINE = ["a", "b", "m1", "c", "m2"]


def test_a_branch_lands_with_its_merge():
    landed = landings(LINE, PARENTS, first=0)
    assert landed == {
        "a": 0, "b": 1, "x": 2, "y": 2, "m1": 2, "c": 3, "q": 4, "p": 4, "n": 4, "m2": 4,
    }  # fmt: skip


def test_only_what_is_new_lands():
    new = {sha: PARENTS[sha] for sha in ("c", "q", "p", "n", "m2")}
    assert landings(["c", "m2"], new, first=3) == {"c": 3, "q": 4, "p": 4, "n": 4, "m2": 4}


def test_a_request_has_the_commits_of_its_branch_and_the_innermost_wins():
    landed = landings(LINE, PARENTS, first=0)
    found = dict(members(["m1", "p", "m2"], PARENTS, landed))
    assert {merge: set(own) for merge, own in found.items()} == {
        "m1": {"m1", "x", "y"},
        "p": {"p", "q"},
        "m2": {"m2", "n"},
    }


def test_a_squashed_request_is_its_one_commit():
    landed = landings(LINE, PARENTS, first=0)
    assert dict(members(["c"], PARENTS, landed)) == {"c": ("c",)}
