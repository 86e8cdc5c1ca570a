"""Bearer tokens: how they look, what is kept of them, and when they stop working."""

import re
import zlib
from datetime import datetime, timedelta
from typing import Any

import pytest
import structlog
from django.db import connection

from codemem.accounts import services
from codemem.accounts.models import AuditEvent, Token
from codemem.accounts.services import IssuedToken, TokenExceedsMaker, TokenInvalid
from codemem.accounts.values import DEFAULT_SCOPES, Caller, Role, TokenKind, TokenScope
from tests.factories import NOW, caller_of, make_namespace, make_token, make_user

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def authenticate(secret: str, *, now: datetime = NOW, ip: str | None = None) -> Caller:
    return services.authenticate_token(secret=secret, now=now, ip=ip)


def issue_own(caller: Caller, **changes: Any) -> IssuedToken:
    wanted: dict[str, Any] = {
        "name": "another",
        "kind": TokenKind.USER,
        "scopes": None,
        "namespaces": (),
        "expires_at": None,
        "default_lifetime": 90 * DAY,
        "now": NOW,
    }
    return services.issue_own_token(caller=caller, **{**wanted, **changes})


# --- The secret ---------------------------------------------------------------------------------
def test_a_token_can_be_recognized_by_scanners(reader):
    issued = make_token(reader)

    match = re.fullmatch(r"(cm_[0-9A-Za-z]{8})_[0-9A-Za-z]{43}_([0-9A-Za-z]{6})", issued.secret)
    assert match is not None
    assert match[1] == issued.token.prefix
    # The checksum is CRC-32 in base 62 over all before it.
    value, digits = zlib.crc32(issued.secret.rpartition("_")[0].encode()), ""
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    for _ in range(6):
        value, rest = divmod(value, 62)
        digits = alphabet[rest] + digits
    assert match[2] == digits


def test_two_tokens_share_nothing(reader):
    one, other = make_token(reader), make_token(reader)

    assert one.secret[12:55] != other.secret[12:55]
    assert one.token.prefix != other.token.prefix


def test_the_secret_is_nowhere_in_the_database(reader, namespace):
    secret = make_token(reader, namespaces=[namespace]).secret
    authenticate(secret)

    random_part = secret.split("_")[2]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
        )
        tables = [name for (name,) in cursor.fetchall()]
        for table in tables:
            cursor.execute(f'SELECT count(*) FROM "{table}" AS t WHERE t::text LIKE %s', [
                f"%{random_part}%"
            ])  # fmt: skip
            assert cursor.fetchone()[0] == 0, table
    assert "accounts_token" in tables


# --- Whom it admits -----------------------------------------------------------------------------
def test_a_token_speaks_for_its_user_with_its_scopes(namespace, writer):
    issued = make_token(writer, scopes=[TokenScope.MEMORY_READ])

    caller = authenticate(issued.secret)

    assert (caller.user_id, caller.username) == (writer.pk, "walter")
    assert caller.token_id == issued.token.pk
    assert caller.scopes == {TokenScope.MEMORY_READ}
    assert caller.roles == {namespace.pk: Role.WRITER}


@pytest.mark.parametrize("kind", TokenKind)
def test_a_token_without_chosen_scopes_has_the_usual_ones_of_its_kind(reader, kind):
    assert authenticate(make_token(reader, kind=kind).secret).scopes == DEFAULT_SCOPES[kind]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda secret: "",
        lambda secret: "x",
        lambda secret: "cm_",
        lambda secret: secret[:-1],
        lambda secret: secret[:-1] + ("a" if secret[-1] != "a" else "b"),
        lambda secret: secret.lower() if secret != secret.lower() else secret.upper(),
        lambda secret: secret + " ",
        lambda secret: secret.replace("cm_", "xx_", 1),
        lambda secret: "cm_ä_\x00_\udcff",
    ],
)
def test_what_is_not_a_token_of_ours_is_refused_in_a_sentence(reader, spoil):
    with pytest.raises(TokenInvalid, match=r"not known here.*\.$"):
        authenticate(spoil(make_token(reader).secret))


def test_a_misspelt_token_costs_no_query(reader, django_assert_num_queries):
    secret = make_token(reader).secret

    with django_assert_num_queries(0), pytest.raises(TokenInvalid):
        authenticate(secret[:-3] + "000")


def test_authenticating_takes_one_query(reader, django_assert_num_queries):
    secret = make_token(reader).secret
    authenticate(secret)

    with django_assert_num_queries(1):
        authenticate(secret)


def test_a_token_is_refused_from_its_expiry_on(reader):
    secret = make_token(reader, expires_at=NOW + DAY).secret

    authenticate(secret, now=NOW + DAY - timedelta(seconds=1))
    with pytest.raises(TokenInvalid, match=r"expired on 2026-03-02\. Make a new one\."):
        authenticate(secret, now=NOW + DAY)


def test_a_token_cannot_expire_before_it_is_made(reader):
    with pytest.raises(ValueError, match="cannot expire before"):
        make_token(reader, expires_at=NOW)


def test_a_revoked_token_is_refused_at_once(reader):
    issued = make_token(reader)
    authenticate(issued.secret)

    services.revoke_token(token=issued.token, actor="olga", now=NOW)

    with pytest.raises(TokenInvalid, match=f"{issued.token.prefix} was revoked"):
        authenticate(issued.secret)


def test_revoking_twice_is_recorded_once(reader):
    issued = make_token(reader)

    services.revoke_token(token=issued.token, actor="olga", now=NOW)
    services.revoke_token(token=issued.token, actor="mary", now=NOW + DAY)

    assert AuditEvent.objects.get(action="token.revoke").actor == "olga"
    assert Token.objects.get(pk=issued.token.pk).revoked_at == NOW


def test_a_token_of_a_closed_account_is_refused(reader):
    secret = make_token(reader).secret
    reader.is_active = False
    reader.save()

    with pytest.raises(TokenInvalid, match="account of this token is closed"):
        authenticate(secret)
    assert not services.is_usable(secret=secret, now=NOW)


def test_a_scope_that_the_code_no_longer_knows_is_passed_over(reader):
    issued = make_token(reader)
    Token.objects.filter(pk=issued.token.pk).update(scopes=["memory:read", "moon:walk"])

    assert authenticate(issued.secret).scopes == {TokenScope.MEMORY_READ}


# --- Where it reaches ---------------------------------------------------------------------------
def test_a_changed_role_holds_from_the_next_request_on(namespace, reader):
    secret = make_token(reader).secret
    services.set_role(namespace=namespace, user=reader, role=Role.MAINTAINER, actor="olga")

    assert authenticate(secret).roles == {namespace.pk: Role.MAINTAINER}


def test_an_archived_namespace_is_invisible_at_once(namespace, owner):
    secret = make_token(owner).secret
    services.archive_namespace(namespace=namespace, actor="olga", now=NOW)

    assert authenticate(secret).roles == {}

    services.restore_namespace(namespace=namespace, actor="olga")
    assert authenticate(secret).roles == {namespace.pk: Role.OWNER}


def test_a_limited_token_opens_its_namespaces_only(namespace, owner):
    make_namespace("second", owner=owner)

    assert authenticate(make_token(owner, namespaces=[namespace]).secret).roles == {
        namespace.pk: Role.OWNER
    }


def test_a_limited_token_opens_nothing_that_its_user_may_not(namespace, outsider):
    own = outsider.namespaces.get()
    roles = authenticate(make_token(outsider, namespaces=[namespace, own]).secret).roles

    assert roles == {own.pk: Role.OWNER}


def test_a_limited_token_whose_namespaces_are_gone_opens_nothing(namespace, owner):
    gone = make_namespace("gone", owner=owner)
    issued = make_token(owner, namespaces=[gone])
    gone.delete()

    assert Token.objects.get(pk=issued.token.pk).namespaces.count() == 0
    assert authenticate(issued.secret).roles == {}


# --- Last used ----------------------------------------------------------------------------------
def test_last_use_is_written_at_most_once_a_minute(reader):
    issued = make_token(reader)
    uses = [NOW, NOW + MINUTE - timedelta(seconds=1), NOW + MINUTE]

    seen = []
    for now in uses:
        authenticate(issued.secret, now=now, ip="10.0.0.7")
        seen.append(Token.objects.get(pk=issued.token.pk).last_used_at)

    assert seen == [NOW, NOW, NOW + MINUTE]
    assert Token.objects.get(pk=issued.token.pk).last_used_ip == "10.0.0.7"


def test_a_refused_token_is_not_marked_as_used(reader):
    issued = make_token(reader, expires_at=NOW + DAY)

    with pytest.raises(TokenInvalid):
        authenticate(issued.secret, now=NOW + 2 * DAY)

    assert Token.objects.get(pk=issued.token.pk).last_used_at is None


# --- Tokens made by tokens ----------------------------------------------------------------------
def test_a_token_makes_one_like_itself(namespace, owner):
    maker = caller_of(owner, scopes=[TokenScope.MEMORY_READ, TokenScope.NAMESPACE_ADMIN])

    made = authenticate(issue_own(maker).secret)

    # The usual scopes of a user's token, cut to those of the maker.
    assert made.scopes == {TokenScope.MEMORY_READ}
    assert made.roles == {namespace.pk: Role.OWNER}


def test_a_token_cannot_make_one_that_can_do_more(owner):
    maker = caller_of(owner, scopes=[TokenScope.MEMORY_READ])

    with pytest.raises(TokenExceedsMaker, match="lacks: graph:read, memory:write"):
        issue_own(
            maker,
            scopes=[TokenScope.MEMORY_READ, TokenScope.MEMORY_WRITE, TokenScope.GRAPH_READ],
        )
    assert Token.objects.filter(name="another").count() == 0


def test_a_limited_token_makes_limited_ones(namespace, owner):
    make_namespace("second", owner=owner)
    maker = authenticate(make_token(owner, namespaces=[namespace]).secret)

    made = issue_own(maker)

    assert made.token.is_limited
    assert authenticate(made.secret).roles == {namespace.pk: Role.OWNER}


def test_a_limited_token_without_namespaces_left_makes_none(namespace, owner):
    gone = make_namespace("gone", owner=owner)
    secret = make_token(owner, namespaces=[gone]).secret
    gone.delete()

    with pytest.raises(TokenExceedsMaker, match="is closed"):
        issue_own(authenticate(secret))


def test_a_token_cannot_make_one_that_outlives_it(owner):
    maker = authenticate(make_token(owner, expires_at=NOW + 10 * DAY).secret)

    assert issue_own(maker).token.expires_at == NOW + 10 * DAY
    assert issue_own(maker, expires_at=NOW + DAY).token.expires_at == NOW + DAY
    with pytest.raises(TokenExceedsMaker, match="ends on 2026-03-11"):
        issue_own(maker, expires_at=NOW + 11 * DAY)


def test_a_browser_makes_any_token_of_its_user(owner):
    maker = services.caller_of_user(user=owner)

    made = issue_own(maker, scopes=list(TokenScope), expires_at=NOW + 400 * DAY)

    assert authenticate(made.secret).scopes == frozenset(TokenScope)


# --- The trail ----------------------------------------------------------------------------------
def test_issuing_is_recorded_with_everything_but_the_secret(namespace, owner, reader):
    issued = services.issue_token(
        user=reader,
        name="laptop",
        actor=owner,
        now=NOW,
        scopes=[TokenScope.MEMORY_READ],
        namespaces=[namespace],
        expires_at=None,
    )

    event = AuditEvent.objects.get(action="token.issue")
    assert (event.actor, event.target) == ("olga", issued.token.prefix)
    assert event.detail == {
        "user": "rita",
        "name": "laptop",
        "kind": "user",
        "scopes": ["memory:read"],
        "namespaces": ["team"],
    }


def test_an_event_names_the_request_and_the_token_it_came_with(owner, namespace):
    token = make_token(owner).token

    with structlog.contextvars.bound_contextvars(request_id="r-1", token_id=str(token.pk)):
        services.record(actor="olga", action="test", namespace=namespace)

    event = AuditEvent.objects.get(action="test")
    assert (event.request_id, event.token_id) == ("r-1", token.pk)
    assert (event.namespace_id, event.namespace_name) == (namespace.pk, "team")


def test_a_user_made_for_us_signs_in_by_token_only(db):
    user = services.create_user(username="ci", actor="olga")

    assert not user.has_usable_password()
    assert AuditEvent.objects.get(action="user.create").target == "ci"


def test_the_administrator_gets_a_new_password_but_stays_the_same_user(db):
    first = services.save_administrator(username="admin", password="one")
    again = services.save_administrator(username="admin", password="two")

    assert first.pk == again.pk
    assert again.check_password("two")
    assert again.is_superuser
    assert make_user("other").is_superuser is False
