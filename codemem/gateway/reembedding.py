"""The change of embedding models over REST: seen by all, started by the server's administrators.

GET    /embedding          which model answers, which one is configured, how far a change is
POST   /embedding/change   change to the configured model; asked again, the change under way
DELETE /embedding/change   cancel it; the model before goes on answering
"""

from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Status
from pydantic import Field

from codemem.accounts import queries as accounts
from codemem.accounts.values import TokenScope
from codemem.embedding import EmbeddingUnavailable, reembedding
from codemem.embedding.reembedding import Progress, ReembeddingNeedless, ReembeddingUnderWay
from codemem.gateway.errors import NotFound, RightMissing, register
from codemem.gateway.rest import ErrorView, bearer, call_of
from codemem.gateway.tool import Result
from workers import queue

register(
    {
        EmbeddingUnavailable: ("embedding_unavailable", 503),
        ReembeddingNeedless: ("reembedding_needless", 409),
        ReembeddingUnderWay: ("reembedding_under_way", 409),
    }
)


class ChangeView(Result):
    id: UUID
    state: str = Field(description="running, switching, done or canceled")
    model: str = Field(description="What is changed to.")
    total: int = Field(description="Texts.")
    done: int
    per_second: float | None
    seconds_left: float | None
    trouble: str = Field(description="Why it does not go on at present; blank: it does.")
    requested_by: str
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None


class ModelsView(Result):
    model: str = Field(description="Its vectors answer.")
    configured: str = Field(description="What the settings name.")
    change: ChangeView | None


def embedding_router() -> Router:
    router = Router(tags=["embedding"], auth=bearer)
    router.get("", response={200: ModelsView, 503: ErrorView}, summary="See the models")(see)
    router.post(
        "/change",
        response={202: ChangeView, 403: ErrorView, 409: ErrorView, 503: ErrorView},
        summary="Change to the configured model",
    )(start)
    router.delete(
        "/change",
        response={200: ChangeView, 403: ErrorView, 404: ErrorView},
        summary="Cancel the change",
    )(cancel)
    return router


def see(request: HttpRequest) -> ModelsView:  # noqa: ARG001
    """Return which model answers, and how far a change is."""
    models, change = reembedding.models(), reembedding.latest()
    return ModelsView(
        model=models.serving,
        configured=models.configured,
        change=change_view(change) if change else None,
    )


def start(request: HttpRequest) -> Status[ChangeView]:
    """Have everything embedded by the configured model, which then takes over."""
    username = _administrator(request)
    change = reembedding.start(requested_by=username, now=timezone.now())
    queue.reembed()
    return Status(202, change_view(change))


def cancel(request: HttpRequest) -> ChangeView:
    """Leave it at the model that answers."""
    _administrator(request)
    change = reembedding.cancel(now=timezone.now())
    if change is None:
        raise NotFound("There is no change of models.")
    return change_view(change)


def change_view(change: Progress) -> ChangeView:
    told = asdict(change)
    del told["serving"]
    return ChangeView(**told)


def _administrator(request: HttpRequest) -> str:
    """Return who asks; raise RightMissing unless it is an administrator of the server."""
    caller = call_of(request).caller
    is_admin = accounts.get_user(user_id=caller.user_id).is_superuser
    if not is_admin or TokenScope.NAMESPACE_ADMIN not in caller.scopes:
        raise RightMissing(
            "You may not change the server's embedding model.",
            hint="It takes an administrator of the server and a token with the scope"
            f" {TokenScope.NAMESPACE_ADMIN}.",
        )
    return caller.username
