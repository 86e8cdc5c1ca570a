"""POST /webhooks/<provider>/<repository>: a git host tells of a push, and a run is queued.

Who knows the repository's secret may have it fetched, and nothing else: what a delivery says of
contents is not read. The console and the admin show the secret. A foreign signature and an unknown
repository get the same answer.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

import structlog
from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from codemem.gateway import body
from codemem.gateway.errors import BodyMalformed, BodyTooLarge, ErrorReport, response, translate
from graph import queries as graph
from indexing import services
from indexing.signing import webhook_secret
from workers import queue

log = structlog.get_logger(__name__)

_HEADS = "refs/heads/"
# GitHub sends up to 25 MB, nearly all of it the commits of the push.
_MAXIMUM_BYTES = 26_000_000
_UNKNOWN = ErrorReport(
    "not_found",
    404,
    "There is no such repository here, or the delivery is not signed with its secret.",
    "The console shows a repository's webhook address and secret.",
)


@dataclass(frozen=True, slots=True)
class _Provider:
    """How a git host signs: a header with the body's HMAC after a prefix, or the secret itself."""

    event: str
    signature: str
    prefix: str = ""
    is_secret: bool = False


_PROVIDERS = {
    "github": _Provider("X-GitHub-Event", "X-Hub-Signature-256", prefix="sha256="),
    "gitlab": _Provider("X-Gitlab-Event", "X-Gitlab-Token", is_secret=True),
    "gitea": _Provider("X-Gitea-Event", "X-Gitea-Signature"),
    "forgejo": _Provider("X-Forgejo-Event", "X-Forgejo-Signature"),
}


@csrf_exempt
@require_POST
def receive(request: HttpRequest, provider: str, repository_id: UUID) -> HttpResponse:
    """Queue a run for the branch that was pushed; answer without waiting for it."""
    known = _PROVIDERS.get(provider)
    try:
        content = body.read(request, maximum_bytes=_MAXIMUM_BYTES)
        if known is None or not _is_signed(known, request, content, repository_id):
            return response(_UNKNOWN)
        return _accepted(known, request, repository_id, body.decode_json(content))
    except (BodyMalformed, BodyTooLarge) as error:
        report = translate(error)
        assert report is not None
        return response(report)


def _is_signed(
    provider: _Provider, request: HttpRequest, content: bytes, repository_id: UUID
) -> bool:
    given = request.headers.get(provider.signature, "")
    secret = webhook_secret(repository_id)
    if provider.is_secret:
        return constant_time_compare(given, secret)
    expected = provider.prefix + hmac.new(secret.encode(), content, sha256).hexdigest()
    return constant_time_compare(given, expected)


def _accepted(
    provider: _Provider, request: HttpRequest, repository_id: UUID, delivery: Any
) -> HttpResponse:
    branch = _branch(delivery) if isinstance(delivery, Mapping) else None
    if branch is None:
        event = request.headers.get(provider.event, "")[:100]
        return JsonResponse({"ignored": f"{event or 'this'} is about no branch."})
    name, commit = branch
    try:
        state = graph.get_ref_state(repository_id=repository_id, ref=name)
        if commit and state.indexed_commit == commit:
            return JsonResponse({"ignored": "The graph shows this commit already."})
        # A branch that is gone is noticed by whichever run fetches next.
        return _queued(repository_id, name if commit else "")
    except ObjectDoesNotExist:
        return response(_UNKNOWN)


def _queued(repository_id: UUID, ref: str) -> HttpResponse:
    try:
        with transaction.atomic():
            run_id = services.request_index(
                repository_id=repository_id, ref=ref, requested_by="webhook"
            )
            queue.index(run_id=run_id)
    except queue.QueueUnavailable:
        log.warning("webhook_waits_for_queue", repository=str(repository_id))
    return JsonResponse({"run": str(run_id)}, status=202)


def _branch(delivery: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """Return the branch that a delivery is about, and its commit: None when the branch is gone.

    A push names `refs/heads/...` and the commit after it, all zeros for none. GitHub and Gitea also
    tell of a branch made or deleted, by its short name; the push that goes with it says the rest.
    """
    ref, after = delivery.get("ref"), delivery.get("after")
    if not isinstance(ref, str):
        return None
    if ref.startswith(_HEADS) and isinstance(after, str):
        return ref.removeprefix(_HEADS), after if after.strip("0") else None
    if delivery.get("ref_type") == "branch":
        return ref, None
    return None
