"""Who asks and what they may do, as frozen values: roles, token scopes, actions, the caller."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from uuid import UUID

# Names of namespaces and repositories: they stand in addresses and in ids without quoting.
NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,62}\Z"
NAME_RULE = (
    "Use lower-case letters, digits, dots, dashes or underscores; begin with a letter or digit."
)


class Role(IntEnum):
    """What a member may do in a namespace; each role includes the ones before it."""

    READER = 1
    WRITER = 2
    MAINTAINER = 3
    OWNER = 4

    @property
    def title(self) -> str:
        return self.name.lower()


class TokenScope(StrEnum):
    """What a token may be used for, whatever its user's role."""

    MEMORY_READ = "memory:read"
    MEMORY_WRITE = "memory:write"
    GRAPH_READ = "graph:read"
    REVIEW_RUN = "review:run"
    HOOKS_WRITE = "hooks:write"
    NAMESPACE_ADMIN = "admin:namespace"


class TokenKind(StrEnum):
    USER = "user"
    CI = "ci"
    SERVICE = "service"


DEFAULT_SCOPES: Mapping[TokenKind, frozenset[TokenScope]] = {
    TokenKind.USER: frozenset(
        {
            TokenScope.MEMORY_READ,
            TokenScope.MEMORY_WRITE,
            TokenScope.GRAPH_READ,
            TokenScope.REVIEW_RUN,
            TokenScope.HOOKS_WRITE,
        }
    ),
    TokenKind.CI: frozenset({TokenScope.REVIEW_RUN, TokenScope.GRAPH_READ, TokenScope.MEMORY_READ}),
    TokenKind.SERVICE: frozenset({TokenScope.GRAPH_READ, TokenScope.MEMORY_READ}),
}


class Action(StrEnum):
    """Everything a caller can ask for inside a namespace."""

    READ_MEMORY = "read memories"
    WRITE_MEMORY = "write memories"
    CAPTURE_SESSION = "have sessions captured"
    DELETE_ANY_MEMORY = "delete other people's memories"
    READ_GRAPH = "read the code graph"
    RUN_REVIEW = "review a diff"
    DISMISS_FINDING = "dismiss findings"
    SHOW_WORK_TREE = "show a work tree"
    REQUEST_INDEX = "have a branch indexed"
    MANAGE_REPOSITORIES = "manage repositories"
    CHANGE_SETTINGS = "change settings"
    CHANGE_OWNERS_SETTINGS = "change settings that are the owners'"
    MANAGE_MEMBERS = "manage members"
    DELETE_NAMESPACE = "delete the namespace"


@dataclass(frozen=True, slots=True)
class Permission:
    scope: TokenScope
    role: Role


PERMISSIONS: Mapping[Action, Permission] = {
    Action.READ_MEMORY: Permission(TokenScope.MEMORY_READ, Role.READER),
    Action.WRITE_MEMORY: Permission(TokenScope.MEMORY_WRITE, Role.WRITER),
    Action.CAPTURE_SESSION: Permission(TokenScope.HOOKS_WRITE, Role.WRITER),
    Action.DELETE_ANY_MEMORY: Permission(TokenScope.MEMORY_WRITE, Role.MAINTAINER),
    Action.READ_GRAPH: Permission(TokenScope.GRAPH_READ, Role.READER),
    Action.RUN_REVIEW: Permission(TokenScope.REVIEW_RUN, Role.READER),
    Action.DISMISS_FINDING: Permission(TokenScope.REVIEW_RUN, Role.WRITER),
    Action.SHOW_WORK_TREE: Permission(TokenScope.GRAPH_READ, Role.READER),
    Action.REQUEST_INDEX: Permission(TokenScope.GRAPH_READ, Role.WRITER),
    Action.MANAGE_REPOSITORIES: Permission(TokenScope.NAMESPACE_ADMIN, Role.MAINTAINER),
    Action.CHANGE_SETTINGS: Permission(TokenScope.NAMESPACE_ADMIN, Role.MAINTAINER),
    Action.CHANGE_OWNERS_SETTINGS: Permission(TokenScope.NAMESPACE_ADMIN, Role.OWNER),
    Action.MANAGE_MEMBERS: Permission(TokenScope.NAMESPACE_ADMIN, Role.OWNER),
    Action.DELETE_NAMESPACE: Permission(TokenScope.NAMESPACE_ADMIN, Role.OWNER),
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a user, through a token or a signed-in browser.

    `roles` holds the open namespaces that this caller is a member of and that the token does
    not leave out; a namespace that is not in it does not exist for the caller. `names` are theirs.
    """

    user_id: int
    username: str
    token_id: UUID | None
    scopes: frozenset[TokenScope]
    roles: Mapping[UUID, Role]
    names: Mapping[UUID, str]

    def can(self, action: Action, namespace_id: UUID) -> bool:
        """Answer with token scopes AND role; the only permission check there is."""
        permission = PERMISSIONS[action]
        role = self.roles.get(namespace_id)
        return role is not None and role >= permission.role and permission.scope in self.scopes

    def namespaces_for(self, action: Action) -> tuple[UUID, ...]:
        """Return every namespace in which the caller may do this, for filters in SQL."""
        return tuple(key for key in self.roles if self.can(action, key))

    def find_namespace(self, text: str) -> UUID | None:
        """Return the caller's namespace of that name or id text."""
        for key, name in self.names.items():
            if name == text:
                return key
        try:
            key = UUID(text)
        except ValueError:
            return None
        return key if key in self.roles else None


# What someone sees who is nobody: nothing.
NOBODY = Caller(user_id=0, username="", token_id=None, scopes=frozenset(), roles={}, names={})
