"""Fit the weights of `indexing.risk.model` on the rows that `review_risk --rows` kept.

    python -m tests.bench.risk_fit ROWS [ROWS ...]

Rows of pallets/flask and gin-gonic/gin, nothing else. Logistic regression with weights of at least
0 and a little L2 that keeps what two repositories cannot tell apart from being decided by chance.
The intercept is fitted on both together; each row counts as much as any other.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

_RIDGE = 1.0


def main() -> None:
    from indexing.risk.model import WEIGHTS, shaped
    from tests.bench.review_risk import evidence_from

    texts = (Path(path).read_text() for path in sys.argv[1:])
    rows = [json.loads(line) for text in texts for line in text.splitlines()]
    values = np.array([list(shaped(evidence_from(row["evidence"])).values()) for row in rows])
    fixed = np.array([row["was_fixed"] for row in rows], dtype=float)
    found = minimize(
        _loss,
        np.concatenate([[-3.0], np.full(values.shape[1], 0.5)]),
        args=(values, fixed),
        jac=True,
        bounds=[(None, None), *[(0.0, None)] * values.shape[1]],
    )
    print(f"{len(rows)} rows, {int(fixed.sum())} fixed")
    print(f"INTERCEPT: {found.x[0]:.3f}")
    for name, weight in zip(WEIGHTS, found.x[1:], strict=True):
        print(f"{name}: {weight:.3f}")


def _loss(point: Any, values: Any, fixed: Any) -> tuple[float, Any]:
    odds = point[0] + values @ point[1:]
    probability = 1 / (1 + np.exp(-odds))
    loss = np.sum(np.logaddexp(0, odds) - fixed * odds) + _RIDGE * np.sum(point[1:] ** 2) / 2
    slope = np.concatenate([[0.0], values.T @ (probability - fixed) + _RIDGE * point[1:]])
    slope[0] = np.sum(probability - fixed)
    return float(loss), slope


if __name__ == "__main__":
    main()
