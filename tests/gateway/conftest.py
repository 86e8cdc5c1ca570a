"""What tests of the gateway share: two teams, made once for each module, and a stopped clock."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from tests.factories import NOW
from tests.fakes import StoppedClock
from tests.gateway.team import Team, make_team


@pytest.fixture(scope="module")
def teams(django_db_setup: None, django_db_blocker: Any) -> Iterator[Team]:
    """Make the teams in a transaction around a module's tests, each of which has its own inside."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_team()
        transaction.set_rollback(True)


@pytest.fixture
def team(teams: Team, db: None) -> Team:
    return teams


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StoppedClock:
    """Stop the server's clock."""
    stopped = StoppedClock(NOW)
    monkeypatch.setattr(timezone, "now", stopped)
    return stopped
