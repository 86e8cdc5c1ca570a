"""Tools by which a memory comes to be: store one, store several."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codemem.accounts.values import Action
from codemem.gateway import scope as scopes
from codemem.gateway.cited import MemoryId
from codemem.gateway.errors import ArgumentsInvalid, register
from codemem.gateway.tool import Arguments, Call, Result, Toolset, sentence_of, tool
from memory import services
from memory.anchors import read_citation
from memory.values import (
    ItemOutcome,
    MemoryType,
    NewMemory,
    Relation,
    StoreAction,
    StoreOutcome,
    Visibility,
)

register(
    {
        services.BatchTooLarge: ("invalid_arguments", 422),
        services.KeyReused: ("idempotency_key_reused", 409),
        services.RepositoryUnknown: ("not_found", 404),
    }
)

Tag = Annotated[str, Field(min_length=1, max_length=100)]
Share = Annotated[float, Field(ge=0, le=1)]

_MOST_ITEMS = 20


class Part(BaseModel):
    """An object inside of the arguments; a misspelt key must never be ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Alternative(Part):
    option: str
    reason: str


class Evidence(Part):
    kind: Literal["commit", "file", "url", "command", "tool_use", "memory"]
    ref: str
    note: str | None = None


# --- store_memory ---------------------------------------------------------------------------------
class StoreArguments(Arguments):
    content: str = Field(
        description="One self-contained statement. Name files and symbols it is about; they are"
        f" linked. At most {settings.MAXIMUM_MEMORY_CHARACTERS} characters."
    )
    memory_type: MemoryType = MemoryType.CONTEXT
    rationale: str = Field("", description="Why.")
    alternatives: list[Alternative] = Field([], description="What was turned down, and why.")
    acceptance_criteria: list[str] = []
    evidence: list[Evidence] = Field([], description="What shows it.")
    anchors: list[str] = Field(
        [],
        description="Code it rests on; you learn when that changes: src/a.py:10-20,"
        " sym:src/a.py#f, pkg:pypi:x.",
    )
    importance: Share = Field(0.5, description="0 to 1.")
    confidence: Share = 1.0
    tags: list[Tag] = Field([], max_length=50)
    links: list[str] = Field(
        [], max_length=50, description="Ids of symbols, files or memories that it is about."
    )
    auto_link: bool = Field(True, description="Link symbols and files that the content names.")
    supersedes: list[MemoryId] = Field([], max_length=5, description="Memories it replaces.")
    distinct: bool = Field(False, description="Store it though nearly the same is there.")
    visibility: Visibility | None = Field(
        None, description="Default: private for preference, style, habit; else shared."
    )
    branch: str | None = Field(None, description="Only if it holds on this branch alone.")
    pinned: bool = False
    propose: bool = Field(False, description="Have somebody approve it first.")
    expires_at: datetime | None = Field(None, description="ISO 8601 with a time zone.")
    ttl_hours: int | None = Field(None, ge=1, le=87_600, description="Instead of expires_at.")
    session_id: str = Field("", description="Context and summary of a session end after a week.")
    keep: bool = Field(False, description="Outlive the session.")
    agent: str = ""
    model: str = ""
    idempotency_key: str = Field("", description="The same key gives the first answer again.")


class KinView(Result):
    id: UUID
    relation: Relation
    similarity: float
    reason: str
    content: str = Field(description="How it begins.")


class StoredView(Result):
    id: UUID
    action: StoreAction
    memory_type: MemoryType
    visibility: Visibility
    importance: float
    embedded: bool
    linked: list[str]
    added_tags: list[str] | None = None
    expires_at: datetime | None = None
    superseded: list[UUID] | None = None
    awaiting_approval: list[UUID] | None = Field(
        None, description="Memories of others that it would replace."
    )
    similar: list[KinView] | None = None
    redactions: dict[str, int] | None = Field(None, description="Secrets taken out, by kind.")
    flags: list[str] | None = Field(None, description="Ways in which it gives orders to agents.")
    notes: list[str] | None = None


class StoreResult(StoredView):
    scope: scopes.ScopeEcho


@tool(
    Toolset.MEMORY,
    reads_only=False,
    idempotent=True,
    core=(
        "content",
        "memory_type",
        "rationale",
        "anchors",
        "tags",
        "supersedes",
        "visibility",
    ),
)
def store_memory(call: Call, arguments: StoreArguments) -> StoreResult:
    """Remember a decision, rule, failure and its fix, preference or other lasting fact for the
    team. Use it when something was decided or learned that the next session must know; not for
    what the code says itself. The same is stored once; what is close to it or contradicts it is
    reported: store it again with `supersedes` if it replaces that. Secrets are taken out.
    """
    return stored_by(call, arguments)


def stored_by(call: Call, arguments: StoreArguments) -> StoreResult:
    """Store what a call says, for every tool by which a memory comes to be."""
    place = place_to_write(call, arguments)
    outcome = services.store_new(
        caller=call.caller,
        namespace_id=place.namespace.id,
        new=_new_memory(call, arguments, place.repository),
        now=call.now,
    )
    return StoreResult(
        scope=scopes.echo(place.where, branch=outcome.memory.branch or None), **_shown(outcome)
    )


# --- store_memories -------------------------------------------------------------------------------
class StoreManyArguments(Arguments):
    items: list[dict[str, Any]] = Field(
        min_length=1,
        max_length=_MOST_ITEMS,
        description="Each with the arguments of store_memory but namespace and repository.",
    )


class ItemView(Result):
    index: int
    action: StoreAction
    reason: str | None = Field(None, description="Why it was rejected.")
    memory: StoredView | None = None


class StoreManyResult(Result):
    scope: scopes.ScopeEcho
    results: list[ItemView]


@tool(Toolset.MEMORY, reads_only=False, idempotent=True)
def store_memories(call: Call, arguments: StoreManyArguments) -> StoreManyResult:
    """Remember up to 20 things at once, as at the end of a session. Each item has an outcome of its
    own; one that is refused loses none of the others, and sending all of them again is safe.
    """
    place = place_to_write(call, arguments)
    news = [_item_or_reason(call, item, place.repository) for item in arguments.items]
    outcomes = iter(
        services.store_memories(
            caller=call.caller,
            namespace_id=place.namespace.id,
            items=[new for new in news if isinstance(new, NewMemory)],
            now=call.now,
        )
    )
    return StoreManyResult(
        scope=scopes.echo(place.where),
        results=[
            _rejected(index, new) if isinstance(new, str) else _item(index, next(outcomes))
            for index, new in enumerate(news)
        ],
    )


# --- Parts ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class PlaceToWrite:
    """Where a call writes: the namespace that was named, and the repository if it names one."""

    namespace: scopes.NamespaceScope
    repository: scopes.RepositoryScope | None

    @property
    def where(self) -> scopes.NamespaceScope | scopes.RepositoryScope:
        return self.repository or self.namespace


def place_to_write(call: Call, arguments: Arguments) -> PlaceToWrite:
    """Return where a call writes; raise ScopeNeeded, NotFound, RightMissing."""
    namespace = scopes.namespace_for_write(call, arguments, Action.WRITE_MEMORY)
    return PlaceToWrite(namespace, scopes.find_repository(call, arguments, namespaces=(namespace,)))


def _new_memory(
    call: Call, arguments: StoreArguments, repository: scopes.RepositoryScope | None
) -> NewMemory:
    return NewMemory(
        content=arguments.content,
        memory_type=arguments.memory_type,
        repository_id=repository.repository.id if repository else None,
        branch=arguments.branch or "",
        visibility=arguments.visibility,
        rationale=arguments.rationale,
        alternatives=[part.model_dump() for part in arguments.alternatives],
        acceptance_criteria=arguments.acceptance_criteria,
        evidence=[part.model_dump(exclude_none=True) for part in arguments.evidence],
        citations=[read_citation(part) for part in arguments.anchors],
        tags=arguments.tags,
        importance=arguments.importance,
        confidence=arguments.confidence,
        is_pinned=arguments.pinned,
        is_proposed=arguments.propose,
        is_distinct=arguments.distinct,
        links=arguments.links,
        auto_link=arguments.auto_link,
        supersedes=arguments.supersedes,
        expires_at=arguments.expires_at,
        ttl_hours=arguments.ttl_hours,
        keep=arguments.keep,
        agent=arguments.agent or call.agent,
        model=arguments.model,
        session_id=arguments.session_id,
        idempotency_key=arguments.idempotency_key,
    )


def _item_or_reason(
    call: Call, item: Mapping[str, Any], repository: scopes.RepositoryScope | None
) -> NewMemory | str:
    if {"namespace", "repository"} & item.keys():
        return "Name the namespace and the repository for the whole call, not for an item."
    try:
        arguments = StoreArguments.model_validate_json(json.dumps(item))
        return _new_memory(call, arguments, repository)
    except ValidationError as error:
        return sentence_of(error)
    except (ArgumentsInvalid, services.MemoryInvalid) as error:
        return str(error)


def _item(index: int, item: ItemOutcome) -> ItemView:
    if item.outcome is None:
        return _rejected(index, item.rejected)
    return ItemView(
        index=index, action=item.outcome.action, memory=StoredView(**_shown(item.outcome))
    )


def _rejected(index: int, reason: str) -> ItemView:
    return ItemView(index=index, action=StoreAction.REJECTED, reason=reason)


def _shown(outcome: StoreOutcome) -> dict[str, Any]:
    stored = outcome.memory
    return {
        "id": stored.id,
        "action": outcome.action,
        "memory_type": stored.memory_type,
        "visibility": stored.visibility,
        "importance": stored.importance,
        "embedded": stored.is_embedded,
        "linked": list(outcome.linked),
        "added_tags": list(outcome.added_tags) or None,
        "expires_at": stored.expires_at,
        "superseded": list(outcome.superseded) or None,
        "awaiting_approval": list(outcome.queued) or None,
        "similar": [
            KinView(
                id=kin.id,
                relation=kin.relation,
                similarity=kin.similarity,
                reason=kin.reason,
                content=kin.content,
            )
            for kin in outcome.kin
        ]
        or None,
        "redactions": dict(outcome.redactions) or None,
        "flags": list(outcome.flags) or None,
        "notes": list(outcome.notes) or None,
    }
