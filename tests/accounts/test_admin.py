"""The admin as a team lead uses it: namespaces, members, tokens, the trail."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from codemem.accounts import services
from codemem.accounts.models import AuditEvent, Membership, Namespace, Token, User
from codemem.accounts.services import TokenInvalid
from codemem.accounts.values import Role
from tests.factories import make_administrator, make_token, make_user

PASSWORD = "correct horse battery staple"


@pytest.fixture
def admin(db):
    """Return the browser of the person who runs the server."""
    browser = Client()
    browser.force_login(make_administrator())
    return browser


def form_of(browser: Client, path: str) -> dict[str, str]:
    """Return the fields of the page's forms as a browser would send them back."""
    context = browser.get(path).context
    forms = [context["adminform"].form]
    for formset in context["inline_admin_formsets"]:
        forms += [formset.formset.management_form, *formset.formset.forms]
    return {
        form.add_prefix(name): "" if (value := form[name].value()) is None else str(value)
        for form in forms
        for name in form.fields
        if form[name].value() is not False
    }


def submit(browser: Client, path: str, **changes: Any) -> Any:
    return browser.post(path, {**form_of(browser, path), **changes}, follow=True)


def messages(response: Any) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def run_action(browser: Client, path: str, action: str, *rows: Model) -> Any:
    return browser.post(
        path, {"action": action, "_selected_action": [str(row.pk) for row in rows]}, follow=True
    )


def change_path(namespace: Namespace) -> str:
    return f"/admin/accounts/namespace/{namespace.pk}/change/"


# --- Who gets in --------------------------------------------------------------------------------
def test_the_administrator_signs_in_with_a_password(db):
    services.save_administrator(username="admin", password=PASSWORD)
    browser = Client(enforce_csrf_checks=True)
    page = browser.get("/admin/", follow=True)
    assert page.redirect_chain[-1][0] == "/console/sign-in?next=%2Fadmin%2F"

    response = browser.post(
        "/console/sign-in",
        {
            "next": "/admin/",
            "username": "admin",
            "password": PASSWORD,
            "csrfmiddlewaretoken": page.context["csrf_token"],
        },
        follow=True,
    )

    assert "Team memory" in response.content.decode()


def test_an_ordinary_user_does_not_get_in(reader):
    browser = Client()
    browser.force_login(reader)

    assert browser.get("/admin/").status_code == 302


@pytest.mark.parametrize(
    "page", ["user", "namespace", "token", "auditevent", "user/add", "namespace/add", "token/add"]
)
def test_every_page_that_the_index_links_to_opens(admin, namespace, owner, page):
    make_token(owner)

    response = admin.get(f"/admin/accounts/{page}/")

    assert response.status_code == (403 if page == "auditevent/add" else 200)


# --- Namespaces ---------------------------------------------------------------------------------
def test_a_namespace_is_created_with_its_creator_as_owner(admin, reader):
    response = submit(
        admin,
        "/admin/accounts/namespace/add/",
        **{
            "name": "platform",
            "description": "Us",
            "memberships-0-user": reader.pk,
            "memberships-0-role": Role.WRITER.value,
        },
    )

    assert "was added successfully" in messages(response)[0]
    namespace = Namespace.objects.get(name="platform")
    assert dict(namespace.memberships.values_list("user__username", "role")) == {
        "admin": Role.OWNER,
        "rita": Role.WRITER,
    }
    assert list(AuditEvent.objects.order_by("id").values_list("action", "actor"))[-2:] == [
        ("namespace.create", "admin"),
        ("member.set_role", "admin"),
    ]


@pytest.mark.parametrize("name", ["Team", "a b", "", "-x"])
def test_a_name_that_is_no_name_is_refused_in_the_form(admin, name):
    response = submit(admin, "/admin/accounts/namespace/add/", name=name)

    assert "Please correct the error below" in response.content.decode()
    assert not Namespace.objects.exists()


def test_a_namespace_is_renamed_and_described(admin, namespace):
    submit(admin, change_path(namespace), name="crew", description="All of us")

    stored = Namespace.objects.get(pk=namespace.pk)
    assert (stored.name, stored.description) == ("crew", "All of us")
    assert AuditEvent.objects.get(action="namespace.rename").actor == "admin"


def test_a_name_taken_meanwhile_is_said_over_the_form(admin, namespace, monkeypatch):
    def taken(**_):
        raise services.NamespaceNameTaken("There is a namespace named 'crew' already.")

    monkeypatch.setattr(services, "change_namespace", taken)
    response = submit(admin, change_path(namespace), name="crew")

    assert messages(response) == ["There is a namespace named 'crew' already."]


def test_a_namespace_is_archived_and_restored_but_never_deleted(admin, namespace):
    listing = "/admin/accounts/namespace/"

    run_action(admin, listing, "archive", namespace)
    assert Namespace.objects.get(pk=namespace.pk).archived_at is not None
    run_action(admin, listing, "restore", namespace)
    assert Namespace.objects.get(pk=namespace.pk).archived_at is None

    run_action(admin, listing, "delete_selected", namespace)
    assert admin.post(f"/admin/accounts/namespace/{namespace.pk}/delete/").status_code == 403
    assert Namespace.objects.filter(pk=namespace.pk).exists()


# --- Members ------------------------------------------------------------------------------------
def row_of(fields: dict[str, str], user: User) -> str:
    """Return the prefix of the inline row that shows this member."""
    key = next(
        key for key, value in fields.items() if key.endswith("-user") and value == str(user.pk)
    )
    return key.removesuffix("user")


def test_a_member_is_given_another_role_and_taken_out(admin, namespace, reader, writer):
    fields = form_of(admin, change_path(namespace))
    submit(
        admin,
        change_path(namespace),
        **{
            f"{row_of(fields, reader)}role": Role.WRITER.value,
            f"{row_of(fields, writer)}DELETE": "on",
        },
    )

    roles = dict(namespace.memberships.values_list("user__username", "role"))
    assert roles["rita"] == Role.WRITER
    assert "walter" not in roles
    assert AuditEvent.objects.filter(action="member.remove", target="walter").exists()


def test_the_last_owner_is_kept_and_nothing_else_is_saved(admin, namespace, owner, reader):
    fields = form_of(admin, change_path(namespace))
    response = submit(
        admin,
        change_path(namespace),
        **{
            "description": "changed",
            f"{row_of(fields, owner)}role": Role.READER.value,
            f"{row_of(fields, reader)}role": Role.WRITER.value,
        },
    )

    assert messages(response) == ["olga is the last owner of team."]
    assert Namespace.objects.get(pk=namespace.pk).description == ""
    roles = dict(namespace.memberships.values_list("user__username", "role"))
    assert (roles["olga"], roles["rita"]) == (Role.OWNER, Role.READER)


def test_a_namespace_is_handed_over_in_one_form(admin, namespace, owner, writer):
    fields = form_of(admin, change_path(namespace))
    submit(
        admin,
        change_path(namespace),
        **{
            f"{row_of(fields, owner)}role": Role.READER.value,
            f"{row_of(fields, writer)}role": Role.OWNER.value,
        },
    )

    roles = dict(namespace.memberships.values_list("user__username", "role"))
    assert (roles["olga"], roles["walter"]) == (Role.READER, Role.OWNER)


def test_a_row_cannot_turn_into_another_member(admin, namespace, reader, outsider):
    fields = form_of(admin, change_path(namespace))
    submit(admin, change_path(namespace), **{f"{row_of(fields, reader)}user": outsider.pk})

    assert Membership.objects.filter(namespace=namespace, user=reader).exists()
    assert not Membership.objects.filter(namespace=namespace, user=outsider).exists()


def test_a_user_is_closed_not_deleted(admin, owner):
    assert admin.post(f"/admin/accounts/user/{owner.pk}/delete/").status_code == 403


# --- Tokens -------------------------------------------------------------------------------------
def issue(browser: Client, user: User, **changes: Any) -> Any:
    tomorrow = timezone.now() + timedelta(days=1)
    return browser.post(
        "/admin/accounts/token/add/",
        {
            "user": user.pk,
            "name": "laptop",
            "kind": "user",
            "scopes": ["memory:read", "graph:read"],
            "expires_at_0": f"{tomorrow:%Y-%m-%d}",
            "expires_at_1": "12:00:00",
            **changes,
        },
    )


def test_a_token_is_shown_once_and_kept_nowhere(admin, namespace, reader):
    response = issue(admin, reader, namespaces=[str(namespace.pk)])

    page = response.content.decode()
    (secret,) = re.findall(r"cm_\w{8}_\w{43}_\w{6}", page)
    assert "no-store" in response["Cache-Control"]
    # Neither the cookies nor the session of this browser have it.
    assert secret not in str(admin.cookies)
    assert secret not in str(dict(admin.session.items()))
    assert secret not in admin.get("/admin/accounts/token/").content.decode()
    caller = services.authenticate_token(secret=secret, now=timezone.now(), ip=None)
    assert caller.username == "rita"
    assert caller.roles == {namespace.pk: Role.READER}
    assert AuditEvent.objects.get(action="token.issue").actor == "admin"


@pytest.mark.parametrize(
    "changes",
    [
        {"scopes": []},
        {"scopes": ["everything"]},
        {"kind": "robot"},
        {"name": ""},
        {"expires_at_0": "2020-01-01"},
    ],
)
def test_a_token_that_makes_no_sense_is_refused_in_the_form(admin, reader, changes):
    response = issue(admin, reader, **changes)

    assert "Please correct the error" in response.content.decode()
    assert not Token.objects.exists()


def test_a_token_is_offered_with_the_usual_kind_and_life(admin, settings):
    settings.TOKEN_DEFAULT_DAYS = 30
    fields = form_of(admin, "/admin/accounts/token/add/")

    assert fields["kind"] == "user"
    offered = timezone.now() + timedelta(days=30)
    assert fields["expires_at"].startswith(f"{offered:%Y-%m-%d}")


def test_a_tokens_page_shows_what_became_of_it(admin, reader):
    issued = make_token(reader)
    services.authenticate_token(secret=issued.secret, now=timezone.now(), ip="10.0.0.7")

    page = admin.get(f"/admin/accounts/token/{issued.token.pk}/change/").content.decode()

    assert issued.token.prefix in page
    assert "10.0.0.7" in page


def test_a_token_cannot_be_edited_or_deleted(admin, reader):
    token = make_token(reader).token
    page = f"/admin/accounts/token/{token.pk}/change/"

    assert 'name="_save"' not in admin.get(page).content.decode()
    assert admin.post(page, {"name": "other"}).status_code == 403
    assert admin.post(f"/admin/accounts/token/{token.pk}/delete/").status_code == 403
    assert Token.objects.get().name == "tests"


def test_a_token_is_revoked_from_the_list(admin, reader):
    issued = make_token(reader)

    run_action(admin, "/admin/accounts/token/", "revoke", issued.token)

    with pytest.raises(TokenInvalid, match="was revoked"):
        services.authenticate_token(secret=issued.secret, now=timezone.now(), ip=None)
    assert AuditEvent.objects.get(action="token.revoke").actor == "admin"


def test_who_may_only_look_can_neither_revoke_nor_archive(namespace, reader):
    from django.contrib.auth.models import Permission

    issued = make_token(reader)
    auditor = make_user("ada")
    auditor.is_staff = True
    auditor.save()
    auditor.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    browser = Client()
    browser.force_login(auditor)

    assert browser.get("/admin/accounts/token/").status_code == 200
    run_action(browser, "/admin/accounts/token/", "revoke", issued.token)
    run_action(browser, "/admin/accounts/namespace/", "archive", namespace)

    assert Token.objects.get().revoked_at is None
    assert Namespace.objects.get(pk=namespace.pk).archived_at is None


# --- The trail ----------------------------------------------------------------------------------
def test_the_trail_is_there_to_read_only(admin, namespace):
    event = AuditEvent.objects.filter(action="namespace.create").first()
    assert event is not None
    page = f"/admin/accounts/auditevent/{event.pk}/change/"

    assert "namespace.create" in admin.get("/admin/accounts/auditevent/?q=team").content.decode()
    assert 'name="_save"' not in admin.get(page).content.decode()
    assert admin.post(page, {"actor": "x"}).status_code == 403
    assert admin.get("/admin/accounts/auditevent/add/").status_code == 403
    assert admin.post(f"/admin/accounts/auditevent/{event.pk}/delete/").status_code == 403
