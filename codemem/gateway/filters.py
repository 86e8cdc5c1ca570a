"""What lists of resources can be narrowed by, in the words of the wire."""

from typing import Any

import django_filters  # type: ignore[import-untyped]
from django.db.models import QuerySet
from django_filters.rest_framework import DjangoFilterBackend  # type: ignore[import-untyped]
from rest_framework.request import Request

from codemem.accounts.values import TokenKind
from codemem.gateway.errors import ArgumentsInvalid
from indexing.findings.values import Severity
from memory.consolidation.runs import CYCLES, State
from memory.values import MemoryType

_ALWAYS = frozenset({"cursor", "page_size", "format"})


class StrictFilterBackend(DjangoFilterBackend):  # type: ignore[misc]
    """Filters, and refuses what nothing reads: with a misspelt filter a list would show all."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> Any:
        filters = self.get_filterset_class(view, queryset)
        known = sorted(filters.base_filters) if filters else []
        for name in request.query_params:
            if name not in _ALWAYS and name not in known:
                raise ArgumentsInvalid(
                    f"There is no filter {name[:50]!r}.",
                    hint=f"Filters here: {', '.join(known)}." if known else "",
                )
        return super().filter_queryset(request, queryset, view)


class MemberFilters(django_filters.FilterSet):  # type: ignore[misc]
    namespace = django_filters.CharFilter("namespace__name")
    user = django_filters.CharFilter("user__username")


class TokenFilters(django_filters.FilterSet):  # type: ignore[misc]
    kind = django_filters.ChoiceFilter(choices=[(kind.value, kind.value) for kind in TokenKind])


class RepositoryFilters(django_filters.FilterSet):  # type: ignore[misc]
    namespace = django_filters.CharFilter("namespace__name")
    name = django_filters.CharFilter("name")


class FindingFilters(django_filters.FilterSet):  # type: ignore[misc]
    namespace = django_filters.CharFilter("repository__namespace__name")
    repository = django_filters.CharFilter("repository__name")
    rule = django_filters.CharFilter("rule")
    severity = django_filters.ChoiceFilter(
        choices=[(severity.title, severity.title) for severity in Severity]
    )
    state = django_filters.ChoiceFilter(
        choices=[(state, state) for state in ("open", "resolved", "dismissed")]
    )
    path = django_filters.CharFilter("path", lookup_expr="startswith")


class ReviewFilters(django_filters.FilterSet):  # type: ignore[misc]
    namespace = django_filters.CharFilter("repository__namespace__name")
    repository = django_filters.CharFilter("repository__name")
    number = django_filters.NumberFilter("number")
    risk = django_filters.CharFilter("risk_level")
    posting = django_filters.CharFilter("posting")


class MemoryFilters(django_filters.FilterSet):  # type: ignore[misc]
    namespace = django_filters.CharFilter("namespace__name")
    repository = django_filters.CharFilter("repository__name")
    type = django_filters.ChoiceFilter(
        "memory_type", choices=[(kind.value, kind.value) for kind in MemoryType]
    )
    author = django_filters.CharFilter("author_name")


class ProposalFilters(django_filters.FilterSet):  # type: ignore[misc]
    namespace = django_filters.CharFilter("namespace__name")
    repository = django_filters.CharFilter("repository__name")
    kind = django_filters.CharFilter("kind")
    state = django_filters.ChoiceFilter(
        choices=[(state, state) for state in ("open", "approved", "rejected", "overtaken")]
    )


class ConsolidationRunFilters(django_filters.FilterSet):  # type: ignore[misc]
    namespace = django_filters.CharFilter("namespace__name")
    cycle = django_filters.ChoiceFilter(choices=[(cycle.value, cycle.value) for cycle in CYCLES])
    state = django_filters.ChoiceFilter(choices=[(state.value, state.value) for state in State])
    dry_run = django_filters.BooleanFilter("is_dry")


class AuditFilters(django_filters.FilterSet):  # type: ignore[misc]
    namespace = django_filters.CharFilter("namespace_name")
    action = django_filters.CharFilter("action")
    actor = django_filters.CharFilter("actor")
