"""What the database itself refuses, whoever writes to it."""

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.utils import InternalError, ProgrammingError

from codemem.accounts.models import AuditEvent, Membership, User, validate_name
from codemem.accounts.services import record
from tests import factories


@pytest.mark.parametrize("name", ["team", "a", "9", "web-app_2.0", "x" * 63])
def test_a_name_may_stand_in_an_address(name):
    validate_name(name)


@pytest.mark.parametrize("name", ["", "Team", "-a", ".a", "a b", "a/b", "ä", "x" * 64, "team\n"])
def test_a_name_that_needs_quoting_is_refused(name):
    with pytest.raises(ValidationError):
        validate_name(name)


def test_two_users_cannot_differ_in_case_only(db):
    factories.make_user("rita")

    with pytest.raises(IntegrityError, match="accounts_user_username_any_case"):
        User.objects.create_user("RITA")


def test_a_user_is_a_member_once(namespace, reader):
    with pytest.raises(IntegrityError, match="accounts_membership_once"):
        Membership.objects.create(namespace=namespace, user=reader, role=4)


def test_a_role_outside_the_four_is_refused(namespace, outsider):
    with pytest.raises(IntegrityError, match="accounts_membership_role_known"):
        Membership.objects.create(namespace=namespace, user=outsider, role=5)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_auditevent SET actor = 'someone else'",
        "DELETE FROM accounts_auditevent",
    ],
)
def test_the_trail_can_be_added_to_but_not_changed(db, statement):
    record(actor="olga", action="namespace.create", target="team")

    with (
        pytest.raises((InternalError, ProgrammingError, IntegrityError), match="only ever added"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)

    assert AuditEvent.objects.get(action="namespace.create").actor == "olga"
