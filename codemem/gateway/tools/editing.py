"""Tools that change memories which are there, and ask and answer what is not known."""

from typing import Annotated, Literal, cast
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from codemem.accounts.values import Action
from codemem.gateway import memories as shown
from codemem.gateway import scope as scopes
from codemem.gateway.cited import MemoryId
from codemem.gateway.errors import ArgumentsInvalid, register
from codemem.gateway.memories import AnchorArguments, AnchorView, MemoryEntry
from codemem.gateway.tool import Arguments, Call, Result, Toolset, tool
from memory import queries, services
from memory.services.linking import memory_id_of
from memory.values import MemoryType, RelationshipKind, StoredMemory, Visibility

register(
    {
        services.MemoryChanged: ("memory_changed", 409),
        services.StateUnfit: ("state_unfit", 409),
        services.PurgeUnconfirmed: ("confirmation_needed", 409),
    }
)

Share = Annotated[float, Field(ge=0, le=1)]
Tag = Annotated[str, Field(min_length=1, max_length=100)]

_VERDICTS = ("helpful", "not_helpful", "stale", "wrong")


# --- refine_memory --------------------------------------------------------------------------------
class RefineArguments(Arguments):
    id: MemoryId
    content: str | None = None
    memory_type: MemoryType | None = None
    importance: Share | None = None
    confidence: Share | None = None
    tags: list[Tag] | None = Field(None, max_length=50, description="All that it shall have.")
    rationale: str | None = Field(None, max_length=20_000)
    alternatives: list[dict[str, str]] | None = Field(
        None, max_length=20, description="Each with option and reason."
    )
    acceptance_criteria: list[str] | None = Field(None, max_length=50)
    links: list[str] = Field([], max_length=50, description="To add.")
    anchors: list[AnchorArguments] | None = Field(
        None, max_length=50, description="In place of those it has."
    )
    reason: str = Field("", max_length=1000, description="Why; kept with the version.")
    expected_version: int | None = Field(
        None, ge=1, description="Refuse if it was changed since you read this version."
    )


class RefineResult(Result):
    scope: scopes.ScopeEcho
    memory: MemoryEntry
    changed: list[str] = Field(description="Empty: it said so already.")
    linked: list[str] | None = None
    redactions: dict[str, int] | None = None
    anchors: list[AnchorView] | None = None


@tool(Toolset.MEMORY, reads_only=False)
def refine_memory(call: Call, arguments: RefineArguments) -> RefineResult:
    """Correct or complete a memory in place: its id and links stay, what it said before becomes a
    version (see memory_history). What you leave out stays as it is.
    """
    stored, _ = shown.memory_named(call, arguments, arguments.id)
    given = arguments.model_dump(include=set(_REFINED), exclude_none=True)
    anchors = None
    if arguments.anchors is not None:
        anchors = shown.drafted_anchors(
            arguments.anchors, repository_id=stored.repository_id, branch=stored.branch
        )
    refined = services.refine_memory(
        caller=call.caller,
        memory_id=stored.id,
        expected_version=arguments.expected_version,
        reason=arguments.reason,
        links=arguments.links,
        anchors=anchors,
        now=call.now,
        **cast("services.Refinement", given),
    )
    return RefineResult(
        scope=shown.echo_of(refined.memory),
        memory=shown.entry(refined.memory),
        changed=list(refined.changed),
        linked=list(refined.linked) or None,
        redactions=dict(refined.redactions) or None,
        anchors=shown.anchor_views(services.anchors_of([stored.id]).get(stored.id, ())),
    )


_REFINED = (
    *("content", "memory_type", "importance", "confidence", "tags", "rationale"),
    *("alternatives", "acceptance_criteria"),
)


# --- split_memory ---------------------------------------------------------------------------------
class PartArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    content: str
    memory_type: MemoryType | None = None
    tags: list[Tag] | None = Field(None, max_length=50)
    importance: Share | None = None
    rationale: str = Field("", max_length=20_000)


class SplitArguments(Arguments):
    id: MemoryId
    parts: list[PartArguments] = Field(min_length=2, max_length=20)
    reason: str = Field("", max_length=1000)
    expected_version: int | None = Field(None, ge=1)


class SplitResult(Result):
    scope: scopes.ScopeEcho
    source: MemoryEntry
    parts: list[MemoryEntry]
    relationship: str = "PART_OF"


@tool(Toolset.CURATION, reads_only=False, destructive=True)
def split_memory(call: Call, arguments: SplitArguments) -> SplitResult:
    """Split a memory that says several things into memories that say one each. The parts take over
    scope, type, tags, links and anchors; the source is superseded and can be restored.
    """
    stored, _ = shown.memory_named(call, arguments, arguments.id)
    split = services.split_memory(
        caller=call.caller,
        memory_id=stored.id,
        parts=[services.Part(**part.model_dump()) for part in arguments.parts],
        expected_version=arguments.expected_version,
        reason=arguments.reason,
        now=call.now,
    )
    return SplitResult(
        scope=shown.echo_of(split.source),
        source=shown.entry(split.source),
        parts=[shown.entry(part) for part in split.parts],
    )


# --- merge_memories -------------------------------------------------------------------------------
class MergeArguments(Arguments):
    source_ids: list[MemoryId] = Field(min_length=2, max_length=20)
    content: str = Field(description="What says it all.")
    memory_type: MemoryType | None = Field(None, description="Default: that of most sources.")
    importance: Share | None = Field(None, description="Default: the sources' highest.")
    tags: list[Tag] = Field([], max_length=50, description="Beside the sources'.")
    rationale: str = Field("", max_length=20_000)
    reason: str = Field("", max_length=1000)


class MergeResult(Result):
    scope: scopes.ScopeEcho
    memory: MemoryEntry | None = None
    superseded: list[UUID] | None = None
    kept: list[UUID] | None = Field(None, description="Still active: seen by more people.")
    proposal: UUID | None = Field(None, description="A maintainer has to approve the merge.")
    relationship: str = "SUMMARIZES"


@tool(Toolset.CURATION, reads_only=False, destructive=True)
def merge_memories(call: Call, arguments: MergeArguments) -> MergeResult:
    """Merge memories that say nearly the same into one, which SUMMARIZES them; they are superseded
    and can be restored. The result is seen by no more people than the most private of them. Other
    people's memories take a maintainer: then the merge is proposed. Use it on near duplicates.
    """
    named = [shown.memory_named(call, arguments, memory_id) for memory_id in arguments.source_ids]
    merged = services.merge_memories(
        caller=call.caller,
        source_ids=[stored.id for stored, _ in named],
        content=arguments.content,
        memory_type=arguments.memory_type,
        importance=arguments.importance,
        tags=arguments.tags,
        rationale=arguments.rationale,
        reason=arguments.reason,
        now=call.now,
    )
    return MergeResult(
        scope=shown.echo_of(merged.memory or named[0][0]),
        memory=shown.entry(merged.memory) if merged.memory else None,
        superseded=list(merged.superseded) or None,
        kept=list(merged.kept) or None,
        proposal=merged.proposal_id,
    )


# --- delete_memory --------------------------------------------------------------------------------
class DeleteArguments(Arguments):
    id: MemoryId
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


@tool(Toolset.MEMORY, reads_only=False, destructive=True)
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


@tool(Toolset.CURATION, reads_only=False)
def associate_memories(call: Call, arguments: AssociateArguments) -> AssociateResult:
    """Link two memories, or a memory and a symbol or file, by a named relationship (source
    RELATIONSHIP target), such as SUPERSEDES, CONTRADICTS or EXPLAINS. The same link again replaces
    its weight. Use it when whoever meets the one should be led to the other.
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
    id: MemoryId
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


@tool(Toolset.MEMORY, reads_only=False)
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


# --- questions ------------------------------------------------------------------------------------
class QuestionsArguments(Arguments):
    action: Literal["list", "ask", "answer"] = "list"
    text: str | None = Field(None, description="The question, or the answer.")
    id: MemoryId | None = Field(None, description="To answer: the question.")
    ask_of: str | None = Field(None, max_length=150, description="A member's user name.")
    links: list[str] = Field([], max_length=50, description="What the question is about.")
    to_me: bool = Field(False, description="List only what you were asked.")
    limit: int = Field(20, ge=1, le=100)


class QuestionView(MemoryEntry):
    asked_of: str | None = None


class QuestionsResult(Result):
    scope: scopes.ScopeEcho
    open: list[QuestionView] | None = Field(None, description="The longest open first.")
    question: MemoryEntry | None = None
    answer: MemoryEntry | None = None


@tool(Toolset.CURATION, reads_only=False)
def questions(call: Call, arguments: QuestionsArguments) -> QuestionsResult:
    """List what nobody knew yet, ask the team or one person, or answer: the answer becomes a memory
    and the question is resolved. Ask when recall had nothing and guessing would be costly.
    """
    if arguments.action == "list":
        return _open_questions(call, arguments)
    if arguments.text is None:
        raise ArgumentsInvalid(f"text: needed to {arguments.action}.")
    if arguments.action == "ask":
        return _asked(call, arguments, arguments.text)
    if arguments.id is None:
        raise ArgumentsInvalid("id: name the question that this answers.")
    stored, _ = shown.memory_named(call, arguments, arguments.id)
    outcome, resolved = services.answer_question(
        caller=call.caller, question_id=stored.id, text=arguments.text, now=call.now
    )
    return QuestionsResult(
        scope=shown.echo_of(resolved),
        question=shown.entry(resolved),
        answer=shown.entry(outcome.memory),
    )


def _asked(call: Call, arguments: QuestionsArguments, text: str) -> QuestionsResult:
    namespace = scopes.namespace_for_write(call, arguments, Action.WRITE_MEMORY)
    place = scopes.find_repository(call, arguments, namespaces=(namespace,))
    outcome = services.ask_question(
        caller=call.caller,
        namespace_id=namespace.id,
        repository_id=place.repository.id if place else None,
        text=text,
        asked_of=arguments.ask_of,
        links=arguments.links,
        now=call.now,
    )
    return QuestionsResult(
        scope=scopes.echo(place or namespace), question=shown.entry(outcome.memory)
    )


def _open_questions(call: Call, arguments: QuestionsArguments) -> QuestionsResult:
    namespaces, source = scopes.namespaces_to_read(call, arguments, Action.READ_MEMORY)
    place = scopes.find_repository(call, arguments, namespaces=namespaces)
    found = services.list_questions(
        caller=call.caller,
        now=call.now,
        namespace_ids=[place.namespace.id] if place else [scope.id for scope in namespaces],
        repository_id=place.repository.id if place else None,
        only_to_me=arguments.to_me,
        limit=arguments.limit,
    )
    return QuestionsResult(
        scope=scopes.echo(place) if place else scopes.echo_namespaces(namespaces, source),
        open=[
            QuestionView.model_validate(
                {**shown.entry_fields(one.memory), "asked_of": one.asked_of}
            )
            for one in found
        ],
    )


def _read(call: Call, memory_id: UUID) -> StoredMemory:
    return queries.get_memory(
        caller=call.caller, memory_id=memory_id, now=call.now, include_inactive=True
    )
