"""The explorer's picture of a repository: where each node stands, made after each ranking."""

from time import process_time
from typing import Final
from uuid import UUID

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray

from graph import pictures
from graph.algorithms.layout import NO_GROUP, Picture, lay_out
from graph.algorithms.network import EDGE_WEIGHTS, Network, Positions
from graph.models import DEFAULT_LAYER, Analysis, Community, Layout, NodeScore, SymbolVersion
from graph.pictures import Columns, GroupDisc
from graph.queries.analyses import current
from graph.values import NodeKind, VertexLabel, graph_id

RESOLUTION: Final = 1.0
UNGROUPED: Final = "Not tied to any group"


def lay_out_repository(*, repository_id: UUID) -> int:
    """Compute and store where a repository's nodes stand; return their number.

    Begins where they stood in the picture before. Raise NotRanked. 3 s of CPU for 63,000 nodes.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        # Two at once would begin at the same picture, and the later answer would win.
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 2))", [f"{repository_id}"]
        )
        started = process_time()
        analysis, network = current(repository_id=repository_id)
        communities = _communities(analysis)
        groups = _groups_of(network, communities)
        percentiles = _percentiles(repository_id, network)
        picture = lay_out(
            edges=network.edges(EDGE_WEIGHTS),
            groups=groups,
            ranks=percentiles,
            before=_before(repository_id, network),
        )
        columns = Columns(
            vertices=network.vertices,
            places=picture.places.astype(np.float32),
            groups=groups.astype(np.int32),
            kinds=_kinds(repository_id, network),
            percentiles=percentiles.astype(np.float32),
        )
        Layout.objects.update_or_create(
            repository_id=repository_id,
            defaults={
                "commit": analysis.commit,
                "analysis_id": analysis.pk,
                "seconds": round(process_time() - started, 3),
                "nodes": network.size,
                "columns": columns.packed(),
                "groups": _discs(communities, groups, picture),
            },
        )
    return network.size


def _communities(analysis: Analysis) -> list[Community]:
    rows = analysis.communities.filter(resolution=RESOLUTION).order_by("number")
    return list(rows.defer("neighbors"))


def _groups_of(network: Network, communities: list[Community]) -> Positions:
    groups = np.full(network.size, NO_GROUP)
    for place, community in enumerate(communities):
        groups[network.positions(community.members)] = place
    return groups


def _percentiles(repository_id: UUID, network: Network) -> NDArray[np.float64]:
    values = np.zeros(network.size)
    rows = NodeScore.objects.filter(repository_id=repository_id)
    scored = np.array(
        list(rows.values_list("node", "percentile").iterator()), dtype=[("v", "i8"), ("p", "f8")]
    )
    place = _places_in(network.vertices, scored["v"])
    values[place[place >= 0]] = scored["p"][place >= 0]
    return values


def _kinds(repository_id: UUID, network: Network) -> NDArray[np.uint8]:
    kinds = np.full(network.size, pictures.kind_numbers([NodeKind.FILE])[0])
    rows = SymbolVersion.objects.filter(
        repository_id=repository_id, layer=DEFAULT_LAYER, valid_to=None
    ).values_list("symbol_id", "symbol__kind")
    found = list(rows.iterator())
    vertices = [graph_id(label=VertexLabel.SYMBOL, key=key) for key, _ in found]
    numbers = pictures.kind_numbers([NodeKind(kind) for _, kind in found])
    place = _places_in(network.vertices, np.array(vertices, dtype=np.int64))
    kinds[place[place >= 0]] = numbers[place >= 0]
    return kinds


def _before(repository_id: UUID, network: Network) -> NDArray[np.float64] | None:
    """Return where the nodes stood before, NaN for those that are new."""
    row = Layout.objects.filter(repository_id=repository_id).first()
    if row is None:
        return None
    earlier = pictures.unpacked(bytes(row.columns))
    place = earlier.at(network.vertices)
    if not len(earlier.vertices):
        return None
    places = np.where((place >= 0)[:, None], earlier.places[place], np.nan)
    return places.astype(np.float64)


def _discs(
    communities: list[Community], groups: Positions, picture: Picture
) -> list[dict[str, object]]:
    """Return the groups as they are kept; the last one is of the nodes that no group has."""
    discs = [
        GroupDisc(
            number=place,
            name=community.name,
            size=len(community.members),
            x=round(float(picture.centers[place, 0]), 2),
            y=round(float(picture.centers[place, 1]), 2),
            radius=round(float(picture.radii[place]), 2),
            rank=community.rank,
        )
        for place, community in enumerate(communities)
    ]
    if alone := int((groups == NO_GROUP).sum()):
        discs.append(
            GroupDisc(
                number=NO_GROUP,
                name=UNGROUPED,
                size=alone,
                x=round(float(picture.centers[-1, 0]), 2),
                y=round(float(picture.centers[-1, 1]), 2),
                radius=round(float(picture.radii[-1]), 2),
                rank=0.0,
            )
        )
    return [{name: getattr(disc, name) for name in GroupDisc.__slots__} for disc in discs]


def _places_in(vertices: Positions, wanted: Positions) -> Positions:
    if not len(vertices):
        return np.full(len(wanted), -1)
    found = np.searchsorted(vertices, wanted).clip(max=len(vertices) - 1)
    return np.where(vertices[found] == wanted, found, -1)
