"""POST /hooks/<agent>: what a client's hooks tell, in the client's own words.

Whoever answers a hook holds up an agent, so nothing here waits for anything but Postgres. An
answer is the client's own hook JSON, or nothing; errors have sentences for `codemem doctor`.
"""

from datetime import UTC, datetime
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from codemem.accounts.values import Caller
from codemem.gateway import body
from codemem.gateway.adapters import ADAPTERS, Adapter, recognized
from codemem.gateway.adapters.delivery import Delivery
from codemem.gateway.address import address_of
from codemem.gateway.afterwards import after_answer
from codemem.gateway.agents import agent_of
from codemem.gateway.auth import authenticate
from codemem.gateway.errors import (
    ArgumentsInvalid,
    BodyMalformed,
    NotFound,
    register,
    response,
    translate,
)
from memory import capture
from memory.capture import Capture, EventUnusable, Named, Receipt
from memory.events import Checkout
from memory.services.rights import RightMissing
from workers import queue

log = structlog.get_logger(__name__)

_MAXIMUM_BYTES = 6 << 20
_WHY = "Codemem-Capture-Note"

register({EventUnusable: ("event_unusable", 400), RightMissing: ("right_missing", 403)})


@csrf_exempt
@require_POST
def receive(request: HttpRequest, agent: str) -> HttpResponse:
    """Keep one event and answer it in the client's form."""
    try:
        caller = authenticate(request)
        delivery = _delivery(request, agent)
        adapter = ADAPTERS[delivery.agent]
        receipt = _received(request, caller, adapter, delivery)
    except Exception as error:
        report = translate(error)
        if report is None:
            raise
        log.info("hook_refused", agent=agent, code=report.code)
        return response(report)
    after_answer(lambda: _follow(receipt))
    answer = HttpResponse(status=200)
    if content := adapter.answer(receipt.answer, delivery.event_name):
        answer = JsonResponse(content)
    if receipt.answer.reason:
        answer[_WHY] = receipt.answer.reason
    return answer


def _received(
    request: HttpRequest, caller: Caller, adapter: Adapter, delivery: Delivery
) -> Receipt:
    address = address_of(request)
    return capture.receive(
        caller=caller,
        events=adapter.events_of(delivery),
        now=timezone.now(),
        named=Named(namespace=address.namespace or "", repository=address.repository or ""),
        wanted=_wanted(request),
    )


def _delivery(request: HttpRequest, agent: str) -> Delivery:
    if agent not in ADAPTERS:
        known = ", ".join(ADAPTERS)
        raise NotFound(f"There are no hooks of {agent[:40]!r}.", hint=f"Known: {known}.")
    decoded: Any = body.decode_json(body.read(request, maximum_bytes=_MAXIMUM_BYTES))
    if not isinstance(decoded, dict):
        raise BodyMalformed("The body is not a JSON object.")
    address = address_of(request)
    return Delivery(
        agent=recognized(agent, decoded),
        payload=decoded,
        event=request.GET.get("event", "")[:60],
        checkout=Checkout(
            directory=_header(request, "Codemem-Directory"),
            remote=address.remote or "",
            root_commit=address.root_commit or "",
            branch=address.ref or "",
            head=address.head or "",
        ),
        agent_version=agent_of(request).rpartition(" ")[2],
        happened_at=_happened_at(request),
    )


def _header(request: HttpRequest, name: str) -> str:
    value = request.headers.get(name, "")
    return value.encode("latin-1", "replace").decode("utf-8", "replace").strip()


def _wanted(request: HttpRequest) -> Capture:
    text = request.headers.get("Codemem-Capture", "").strip().lower()
    if not text:
        return Capture.FULL
    # Whoever asks for privacy in a word that we do not know is not served by keeping everything.
    return Capture(text) if text in Capture.values else Capture.OFF


def _happened_at(request: HttpRequest) -> datetime | None:
    text = request.headers.get("Codemem-Happened-At", "")
    if not text:
        return None
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None:
        raise ArgumentsInvalid("Codemem-Happened-At is no date and time of ISO 8601.")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _follow(receipt: Receipt) -> None:
    """Have what the event makes necessary done: Redis neither holds up nor fails an agent."""
    session_id = receipt.answer.session_id
    if session_id is None:
        return
    if receipt.has_ended:
        queue.end_session(session_id=session_id, now=timezone.now())
    elif receipt.has_failures:
        queue.learn_from_session(session_id=session_id, now=timezone.now())
