"""Who is asking: one door for every surface, and sentences for those who stay outside."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from codemem.accounts import services
from codemem.accounts.models import AuditEvent, Token
from codemem.accounts.values import Role, TokenScope
from tests.factories import make_token, make_user

PASSWORD = "correct horse battery staple"
# One address of each surface: MCP, tools, who-am-I, resources.
DOORS = [
    ("POST", "/mcp"),
    ("POST", "/api/v1/tools/list_namespaces"),
    ("GET", "/api/v1/me"),
    ("GET", "/api/namespaces"),
]


def knock(client: Client, door: tuple[str, str], authorization: str | None) -> Any:
    method, path = door
    headers = {} if authorization is None else {"Authorization": authorization}
    return client.generic(method, path, b"{}", "application/json", headers=headers)


def refusal(response: Any) -> str:
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith('Bearer realm="codemem"')
    body = response.json()
    assert set(body) == {"error"}
    assert body["error"]["code"] == "invalid_token"
    return str(body["error"]["message"])


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("sent", [None, "", "Bearer", "Bearer  ", "Basic b2xnYTp4", "Token cm_x"])
def test_without_a_token_every_door_says_what_to_send(client, db, door, sent):
    assert refusal(knock(client, door, sent)).startswith("Send a token: `Authorization: Bearer")


@pytest.mark.parametrize("door", DOORS)
def test_a_wrong_token_is_refused_in_the_same_words_everywhere(client, db, door):
    assert refusal(knock(client, door, "Bearer cm_wrong")) == (
        "This token is not known here. Make one under Tokens in the admin."
    )


@pytest.mark.parametrize("door", DOORS)
def test_an_expired_token_is_told_when_it_expired(client, reader, door):
    now = timezone.now()
    token = make_token(reader, now=now - timedelta(days=9), expires_at=now - timedelta(days=2))

    message = refusal(knock(client, door, f"Bearer {token.secret}"))

    assert message == (
        f"Token {token.token.prefix} expired on {now - timedelta(days=2):%Y-%m-%d}. Make a new one."
    )


@pytest.mark.parametrize("door", DOORS)
def test_a_revoked_token_is_told_so(client, reader, door):
    token = make_token(reader)
    services.revoke_token(token=token.token, actor="olga", now=timezone.now())

    message = refusal(knock(client, door, f"Bearer {token.secret}"))

    assert message == f"Token {token.token.prefix} was revoked. Make a new one in the admin."


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_may_be_written_in_any_case(client, namespace, reader, scheme):
    secret = make_token(reader).secret

    response = client.get("/api/v1/me", headers={"Authorization": f"{scheme}  {secret} "})

    assert response.json()["user"] == "rita"


def test_the_use_of_a_token_is_noted_with_its_address(client, reader):
    issued = make_token(reader)

    client.get("/api/v1/me", headers={"Authorization": f"Bearer {issued.secret}"})

    token = Token.objects.get(pk=issued.token.pk)
    assert token.last_used_ip == "127.0.0.1"
    assert token.last_used_at is not None


def test_an_audit_event_names_the_token_that_caused_it(client, namespace, owner):
    token = make_token(owner, scopes=[TokenScope.NAMESPACE_ADMIN])

    client.patch(
        "/api/namespaces/team",
        {"description": "Ours"},
        "application/json",
        headers={"Authorization": f"Bearer {token.secret}"},
    )

    event = AuditEvent.objects.get(action="namespace.describe")
    assert event.token_id == token.token.pk
    assert event.request_id != ""


# --- Browsers -----------------------------------------------------------------------------------
@pytest.fixture
def browser(db):
    """Return a browser that enforces CSRF, as a real one has to obey it."""
    return Client(enforce_csrf_checks=True)


@pytest.fixture
def staff(namespace):
    user = make_user("sam", password=PASSWORD)
    user.is_staff = True
    user.save()
    services.set_role(namespace=namespace, user=user, role=Role.OWNER, actor="tests")
    return user


def test_a_signed_in_browser_sees_resources_as_pages(browser, staff):
    browser.force_login(staff)

    for path in ("/api/", "/api/namespaces", "/api/members", "/api/tokens", "/api/repositories",
                 "/api/memories", "/api/audit", "/api/namespaces/team"):  # fmt: skip
        response = browser.get(path, headers={"Accept": "text/html"})
        assert response.status_code == 200, path
        assert response["Content-Type"].startswith("text/html"), path


def test_a_browser_changes_nothing_without_a_csrf_token(browser, staff):
    browser.force_login(staff)

    response = browser.patch("/api/namespaces/team", {"description": "x"}, "application/json")

    assert response.status_code == 403
    assert response.json()["error"]["message"].startswith("CSRF Failed")
    staff.namespaces.get(name="team", description="")


def test_a_browser_with_a_csrf_token_may_what_its_user_may(browser, staff):
    browser.force_login(staff)
    token = browser.get("/admin/password_change/").cookies["csrftoken"].value

    response = browser.patch(
        "/api/namespaces/team",
        {"description": "Ours"},
        "application/json",
        headers={"X-CSRFToken": token},
    )

    assert (response.status_code, response.json()["description"]) == (200, "Ours")


def test_a_session_opens_no_machines_door(browser, staff):
    browser.force_login(staff)

    for door in DOORS[:3]:
        refusal(knock(browser, door, None))


def test_a_token_needs_no_csrf_token(browser, namespace, owner):
    token = make_token(owner, scopes=[TokenScope.NAMESPACE_ADMIN]).secret

    response = browser.patch(
        "/api/namespaces/team",
        {"description": "Ours"},
        "application/json",
        headers={"Authorization": f"Bearer {token}"},
    )

    assert response.status_code == 200
