"""Receipts of deleted namespaces, for whoever asked for the deletion.

GET /erasures/<id>
"""

from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from django.http import HttpRequest
from ninja import Router

from codemem.gateway.rest import ErrorView, bearer, call_of
from codemem.gateway.tool import Result
from indexing import erasure


class ReceiptView(Result):
    id: UUID
    namespace: str
    state: str
    asked_by: str
    asked_at: datetime
    due_at: datetime
    finished_at: datetime | None
    counts: dict[str, int]


def erasures_router() -> Router:
    router = Router(tags=["namespaces"], auth=bearer)
    router.get(
        "/{erasure_id}",
        response={200: ReceiptView, 404: ErrorView},
        summary="See how far a deletion is",
    )(get_receipt)
    return router


def get_receipt(request: HttpRequest, erasure_id: UUID) -> ReceiptView:
    """Return the receipt of a deletion: rows erased by table, and when it was over."""
    receipt = erasure.get_receipt(caller=call_of(request).caller, erasure_id=erasure_id)
    return ReceiptView(**asdict(receipt))
