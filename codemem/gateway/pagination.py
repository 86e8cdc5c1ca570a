"""How lists come in pages.

Apart from resources.py, because DRF's settings load it while DRF itself is loading.
"""

from rest_framework.pagination import CursorPagination


class CreatedPagination(CursorPagination):
    """Newest first, by a cursor, so that pages stay whole while rows arrive."""

    ordering = ("-created_at", "-id")
    page_size_query_param = "page_size"
    max_page_size = 200


class StartedPagination(CreatedPagination):
    ordering = ("-started_at", "-id")


class FindingPagination(CursorPagination):
    """The worst first."""

    ordering = ("-weight", "rule", "path", "line", "id")
    page_size_query_param = "page_size"
    max_page_size = 200


class AuditPagination(CreatedPagination):
    ordering = ("-at", "-id")
