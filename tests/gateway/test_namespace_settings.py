"""Settings of a namespace over REST and in the admin: who sees them, who sets them."""

import json
from typing import Any

import pytest
from django.test import Client

from codemem.accounts.models import AuditEvent, Namespace, User
from codemem.accounts.values import TokenScope
from tests.factories import make_administrator, make_token

pytestmark = pytest.mark.django_db

FLOOR = "recall.floor"
INLINE = {"memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}


def ask(user: User, method: str = "GET", body: Any = None, name: object = "team") -> Any:
    secret = make_token(user, scopes=list(TokenScope)).secret
    content = b"" if body is None else json.dumps(body).encode()
    return Client().generic(
        method,
        f"/api/v1/namespaces/{name}/settings",
        content,
        "application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )


def setting(answer: Any, key: str = FLOOR) -> dict[str, Any]:
    assert answer.status_code == 200, answer.content
    (found,) = [row for row in answer.json()["settings"] if row["key"] == key]
    return dict(found)


def test_every_member_sees_them_and_maintainers_set_them(
    namespace: Namespace, reader: User, maintainer: User
) -> None:
    assert setting(ask(reader))["is_default"]
    assert setting(ask(maintainer, "PATCH", {FLOOR: 0.25}))["value"] == 0.25
    seen = setting(ask(reader, name=namespace.pk))
    assert (seen["value"], seen["is_default"], seen["settable_by"]) == (0.25, False, "maintainer")
    assert setting(ask(maintainer, "PATCH", {FLOOR: None}))["is_default"]


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        ({FLOOR: 2}, "invalid_arguments", 422),
        ({"recall.roof": 1}, "setting_unknown", 422),
        ({}, "invalid_arguments", 422),
        ([1], "invalid_arguments", 422),
        ({"language.provider": "openai"}, "right_missing", 403),
    ],
)
def test_what_cannot_be_set_is_said(
    namespace: Namespace, maintainer: User, body: Any, code: str, status: int
) -> None:
    answer = ask(maintainer, "PATCH", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_readers_and_writers_may_not_set(namespace: Namespace, reader: User, writer: User) -> None:
    for user in (reader, writer):
        assert ask(user, "PATCH", {FLOOR: 0.2}).status_code == 403


def test_an_outsider_learns_nothing(namespace: Namespace, outsider: User) -> None:
    for method, body in (("GET", None), ("PATCH", {FLOOR: 0.2})):
        theirs = ask(outsider, method, body)
        nobodys = ask(outsider, method, body, name="nope")
        assert theirs.status_code == nobodys.status_code == 404
        assert theirs.content.replace(b"team", b"nope") == nobodys.content


# --- The admin ------------------------------------------------------------------------------------
@pytest.fixture
def admin(db: None) -> Client:
    browser = Client()
    browser.force_login(make_administrator())
    return browser


def save(browser: Client, namespace: Namespace, **changes: str) -> Any:
    named = {key.replace("__", "."): value for key, value in changes.items()}
    fields = {"name": namespace.name, "description": "", **INLINE, **named}
    return browser.post(f"/admin/accounts/namespace/{namespace.pk}/change/", fields)


def test_the_admin_sets_and_unsets_them(admin: Client, namespace: Namespace) -> None:
    assert save(admin, namespace, recall__floor="0.25").status_code == 302
    namespace.refresh_from_db()
    assert namespace.settings == {FLOOR: 0.25}
    page = admin.get(f"/admin/accounts/namespace/{namespace.pk}/change/").content.decode()
    assert 'value="0.25"' in page
    assert save(admin, namespace).status_code == 302
    namespace.refresh_from_db()
    assert namespace.settings == {}
    events = AuditEvent.objects.filter(action="setting.change", target=FLOOR)
    assert [event.actor for event in events] == ["admin", "admin"]


def test_the_admin_says_what_is_wrong_beside_the_field(admin: Client, namespace: Namespace) -> None:
    answer = save(admin, namespace, recall__floor="much", name="renamed")
    assert answer.status_code == 200
    assert "it must be a number from 0 to 1" in answer.content.decode()
    namespace.refresh_from_db()
    assert (namespace.name, namespace.settings) == ("team", {})
