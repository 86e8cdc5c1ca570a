"""The tool that searches what was captured of sessions, for those who may read them."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from codemem.accounts.values import Action
from codemem.gateway import scope as scopes
from codemem.gateway.tool import Arguments, Call, Result, Toolset, tool
from memory import sessions


class SessionSearchArguments(Arguments):
    query: str = Field(min_length=1, max_length=1000)
    since: datetime | None = Field(None, strict=False)
    limit: int = Field(10, ge=1, le=50)


class PlaceInSession(Result):
    session: UUID
    agent: str
    user: str
    title: str
    repository: str | None = None
    kind: str
    tool: str | None = None
    paths: list[str] | None = None
    text: str
    at: datetime
    score: float


class SessionSearchResult(Result):
    scope: scopes.ScopeEcho
    note: str = "Raw captures: what was said and done, not what was found to be true."
    found: list[PlaceInSession]


@tool(Toolset.SESSIONS, reads_only=True)
def search_sessions(call: Call, arguments: SessionSearchArguments) -> SessionSearchResult:
    """Find where words occurred in what was captured of agent sessions: prompts, commands, edits,
    errors. Only your own sessions, and shared ones. Use it when recall has no answer.
    """
    namespaces, source = scopes.namespaces_to_read(call, arguments, Action.READ_MEMORY)
    repository = scopes.find_repository(call, arguments, namespaces=namespaces)
    read = (repository.namespace,) if repository else namespaces
    found = sessions.search(
        caller=call.caller,
        text=arguments.query,
        limit=arguments.limit,
        namespace_ids=[scope.id for scope in read],
        repository_id=repository.repository.id if repository else None,
        since=arguments.since,
    )
    return SessionSearchResult(
        scope=scopes.echo(repository) if repository else scopes.echo_namespaces(read, source),
        found=[
            PlaceInSession(
                session=one.session.id,
                agent=one.session.agent,
                user=one.session.user,
                title=one.session.title,
                repository=one.session.repository,
                kind=one.kind,
                tool=one.tool or None,
                paths=list(one.paths) or None,
                text=one.excerpt,
                at=one.happened_at,
                score=one.score,
            )
            for one in found
        ],
    )
