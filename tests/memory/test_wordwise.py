"""Comparing word by word on one bit for each dimension."""

import numpy as np
import pytest

from memory import wordwise


def rows(*values: list[float]) -> np.ndarray:
    matrix = np.array(values, np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


A = [1.0, 1, 1, 1, -1, -1, -1, -1]
B = [1.0, -1, 1, -1, 1, -1, 1, -1]


def likeness(*packed: bytes, near: dict[int, int] | None = None) -> tuple[float, float] | None:
    """Ask for both A and B in the first text, with some of the others a few steps from it."""
    texts = dict(enumerate(packed))
    return wordwise.likeness(rows(A, B), texts, around={0: near or {}}).get(0)


def test_a_word_is_met_by_its_best_counterpart():
    both, one = wordwise.pack(rows(B, A)), wordwise.pack(rows(A))

    assert likeness(both) == pytest.approx((1.0, 1.0))
    assert likeness(one) == pytest.approx((0.5, 0.5))


def test_neighbors_meet_what_a_text_does_not():
    a, b = wordwise.pack(rows(A)), wordwise.pack(rows(B))

    assert likeness(a, b, near={1: 0}) == pytest.approx((0.5, 1.0))


def test_the_farther_a_neighbor_the_less_it_adds():
    a, b = wordwise.pack(rows(A)), wordwise.pack(rows(B))

    beside, farther = likeness(a, b, near={1: 1}), likeness(a, b, near={1: 3})

    assert beside
    assert farther
    assert 0.5 < farther[1] < beside[1] < 1.0


def test_a_text_without_words_is_left_out_and_adds_nothing_beside_another():
    a = wordwise.pack(rows(A))

    assert likeness(b"") is None
    assert likeness(a, b"", near={1: 1, 2: 1}) == pytest.approx((0.5, 0.5))
    assert wordwise.likeness(np.empty((0, 8), np.float32), {0: a}, around={0: {}}) == {}


def test_a_word_that_tells_texts_apart_counts_more_than_one_that_all_meet():
    apart, shared = wordwise.pack(rows(A)), wordwise.pack(rows(B))
    texts = {0: apart + shared, 1: shared, 2: shared}
    found = wordwise.likeness(rows(A, B), texts, around={key: {} for key in texts})

    assert found[0] == pytest.approx((1.0, 1.0))
    assert 0.0 < found[1][0] < 0.3  # it has one word of two, but the one that all have


def test_bits_are_compared_as_the_product_of_their_signs():
    random = np.random.default_rng(1)
    question = rows(*random.standard_normal((5, 384)))
    words = rows(*random.standard_normal((700, 384)))
    signs = np.where(words > 0, 1, -1) / np.sqrt(384)
    best = (question @ signs.T).max(axis=1).mean()

    found = wordwise.likeness(question, {"text": wordwise.pack(words)}, around={"text": {}})

    assert found["text"] == pytest.approx((best, best), abs=1e-6)
