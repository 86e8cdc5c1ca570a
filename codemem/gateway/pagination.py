"""How lists come in pages. Apart from resources.py: DRF's settings load it while DRF itself loads."""

from rest_framework.pagination import CursorPagination


class CreatedPagination(CursorPagination):
    """Newest first, by a cursor, so that pages stay whole while rows arrive."""

    ordering = "-created_at"
    page_size_query_param = "page_size"
    max_page_size = 200


class AuditPagination(CreatedPagination):
    ordering = "-at"
