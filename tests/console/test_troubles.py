"""What a person sees when something is wrong: pages in the console's look that say what to do."""

import pytest
from django.db import OperationalError
from django.test import Client
from redis import ConnectionError as RedisAway

from codemem.console.pages import dashboard
from codemem.console.security import CONTENT_SECURITY_POLICY
from workers import health

LOOK = "console/mark.svg"
PROVEN = {"HTTP_REFERER": "http://testserver/console/n/team/members?page=1"}


def told(answer, status):
    text = answer.content.decode()
    assert answer.status_code == status
    assert LOOK in text
    assert "To the dashboard" in text
    assert answer["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    return text


@pytest.mark.parametrize("address", ["/console/nowhere", "/console/n/team/nowhere/at/all"])
def test_an_address_that_nothing_serves_is_told_in_the_consoles_look(address, as_owner):
    assert "No such page" in told(as_owner.get(address), 404)


def test_what_one_may_not_see_is_told(as_reader, repository):
    assert "Not allowed" in told(as_reader.get("/console/n/team/audit"), 403)


def test_an_address_that_only_takes_forms_says_so(as_owner, repository):
    answer = as_owner.get("/console/n/team/members/remove")

    assert "Nothing to see here" in told(answer, 405)
    assert answer["Allow"] == "POST"


def test_a_fault_of_ours_is_told_and_shows_nothing_of_itself(owner, namespace, monkeypatch):
    def broken(**_arguments):
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(dashboard, "overview", broken)
    browser = Client(raise_request_exception=False)
    browser.force_login(owner)

    text = told(browser.get("/console/n/team"), 500)
    assert "The server made a mistake" in text
    assert "secret inside" not in text


def test_a_page_that_outlived_its_token_says_what_to_do(owner, namespace):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner)

    text = told(browser.post("/console/n/team/members", {"username": "otto"}), 403)
    assert "reload the page, and send it again" in text


@pytest.mark.parametrize(
    ("error", "part"), [(OperationalError("gone"), "The database"), (RedisAway("gone"), "Redis")]
)
def test_a_service_that_is_away_is_named(error, part, as_owner, namespace, monkeypatch):
    def away(*_places, **_arguments):
        raise error

    monkeypatch.setattr(health, "parts", away)

    assert f"{part} does not answer" in told(as_owner.get("/console/jobs"), 503)


def test_a_form_sent_by_who_is_signed_out_leads_back_to_its_page(client, namespace):
    answer = client.post("/console/n/team/members/remove", {"username": "otto"}, **PROVEN)

    where = answer["Location"]
    assert where == "/console/sign-in?next=%2Fconsole%2Fn%2Fteam%2Fmembers%3Fpage%3D1&lost=yes"
    assert b"what you sent was not taken" in client.get(where).content


def test_a_fragment_for_who_is_signed_out_leads_the_whole_page_to_the_door(client, namespace):
    answer = client.get("/console/find?q=x", headers={"HX-Request": "true"}, **PROVEN)

    assert answer.status_code == 401
    assert answer["HX-Redirect"].startswith("/console/sign-in?next=%2Fconsole%2Fn%2Fteam%2Fmembers")


def test_a_page_elsewhere_is_nowhere_to_lead_back_to(client, namespace):
    proven = {"HTTP_REFERER": "https://evil.example/console/"}
    answer = client.post("/console/n/team/members/remove", **proven)

    assert answer["Location"] == "/console/sign-in?next=%2Fconsole%2F&lost=yes"


def test_every_page_is_there_without_redis(as_owner, repository, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    for address in ("/", "/n/team", "/n/team/memories", "/n/team/sessions", "/n/team/settings"):
        assert as_owner.get(f"/console{address}").status_code == 200, address
