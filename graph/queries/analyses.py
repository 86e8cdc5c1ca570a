"""The newest look at the shape of a repository, and the columns that it kept."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import BigIntegerField, Exists, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce

from graph.algorithms.network import Network, unpacked
from graph.models import DEFAULT_LAYER, Analysis, Layout, Repository, Revision

_KEY: Final = BigIntegerField()


class NotRanked(Exception):
    """The repository has not been ranked yet, so nothing is known of its shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisValue:
    """Which commit was analyzed, and what was found on the whole."""

    commit: str
    nodes: int
    edges: int
    layers: int
    cyclic_files: int
    modularity: float


def latest(*, repository_id: UUID) -> Analysis:
    """Return the newest analysis without its columns; raise NotRanked."""
    rows = Analysis.objects.filter(repository_id=repository_id).defer("network")
    return _found(rows.order_by("-id").first())


def current(*, repository_id: UUID) -> tuple[Analysis, Network]:
    """Return the newest analysis and its columns (500 KB for 63,000 nodes); raise NotRanked."""
    rows = Analysis.objects.filter(repository_id=repository_id, network__isnull=False)
    analysis = _found(rows.order_by("-id").first())
    return analysis, unpacked(bytes(analysis.network or b""))


def repositories_to_rank(*, repository_id: UUID | None = None) -> list[UUID]:
    """Return the repositories whose graph is newer than their ranks; of one, itself or none.

    One query.
    """
    newer = Revision.objects.filter(
        repository_id=OuterRef("pk"), layer=DEFAULT_LAYER, pk__gt=OuterRef("ranked")
    )
    ranked = Analysis.objects.filter(repository_id=OuterRef("pk")).order_by("-id")
    rows = Repository.objects.annotate(
        ranked=Coalesce(Subquery(ranked.values("revision")[:1]), Value(0), output_field=_KEY)
    ).filter(Exists(newer))
    if repository_id is not None:
        rows = rows.filter(pk=repository_id)
    return list(rows.values_list("pk", flat=True))


def repositories_to_lay_out(*, repository_id: UUID | None = None) -> list[UUID]:
    """Return the repositories that were ranked since they were laid out. One query."""
    ranked = Analysis.objects.filter(repository__isnull=False, network__isnull=False)
    if repository_id is not None:
        ranked = ranked.filter(repository_id=repository_id)
    drawn = Layout.objects.filter(
        repository=OuterRef("repository"), analysis_id__gte=OuterRef("pk")
    )
    rows = ranked.filter(~Exists(drawn)).order_by().values_list("repository_id", flat=True)
    return [key for key in rows.distinct() if key is not None]


def analysis_value(analysis: Analysis) -> AnalysisValue:
    return AnalysisValue(
        commit=analysis.commit,
        nodes=analysis.nodes,
        edges=analysis.edges,
        layers=analysis.layers,
        cyclic_files=analysis.cyclic_files,
        modularity=analysis.modularity,
    )


def _found(analysis: Analysis | None) -> Analysis:
    if analysis is None:
        raise NotRanked("This repository is not ranked yet: ask again in a minute.")
    return analysis
