"""Leiden as scikit-network has it, with a refinement that ends."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sknetwork.clustering import Leiden  # type: ignore[import-untyped]


class EndingLeiden(Leiden):  # type: ignore[misc]
    """Refines by the best moves until a pass gains less than the tolerance.

    The library's refinement draws among all moves that gain anything and goes on while there is
    one: a gain that is nothing but rounding of 32-bit floats keeps it going for ever (it did, on
    a real repository), and libc's `rand` makes two runs differ.
    """

    def _optimize_refine(
        self, labels: Any, labels_refined: Any, adjacency: Any, out_weights: Any, in_weights: Any
    ) -> Any:
        ties = adjacency.tocoo()
        inside = labels[ties.row] == labels[ties.col]
        within = csr_matrix(
            (ties.data[inside], (ties.row[inside], ties.col[inside])), shape=adjacency.shape
        )
        refined, _ = self._optimize(labels_refined, within, out_weights, in_weights)
        return np.asarray(refined)
