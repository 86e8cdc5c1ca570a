"""What a namespace may decide for itself: typed, checked, audited, and never a stale answer."""

from typing import Any

import pytest

from codemem import policies
from codemem.accounts.models import AuditEvent, Namespace, User
from codemem.accounts.values import TokenScope
from codemem.policies import Policy
from tests.factories import caller_of, make_namespace

pytestmark = pytest.mark.django_db

TTL = "memory.session_ttl_hours"


def kept(namespace: Namespace) -> dict[str, Any]:
    namespace.refresh_from_db()
    return namespace.settings


def set_by(user: User, namespace: Namespace, **changes: object) -> None:
    named = {key.replace("__", "."): value for key, value in changes.items()}
    policies.change(caller=caller_of(user), namespace_id=namespace.pk, changes=named)


def test_the_default_holds_until_somebody_chooses(namespace: Namespace, maintainer: User) -> None:
    assert policies.count(namespace.pk, TTL) == 168
    set_by(maintainer, namespace, memory__session_ttl_hours=24)
    assert policies.count(namespace.pk, TTL) == 24
    set_by(maintainer, namespace, memory__session_ttl_hours=None)
    assert policies.count(namespace.pk, TTL) == 168


def test_only_deviations_are_kept(namespace: Namespace, maintainer: User) -> None:
    set_by(maintainer, namespace, memory__session_ttl_hours=24, memory__injection="queue")
    assert kept(namespace) == {TTL: 24}
    set_by(maintainer, namespace, memory__session_ttl_hours=168)
    assert kept(namespace) == {}


def test_several_namespaces_are_one_query(
    namespace: Namespace, maintainer: User, django_assert_num_queries: Any
) -> None:
    other = make_namespace("other")
    set_by(maintainer, namespace, recall__floor=0.3)
    with django_assert_num_queries(1):
        held = policies.values([namespace.pk, other.pk], "recall.")
    assert held[namespace.pk]["recall.floor"] == 0.3
    assert held[other.pk]["recall.floor"] == policies.get_policy("recall.floor").default
    assert {key.partition(".")[0] for key in held[other.pk]} == {"recall"}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (TTL, 0, "a whole number from 1 to"),
        (TTL, 1.5, "a whole number"),
        (TTL, True, "a whole number"),
        (TTL, "24", "a whole number"),
        ("recall.floor", float("nan"), "a number from 0 to 1"),
        ("recall.floor", 10**400, "a number from 0 to 1"),
        ("memory.injection", "ignore", "one of refuse, queue, flag"),
        ("memory.injection", ["flag"], "one of refuse, queue, flag"),
        ("recall.counts_as_access", 1, "true or false"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(
    namespace: Namespace, maintainer: User, key: str, value: object, said: str
) -> None:
    changes = {"memory.branch_ttl_days": 7, key: value}
    with pytest.raises(policies.PolicyInvalid, match=said):
        policies.change(caller=caller_of(maintainer), namespace_id=namespace.pk, changes=changes)
    assert kept(namespace) == {}, "all or nothing"


def test_a_misspelt_key_is_told_the_right_one(namespace: Namespace, maintainer: User) -> None:
    with pytest.raises(policies.PolicyUnknown, match=r"Did you mean recall\.floor\?"):
        set_by(maintainer, namespace, recall__flor=0.3)


def test_writers_may_not_set_and_owners_settings_are_theirs(
    namespace: Namespace, owner: User, maintainer: User, writer: User
) -> None:
    with pytest.raises(policies.PolicyRefused, match="maintainer"):
        set_by(writer, namespace, recall__floor=0.3)
    with pytest.raises(policies.PolicyRefused, match="owner"):
        set_by(maintainer, namespace, recall__floor=0.3, language__provider="openai")
    assert kept(namespace) == {}
    set_by(owner, namespace, language__provider="openai")
    assert kept(namespace) == {"language.provider": "openai"}
    scopes = set(TokenScope) - {TokenScope.NAMESPACE_ADMIN}
    with pytest.raises(policies.PolicyRefused, match="admin:namespace"):
        policies.change(
            caller=caller_of(owner, scopes=scopes),
            namespace_id=namespace.pk,
            changes={"recall.floor": 0.3},
        )


def test_each_change_is_in_the_trail_once(namespace: Namespace, maintainer: User) -> None:
    for _ in range(2):
        set_by(maintainer, namespace, recall__floor=0.3, memory__injection="flag")
    events = AuditEvent.objects.filter(action="setting.change").order_by("target")
    assert [(event.target, event.actor, event.detail) for event in events] == [
        ("memory.injection", "mary", {"from": "queue", "to": "flag"}),
        ("recall.floor", "mary", {"from": policies.get_policy("recall.floor").default, "to": 0.3}),
    ]


def test_what_is_kept_and_no_longer_allowed_falls_back_to_the_default(namespace: Namespace) -> None:
    namespace.settings = {TTL: -5, "gone.long.ago": 1}
    namespace.save()
    assert policies.count(namespace.pk, TTL) == 168
    policies.change_as(actor="tests", namespace_id=namespace.pk, changes={"recall.floor": 0.2})
    assert kept(namespace)["gone.long.ago"] == 1, "another version may still know it"


def test_a_setting_whose_default_is_nonsense_cannot_be_declared() -> None:
    with pytest.raises(policies.PolicyInvalid):
        policies.declare(Policy(key="x.y", default=5, description="Nothing.", maximum=4))
    with pytest.raises(TypeError, match="twice"):
        policies.declare(policies.get_policy(TTL))


def test_every_setting_says_what_it_is_for() -> None:
    for key, policy in policies.registry().items():
        assert policy.description.endswith("."), key
        assert len(policy.description) > 20, key


def test_large_bounds_are_written_out() -> None:
    bounds = [policy.accepts for policy in policies.registry().values()]
    assert "a whole number from 500 to 1,000,000" in bounds
    assert not any("e+" in text for text in bounds)
