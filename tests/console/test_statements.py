"""How many statements a page takes: few, and no more for more rows."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from codemem.accounts.models import Membership
from codemem.accounts.values import Role
from indexing.models import IndexRun
from tests import factories
from tests.console.conftest import signed_in
from tests.console.library import extremes, tell

pytestmark = pytest.mark.django_db

# A page of one place and what it lists; measured are 8 to 45, without what a first visit prepares.
MOST = 60
LISTS = (
    *("namespace", "repositories", "memories", "memory-timeline", "queue", "consolidation"),
    *("sessions", "handoffs", "work", "failures", "reviews", "figures", "members", "settings"),
    *("audit", "handoff-new", "memory-new"),
)
OF_REPOSITORY = ("repository", "repository-reviews", "branches", "runs", "symbols", "insights")
EVERYWHERE = ("dashboard", "namespaces", "tokens", "jobs")


def _addresses():
    here = {"namespace": "team"}
    there = {**here, "repository": "app"}
    return {
        **{name: reverse(f"console:{name}") for name in EVERYWHERE},
        **{name: reverse(f"console:{name}", kwargs=here) for name in LISTS},
        **{name: reverse(f"console:{name}", kwargs=there) for name in OF_REPOSITORY},
    }


def _counted(browser):
    counts = {}
    for name, address in _addresses().items():
        browser.get(address)  # prepares plans, reads settings
        with CaptureQueriesContext(connection) as statements:
            assert browser.get(address).status_code == 200, name
        counts[name] = len(statements)
    return counts


def test_a_page_takes_no_more_statements_for_more_rows(
    namespace, repository, writer, maintainer, owner
):
    tell(namespace, repository, writer, maintainer)
    browser = signed_in(owner)
    few = _counted(browser)
    assert {name: count for name, count in few.items() if count > MOST} == {}

    for number in range(3):
        _more(namespace, repository, number, owner)
    many = _counted(browser)

    # A statement more is one for a kind of row of which there were none.
    assert {name: (few[name], many[name]) for name in many if many[name] > few[name] + 1} == {}


def _more(namespace, repository, number, owner):
    colleague = factories.make_user(f"colleague{number}")
    Membership.objects.create(namespace=namespace, user=colleague, role=Role.WRITER)
    other = factories.make_repository(namespace, f"other-{number}", created_by=owner)
    for one in (repository, other):
        IndexRun.objects.create(
            repository=one,
            requested_by=colleague.username,
            state=IndexRun.State.FAILED,
            step=IndexRun.Step.FETCHING,
            finished_at=timezone.now(),
            error="The git host does not answer.",
        )
    factories.make_token(owner, now=timezone.now())
    factories.make_namespace(f"more-{number}", owner=owner)
    extremes(namespace, repository, colleague, number=number)
