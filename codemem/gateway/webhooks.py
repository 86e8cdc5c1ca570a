"""POST /webhooks/<provider>/<repository>: a git host tells of a push or of a pull request.

A push queues a run; a pull request queues its review, where the operator had the server post them.
Who knows the repository's secret may have that done, and nothing else: what a delivery says of
contents is not read. The console and the admin show the secret. A foreign signature and an unknown
repository get the same answer.
"""

import base64
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

import redis
import structlog
from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from redis.backoff import NoBackoff
from redis.retry import Retry

from codemem.gateway import body
from codemem.gateway.errors import BodyMalformed, BodyTooLarge, ErrorReport, response, translate
from graph import queries as graph
from indexing import services
from indexing.posting import delivery
from indexing.posting.events import PullRequestEvent, read_event
from indexing.posting.values import Forge
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


# Standard Webhooks, as newer GitLab signs: with a time, so that an old delivery is refused.
_SIGNATURE, _ID, _TIMESTAMP = "webhook-signature", "webhook-id", "webhook-timestamp"
_OLDEST_SECONDS = 300
_REPLAYS_KNOWN_SECONDS = 86_400

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
        told = body.decode_json(content)
        event = read_event(Forge(provider), told)
        if event is not None:
            return _reviewed(repository_id, event, content)
        return _accepted(known, request, repository_id, told)
    except (BodyMalformed, BodyTooLarge) as error:
        report = translate(error)
        assert report is not None
        return response(report)


def _is_signed(
    provider: _Provider, request: HttpRequest, content: bytes, repository_id: UUID
) -> bool:
    given = request.headers.get(provider.signature, "")
    secret = webhook_secret(repository_id)
    if provider.is_secret and _SIGNATURE in request.headers:
        return _is_signed_with_time(request, content, repository_id)
    if provider.is_secret:
        return constant_time_compare(given, secret)
    expected = provider.prefix + hmac.new(secret.encode(), content, sha256).hexdigest()
    return constant_time_compare(given, expected)


def _is_signed_with_time(request: HttpRequest, content: bytes, repository_id: UUID) -> bool:
    told, sent_at = request.headers.get(_ID, ""), request.headers.get(_TIMESTAMP, "")
    if not sent_at.isdecimal() or len(sent_at) > 12:  # noqa: PLR2004  seconds since 1970
        return False
    if abs(timezone.now().timestamp() - int(sent_at)) > _OLDEST_SECONDS:
        return False
    key = bytes.fromhex(webhook_secret(repository_id))
    signed = f"{told}.{sent_at}.".encode() + content
    expected = "v1," + base64.b64encode(hmac.new(key, signed, sha256).digest()).decode()
    given = request.headers.get(_SIGNATURE, "").split()
    return any(constant_time_compare(one, expected) for one in given)


def _reviewed(repository_id: UUID, event: PullRequestEvent, content: bytes) -> HttpResponse:
    """Queue the review of a pull request; what was delivered before is refused."""
    seen = _Seen(repository_id, content)
    if seen.is_known():
        return JsonResponse({"ignored": "This was delivered before."})
    try:
        record_id = delivery.accept(repository_id=repository_id, event=event, now=timezone.now())
        if record_id is not None:
            queue.post_review(record_id=record_id)
    except queue.QueueUnavailable:
        log.warning("webhook_waits_for_queue", repository=str(repository_id))
    # Only now: what failed on the way is taken when it is delivered again.
    seen.remember()
    if record_id is None:
        return JsonResponse({"ignored": "There is nothing to review, or it is not wanted."})
    return JsonResponse({"review": str(record_id)}, status=202)


class _Seen:
    """Whether the very same delivery came within a day.

    By its content, for hosts sign nothing else. Without Redis the review's own row still holds: an
    older event changes nothing, and the same head is posted once.
    """

    def __init__(self, repository_id: UUID, content: bytes) -> None:
        self._key = f"webhook:{repository_id}:{sha256(content).hexdigest()}"

    def is_known(self) -> bool:
        try:
            with _redis() as client:
                return bool(client.exists(self._key))
        except redis.RedisError:
            return False

    def remember(self) -> None:
        try:
            with _redis() as client:
                client.set(self._key, 1, ex=_REPLAYS_KNOWN_SECONDS)
        except redis.RedisError:
            log.warning("webhook_not_remembered")


def _redis() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=settings.REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=settings.REDIS_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), retries=0),
    )


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
