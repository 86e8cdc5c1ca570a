"""Two versions of a text: what differs, and where what does not is now."""

import itertools
import random

import pytest

from indexing.history.revising import hunks_between, merged, new_positions, touches


def versions(seed: int) -> tuple[bytes, bytes]:
    """Return a text of some thousand bytes and another version of it."""
    rng = random.Random(seed)
    lines = [f"    line {rng.randrange(90)} of {rng.randrange(9)}\n" for _ in range(400)]
    changed = list(lines)
    for _ in range(rng.randrange(1, 12)):
        at = rng.randrange(len(changed))
        changed[at : at + rng.randrange(6)] = [f"new {rng.random()}\n"] * rng.randrange(5)
    return "".join(lines).encode(), "".join(changed).encode()


@pytest.mark.parametrize("seed", range(20))
def test_hunks_make_the_new_text_of_the_old_one(seed):
    old, new = versions(seed)
    hunks = hunks_between(old, new)
    made, position = b"", 0
    for hunk in hunks:
        made += old[position : hunk.start] + new[hunk.new_start : hunk.new_end]
        position = hunk.end
    assert made + old[position:] == new
    assert all(one.end <= two.start for one, two in itertools.pairwise(hunks))


@pytest.mark.parametrize("seed", range(20))
def test_what_no_hunk_reaches_is_the_same_at_its_new_position(seed):
    old, new = versions(seed)
    hunks = hunks_between(old, new)
    spans = [(hunk.start, hunk.end) for hunk in hunks]
    others = [at for at in range(0, len(old) - 9, 7) if not touches(at, at + 9, spans)]
    for before, now in zip(others, new_positions(others, hunks), strict=True):
        assert old[before : before + 9] == new[now : now + 9]


def test_equal_texts_differ_nowhere():
    assert hunks_between(b"a\n", b"a\n") == []


def test_a_small_change_in_a_long_text_is_a_small_hunk():
    old, _ = versions(1)
    (hunk,) = hunks_between(old, old[:3_000] + b"!" + old[3_000:])
    assert (hunk.start, hunk.end, hunk.new_start, hunk.new_end) == (3_000, 3_000, 3_000, 3_001)


def test_spans_that_adjoin_are_one():
    assert merged([(5, 9), (1, 3), (3, 4), (20, 20)]) == [(1, 4), (5, 9), (20, 20)]


def test_a_span_touches_what_it_adjoins():
    assert touches(3, 5, [(0, 1), (5, 5)])
    assert not touches(3, 5, [(0, 2), (6, 7)])
