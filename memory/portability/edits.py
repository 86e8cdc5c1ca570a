"""What people edited comes back: a changed file refines its memory, a new one becomes a memory.

A file says which version it is an edit of. When the memory has gone on since, and the file says
something else than that version did, nobody's words are overwritten: it is told as a conflict.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from codemem.accounts.values import Caller
from memory import queries
from memory.models import Memory, MemoryVersion
from memory.portability import reading
from memory.portability.records import Fields, Line, Record, RecordInvalid, encoded
from memory.portability.restoring import Restoration, Target
from memory.services import editing, rights, storing
from memory.services.retirement import MemoryTaken
from memory.services.standing import StateUnfit
from memory.services.versioning import MemoryChanged, apply_snapshot
from memory.values import StoreAction
from memory.wording import MemoryInvalid

# What a file changes, by its name there and on the row; everything else of a memory has operations
# of its own, which say why.
EDITABLE: Mapping[str, str] = {
    "content": "content",
    "type": "memory_type",
    "tags": "tags",
    "importance": "importance",
    "confidence": "confidence",
    "rationale": "rationale",
    "alternatives": "alternatives",
    "acceptance_criteria": "acceptance_criteria",
    "evidence": "evidence",
}
_KEPT = ("state", "visibility", "repository", "branch", "expires_at", "pinned")
_DEFAULT_TYPE = "context"
_CREATING = frozenset({StoreAction.CREATED, StoreAction.CONFLICT, StoreAction.QUEUED})
_DEFAULTS: Mapping[str, object] = {"importance": 0.5, "confidence": 1.0}


def take_edits(restoration: Restoration, target: Target, lines: Sequence[Line]) -> None:
    """Take the rows of a table or the notes of a vault, each by itself."""
    for line in lines:
        if line.record is None:
            restoration.report.refuse(line.number, line.problem)
            continue
        try:
            _take(restoration, target, line.number, line.record)
        except (
            RecordInvalid,
            MemoryInvalid,
            MemoryChanged,
            MemoryTaken,
            StateUnfit,
            rights.RightMissing,
        ) as error:
            restoration.report.refuse(line.number, str(error))


def _take(restoration: Restoration, target: Target, number: int, given: Record) -> None:
    record = {"type": _DEFAULT_TYPE, **given}
    key = Fields(record).optional_id("id")
    if key is None:
        _store(restoration, target, record)
        return
    found = restoration.present([restoration.resolved([key])[key]])
    for memory in found.values():
        _refine(restoration, target, memory, given)
    if not found:
        restoration.take_memories([Line(number=number, record=record | {"version": 1})])


def _store(restoration: Restoration, target: Target, record: Record) -> None:
    """Store a file that was never exported; the same words again are the same memory."""
    fit = restoration.fit(record)
    fields = Fields(fit.record)
    if target.dry_run:
        restoration.report.created += 1
        restoration.report.queued += bool(fit.orders)
        return
    outcome = storing.store_memory(
        caller=target.caller,
        namespace_id=target.namespace.pk,
        repository_id=restoration.repository(fields.text("repository")),
        branch=fields.text("branch"),
        content=fields.text("content"),
        memory_type=fields.text("type"),
        importance=fields.share("importance", 0.5),
        confidence=fields.share("confidence", 1.0),
        tags=fields.texts("tags"),
        expires_at=fields.time("expires_at"),
        now=target.now,
    )
    if outcome.action in _CREATING:
        restoration.report.created += 1
        restoration.report.queued += outcome.action == StoreAction.QUEUED
    else:
        restoration.report.unchanged += 1


def _refine(restoration: Restoration, target: Target, memory: Memory, given: Record) -> None:
    record = restoration.fit(given, can_wait=False).record
    here = reading.fields_of(memory, restoration.names)
    changed = _differing(record, here)
    if not changed:
        restoration.report.unchanged += 1
        return
    version = Fields(record).count("version", memory.version)
    if version != memory.version:
        if not _differing(record, _as_of(memory, version, target.caller, restoration)):
            restoration.report.unchanged += 1
            return
        raise RecordInvalid(
            f"The memory {memory.pk} is at version {memory.version} by now, and the file is an"
            f" edit of version {version}: {', '.join(changed)} differ. Export it again and repeat"
            " the edit there; nothing was changed."
        )
    if kept := [name for name in changed if name in _KEPT]:
        raise RecordInvalid(f"A file does not change {kept[0]}; nothing of it was taken.")
    if not target.dry_run:
        checked = restoration.checked(record)
        refinement = {EDITABLE[name]: getattr(checked, EDITABLE[name]) for name in changed}
        editing.refine_memory(
            caller=target.caller,
            memory_id=memory.pk,
            now=target.now,
            expected_version=memory.version,
            reason="Edited in an exported file.",
            **refinement,
        )
    restoration.report.changed += 1


def _differing(record: Record, here: Mapping[str, Any]) -> list[str]:
    """Return which of a file's properties say something else; what a file lacks says nothing.

    Except for lists and texts that were emptied: an export leaves out what is empty.
    """
    return [
        name
        for name in (*EDITABLE, *_KEPT)
        if (name in record or (name in EDITABLE and name not in _DEFAULTS))
        and encoded({name: record.get(name)}) != encoded({name: here.get(name)})
        and not (name == "type" and name not in record)
    ]


def _as_of(memory: Memory, version: int, caller: Caller, restoration: Restoration) -> Record:
    """Return what a version said, as a file has it; what there never was says nothing."""
    said = MemoryVersion.objects.filter(queries.versions_visible_to(caller), memory=memory)
    row = said.filter(number=version).first()
    if row is None:
        return {}
    past = Memory.objects.defer(*queries.SEARCH_COLUMNS).get(pk=memory.pk)
    apply_snapshot(past, row.snapshot)
    return reading.fields_of(past, restoration.names)
