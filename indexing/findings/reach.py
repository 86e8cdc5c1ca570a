"""Change impact: how many files feel a change of a file, at one step and at two."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy import sparse

from graph.values import file_id
from indexing.findings.values import HeadFile, HeadSymbol, Measured, Uses


def dependents_by_file(
    files: Mapping[str, HeadFile], symbols: Sequence[HeadSymbol], uses: Uses
) -> tuple[dict[str, int], dict[str, int]]:
    """Return by path how many other files use it directly, and within two steps."""
    paths = sorted(files)
    place = {path: number for number, path in enumerate(paths)}
    of_vertex = {one.vertex: place[one.path] for one in symbols if one.path in place}
    of_vertex |= {file.vertex: place[path] for path, file in files.items()}
    if not of_vertex or not len(uses.sources):
        return {}, {}
    vertices = np.array(sorted(of_vertex), dtype=np.int64)
    places = np.array([of_vertex[vertex] for vertex in vertices.tolist()], dtype=np.int64)
    inside = np.isin(uses.sources, vertices) & np.isin(uses.targets, vertices)
    users = places[np.searchsorted(vertices, uses.sources[inside])]
    used = places[np.searchsorted(vertices, uses.targets[inside])]
    apart = users != used
    shape = (len(paths), len(paths))
    ones = np.ones(int(apart.sum()), dtype=np.int32)
    one_step = sparse.csr_matrix((ones, (used[apart], users[apart])), shape=shape)
    one_step.data[:] = 1
    two_steps = (one_step + one_step @ one_step).tolil()
    two_steps.setdiag(0)
    direct = np.diff(one_step.indptr)
    within_two = np.asarray((two_steps.tocsr() > 0).sum(axis=1)).ravel()
    return (
        {path: int(direct[number]) for path, number in place.items() if direct[number]},
        {path: int(within_two[number]) for path, number in place.items() if within_two[number]},
    )


def measure_reach(direct: Mapping[str, int], within_two: Mapping[str, int]) -> Iterator[Measured]:
    for path, count in direct.items():
        yield Measured(file_id(path), "dependents", count)
    for path, count in within_two.items():
        yield Measured(file_id(path), "change_impact", count)
