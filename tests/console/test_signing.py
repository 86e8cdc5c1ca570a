import pytest
from django.test import Client

from codemem.accounts.models import AuditEvent
from codemem.accounts.services import signing_in
from tests import factories

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _cheap_hashes(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def person(db):
    return factories.make_user("ada", password=PASSWORD)


def sign_in(browser, password=PASSWORD, *, where="", username="ada", address="192.0.2.1"):
    fields = {"username": username, "password": password, "next": where}
    return browser.post("/console/sign-in", fields, REMOTE_ADDR=address)


def test_a_person_comes_back_to_the_page_they_wanted(client, person):
    door = client.get("/console/n/team/repositories?page=1")
    inside = sign_in(client, where="/console/n/team/repositories?page=1")

    assert door["Location"].endswith("?next=%2Fconsole%2Fn%2Fteam%2Frepositories%3Fpage%3D1")
    assert inside["Location"] == "/console/n/team/repositories?page=1"


@pytest.mark.parametrize(
    "where", ["https://evil.example/", "//evil.example", "javascript:alert(1)"]
)
def test_the_door_leads_nowhere_else(client, person, where):
    assert sign_in(client, where=where)["Location"] == "/console/"


def test_who_signed_out_is_out(client, person):
    sign_in(client)
    assert client.get("/console/").status_code == 200

    client.post("/console/sign-out")

    assert client.get("/console/").status_code == 302


def test_a_wrong_password_and_an_unknown_name_read_alike(client, person):
    wrong = sign_in(client, "guess")
    unknown = sign_in(client, "guess", username="nobody")

    assert (wrong.status_code, unknown.status_code) == (401, 401)
    sentence = b"This name and this password do not belong together."
    assert sentence in wrong.content
    assert sentence in unknown.content


def test_a_guesser_has_to_wait_even_with_the_right_password(client, person):
    for _ in range(signing_in._FAILURES_OF_PAIR):
        sign_in(client, "guess")

    assert sign_in(client).status_code == 429
    # Somebody else's address is not shut out by it.
    assert sign_in(Client(), address="192.0.2.2").status_code == 302


def test_many_names_from_one_address_have_to_wait(client, person, monkeypatch):
    monkeypatch.setattr(signing_in, "_FAILURES_OF_ADDRESS", 3)
    for number in range(3):
        sign_in(client, "guess", username=f"name-{number}")

    assert sign_in(client).status_code == 429


def test_the_trail_keeps_who_came_in_and_who_did_not(client, person):
    sign_in(client, "guess")
    sign_in(client)

    kept = AuditEvent.objects.order_by("at").values_list("actor", "action", "result")
    assert list(kept) == [
        ("ada", "person.sign_in_refused", "refused"),
        ("ada", "person.sign_in", "done"),
    ]


def test_the_admins_door_is_the_consoles(client, person):
    assert client.get("/admin/login/?next=/admin/")["Location"] == (
        "/console/sign-in?next=%2Fadmin%2F"
    )
