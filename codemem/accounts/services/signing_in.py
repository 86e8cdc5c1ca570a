"""Signing in with a password; whoever guesses is made to wait.

Failures are events of the audit trail, and the trail is what counts them: it holds across
processes and restarts, and shows afterwards who tried. Two attempts at once may both pass the
count; a password hash takes longer than that gains anybody.
"""

from datetime import datetime, timedelta
from typing import Final

from django.contrib.auth import authenticate
from django.db.models import QuerySet
from django.http import HttpRequest

from codemem.accounts.models import AuditEvent, User
from codemem.accounts.services.audit import record

_REFUSED: Final = "person.sign_in_refused"
_WINDOW: Final = timedelta(minutes=10)
# For a name from one address; for a name from anywhere; from one address for any name.
_FAILURES_OF_PAIR: Final = 5
_FAILURES_OF_NAME: Final = 30
_FAILURES_OF_ADDRESS: Final = 50
_LONGEST_NAME: Final = 150


class SignInRefused(Exception):
    """Name and password do not belong together; which of them is wrong is not told."""


class SignInThrottled(SignInRefused):
    """Too many failures lately: nothing was even tried."""


def sign_in(*, request: HttpRequest, username: str, password: str, now: datetime) -> User:
    """Return the person of a name and password; raise SignInRefused with a sentence."""
    name = username.strip()[:_LONGEST_NAME]
    address = request.META.get("REMOTE_ADDR") or ""
    _refuse_guessers(name=name, address=address, now=now)
    person = authenticate(request, username=name, password=password)
    if not isinstance(person, User):
        record(actor=name, action=_REFUSED, target=address, result="refused")
        raise SignInRefused("This name and this password do not belong together.")
    record(actor=person.username, action="person.sign_in", target=address)
    return person


def _refuse_guessers(*, name: str, address: str, now: datetime) -> None:
    lately = AuditEvent.objects.filter(action=_REFUSED, at__gt=now - _WINDOW).order_by()
    of_name, of_address = lately.filter(actor__iexact=name), lately.filter(target=address)
    if (
        _reaches(of_name.filter(target=address), _FAILURES_OF_PAIR)
        or _reaches(of_name, _FAILURES_OF_NAME)
        or _reaches(of_address, _FAILURES_OF_ADDRESS)
    ):
        minutes = int(_WINDOW.total_seconds() // 60)
        raise SignInThrottled(f"Too many failed attempts. Wait {minutes} minutes and try again.")


def _reaches(events: QuerySet[AuditEvent], limit: int) -> bool:
    return events[:limit].count() >= limit
