"""DRF viewsets for resources: namespaces, members, tokens, repositories, memories, audit."""

from rest_framework.pagination import CursorPagination


class CreatedPagination(CursorPagination):
    """Newest first, by a cursor, so that pages stay whole while rows arrive."""

    ordering = "-created_at"
    page_size_query_param = "page_size"
    max_page_size = 200
