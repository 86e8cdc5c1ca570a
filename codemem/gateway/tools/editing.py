"""Tools that change memories which are there: delete, associate, mark."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from codemem.accounts.values import Action
from codemem.gateway import memories as shown
from codemem.gateway import scope as scopes
from codemem.gateway.errors import ArgumentsInvalid, register
from codemem.gateway.memories import AnchorView, MemoryEntry
from codemem.gateway.tool import Arguments, Call, Result, tool
from memory import queries, services
from memory.services.linking import memory_id_of
from memory.values import RelationshipKind, StoredMemory, Visibility

register(
    {
        services.MemoryChanged: ("memory_changed", 409),
        services.StateUnfit: ("state_unfit", 409),
        services.PurgeUnconfirmed: ("confirmation_needed", 409),
    }
)

Share = Annotated[float, Field(ge=0, le=1)]

_VERDICTS = ("helpful", "not_helpful", "stale", "wrong")


# --- delete_memory --------------------------------------------------------------------------------
class DeleteArguments(Arguments):
    id: UUID
    action: Literal["retire", "restore", "preview_purge", "purge"] = Field(
        "retire", description="purge erases for good; see preview_purge first."
    )
    confirm: str = Field("", max_length=36, description="To purge: the id again.")
    reason: str = Field("", max_length=500)


class DeleteResult(Result):
    scope: scopes.ScopeEcho
    id: UUID
    state: str
    erased: dict[str, int] | None = Field(None, description="Of a purge: what goes, by kind.")
    also_said_in: list[UUID] | None = Field(None, description="Other memories with the same words.")


@tool(reads_only=False, destructive=True)
def delete_memory(call: Call, arguments: DeleteArguments) -> DeleteResult:
    """Retire a memory that is wrong or no longer holds: it is not recalled any more, and `restore`
    brings it back. Your own memories; other people's take the role maintainer. `purge` erases text,
    history, vector and links of what should never have been stored.
    """
    stored, _ = shown.memory_named(call, arguments, arguments.id)
    if arguments.action in {"preview_purge", "purge"}:
        return _purge(call, arguments, stored)
    if arguments.action == "restore":
        services.restore_memory(caller=call.caller, memory_id=stored.id, now=call.now)
    else:
        services.delete_memory(
            caller=call.caller, memory_id=stored.id, reason=arguments.reason, now=call.now
        )
    after = _read(call, stored.id)
    return DeleteResult(scope=shown.echo_of(after), id=after.id, state=after.state)


def _purge(call: Call, arguments: DeleteArguments, stored: StoredMemory) -> DeleteResult:
    if arguments.action == "purge":
        purge = services.purge_memory(
            caller=call.caller,
            memory_id=stored.id,
            confirm=arguments.confirm,
            reason=arguments.reason,
            now=call.now,
        )
    else:
        purge = services.preview_purge(caller=call.caller, memory_id=stored.id, now=call.now)
    return DeleteResult(
        scope=shown.echo_of(stored),
        id=stored.id,
        state="purged" if purge.is_done else stored.state,
        erased=dict(purge.rows),
        also_said_in=list(purge.echoes) or None,
    )


# --- associate_memories ---------------------------------------------------------------------------
class AssociateArguments(Arguments):
    source_id: str = Field(max_length=1000, description="A memory's id, or a symbol's or file's.")
    target_id: str = Field(max_length=1000, description="A memory's id, or a symbol's or file's.")
    relationship: RelationshipKind
    weight: Share = 1.0
    unlink: bool = Field(False, description="Take this link away instead.")


class AssociateResult(Result):
    scope: scopes.ScopeEcho
    source_id: str
    target_id: str
    relationship: RelationshipKind
    weight: float | None = None
    unlinked: bool | None = None


@tool(reads_only=False)
def associate_memories(call: Call, arguments: AssociateArguments) -> AssociateResult:
    """Link two memories, or a memory and a symbol or file, by a named relationship (source
    RELATIONSHIP target), such as SUPERSEDES, CONTRADICTS or EXPLAINS. The same link again replaces
    its weight.
    """
    named = [
        shown.memory_named(call, arguments, memory_id)
        for end in (arguments.source_id, arguments.target_id)
        if (memory_id := memory_id_of(end)) is not None
    ]
    namespace = (
        named[0][1] if named else scopes.namespace_for_write(call, arguments, Action.WRITE_MEMORY)
    )
    repository = scopes.find_repository(call, arguments, namespaces=(namespace,))
    result = AssociateResult(
        scope=scopes.echo(repository or namespace),
        source_id=arguments.source_id,
        target_id=arguments.target_id,
        relationship=arguments.relationship,
    )
    where = repository.repository.id if repository else None
    if arguments.unlink:
        result.unlinked = services.dissociate(
            caller=call.caller,
            repository_id=where,
            source_id=arguments.source_id,
            target_id=arguments.target_id,
            kind=arguments.relationship,
            now=call.now,
        )
        return result
    services.associate(
        caller=call.caller,
        repository_id=where,
        source_id=arguments.source_id,
        target_id=arguments.target_id,
        kind=arguments.relationship,
        weight=arguments.weight,
        now=call.now,
    )
    result.weight = arguments.weight
    return result


# --- mark_memory ----------------------------------------------------------------------------------
class MarkArguments(Arguments):
    id: UUID
    mark: Literal[
        "helpful",
        "not_helpful",
        "stale",
        "wrong",
        "verify",
        "confirm",
        "resolve",
        "reopen",
        "pin",
        "unpin",
        "move",
    ] = Field(
        description="verify: check its anchors now; confirm: they hold as the code is now; resolve:"
        " a failure was fixed, a question answered; move: to another visibility."
    )
    visibility: Visibility | None = Field(None, description="To move.")
    note: str = Field("", max_length=1000, description="Why.")
    expected_version: int | None = Field(None, ge=1, description="Of resolve and reopen.")


class MarkResult(Result):
    scope: scopes.ScopeEcho
    memory: MemoryEntry
    verdicts: dict[str, int] | None = None
    anchors: list[AnchorView] | None = None
    proposal: UUID | None = Field(None, description="Somebody has to decide.")


@tool(reads_only=False)
def mark_memory(call: Call, arguments: MarkArguments) -> MarkResult:
    """Say of a memory whether it helped, is stale or wrong, still holds (verify, confirm), was
    settled (resolve, reopen), must be kept (pin), or who may see it (move). Verdicts are yours
    alone and may be changed; what others call wrong is put before a person.
    """
    action = Action.READ_MEMORY if arguments.mark in _VERDICTS else Action.WRITE_MEMORY
    stored, _ = shown.memory_named(call, arguments, arguments.id, action=action)
    result = MarkResult(scope=shown.echo_of(stored), memory=shown.entry(stored))
    match arguments.mark:
        case "helpful" | "not_helpful" | "stale" | "wrong":
            verdicts = services.give_feedback(
                caller=call.caller,
                memory_id=stored.id,
                verdict=arguments.mark,
                note=arguments.note,
                now=call.now,
            )
            result.verdicts = {name: getattr(verdicts, name) for name in _VERDICTS}
            result.proposal = verdicts.proposal_id
        case "verify" | "confirm":
            services.recheck(
                caller=call.caller,
                memory_id=stored.id,
                confirm=arguments.mark == "confirm",
                now=call.now,
            )
            result.anchors = shown.anchor_views(services.anchors_of([stored.id]).get(stored.id, ()))
        case "resolve" | "reopen":
            settle = services.resolve if arguments.mark == "resolve" else services.reopen
            settle(
                caller=call.caller,
                memory_id=stored.id,
                reason=arguments.note,
                expected_version=arguments.expected_version,
                now=call.now,
            )
        case "pin" | "unpin":
            services.pin(
                caller=call.caller,
                memory_id=stored.id,
                is_pinned=arguments.mark == "pin",
                now=call.now,
            )
        case "move":
            result.proposal = _move(call, arguments, stored)
    result.memory = shown.entry(_read(call, stored.id))
    return result


def _move(call: Call, arguments: MarkArguments, stored: StoredMemory) -> UUID | None:
    if arguments.visibility is None:
        raise ArgumentsInvalid("visibility: to move a memory, say who shall see it.")
    proposal = services.move(
        caller=call.caller,
        memory_id=stored.id,
        visibility=arguments.visibility,
        reason=arguments.note,
        now=call.now,
    )
    return proposal.pk if proposal else None


def _read(call: Call, memory_id: UUID) -> StoredMemory:
    return queries.get_memory(
        caller=call.caller, memory_id=memory_id, now=call.now, include_inactive=True
    )
