"""Memories that a call names by id, and how they look in an answer."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from codemem.accounts.values import Action
from codemem.gateway import scope as scopes
from codemem.gateway.tool import Arguments, Call, Result
from memory import queries, services
from memory.anchors import Citation, citation
from memory.services import AnchorValue, DraftAnchor
from memory.values import StoredMemory


class AnchorArguments(BaseModel):
    """A place in the code that a memory cites: a symbol, lines, a pattern, a file, a package."""

    model_config = ConfigDict(extra="forbid", strict=True)

    path: str = ""
    start_line: int | None = None
    end_line: int | None = None
    symbol: str = Field("", description="sym:src/a.py#Class.method")
    pattern: str = Field("", description="Regular expression that matches in `path`.")
    package: str = Field("", description="pkg:pypi:django")
    commit: str = ""
    content_hash: str = Field(
        "",
        description="Of lines not committed yet: SHA-256 of the lines,"
        " each stripped, joined by line feeds.",
    )

    @property
    def citation(self) -> Citation:
        return citation(**self.model_dump())


class MemoryEntry(Result):
    """A memory as tools about memories show it; what is usual is left out."""

    id: UUID
    memory_type: str
    content: str
    rationale: str | None = None
    state: str | None = None
    superseded_by: UUID | None = None
    visibility: str | None = None
    repository: str | None = None
    branch: str | None = None
    tags: list[str] | None = None
    importance: float
    confidence: float
    pinned: bool | None = None
    author: str
    version: int
    created_at: datetime


class AnchorView(Result):
    """A place in the code that a memory cites, and whether it is as it was."""

    cites: str
    kind: str
    state: str
    detail: str | None = None
    commit: str | None = None


def memory_named(
    call: Call, arguments: Arguments, memory_id: UUID, *, action: Action = Action.WRITE_MEMORY
) -> tuple[StoredMemory, scopes.NamespaceScope]:
    """Return a memory by its id, which needs no scope, and its namespace.

    A scope that is given anyway must hold it. Raise MemoryUnknown, RightMissing.
    """
    scopes.require_of_token(call, Action.READ_MEMORY)
    scopes.require_of_token(call, action)
    stored = queries.get_memory(
        caller=call.caller, memory_id=memory_id, now=call.now, include_inactive=True
    )
    namespace = scopes.NamespaceScope(stored.namespace_id, stored.namespace, scopes.Source.ARGUMENT)
    scopes.require(call, action, namespace)
    if arguments.namespace is not None:
        named = scopes.get_namespace(call, arguments.namespace)
        if named.id != namespace.id:
            raise queries.unknown(memory_id)
    if arguments.repository is not None:
        scopes.find_repository(call, arguments, namespaces=(namespace,))
    return stored, namespace


def echo_of(stored: StoredMemory) -> scopes.ScopeEcho:
    """Return where a memory is kept, as the scope of an answer."""
    return scopes.ScopeEcho(
        namespace=stored.namespace,
        repository=stored.repository,
        branch=stored.branch or None,
        source=scopes.Source.ARGUMENT,
    )


def entry_fields(stored: StoredMemory) -> dict[str, object]:
    """Return the fields of a MemoryEntry, for views that add their own."""
    return {
        "id": stored.id,
        "memory_type": stored.memory_type.value,
        "content": stored.content,
        "rationale": stored.rationale or None,
        "state": stored.state if stored.state != "active" else None,
        "superseded_by": stored.superseded_by,
        "visibility": stored.visibility.value,
        "repository": stored.repository,
        "branch": stored.branch or None,
        "tags": list(stored.tags) or None,
        "importance": stored.importance,
        "confidence": round(stored.confidence, 3),
        "pinned": stored.is_pinned or None,
        "author": stored.author,
        "version": stored.version,
        "created_at": stored.created_at,
    }


def entry(stored: StoredMemory) -> MemoryEntry:
    return MemoryEntry.model_validate(entry_fields(stored))


def drafted_anchors(
    cited: Sequence[AnchorArguments], *, repository_id: UUID | None, branch: str = ""
) -> list[DraftAnchor]:
    """Return the anchors of a call, looked up in the code; raise AnchorInvalid."""
    citations = [one.citation for one in cited]
    return services.drafted_on(citations, repository_id=repository_id, branch=branch)


def anchor_views(anchors: Sequence[AnchorValue]) -> list[AnchorView] | None:
    """Return a memory's anchors as they are shown, None for none."""
    return [
        AnchorView(
            cites=anchor.cites,
            kind=anchor.kind.value,
            state=anchor.state.value,
            detail=anchor.detail or None,
            commit=anchor.commit[:12] or None,
        )
        for anchor in anchors
    ] or None
