"""Where a call holds: from argument, connection or inference to (namespace, repository, ref).

The connection is the URL or the headers. An inferred scope may read but never write: a memory
must not land in a namespace that nobody named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from codemem.accounts import queries as accounts
from codemem.accounts.values import PERMISSIONS, Action
from codemem.gateway.errors import (
    Ambiguous,
    NotFound,
    RefNotIndexed,
    RightMissing,
    ScopeNeeded,
)
from codemem.gateway.tool import Arguments, Call, CodeArguments, Result
from graph import queries as graph
from graph import services as graph_services
from graph.values import WORK_TREE, RefState, RepositoryValue
from indexing import queries as indexing


class Source(StrEnum):
    """How the scope was found."""

    ARGUMENT = "argument"
    CONNECTION = "connection"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True)
class NamespaceScope:
    id: UUID
    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class RepositoryScope:
    namespace: NamespaceScope
    repository: RepositoryValue
    source: Source


class ScopeEcho(Result):
    """The scope that an answer is for."""

    namespace: str | None = None
    namespaces: list[str] | None = Field(None, description="When more than one was read.")
    repository: str | None = None
    branch: str | None = None
    source: Source


class CodeEcho(Result):
    """Which commit the answer shows, and whether that is the newest one."""

    ref: str = Field(description="The ref that this answers for.")
    requested_ref: str | None = Field(None, description="When another ref had been asked for.")
    indexed_commit: str | None = None
    current_commit: str | None = None
    behind_by: int | None = Field(None, description="Commits; absent when unknown.")
    behind: bool
    pending: bool = Field(description="An index run is queued or running.")
    note: str | None = None


def namespace_for_write(call: Call, arguments: Arguments, action: Action) -> NamespaceScope:
    """Return the one namespace that was named; raise NotFound, RightMissing or ScopeNeeded."""
    scope = _named_namespace(call, arguments)
    if scope is None:
        require_of_token(call, action)
        raise ScopeNeeded(
            "Name the namespace to write to: pass `namespace`, or connect to"
            " /mcp/r/<namespace>/<repository>.",
            hint=_candidates(call, action),
        )
    require(call, action, scope)
    return scope


def namespaces_to_read(
    call: Call, arguments: Arguments, action: Action
) -> tuple[Sequence[NamespaceScope], Source]:
    """Return the named namespace, or all that the caller may read when none was named."""
    scope = _named_namespace(call, arguments)
    if scope is not None:
        require(call, action, scope)
        return (scope,), scope.source
    readable = accounts.visible_namespaces(caller=call.caller, action=action)
    scopes = tuple(NamespaceScope(row.pk, row.name, Source.INFERRED) for row in readable)
    if not scopes:
        require_of_token(call, action)
        raise NotFound(
            "You are not a member of any namespace.", hint="Ask an owner to add you in the admin."
        )
    return scopes, Source.INFERRED


def find_repository(
    call: Call, arguments: Arguments, *, namespaces: Sequence[NamespaceScope]
) -> RepositoryScope | None:
    """Return the repository that the call names, if it names one; raise NotFound for a wrong one.

    A remote or root commit sent by a client only proposes: unknown ones are no error.
    """
    by_id = {scope.id: scope for scope in namespaces}
    name, source = _repository_name(call, arguments)
    if name is not None:
        found = graph.find_repositories(namespace_ids=tuple(by_id), name=name)
        if not found:
            raise repository_unknown(name)
        return _one_repository(found, by_id, source)
    if call.address.remote or call.address.root_commit:
        found = graph.find_repositories_by_alias(
            namespace_ids=tuple(by_id),
            remote=call.address.remote,
            root_commit=call.address.root_commit,
        )
        # Several forks share a root commit: then nothing was named.
        if len(found) == 1:
            return _one_repository(found, by_id, Source.CONNECTION)
    return None


def repository_to_read(call: Call, arguments: Arguments, action: Action) -> RepositoryScope:
    """Return the repository of a question about code; infer it when there is only one."""
    namespaces, _ = namespaces_to_read(call, arguments, action)
    named = find_repository(call, arguments, namespaces=namespaces)
    if named is not None:
        return named
    by_id = {scope.id: scope for scope in namespaces}
    found = graph.find_repositories(namespace_ids=tuple(by_id), name=None)
    if not found:
        raise NotFound(
            "There is no repository here yet.",
            hint="A maintainer registers one: `manage.py register_repository`, or the admin.",
        )
    if len(found) > 1:
        names = ", ".join(
            sorted(f"{by_id[row.namespace_id].name}/{row.name}" for row in found)[:20]
        )
        raise ScopeNeeded(
            "Name the repository: pass `repository` (and `namespace`), or connect to"
            " /mcp/r/<namespace>/<repository>.",
            hint=f"You may read: {names}.",
        )
    return _one_repository(found, by_id, Source.INFERRED)


def ref_to_read(
    call: Call, arguments: CodeArguments, repository: RepositoryValue
) -> tuple[RefState, CodeEcho]:
    """Return the indexed state to answer from; raise RefNotIndexed when there is none.

    Its `view` is what the graph is read through. A ref named in the arguments must be indexed; the
    connection's branch falls back to the default branch, and the answer says so.
    """
    asked = arguments.ref or call.address.ref
    state = _state(call, repository, asked)
    if not state.is_indexed and arguments.ref is not None:
        raise RefNotIndexed(
            f"Ref {arguments.ref!r} of {repository.name} is not indexed.",
            hint=_how_to_index(arguments.ref),
        )
    if not state.is_indexed and asked is not None:
        state = _state(call, repository, None)
    shown = _code_echo(repository, state, asked=asked)
    if not state.is_indexed:
        raise RefNotIndexed(
            f"{repository.name} is not indexed yet.",
            hint="An index run is on its way."
            if shown.pending
            else "Ask a maintainer to index it.",
        )
    if state.view.layer:
        # An overlay that is read is kept.
        graph_services.note_overlay_used(layer=state.view.layer, now=call.now)
    return state, shown


def code_state(call: Call, arguments: CodeArguments, repository: RepositoryValue) -> CodeEcho:
    """Return how fresh the graph is, also when nothing is indexed yet."""
    asked = arguments.ref or call.address.ref
    state = _state(call, repository, asked)
    if not state.is_indexed:
        state = _state(call, repository, None)
    return _code_echo(repository, state, asked=asked)


def get_namespace(call: Call, name: str) -> NamespaceScope:
    """Return one of the caller's namespaces by name or id; raise NotFound."""
    found = call.caller.find_namespace(name)
    if found is None:
        raise NotFound(f"There is no namespace {name!r}.")
    return NamespaceScope(found, call.caller.names[found], Source.ARGUMENT)


def echo(scope: RepositoryScope | NamespaceScope, *, branch: str | None = None) -> ScopeEcho:
    if isinstance(scope, NamespaceScope):
        return ScopeEcho(namespace=scope.name, source=scope.source)
    return ScopeEcho(
        namespace=scope.namespace.name,
        repository=scope.repository.name,
        branch=branch,
        source=scope.source,
    )


def echo_namespaces(scopes: Sequence[NamespaceScope], source: Source) -> ScopeEcho:
    if len(scopes) == 1:
        return ScopeEcho(namespace=scopes[0].name, source=source)
    return ScopeEcho(namespaces=[scope.name for scope in scopes], source=source)


def require(call: Call, action: Action, scope: NamespaceScope) -> None:
    """Raise RightMissing, naming what is missing, unless the caller may do this."""
    require_of_token(call, action)
    if not call.caller.can(action, scope.id):
        role = PERMISSIONS[action].role
        raise RightMissing(
            f"You may not {action} in {scope.name}: that takes the role {role.title}.",
            hint="Ask an owner of the namespace.",
        )


def require_of_token(call: Call, action: Action) -> None:
    """Raise RightMissing when the token's scopes rule this out, wherever it is asked for."""
    scope = PERMISSIONS[action].scope
    if scope not in call.caller.scopes:
        raise RightMissing(
            f"This token may not {action}: it lacks the scope {scope}.",
            hint="Make a token with that scope in the admin.",
        )


def repository_unknown(name: str) -> NotFound:
    return NotFound(f"There is no repository {name!r} here.")


def _named_namespace(call: Call, arguments: Arguments) -> NamespaceScope | None:
    if arguments.namespace is not None:
        return get_namespace(call, arguments.namespace)
    if call.address.namespace is not None:
        return replace(get_namespace(call, call.address.namespace), source=Source.CONNECTION)
    return None


def _state(call: Call, repository: RepositoryValue, ref: str | None) -> RefState:
    return graph.get_ref_state(repository_id=repository.id, ref=ref, user_id=call.caller.user_id)


def _how_to_index(ref: str) -> str:
    if ref.startswith(WORK_TREE):
        return "`codemem watch` sends a work tree; leave `ref` out to ask about the default branch."
    return "`codemem index` has a branch indexed; leave `ref` out to ask about the default branch."


def _code_echo(repository: RepositoryValue, state: RefState, *, asked: str | None) -> CodeEcho:
    is_other = asked is not None and asked != state.ref
    return CodeEcho(
        ref=state.ref,
        requested_ref=asked if is_other else None,
        indexed_commit=state.indexed_commit,
        current_commit=state.head_commit,
        behind_by=state.behind_by,
        behind=state.indexed_commit != state.head_commit,
        pending=indexing.is_pending(
            repository_id=repository.id,
            ref=state.ref,
            default_branch=repository.default_branch,
        ),
        note=f"{asked} is not indexed; this answers for {state.ref}." if is_other else None,
    )


def _repository_name(call: Call, arguments: Arguments) -> tuple[str | None, Source]:
    if arguments.repository is not None:
        return arguments.repository, Source.ARGUMENT
    # A namespace given as an argument overrides the connection as a whole.
    if arguments.namespace is not None and arguments.namespace != call.address.namespace:
        return None, Source.CONNECTION
    return call.address.repository, Source.CONNECTION


def _one_repository(
    found: Sequence[RepositoryValue], namespaces: dict[UUID, NamespaceScope], source: Source
) -> RepositoryScope:
    if len(found) > 1:
        places = ", ".join(sorted(namespaces[row.namespace_id].name for row in found))
        raise Ambiguous(f"{found[0].name} exists in several namespaces: {places}. Name one.")
    return RepositoryScope(namespaces[found[0].namespace_id], found[0], source)


def _candidates(call: Call, action: Action) -> str:
    rows = accounts.visible_namespaces(caller=call.caller, action=action)
    names = ", ".join(row.name for row in rows[:20])
    return f"You may {action} in: {names}." if names else f"You may not {action} anywhere yet."
