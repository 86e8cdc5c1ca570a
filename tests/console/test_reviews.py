"""The page of a review says what its comment says, and leads to what it names."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from django.urls import reverse

from codemem.accounts.models import Namespace, User
from graph.models import Repository
from indexing.models import ReviewRecord
from tests.console.conftest import signed_in
from tests.console.library import HOSTILE, Told, tell

pytestmark = pytest.mark.django_db


@pytest.fixture
def told(namespace: Namespace, repository: Repository, writer: User, maintainer: User) -> Told:
    return tell(namespace, repository, writer, maintainer)


@pytest.fixture
def as_writer(writer: User, namespace: Namespace) -> Client:
    return signed_in(writer)


@pytest.fixture
def show(told: Told, as_writer: Client) -> Callable[..., str]:
    """Return a function that shows the review of the library, told more of."""

    def show(**more: Any) -> str:
        record = ReviewRecord.objects.get(pk=told.review)
        record.answer = record.answer | more
        record.save()
        where = {"namespace": record.repository.namespace.name, "review_id": told.review}
        response = as_writer.get(reverse("console:review", kwargs=where))
        assert response.status_code == 200
        return response.content.decode()

    return show


def address(page: str, told: Told, **of: str) -> str:
    repository = ReviewRecord.objects.get(pk=told.review).repository
    names = {"namespace": repository.namespace.name, "repository": repository.name}
    return reverse(f"console:{page}", kwargs=names | of) + "?ref=main"


def test_owners_services_and_other_repositories_are_shown(show):
    page = show()

    for words in ("Owners of what is touched", "@team/money", "wrote 40% of", "3 files"):
        assert words in page
    for words in ("Other repositories", "5 uses", "src/api.ts:6", "and 2 more"):
        assert words in page
    assert "app:GET /orders/{}" in page
    assert "web calls it" in page
    assert HOSTILE not in page


def test_what_there_is_nothing_of_has_no_card(show):
    page = show(owners=None, repositories=[], services=None, missing=None)

    for words in ("Owners of what is touched", "Other repositories", "Endpoints and topics"):
        assert words not in page


def test_symbols_and_files_lead_to_their_pages(told, show):
    page = show()

    for symbol in ("sym:src/money.py#total", "sym:src/invoice.py#invoice"):
        assert f'href="{address("symbol", told, node_id=symbol)}"' in page
    inside = address("symbol", told, node_id="sym:tests/test_money.py#test_total")
    assert f'href="{inside}"' in page
    assert f'href="{address("file", told, path="src/money.py")}"' in page
    assert f'href="{address("file", told, path="tests/test_money.py")}"' in page


def test_what_a_memory_is_to_the_change_is_said(told, show):
    noted = {
        "id": str(told.shared),
        "memory_type": "decision",
        "role": "decision",
        "contradiction": "The change may go against this decision.",
        "broken_anchors": [
            {"cites": "a", "state": "missing", "detail": f"gone {number}."} for number in range(5)
        ],
    }
    page = show(memories=[noted])

    assert "may be contradicted" in page
    assert "The change may go against this decision." in page
    assert "What it cites: gone 1." in page
    assert "and 2 more" in page


@pytest.mark.parametrize(
    ("role", "state", "said"),
    [
        ("failure", "active", "known failure here"),
        ("failure", "resolved", "solved here before"),
        ("rule", "active", "applies"),
    ],
)
def test_the_role_of_a_memory_is_said(told, show, role, state, said):
    memory = {"id": str(told.shared), "memory_type": role, "role": role, "state": state}

    assert f">{said}</span>" in show(memories=[memory])


def test_the_probability_of_a_fix_is_said(show):
    risk = {"score": 41.5, "level": "medium", "parts": [], "probability": 0.415, "note": "Rough."}
    page = show(risk=risk)

    assert "42% likely that a fix follows" in page or "41% likely that a fix follows" in page
    assert "Rough." in page


@pytest.mark.parametrize(
    "name", ["sym:a\nb.py#x", "sym:../../x#y", "odd", "", "sym:" + quote("ä /?#"), HOSTILE]
)
def test_a_name_that_has_no_address_is_still_shown(show, name):
    named = {"id": name, "path": name, "depth": 1, "confidence": 1.0}
    page = show(
        dependents=[named],
        tests=[named],
        files=[{"path": name, "status": "modified", "lines_added": 1, "lines_removed": 0}],
    )

    assert HOSTILE not in page
