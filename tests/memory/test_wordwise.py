"""Comparing word by word on one bit for each dimension."""

import numpy as np
import pytest

from memory import wordwise


def rows(*values: list[float]) -> np.ndarray:
    matrix = np.array(values, np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


A = [1.0, 1, 1, 1, -1, -1, -1, -1]
B = [1.0, -1, 1, -1, 1, -1, 1, -1]


def test_a_word_is_met_by_its_best_counterpart():
    met = wordwise.met(
        rows(A, B), {"both": wordwise.pack(rows(B, A)), "one": wordwise.pack(rows(A))}
    )
    assert wordwise.alone(met["both"]) == pytest.approx(1.0)
    assert wordwise.alone(met["one"]) == pytest.approx(0.5)


def test_neighbors_meet_what_a_text_does_not():
    met = wordwise.met(rows(A, B), {"a": wordwise.pack(rows(A)), "b": wordwise.pack(rows(B))})
    assert wordwise.together([met["a"], met["b"]]) == pytest.approx(1.0)


def test_a_text_without_words_is_left_out():
    assert wordwise.met(rows(A), {"empty": b""}) == {}
    assert wordwise.met(np.empty((0, 8), np.float32), {"a": wordwise.pack(rows(A))}) == {}
