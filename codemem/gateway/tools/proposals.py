"""Tools about the review queue: what machines propose about memories, and deciding it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from codemem.accounts.values import Action
from codemem.gateway import scope as scopes
from codemem.gateway.errors import register
from codemem.gateway.tool import Arguments, Call, Result, Toolset, tool
from memory import queries, services

register(
    {
        services.ProposalUnknown: ("not_found", 404),
        services.ProposalDecided: ("proposal_decided", 409),
        services.ProposalOvertaken: ("proposal_overtaken", 409),
        services.ProposalInvalid: ("invalid_arguments", 422),
    }
)

Kind = Literal["new", "merge", "supersede", "conflict", "resolve", "forget", "promote", "raise"]
State = Literal["open", "approved", "rejected", "overtaken"]

_SHOWN_CHARACTERS = 400


# --- list_proposals -------------------------------------------------------------------------------
class ProposalsArguments(Arguments):
    kind: Kind | None = None
    state: State = "open"
    limit: int = Field(20, ge=1, le=100)


class ConcernedView(Result):
    id: UUID
    memory_type: str
    state: str
    author: str
    content: str = Field(description=f"Its first {_SHOWN_CHARACTERS} characters.")


class ProposalView(Result):
    id: UUID
    namespace: str
    repository: str | None = None
    kind: str
    operation: str
    reason: str
    confidence: float
    proposed_by: str
    created_at: datetime
    state: str
    decided_by: str | None = None
    memories: list[ConcernedView]


class ProposalsResult(Result):
    scope: scopes.ScopeEcho
    proposals: list[ProposalView]
    total: int


@tool(Toolset.CURATION, reads_only=True)
def list_proposals(call: Call, arguments: ProposalsArguments) -> ProposalsResult:
    """List what consolidation and reconciling propose about memories and a person has to decide:
    merge, supersede, forget, share with more people. Newest first. Use it when a person asks what
    waits for them.
    """
    namespaces, source = scopes.namespaces_to_read(call, arguments, Action.READ_MEMORY)
    repository = scopes.find_repository(call, arguments, namespaces=namespaces)
    read = (repository.namespace,) if repository else namespaces
    rows = services.visible_proposals(caller=call.caller).filter(
        namespace_id__in=[scope.id for scope in read], state=arguments.state
    )
    if repository is not None:
        rows = rows.filter(repository_id=repository.repository.id)
    if arguments.kind is not None:
        rows = rows.filter(kind=arguments.kind)
    page = list(rows.order_by("-created_at", "-id")[: arguments.limit])
    memories = _concerned(call, page)
    return ProposalsResult(
        scope=scopes.echo(repository) if repository else scopes.echo_namespaces(read, source),
        proposals=[
            ProposalView(
                id=item.pk,
                namespace=item.namespace.name,
                repository=item.repository.name if item.repository else None,
                kind=item.kind,
                operation=item.proposal["operation"],
                reason=item.reason,
                confidence=round(item.confidence, 3),
                proposed_by=item.proposed_by,
                created_at=item.created_at,
                state=item.state,
                decided_by=item.decided_by or None,
                memories=[memories[key] for key in item.memory_ids if key in memories],
            )
            for item in page
        ],
        total=rows.count(),
    )


# --- decide_proposal ------------------------------------------------------------------------------
class DecideArguments(Arguments):
    id: UUID
    approve: bool = Field(description="False turns it down, for 180 days.")
    note: str = Field("", max_length=1000)


class DecideResult(Result):
    scope: scopes.ScopeEcho
    id: UUID
    kind: str
    state: str
    memory_ids: list[UUID]


@tool(Toolset.CURATION, reads_only=False, destructive=True)
def decide_proposal(call: Call, arguments: DecideArguments) -> DecideResult:
    """Carry out a proposal of list_proposals, or turn it down. Only when a person says so: your own
    memories, or with the role maintainer.
    """
    scopes.require_of_token(call, Action.READ_MEMORY)
    scopes.require_of_token(call, Action.WRITE_MEMORY)
    item = services.get_proposal(caller=call.caller, item_id=arguments.id)
    namespace = scopes.NamespaceScope(
        item.namespace_id, item.namespace.name, scopes.Source.ARGUMENT
    )
    if arguments.namespace is not None:
        named = scopes.get_namespace(call, arguments.namespace)
        if named.id != namespace.id:
            raise services.ProposalUnknown(
                f"There is no proposal {arguments.id} here, or not for you."
            )
    if arguments.repository is not None:
        scopes.find_repository(call, arguments, namespaces=(namespace,))
    decided = services.decide(
        caller=call.caller,
        item_id=arguments.id,
        approve=arguments.approve,
        note=arguments.note,
        now=call.now,
    )
    return DecideResult(
        scope=scopes.echo(namespace),
        id=decided.id,
        kind=decided.kind,
        state=decided.state,
        memory_ids=list(decided.memory_ids),
    )


# --- Parts ----------------------------------------------------------------------------------------
def _concerned(call: Call, page: Sequence[Any]) -> dict[str, ConcernedView]:
    """Return the memories that some proposals are about, as far as the caller may read them."""
    wanted = {key for item in page for key in item.memory_ids}
    rows = queries.list_memories(caller=call.caller, now=call.now, include_inactive=True)
    return {
        str(row.pk): ConcernedView(
            id=row.pk,
            memory_type=row.memory_type,
            state=row.state,
            author=row.author_name,
            content=row.content[:_SHOWN_CHARACTERS],
        )
        for row in rows.filter(pk__in=wanted)
    }
