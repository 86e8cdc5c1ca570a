"""What a caller may do: token scopes AND role, and nothing else."""

from uuid import UUID

import pytest

from codemem.accounts.values import NOBODY, PERMISSIONS, Action, Caller, Role, TokenScope

NAMESPACE = UUID(int=1)
ELSEWHERE = UUID(int=2)

# The least role for each action, spelled out: a change here is a change of policy.
LEAST_ROLE = {
    Action.READ_MEMORY: Role.READER,
    Action.WRITE_MEMORY: Role.WRITER,
    Action.CAPTURE_SESSION: Role.WRITER,
    Action.DELETE_ANY_MEMORY: Role.MAINTAINER,
    Action.READ_GRAPH: Role.READER,
    Action.RUN_REVIEW: Role.READER,
    Action.DISMISS_FINDING: Role.WRITER,
    Action.SHOW_WORK_TREE: Role.READER,
    Action.REQUEST_INDEX: Role.WRITER,
    Action.MANAGE_REPOSITORIES: Role.MAINTAINER,
    Action.CHANGE_SETTINGS: Role.MAINTAINER,
    Action.CHANGE_OWNERS_SETTINGS: Role.OWNER,
    Action.MANAGE_MEMBERS: Role.OWNER,
    Action.DELETE_NAMESPACE: Role.OWNER,
}


def caller(role: Role, *scopes: TokenScope) -> Caller:
    return Caller(
        user_id=1,
        username="rita",
        token_id=None,
        scopes=frozenset(scopes),
        roles={NAMESPACE: role},
        names={NAMESPACE: "team"},
    )


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("role", Role)
def test_a_role_allows_an_action_from_its_least_role_on(action, role):
    assert caller(role, *TokenScope).can(action, NAMESPACE) is (role >= LEAST_ROLE[action])


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("scope", TokenScope)
def test_even_an_owner_needs_the_scope_of_the_action(action, scope):
    assert caller(Role.OWNER, scope).can(action, NAMESPACE) is (PERMISSIONS[action].scope == scope)


@pytest.mark.parametrize("action", Action)
def test_a_namespace_without_membership_allows_nothing(action):
    owner = caller(Role.OWNER, *TokenScope)

    assert not owner.can(action, ELSEWHERE)
    assert owner.namespaces_for(action) == (NAMESPACE,)


@pytest.mark.parametrize("action", Action)
def test_nobody_may_do_nothing(action):
    assert not NOBODY.can(action, NAMESPACE)
    assert NOBODY.namespaces_for(action) == ()


def test_a_caller_finds_its_own_namespaces_by_name_and_by_id_only():
    rita = caller(Role.READER)

    assert rita.find_namespace("team") == NAMESPACE
    assert rita.find_namespace(str(NAMESPACE)) == NAMESPACE
    assert rita.find_namespace("other") is None
    assert rita.find_namespace(str(UUID(int=7))) is None
