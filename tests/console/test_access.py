"""Who sees which page: a member, an outsider, somebody who is not signed in."""

from uuid import UUID

import pytest
from django.test import Client
from django.urls import URLPattern, reverse

from codemem.console.security import CONTENT_SECURITY_POLICY
from codemem.console.urls import urlpatterns
from tests import factories

NOBODYS_ID = UUID("01920000-0000-7000-8000-00000000dead")
# Whatever a page's address may take besides its place.
NAMES = {"namespace": "team", "repository": "app", "node_id": "file:app.py", "path": "app.py"}


def _names(pattern: URLPattern) -> dict[str, object]:
    return {name: NAMES.get(name, NOBODYS_ID) for name in pattern.pattern.converters}


def _address(pattern: URLPattern) -> str:
    return reverse(f"console:{pattern.name}", kwargs=_names(pattern))


BEHIND_THE_DOOR = [
    pattern for pattern in urlpatterns if pattern.name not in {"sign-in", "sign-out"}
]
OF_NAMESPACE = [pattern for pattern in BEHIND_THE_DOOR if "namespace" in _names(pattern)]
# Parts of pages that answer about what a parameter names, and nothing without it.
PARTS = {"graph-node"}
# Pages whose address names nothing but the place: they are there for every member.
PLACES = [
    pattern
    for pattern in OF_NAMESPACE
    if set(_names(pattern)) <= {"namespace", "repository"} and pattern.name not in PARTS
]


def _named(pattern: URLPattern) -> str:
    return str(pattern.name)


@pytest.mark.parametrize("pattern", BEHIND_THE_DOOR, ids=_named)
def test_every_page_leads_who_is_not_signed_in_to_the_door(pattern, client, db):
    answers = [client.get(_address(pattern)), client.post(_address(pattern))]

    # 405: not the method of this page, whoever asks.
    led = [answer for answer in answers if answer.status_code != 405]
    assert led
    for answer in led:
        assert answer.status_code == 302
        assert answer["Location"].startswith("/console/sign-in?next=")
    for answer in answers:
        assert answer["Content-Security-Policy"] == CONTENT_SECURITY_POLICY


@pytest.mark.parametrize("pattern", OF_NAMESPACE, ids=_named)
def test_every_page_of_a_namespace_does_not_exist_for_outsiders(pattern, as_outsider, repository):
    address = _address(pattern)

    # As for a namespace that nobody has; what takes no POST, or no GET, says so to everybody.
    assert as_outsider.get(address).status_code in {404, 405}
    assert as_outsider.post(address).status_code in {404, 405}
    assert 404 in {as_outsider.get(address).status_code, as_outsider.post(address).status_code}


@pytest.mark.parametrize("pattern", PLACES, ids=_named)
def test_every_page_of_a_place_is_there_for_its_owner(pattern, as_owner, repository):
    response = as_owner.get(_address(pattern))

    # 405: it only changes something. 400: it wants to be asked for something.
    assert response.status_code in {200, 400, 405}
    assert response["Content-Security-Policy"] == CONTENT_SECURITY_POLICY


@pytest.mark.parametrize("pattern", BEHIND_THE_DOOR, ids=_named)
def test_no_page_breaks_for_a_reader(pattern, as_reader, repository):
    response = as_reader.get(_address(pattern))

    assert response.status_code in {200, 400, 403, 404, 405}


def test_no_page_has_a_style_or_a_script_of_its_own(as_owner, repository):
    for pattern in PLACES:
        text = as_owner.get(_address(pattern)).content.decode()

        assert " style=" not in text, pattern.name
        assert "<style" not in text, pattern.name
        assert "<script>" not in text, pattern.name
        assert " onclick=" not in text, pattern.name
        assert "hx-on" not in text, pattern.name


def test_a_repository_of_another_namespace_is_not_found_under_ones_own(as_outsider, repository):
    assert as_outsider.get("/console/n/elsewhere/r/app").status_code == 404


def test_a_change_without_the_forms_token_is_refused(owner, namespace):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner)

    response = browser.post("/console/n/team/members", {"username": "otto", "role": "4"})

    assert response.status_code == 403


def test_a_null_byte_is_no_address(as_owner, repository):
    assert as_owner.get("/console/n/team/audit?actor=%00").status_code == 404


def test_the_dashboard_shows_only_what_its_visitor_may_see(as_outsider, repository):
    page = as_outsider.get("/console/").content.decode()

    assert "elsewhere" in page
    assert "team" not in page


def test_the_first_page_of_the_server_is_the_console(client, db):
    assert client.get("/")["Location"] == "/console/"
    assert client.get("/console")["Location"] == "/console/"


def test_a_closed_account_is_out_at_once(as_reader, reader, namespace):
    reader.is_active = False
    reader.save()

    assert as_reader.get("/console/n/team").status_code == 302


def test_a_branch_comes_along_on_pages_of_a_repository(as_owner, repository):
    page = as_owner.get("/console/n/team/r/app?ref=topic").content.decode()

    assert "/console/n/team/r/app/runs?ref=topic" in page
    assert "/console/n/team/members?ref" not in page


def test_a_namespace_is_found_by_its_name_whatever_else_there_is(as_owner, owner, namespace):
    factories.make_namespace("teams", owner=owner)

    assert b"You are owner here" in as_owner.get("/console/n/teams").content
    assert as_owner.get("/console/n/tea").status_code == 404
