"""Namespaces and members: names are unique, an owner always stays, everything is recorded."""

import threading

import pytest
from django.db import connection

from codemem.accounts import queries, services
from codemem.accounts.models import AuditEvent, Membership, Namespace, User
from codemem.accounts.services import LastOwner, NamespaceNameTaken
from codemem.accounts.values import Action, Role, TokenScope
from tests.factories import NOW, caller_of, make_namespace, make_user


def roles(namespace: Namespace) -> dict[str, int]:
    return dict(
        Membership.objects.filter(namespace=namespace).values_list("user__username", "role")
    )


def actions() -> list[str]:
    return list(AuditEvent.objects.order_by("id").values_list("action", flat=True))


# --- Namespaces ---------------------------------------------------------------------------------
def test_whoever_creates_a_namespace_owns_it(db):
    olga = make_user("olga")

    namespace = services.create_namespace(
        name="team", owner=olga, actor="olga", description="All of us"
    )

    assert roles(namespace) == {"olga": Role.OWNER}
    assert namespace.description == "All of us"
    assert actions() == ["namespace.create"]


def test_a_second_namespace_of_the_same_name_is_refused_whole(namespace, outsider):
    with pytest.raises(NamespaceNameTaken, match="a namespace named 'team' already"):
        services.create_namespace(name="team", owner=outsider, actor="otto")

    assert roles(namespace)["olga"] == Role.OWNER
    assert not Membership.objects.filter(namespace__name="team", user=outsider).exists()


def test_a_renamed_namespace_keeps_its_id_and_members(namespace):
    before = roles(namespace)

    services.change_namespace(namespace=namespace, name="crew", actor="olga")

    assert Namespace.objects.get(name="crew").pk == namespace.pk
    assert roles(namespace) == before
    event = AuditEvent.objects.get(action="namespace.rename")
    assert (event.target, event.detail) == ("crew", {"from": "team"})


def test_a_taken_name_changes_nothing(namespace, outsider):
    with pytest.raises(NamespaceNameTaken):
        services.change_namespace(
            namespace=namespace, name="elsewhere", description="new", actor="olga"
        )

    stored = Namespace.objects.get(pk=namespace.pk)
    assert (stored.name, stored.description) == ("team", "")


def test_what_stays_the_same_is_not_recorded(namespace):
    before = actions()

    services.change_namespace(namespace=namespace, name="team", description="", actor="olga")

    assert actions() == before


def test_archiving_and_restoring_are_each_recorded_once(namespace):
    for _ in range(2):
        services.archive_namespace(namespace=namespace, actor="olga", now=NOW)
    for _ in range(2):
        services.restore_namespace(namespace=namespace, actor="olga")

    assert actions()[-2:] == ["namespace.archive", "namespace.restore"]


# --- Members ------------------------------------------------------------------------------------
def test_a_role_is_set_and_changed(namespace, outsider):
    services.set_role(namespace=namespace, user=outsider, role=Role.READER, actor="olga")
    services.set_role(namespace=namespace, user=outsider, role=Role.WRITER, actor="olga")

    assert roles(namespace)["otto"] == Role.WRITER
    event = AuditEvent.objects.filter(action="member.set_role").latest("id")
    assert (event.target, event.detail) == ("otto", {"role": "writer"})


def test_the_last_owner_can_neither_step_down_nor_leave(namespace, owner):
    with pytest.raises(LastOwner, match="olga is the last owner of team"):
        services.set_role(namespace=namespace, user=owner, role=Role.MAINTAINER, actor="olga")
    with pytest.raises(LastOwner):
        services.remove_member(namespace=namespace, user=owner, actor="olga")

    assert roles(namespace)["olga"] == Role.OWNER


def test_an_owner_may_leave_when_there_is_another(namespace, owner, writer):
    services.set_role(namespace=namespace, user=writer, role=Role.OWNER, actor="olga")
    services.remove_member(namespace=namespace, user=owner, actor="walter")

    assert "olga" not in roles(namespace)


def test_removing_somebody_who_is_no_member_is_not_recorded(namespace, outsider):
    services.remove_member(namespace=namespace, user=outsider, actor="olga")

    assert "member.remove" not in actions()


@pytest.mark.django_db(transaction=True)
def test_two_owners_who_demote_each_other_at_once_leave_one(transactional_db):
    olga, mary = make_user("olga"), make_user("mary")
    for _ in range(3):
        namespace = make_namespace(owner=olga)
        services.set_role(namespace=namespace, user=mary, role=Role.OWNER, actor="olga")
        refused = demote_at_once(namespace, [olga, mary])

        owners = Membership.objects.filter(namespace=namespace, role=Role.OWNER)
        assert owners.count() == 1
        assert len(refused) == 1


def demote_at_once(namespace: Namespace, users: list[User]) -> list[LastOwner]:
    start = threading.Barrier(len(users))
    refused: list[LastOwner] = []

    def demote(user: User) -> None:
        try:
            connection.ensure_connection()
            start.wait()
            services.set_role(namespace=namespace, user=user, role=Role.READER, actor="test")
        except LastOwner as error:
            refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=demote, args=(user,)) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused


# --- Queries ------------------------------------------------------------------------------------
def test_a_namespace_is_found_by_name_and_by_id(namespace, reader):
    caller = caller_of(reader)

    assert queries.find_namespace(caller=caller, name="team") == namespace
    assert queries.find_namespace(caller=caller, name=str(namespace.pk)) == namespace


def test_a_namespace_whose_name_looks_like_an_id_is_found(db):
    user = make_user()
    namespace = make_namespace("0" * 32, owner=user)

    assert queries.find_namespace(caller=caller_of(user), name="0" * 32) == namespace


def test_an_outsider_finds_no_namespace(namespace, outsider):
    caller = caller_of(outsider)

    assert queries.find_namespace(caller=caller, name="team") is None
    assert queries.find_namespace(caller=caller, name=str(namespace.pk)) is None
    assert [row.name for row in queries.member_namespaces(caller=caller)] == ["elsewhere"]
    assert [row.name for row in queries.visible_namespaces(caller=caller)] == ["elsewhere"]


def test_a_token_without_the_scope_sees_its_namespace_but_nothing_in_it(namespace, reader):
    caller = caller_of(reader, scopes=[TokenScope.HOOKS_WRITE])

    assert list(queries.member_namespaces(caller=caller)) == [namespace]
    assert not queries.visible_namespaces(caller=caller, action=Action.READ_MEMORY)


def test_members_and_the_trail_are_for_owners(namespace, owner, maintainer, outsider):
    for user, sees in ((owner, True), (maintainer, False), (outsider, False)):
        caller = caller_of(user)
        members = queries.members_of(caller=caller, action=Action.MANAGE_MEMBERS)
        assert members.filter(namespace=namespace).exists() is sees
        trail = queries.audit_of(caller=caller)
        assert trail.filter(namespace_id=namespace.pk).exists() is sees
