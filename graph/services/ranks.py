"""Ranks, groups and layers of repositories and namespaces: computed from columns, kept as rows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Final, TypeVar
from uuid import UUID

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray

from graph.algorithms.betweenness import betweenness
from graph.algorithms.communities import Communities, communities, names_of
from graph.algorithms.cycles import components, layers
from graph.algorithms.network import EDGE_WEIGHTS, Network, joined, unpacked
from graph.algorithms.pagerank import pagerank, percentiles
from graph.columns import read_network
from graph.models import (
    DEFAULT_LAYER,
    Analysis,
    Community,
    Repository,
    SymbolVersion,
)
from graph.queries.repositories import newest_revision
from graph.values import Score, VertexLabel, graph_id

RESOLUTIONS: Final = (1.0, 4.0, 16.0)
"""From few large groups (Django: 187, the largest of 10,000 nodes) to many small ones."""

_ANALYSES_KEPT: Final = 20
_LONGEST_NAME: Final = 500
# A group is named after its most important symbols: its many tests would all be called alike.
_NAMED_AFTER: Final = 60
Value = TypeVar("Value")


def rank_repository(*, repository_id: UUID) -> int:
    """Compute and store what the shape of a repository says of its live nodes; return their number.

    Ranks, bridges, layers and groups, in 4 s of CPU for 63,000 nodes. Reads every live edge of the
    repository once and replaces all scores.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        # Two rankings at once would store the same rows; the second waits and ranks what is newer.
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", [f"{repository_id}"]
        )
        repository = Repository.objects.get(pk=repository_id)
        # Read before the columns: a push in between makes the analysis look older than it is.
        shown = newest_revision(repository_id=repository_id)
        clock = _Clock()
        network = clock.timed("read", lambda: read_network(repository_id=repository_id))
        shape = _shape(network, clock)
        store_scores(repository_id=repository_id, scores=_scores(network, shape))
        analysis = Analysis(
            namespace_id=repository.namespace_id,
            repository=repository,
            commit=shown.commit if shown else "",
            revision=shown.id if shown else 0,
            network=network.packed(),
            seconds=clock.seconds,
        )
        _keep(analysis, network, shape)
    return network.size


def rank_namespace(*, namespace_id: UUID) -> int:
    """Rank the nodes of all repositories of a namespace together; return how many there are.

    Reads the columns that each repository's last ranking kept, not the graph.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", [f"{namespace_id}"])
        clock = _Clock()
        networks = _current_networks(namespace_id)
        network = clock.timed("join", lambda: joined(list(networks.values())))
        shape = _shape(network, clock)
        _store_namespace_scores(namespace_id, networks, network, shape)
        analysis = Analysis(namespace_id=namespace_id, seconds=clock.seconds)
        _keep(analysis, network, shape)
    return network.size


def is_namespace_ranked(*, namespace_id: UUID) -> bool:
    """Tell whether the namespace was ranked after the last of its repositories was."""
    analyses = Analysis.objects.filter(namespace_id=namespace_id).order_by("-id")
    newest = analyses.values_list("repository_id", flat=True).first()
    return newest is None and analyses.exists()


def store_scores(*, repository_id: UUID, scores: Iterable[Score]) -> int:
    """Replace all scores of a repository; readers see the old ones until it is done."""
    count = 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM graph_nodescore WHERE repository_id = %s", [repository_id])
        with cursor.copy(
            "COPY graph_nodescore (node, repository_id, rank, percentile, in_degree, betweenness,"
            " layer) FROM STDIN"
        ) as copy:
            for score in scores:
                copy.write_row(
                    (
                        *(score.vertex, repository_id, score.rank, score.percentile),
                        *(score.in_degree, score.betweenness, score.layer),
                    )
                )
                count += 1
    return count


@dataclass(slots=True)
class _Clock:
    """How long each step took."""

    seconds: dict[str, float] = field(default_factory=dict)

    def timed(self, step: str, work: Callable[[], Value]) -> Value:
        started = perf_counter()
        result = work()
        self.seconds[step] = round(perf_counter() - started, 3)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """What was computed of a network; arrays are by the position of its nodes."""

    ranks: NDArray[np.float64]
    in_degrees: NDArray[np.int64]
    betweenness: NDArray[np.float64]
    layers: NDArray[np.int64]
    cyclic_files: int
    communities: Mapping[float, Communities]


def _shape(network: Network, clock: _Clock) -> _Shape:
    every, dependencies = network.edges(EDGE_WEIGHTS), network.edges()
    files = dependencies.between(network.files, count=network.size)
    numbers = clock.timed("components", lambda: components(files))
    sizes = np.bincount(numbers, minlength=1)
    return _Shape(
        ranks=clock.timed("pagerank", lambda: pagerank(every)),
        in_degrees=np.bincount(dependencies.targets, minlength=network.size),
        betweenness=clock.timed("betweenness", lambda: betweenness(dependencies)),
        layers=clock.timed("layers", lambda: layers(files)),
        cyclic_files=int((sizes[numbers] > 1).sum()),
        communities={
            resolution: clock.timed(
                f"communities {resolution:g}",
                partial(communities, every, resolution=resolution),
            )
            for resolution in RESOLUTIONS
        },
    )


def _scores(network: Network, shape: _Shape) -> Iterable[Score]:
    columns = (
        *(network.vertices, shape.ranks, percentiles(shape.ranks), shape.in_degrees),
        *(shape.betweenness, shape.layers[network.files]),
    )
    for vertex, rank, percentile, in_degree, between, layer in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        yield Score(
            vertex=vertex,
            rank=rank,
            percentile=percentile,
            in_degree=in_degree,
            betweenness=between,
            layer=layer,
        )


def _store_namespace_scores(
    namespace_id: UUID, networks: Mapping[UUID, Network], network: Network, shape: _Shape
) -> None:
    owners = {
        vertex: repository_id
        for repository_id, part in networks.items()
        for vertex in part.vertices.tolist()
    }
    columns = (network.vertices, shape.ranks, percentiles(shape.ranks), shape.in_degrees)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM graph_namespacescore WHERE namespace_id = %s", [namespace_id])
        with cursor.copy(
            "COPY graph_namespacescore (node, namespace_id, repository_id, rank, percentile,"
            " in_degree) FROM STDIN"
        ) as copy:
            for vertex, *score in zip(*(column.tolist() for column in columns), strict=True):
                copy.write_row((vertex, namespace_id, owners[vertex], *score))


def _keep(analysis: Analysis, network: Network, shape: _Shape) -> None:
    """Add the newest analysis; earlier ones lose columns and communities, and the oldest go."""
    earlier = Analysis.objects.filter(
        namespace_id=analysis.namespace_id, repository=analysis.repository
    )
    earlier.filter(network__isnull=False).update(network=None)
    Community.objects.filter(analysis__in=earlier).delete()
    oldest = earlier.order_by("-id").values_list("pk", flat=True)[_ANALYSES_KEPT - 1 :]
    Analysis.objects.filter(pk__in=list(oldest)).delete()
    analysis.nodes = network.size
    analysis.edges = len(network.sources)
    analysis.layers = int(shape.layers.max(initial=-1)) + 1
    analysis.cyclic_files = shape.cyclic_files
    analysis.modularity = shape.communities[RESOLUTIONS[0]].modularity
    analysis.save()
    _keep_communities(analysis, network, shape)


def _keep_communities(analysis: Analysis, network: Network, shape: _Shape) -> None:
    names = _names_by_vertex(analysis)
    rows = []
    for resolution, division in shape.communities.items():
        members = [
            # The most important first, as readers want them.
            network.vertices[found.nodes[np.argsort(-shape.ranks[found.nodes])]].tolist()
            for found in division.found
        ]
        leading = [[v for v in group if v in names][:_NAMED_AFTER] for group in members]
        titles = names_of([[names[vertex] for vertex in group] for group in leading])
        rows += [
            Community(
                analysis=analysis,
                resolution=resolution,
                number=found.number,
                name=title[:_LONGEST_NAME],
                cohesion=found.cohesion,
                rank=float(shape.ranks[found.nodes].sum()),
                members=group,
                neighbors=[number for number, _ in found.neighbors],
            )
            for found, group, title in zip(division.found, members, titles, strict=True)
        ]
    Community.objects.bulk_create(rows, batch_size=500)


def _names_by_vertex(analysis: Analysis) -> dict[int, tuple[str, str]]:
    """Return path and name of each symbol of what was analyzed: what groups are named after."""
    first = graph_id(label=VertexLabel.SYMBOL, key=0)
    rows = SymbolVersion.objects.filter(layer=DEFAULT_LAYER, valid_to=None)
    # Not by key: all of them are wanted, and there may be hundreds of thousands.
    if analysis.repository_id is None:
        rows = rows.filter(repository__namespace_id=analysis.namespace_id)
    else:
        rows = rows.filter(repository_id=analysis.repository_id)
    found = rows.values_list("symbol_id", "symbol__path", "symbol__name")
    return {first + key: (path, name) for key, path, name in found.iterator()}


def _current_networks(namespace_id: UUID) -> dict[UUID, Network]:
    rows = Analysis.objects.filter(
        namespace_id=namespace_id, repository__isnull=False, network__isnull=False
    ).values_list("repository_id", "network")
    return {
        repository_id: unpacked(bytes(packed))
        for repository_id, packed in rows
        if repository_id is not None and packed is not None
    }
