"""Rows as records: everything of a namespace that a caller may see, in one order for all time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from codemem.accounts.models import Namespace
from codemem.accounts.values import Caller
from graph.models import Repository
from graph.queries.identities import CodeName, names_of, ties_at
from graph.values import VertexLabel, graph_id, key_of, label_of
from memory import queries
from memory.models import Anchor, Feedback, Memory, MemoryUse, MemoryVersion
from memory.portability.records import Kind, Record, moment
from memory.services.review import visible_proposals

AT_ONCE = 500

# Every column of a memory is either in its record, by this name, or derived, or of this server.
CARRIED: Mapping[str, str] = {
    "id": "id",
    "repository": "repository",
    "branch": "branch",
    "visibility": "visibility",
    "memory_type": "type",
    "content": "content",
    "rationale": "rationale",
    "alternatives": "alternatives",
    "acceptance_criteria": "acceptance_criteria",
    "evidence": "evidence",
    "tags": "tags",
    "importance": "importance",
    "confidence": "confidence",
    "is_pinned": "pinned",
    "state": "state",
    "version": "version",
    "author_name": "author",
    "agent": "agent",
    "model": "model",
    "session_id": "session",
    "source": "source",
    "idempotency_key": "idempotency_key",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "expires_at": "expires_at",
    "ended_at": "ended_at",
    "retired_at": "retired_at",
    "retired_by": "retired_by",
    # In records of their own, because they lead to other memories.
    "superseded_by": "succession",
    "retired_links": "link",
}
DERIVED = frozenset({"content_hash", "tokens", "lexemes", "embedding", "embedding_fingerprint"})
LOCAL = frozenset({"number", "namespace", "author", "token_id", "imported"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What of a namespace is wanted. `vectors` are carried with the model they are of."""

    caller: Caller
    namespace: Namespace
    now: datetime
    repository_id: UUID | None = None
    memory_types: frozenset[str] = frozenset()
    holding_only: bool = False
    vectors: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing that the caller may see is left out."""
        return not (self.repository_id or self.memory_types or self.holding_only)

    def memories(self) -> QuerySet[Memory]:
        rows = queries.visible_memories(
            caller=self.caller, now=self.now, include_inactive=not self.holding_only
        ).filter(namespace=self.namespace)
        if self.repository_id:
            rows = rows.filter(repository_id=self.repository_id)
        if self.memory_types:
            rows = rows.filter(memory_type__in=self.memory_types)
        return rows


def records(selection: Selection) -> Iterator[Record]:
    """Yield every record but the header. Never more than 500 memories are in memory."""
    if selection.is_whole and (settings := _settings(selection.namespace.pk)):
        yield {"record": Kind.SETTINGS, "settings": settings}
    names = repository_names(selection.namespace.pk)
    yield from memory_records(selection, names)
    for chunk in _chunks(selection.memories().only("number", "retired_links", "superseded_by")):
        yield from _links(selection, chunk, names)
    for chunk in _chunks(
        selection.memories().filter(superseded_by__isnull=False).only("superseded_by")
    ):
        shown = selection.memories().filter(pk__in=[memory.superseded_by_id for memory in chunk])
        keys = set(shown.values_list("pk", flat=True))
        for memory in chunk:
            if (by := memory.superseded_by_id) in keys:
                yield {"record": Kind.SUCCESSION, "memory": str(memory.pk), "by": str(by)}
    if selection.is_whole:
        yield from _reviews(selection, names)


def memory_records(selection: Selection, names: Mapping[UUID, str]) -> Iterator[Record]:
    """Yield the records of the selected memories, by id."""
    for memory in _rows(
        whole(selection.memories(), caller=selection.caller, vectors=selection.vectors)
    ):
        yield memory_record(memory, names, vectors=selection.vectors)


def whole(rows: QuerySet[Memory], *, caller: Caller, vectors: bool = False) -> QuerySet[Memory]:
    """Return rows with all that a record is made of: five queries for each chunk."""
    unread = [
        name for name in queries.SEARCH_COLUMNS if name != "retired_links" and not vectors
    ] or ["tokens", "lexemes"]
    said = MemoryVersion.objects.filter(queries.versions_visible_to(caller))
    versions = Prefetch("versions", queryset=said.defer("tokens", "lexemes"))
    return rows.defer(*unread).prefetch_related(versions, "anchors", "feedback__user", "use")


def memory_record(memory: Memory, names: Mapping[UUID, str], *, vectors: bool = False) -> Record:
    """Return one memory with its history, anchors, feedback and use, as an archive has it."""
    use: MemoryUse | None = getattr(memory, "use", None)
    record: Record = {
        "record": Kind.MEMORY,
        **fields_of(memory, names),
        "versions": [_version(version, names) for version in memory.versions.all()],
        "anchors": sorted((_anchor(row, names) for row in memory.anchors.all()), key=_anchor_key),
        "feedback": sorted(map(_feedback, memory.feedback.all()), key=lambda row: row["user"]),
        "use": _use(use) if use else {},
    }
    if vectors and memory.embedding is not None:
        record["vector"] = [float(part) for part in memory.embedding]
        record["vector_of"] = memory.embedding_fingerprint
    return record


def fields_of(memory: Memory, names: Mapping[UUID, str]) -> Record:
    """Return what a memory's own row says, as an archive has it."""
    return {
        "id": str(memory.pk),
        "repository": names.get(memory.repository_id) if memory.repository_id else None,
        "branch": memory.branch,
        "visibility": memory.visibility,
        "type": memory.memory_type,
        "content": memory.content,
        "rationale": memory.rationale,
        "alternatives": memory.alternatives,
        "acceptance_criteria": memory.acceptance_criteria,
        "evidence": memory.evidence,
        "tags": memory.tags,
        "importance": memory.importance,
        "confidence": memory.confidence,
        "pinned": memory.is_pinned,
        "state": memory.state,
        "version": memory.version,
        "author": memory.author_name,
        "agent": memory.agent,
        "model": memory.model,
        "session": memory.session_id,
        # Where it came from first: that it passed through an archive is no news.
        "source": memory.imported.get("source", memory.source),
        "idempotency_key": memory.idempotency_key,
        "created_at": moment(memory.created_at),
        "updated_at": moment(memory.updated_at),
        "expires_at": moment(memory.expires_at),
        "ended_at": moment(memory.ended_at),
        "retired_at": moment(memory.retired_at),
        "retired_by": memory.retired_by,
    }


def repository_names(namespace_id: UUID) -> dict[UUID, str]:
    return dict(Repository.objects.filter(namespace_id=namespace_id).values_list("pk", "name"))


def _settings(namespace_id: UUID) -> dict[str, Any]:
    return dict(Namespace.objects.values_list("settings", flat=True).get(pk=namespace_id))


def _version(version: MemoryVersion, names: Mapping[UUID, str]) -> Record:
    snapshot = dict(version.snapshot)
    # Of this server only: the name means the same repository elsewhere.
    repository_id = snapshot.pop("repository_id", None)
    if repository_id:
        snapshot["repository"] = names.get(UUID(repository_id), "")
    return {
        "number": version.number,
        "snapshot": {key: snapshot[key] for key in sorted(snapshot)},
        "valid_from": moment(version.valid_from),
        "valid_to": moment(version.valid_to),
        "change": version.change,
        "reason": version.reason,
        "by": version.changed_by_name,
        "agent": version.agent,
    }


def _anchor(anchor: Anchor, names: Mapping[UUID, str]) -> Record:
    return {
        "repository": names.get(anchor.repository_id, ""),
        "kind": anchor.kind,
        "path": anchor.path,
        "symbol": anchor.symbol,
        "start_line": anchor.start_line,
        "end_line": anchor.end_line,
        "pattern": anchor.pattern,
        "package": anchor.package,
        "commit": anchor.commit,
        "blob": anchor.blob,
        "content_hash": bytes(anchor.content_hash).hex() if anchor.content_hash else None,
        "state": anchor.state,
        "detail": anchor.detail,
        "checked_commit": anchor.checked_commit,
        "checked_at": moment(anchor.checked_at),
        "created_at": moment(anchor.created_at),
    }


def _anchor_key(anchor: Record) -> tuple[str, ...]:
    return tuple(str(anchor[name]) for name in sorted(anchor))


def _feedback(feedback: Feedback) -> Record:
    return {
        "user": feedback.user.username,
        "verdict": feedback.verdict,
        "note": feedback.note,
        "session": feedback.session_id,
        "given_at": moment(feedback.given_at),
    }


def _use(use: MemoryUse) -> Record:
    return {
        "recalled": use.recalled,
        "recalled_at": moment(use.recalled_at),
        "helpful": use.helpful,
        "not_helpful": use.not_helpful,
        "stale": use.stale,
        "wrong": use.wrong,
        "confirmed": use.confirmed,
        "retention": use.retention,
        "retention_at": moment(use.retention_at),
    }


def _links(
    selection: Selection, chunk: Sequence[Memory], names: Mapping[UUID, str]
) -> Iterator[Record]:
    """Yield the links whose first memory is in the chunk: live ones, and those kept for a return.

    A link to a memory that the caller may not see, or that was not selected, is left out.
    """
    own = {graph_id(label=VertexLabel.MEMORY, key=memory.number) for memory in chunk}
    found: list[dict[str, Any]] = [
        {"source": tie.source, "target": tie.target, "kind": tie.kind, "weight": tie.weight}
        | {"by": tie.by, "at": tie.at}
        for tie in ties_at(namespace_id=selection.namespace.pk, vertices=own)
        if tie.source in own or label_of(tie.source) is not VertexLabel.MEMORY
    ]
    for memory in chunk:
        found += [{**tie, "kept_by": str(memory.pk)} for tie in memory.retired_links]
    ends = _ends(selection, {end for tie in found for end in (tie["source"], tie["target"])}, names)
    links = [
        {**tie, "record": Kind.LINK, "source": ends[tie["source"]], "target": ends[tie["target"]]}
        for tie in found
        if tie["source"] in ends and tie["target"] in ends
    ]
    yield from sorted(links, key=_link_key)


def _ends(
    selection: Selection, vertices: set[int], names: Mapping[UUID, str]
) -> dict[int, dict[str, str]]:
    """Return what vertices are called in an archive; those that are not for the caller miss."""
    numbers = [key_of(end) for end in vertices if label_of(end) is VertexLabel.MEMORY]
    rows = selection.memories().filter(number__in=numbers).values_list("number", "pk")
    ends = {
        graph_id(label=VertexLabel.MEMORY, key=number): {"memory": str(key)} for number, key in rows
    }
    code = [end for end in vertices if label_of(end) is not VertexLabel.MEMORY]
    ends |= {
        vertex: _code_end(name, names)
        for vertex, name in names_of(vertices=code).items()
        if name.repository_id is None or name.repository_id in names
    }
    return ends


def _code_end(name: CodeName, names: Mapping[UUID, str]) -> dict[str, str]:
    end = {"id": name.id, "kind": name.kind}
    if name.repository_id is not None:
        end["repository"] = names[name.repository_id]
    return end


def _link_key(link: Record) -> tuple[str, ...]:
    return tuple(
        str(sorted(value.items())) if isinstance(value, dict) else str(value)
        for value in (link["source"], link["kind"], link["target"], link.get("kept_by", ""))
    )


def _reviews(selection: Selection, names: Mapping[UUID, str]) -> Iterator[Record]:
    """Yield the review queue as far as the caller may see it."""
    rows = visible_proposals(caller=selection.caller).filter(namespace=selection.namespace)
    for item in rows.defer(None).select_related("private_to").order_by("pk").iterator(AT_ONCE):
        yield {
            "record": Kind.REVIEW,
            "id": str(item.pk),
            "repository": names.get(item.repository_id) if item.repository_id else None,
            "kind": item.kind,
            "private_to": item.private_to.username if item.private_to else None,
            "memory_ids": item.memory_ids,
            "proposal": item.proposal,
            "reason": item.reason,
            "confidence": item.confidence,
            "fingerprint": bytes(item.fingerprint).hex(),
            "proposed_by": item.proposed_by,
            "created_at": moment(item.created_at),
            "state": item.state,
            "decided_by": item.decided_by,
            "decided_at": moment(item.decided_at),
            "decision_note": item.decision_note,
        }


def _rows(rows: QuerySet[Memory]) -> Iterator[Memory]:
    return rows.order_by("pk").iterator(AT_ONCE)


def _chunks(rows: QuerySet[Memory]) -> Iterator[list[Memory]]:
    chunk: list[Memory] = []
    for memory in _rows(rows):
        chunk.append(memory)
        if len(chunk) == AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
