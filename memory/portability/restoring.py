"""Records as rows: each memory whole or not at all, under its own id where that is free.

What an archive says of authors and times is a claim: names and dates are kept, but a memory becomes
somebody's own only when that is the caller, or a member whom a maintainer names. Nothing that is
there is changed here: the same again is nothing, and what differs is told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import structlog
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from codemem import embedding, policies
from codemem.accounts.models import Membership, Namespace
from codemem.accounts.values import Action, Caller
from codemem.embedding import EmbeddingUnavailable
from graph import services as graph
from graph.models import Repository
from memory import queries
from memory.models import Anchor, Feedback, Memory, MemoryUse, MemoryVersion, ReviewItem
from memory.portability import reading
from memory.portability.records import SCHEMA, Fields, Kind, Line, Record, RecordInvalid, encoded
from memory.safety import Screen
from memory.services.naming import entities_of_memory, note_new_entities
from memory.services.review import propose
from memory.services.rights import NamespaceUnknown
from memory.services.versioning import content_hash, words_of_memory, words_of_snapshot
from memory.values import MemoryType, Visibility
from memory.wording import MemoryInvalid, valid_content, valid_tags

MAXIMUM_PROBLEMS = 200
SOURCE = "import"

_FUTURE_ALLOWED = timedelta(days=1)
_LONGEST = {"branch": 255, "agent": 100, "model": 100, "session": 200, "idempotency_key": 200}
NAME_LENGTH = 150
_WITHOUT_VERTEX = frozenset(
    {
        Memory.State.PROPOSED,
        Memory.State.RETIRED,
        Memory.State.EXPIRED,
        Memory.State.SUPERSEDED,
    }
)
# Where people write: in a memory, and in the lists that hang on it.
_WRITTEN = frozenset(
    {"content", "rationale", "alternatives", "acceptance_criteria", "evidence", "tags"}
)
_WRITTEN_PARTS: Mapping[str, frozenset[str]] = {
    "versions": frozenset({"reason", *_WRITTEN}),
    "feedback": frozenset({"note"}),
    "anchors": frozenset({"detail"}),
}
# What may differ between a memory and its record without the memory saying anything else.
_NO_DIFFERENCE = frozenset({"id", "version", "updated_at", "author", "source"})
# One statement; a CASE for each of hundreds of rows took longer than writing them.
_UPDATED_AT = (
    "UPDATE memory_memory SET updated_at = given.at"
    " FROM unnest(%s::uuid[], %s::timestamptz[]) AS given (key, at) WHERE id = given.key"
)
_ANCHORED_AT = (
    "UPDATE memory_anchor SET created_at = given.at"
    " FROM unnest(%s::uuid[], %s::timestamptz[]) AS given (key, at) WHERE id = given.key"
)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A line that was not taken, and why."""

    line: int
    reason: str


@dataclass(slots=True, kw_only=True)
class Report:
    """What an import did, or in a dry run would do."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    duplicates: int = 0
    mapped: int = 0
    redacted: int = 0
    queued: int = 0
    links: int = 0
    settings: int = 0
    reviews: int = 0
    left_out: int = 0
    problem_count: int = 0
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, line: int, reason: str) -> None:
        self.problem_count += 1
        if len(self.problems) < MAXIMUM_PROBLEMS:
            self.problems.append(Problem(line=line, reason=reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where records go, on whose behalf, and how."""

    caller: Caller
    namespace: Namespace
    now: datetime
    dry_run: bool = False
    skip_duplicates: bool = False


@dataclass(slots=True, kw_only=True)
class _Restored:
    """A memory with everything that hangs on it, checked and not yet written."""

    line: int
    memory: Memory
    updated_at: datetime
    versions: list[MemoryVersion] = field(default_factory=list)
    anchors: list[tuple[Anchor, datetime]] = field(default_factory=list)
    feedback: list[Feedback] = field(default_factory=list)
    use: MemoryUse | None = None
    left_out: int = 0
    # What orders it gives, if that is why it waits for a person.
    orders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A record fit to keep, and the rules by which its texts order their readers about."""

    record: Record
    orders: tuple[str, ...]


class Restoration:
    """One import: knows the namespace's repositories and members, and counts what it does."""

    def __init__(self, target: Target) -> None:
        self.report = Report()
        self._target = target
        self._namespace_id: UUID = target.namespace.pk
        self.repositories = dict(
            Repository.objects.filter(namespace_id=self._namespace_id).values_list("name", "pk")
        )
        self.names = {key: name for name, key in self.repositories.items()}
        self._members = self._nameable_members()
        self._fingerprint: str | None = None
        self._injection = policies.text(self._namespace_id, "memory.injection")

    def take_memories(self, lines: Sequence[Line]) -> None:
        """Restore memories, all in one transaction where nothing speaks against it."""
        if not lines:
            return
        drafts = self._without_the_same_words(self._drafts(lines))
        self.report.queued += sum(1 for draft in drafts if draft.orders)
        self.report.mapped += sum(
            1 for draft in drafts if draft.memory.imported.get("id") is not None
        )
        if self._target.dry_run:
            self.report.created += len(drafts)
            return
        try:
            self._write(drafts)
        except IntegrityError:
            # Somebody wrote one of them meanwhile: one by one, so that it alone is refused.
            for draft in drafts:
                self._write_alone(draft)

    # --- Memories ---------------------------------------------------------------------------------
    def _drafts(self, lines: Sequence[Line]) -> list[_Restored]:
        asked = {key for line in lines if (key := _id_of(line.record or {}))}
        keys = self.resolved(asked | {key for line in lines for key in _successors(line.record)})
        present = self.present(keys[key] for key in asked)
        drafts: dict[UUID, _Restored] = {}
        for line in lines:
            assert line.record is not None
            try:
                key = keys[Fields(line.record).id("id")]
                if key in present:
                    self._compare(line, present[key])
                elif key in drafts:
                    self.report.refuse(line.number, f"The memory {key} is in the archive twice.")
                else:
                    drafts[key] = self._draft(line.number, keys, line.record)
            except (RecordInvalid, MemoryInvalid) as error:
                self.report.refuse(line.number, str(error))
        return list(drafts.values())

    def resolved(self, keys: Iterable[UUID]) -> dict[UUID, UUID]:
        """Return under which id each memory of the archive is, or goes, in this namespace.

        Its own, unless that is a memory of another namespace or one that the caller may not see:
        then an id made of both, the same each time, so that importing again finds it again.
        """
        mapped = {key: uuid5(self._namespace_id, str(key)) for key in keys}
        rows = Memory.objects.filter(pk__in=[*mapped, *mapped.values()]).filter(
            ~Q(namespace_id=self._namespace_id) | ~queries.visible_to(self._target.caller)
        )
        taken = set(rows.values_list("pk", flat=True))
        here = set(
            Memory.objects.filter(
                pk__in=mapped.values(), namespace_id=self._namespace_id
            ).values_list("pk", flat=True)
        )
        return {
            key: other if key in taken or other in here else key for key, other in mapped.items()
        }

    def present(self, keys: Iterable[UUID]) -> dict[UUID, Memory]:
        """Return those memories of the namespace that are here for the caller, by id."""
        rows = queries.visible_memories(
            caller=self._target.caller, now=self._target.now, include_inactive=True
        ).filter(namespace_id=self._namespace_id, pk__in=list(keys))
        return {memory.pk: memory for memory in rows.defer(*queries.SEARCH_COLUMNS)}

    def _compare(self, line: Line, memory: Memory) -> None:
        """Count a memory that is there already; tell when it says something else by now."""
        record, screen = self._screened(line.record or {})
        here = reading.fields_of(memory, self.names)
        there = reading.fields_of(self._memory(memory.pk, Fields(record)), self.names)
        if screen.flags and memory.state == Memory.State.PROPOSED:
            # It came with this line and waits here for a person.
            there["state"] = here["state"]
        differing = [
            key
            for key in here
            if key not in _NO_DIFFERENCE
            and (key in record or key != "created_at")
            and here[key] != there[key]
            and encoded({key: here[key]}) != encoded({key: there[key]})
        ]
        if not differing:
            self.report.unchanged += 1
            return
        self.report.refuse(
            line.number,
            f"The memory {memory.pk} is here already and differs in {', '.join(differing)}"
            f" (version {memory.version} here, {there['version']} in the file);"
            " it stays as it is.",
        )

    def fit(self, given: Record, *, can_wait: bool = True) -> Fit:
        """Return a record as it may be kept; raise RecordInvalid for what is refused here.

        A text that gives orders is named as such where it `can_wait` for a person.
        """
        record, screen = self._screened(given)
        takes_orders = self._injection == "flag" or (can_wait and self._injection == "queue")
        if screen.flags and not takes_orders:
            raise RecordInvalid(
                f"The text gives orders to agents ({', '.join(screen.flags)}), which this"
                " namespace takes from no file (memory.injection); store it by itself."
            )
        if screen.redactions or screen.hidden:
            self.report.redacted += 1
        return Fit(record=record, orders=tuple(screen.flags))

    def checked(self, record: Record) -> Memory:
        """Return a row with a record's fields, not written; raise RecordInvalid, MemoryInvalid."""
        return self._memory(Fields(record).id("id"), Fields(record))

    def _draft(self, line: int, keys: Mapping[UUID, UUID], given: Record) -> _Restored:
        fit = self.fit(given)
        fields = Fields(fit.record)
        key = keys[fields.id("id")]
        memory = self._memory(key, fields)
        if key != fields.id("id"):
            memory.imported["id"] = str(fields.id("id"))
        draft = _Restored(
            line=line,
            memory=memory,
            updated_at=fields.time("updated_at") or memory.created_at,
            use=_use(memory, fields.part("use")),
        )
        if fit.orders and self._injection == "queue":
            draft.orders = self._queued(memory, fit.orders)
        draft.versions = [self._version(memory, part, keys) for part in fields.parts("versions")]
        numbers = [version.number for version in draft.versions]
        if len(set(numbers)) < len(numbers) or any(nr >= memory.version for nr in numbers):
            raise RecordInvalid("versions must have numbers of their own, below the memory's.")
        draft.anchors = [self._anchor(memory, part) for part in fields.parts("anchors")]
        for part in fields.parts("feedback"):
            if feedback := self._feedback(memory, part):
                draft.feedback.append(feedback)
            else:
                draft.left_out += 1
        return draft

    def _queued(self, memory: Memory, orders: tuple[str, ...]) -> tuple[str, ...]:
        """Have a memory that gives orders wait for a person; return the orders if it shall.

        One that waits already came with its proposal. One that holds no more would begin to wait
        again, so it stays as it is where a maintainer brings it, and nobody else does.
        """
        if memory.state == Memory.State.ACTIVE:
            memory.state = Memory.State.PROPOSED
            return orders
        is_ended = memory.state != Memory.State.PROPOSED
        if is_ended and not self._target.caller.can(Action.DELETE_ANY_MEMORY, self._namespace_id):
            raise RecordInvalid(
                f"The text gives orders to agents ({', '.join(orders)}) and is {memory.state}; only"
                " a maintainer brings such in."
            )
        return ()

    def _memory(self, key: UUID, fields: Fields) -> Memory:
        now = self._target.now
        content = valid_content(
            fields.text("content"), maximum_characters=settings.MAXIMUM_MEMORY_CHARACTERS
        )
        tags = list(valid_tags(fields.texts("tags")))
        repository_id = self.repository(fields.text("repository"))
        visibility = fields.one_of("visibility", Visibility, Visibility.NAMESPACE)
        author_name = fields.text("author", self._target.caller.username, maximum=NAME_LENGTH)
        author_id = self._member(author_name)
        branch = fields.text("branch", maximum=_LONGEST["branch"])
        if repository_id is None and (branch or visibility == Visibility.REPOSITORY):
            raise RecordInvalid("A memory of a branch or a repository needs its repository.")
        if visibility == Visibility.PRIVATE and author_id != self._target.caller.user_id:
            raise RecordInvalid("A private memory is brought in by its author only.")
        created_at = fields.time("created_at") or now
        if created_at > now + _FUTURE_ALLOWED:
            raise RecordInvalid(f"created_at is in the future: {created_at.isoformat()}.")
        vector, fingerprint = self._vector(fields)
        memory = Memory(
            id=key,
            namespace_id=self._namespace_id,
            repository_id=repository_id,
            branch=branch,
            visibility=visibility,
            memory_type=fields.one_of("type", MemoryType, ""),
            content=content,
            content_hash=content_hash(content),
            rationale=fields.text("rationale"),
            alternatives=fields.objects("alternatives"),
            acceptance_criteria=fields.texts("acceptance_criteria"),
            evidence=fields.objects("evidence"),
            tags=tags,
            importance=fields.share("importance", 0.5),
            confidence=fields.share("confidence", 1.0),
            is_pinned=fields.flag("pinned"),
            state=fields.one_of("state", tuple(Memory.State.values), Memory.State.ACTIVE),
            version=max(fields.count("version", 1), 1),
            author_id=author_id,
            author_name=author_name,
            agent=fields.text("agent", maximum=_LONGEST["agent"]),
            model=fields.text("model", maximum=_LONGEST["model"]),
            session_id=fields.text("session", maximum=_LONGEST["session"]),
            source=SOURCE,
            imported={
                "by": self._target.caller.username,
                "at": now.isoformat(),
                "source": fields.text("source", SOURCE, maximum=20),
            },
            idempotency_key=fields.text("idempotency_key", maximum=_LONGEST["idempotency_key"]),
            token_id=self._target.caller.token_id,
            created_at=created_at,
            expires_at=fields.time("expires_at"),
            ended_at=fields.time("ended_at"),
            retired_at=fields.time("retired_at"),
            retired_by=fields.text("retired_by", maximum=NAME_LENGTH),
            embedding=vector,
            embedding_fingerprint=fingerprint,
        )
        memory.tokens = words_of_memory(memory)
        return memory

    def _version(self, memory: Memory, fields: Fields, keys: Mapping[UUID, UUID]) -> MemoryVersion:
        snapshot = dict(fields.object("snapshot"))
        name = snapshot.pop("repository", None)
        repository_id = self.repositories.get(name) if isinstance(name, str) else None
        snapshot["repository_id"] = str(repository_id) if repository_id else None
        if isinstance(successor := snapshot.get("superseded_by_id"), str):
            snapshot["superseded_by_id"] = str(keys[Fields({"id": successor}).id("id")])
        valid_from, valid_to = fields.time("valid_from"), fields.time("valid_to")
        if valid_from is None or valid_to is None or valid_to < valid_from:
            raise RecordInvalid("A version needs valid_from and valid_to, in this order.")
        name = fields.text("by", maximum=NAME_LENGTH)
        _check_snapshot(fields)
        return MemoryVersion(
            memory=memory,
            number=fields.count("number"),
            snapshot=snapshot,
            tokens=words_of_snapshot(snapshot),
            valid_from=valid_from,
            valid_to=valid_to,
            change=fields.text("change", maximum=20),
            reason=fields.text("reason"),
            changed_by_id=self._member(name),
            changed_by_name=name,
            agent=fields.text("agent", maximum=100),
        )

    def _anchor(self, memory: Memory, fields: Fields) -> tuple[Anchor, datetime]:
        repository_id = self.repository(fields.text("repository"))
        if repository_id is None:
            raise RecordInvalid("An anchor needs its repository.")
        digest = fields.text("content_hash")
        try:
            content = bytes.fromhex(digest)
        except ValueError as error:
            raise RecordInvalid("An anchor's content_hash is not hexadecimal.") from error
        anchor = Anchor(
            memory=memory,
            repository_id=repository_id,
            kind=fields.one_of("kind", tuple(Anchor.Kind.values), ""),
            path=fields.text("path"),
            symbol=fields.text("symbol"),
            start_line=fields.count("start_line") or None,
            end_line=fields.count("end_line") or None,
            pattern=fields.text("pattern"),
            package=fields.text("package"),
            commit=fields.text("commit", maximum=64),
            blob=fields.text("blob", maximum=64),
            content_hash=content[:32] or None,
            state=fields.one_of("state", tuple(Anchor.State.values), Anchor.State.UNVERIFIED.value),
            detail=fields.text("detail"),
            checked_commit=fields.text("checked_commit", maximum=64),
            checked_at=fields.time("checked_at"),
        )
        return anchor, fields.time("created_at") or self._target.now

    def _feedback(self, memory: Memory, fields: Fields) -> Feedback | None:
        """Return a verdict; None when it is of somebody in whose name the caller may not speak."""
        user_id = self._member(fields.text("user"))
        if user_id is None:
            return None
        return Feedback(
            memory=memory,
            user_id=user_id,
            verdict=fields.one_of("verdict", tuple(Feedback.Verdict.values), ""),
            note=fields.text("note"),
            session_id=fields.text("session", maximum=_LONGEST["session"]),
            given_at=fields.time("given_at") or self._target.now,
        )

    def _vector(self, fields: Fields) -> tuple[list[float] | None, str]:
        """Return a carried vector if it is of the model that this server uses, else none."""
        fingerprint = fields.text("vector_of", maximum=100)
        if not fingerprint or fingerprint != self._model():
            return None, ""
        numbers = fields.numbers("vector")
        return (numbers, fingerprint) if numbers else (None, "")

    def _model(self) -> str:
        if self._fingerprint is None:
            try:
                self._fingerprint = embedding.from_settings().fingerprint
            except EmbeddingUnavailable:
                self._fingerprint = ""
        return self._fingerprint

    def _without_the_same_words(self, drafts: list[_Restored]) -> list[_Restored]:
        """Leave out what an active memory of the same scope says already, here or in the file."""
        active = [draft for draft in drafts if draft.memory.state == Memory.State.ACTIVE]
        rows = Memory.objects.filter(
            namespace_id=self._namespace_id,
            state=Memory.State.ACTIVE,
            content_hash__in=[draft.memory.content_hash for draft in active],
        ).defer(*queries.SEARCH_COLUMNS)
        said = {scope: row.pk for row in rows if (scope := self._scope(row))}
        kept = []
        for draft in drafts:
            scope = self._scope(draft.memory)
            if draft.memory.state != Memory.State.ACTIVE or scope is None or scope not in said:
                kept.append(draft)
                if draft.memory.state == Memory.State.ACTIVE and scope is not None:
                    said[scope] = draft.memory.pk
            elif self._target.skip_duplicates:
                self.report.duplicates += 1
            else:
                self.report.refuse(
                    draft.line,
                    f"The memory {said[scope]} says the same in the same scope;"
                    " skip duplicates to pass over such.",
                )
        return kept

    def _scope(self, memory: Memory) -> tuple[object, ...] | None:
        """Return within what a text is there once; None for another person's private memory."""
        is_private = memory.visibility == Memory.Visibility.PRIVATE
        if is_private and memory.author_id != self._target.caller.user_id:
            return None
        owner = memory.author_id if is_private else None
        digest = bytes(memory.content_hash)
        return is_private, owner, memory.repository_id, memory.branch, digest

    def _write_alone(self, draft: _Restored) -> None:
        try:
            self._write([draft])
        except IntegrityError as error:
            log.info("import_refused", line=draft.line, error=str(error)[:200])
            self.report.refuse(
                draft.line, "Another memory has this id, its words or its key in the same scope."
            )

    @transaction.atomic
    def _write(self, drafts: Sequence[_Restored]) -> None:
        if not drafts:
            return
        # Held until the end, so that a namespace that is being deleted takes nothing any more.
        open_now = Namespace.objects.filter(pk=self._namespace_id, archived_at=None)
        if open_now.select_for_update(no_key=True).first() is None:
            raise NamespaceUnknown(f"There is no namespace {self._namespace_id} any more.")
        rows = [draft.memory for draft in drafts]
        for memory, number in zip(rows, _numbers(len(rows)), strict=True):
            memory.number = number
        Memory.objects.bulk_create(rows)
        _set_times(_UPDATED_AT, [(row.memory.pk, row.updated_at) for row in drafts])
        MemoryVersion.objects.bulk_create(row for draft in drafts for row in draft.versions)
        Feedback.objects.bulk_create(row for draft in drafts for row in draft.feedback)
        MemoryUse.objects.bulk_create(draft.use for draft in drafts if draft.use)
        anchors = [pair for draft in drafts for pair in draft.anchors]
        Anchor.objects.bulk_create(anchor for anchor, _ in anchors)
        _set_times(_ANCHORED_AT, [(anchor.pk, at) for anchor, at in anchors])
        self.make_vertices(memory for memory in rows if memory.state not in _WITHOUT_VERTEX)
        note_new_entities([(memory, entities_of_memory(memory)) for memory in rows])
        for draft in drafts:
            self._propose(draft)
        self.report.created += len(rows)
        self.report.left_out += sum(draft.left_out for draft in drafts)

    def _propose(self, draft: _Restored) -> None:
        if not draft.orders:
            return
        propose(
            namespace_id=self._namespace_id,
            kind=ReviewItem.Kind.NEW,
            memory_ids=[draft.memory.pk],
            proposal={"operation": "activate", "arguments": {}},
            reason=f"Its text, which was imported, gives orders to agents"
            f" ({', '.join(draft.orders)}).",
            confidence=0.2,
            proposed_by=self._target.caller.username,
            now=self._target.now,
            repository_id=draft.memory.repository_id,
        )

    # --- What is not a memory ---------------------------------------------------------------------
    def take_other(self, number: int, record: Record) -> None:
        """Take the header, settings or a proposal of an archive."""
        take = {
            str(Kind.HEADER): self._take_header,
            str(Kind.SETTINGS): self._take_settings,
            str(Kind.REVIEW): self._take_review,
        }.get(str(record["record"]))
        try:
            if take is None:
                raise RecordInvalid(f"There is no record {str(record['record'])[:40]!r}.")  # noqa: TRY301
            with transaction.atomic():
                take(number, Fields(record))
        except (RecordInvalid, policies.PolicyInvalid, policies.PolicyUnknown) as error:
            self.report.refuse(number, str(error))

    def _take_header(self, _number: int, fields: Fields) -> None:
        if fields.count("schema") > SCHEMA:
            raise RecordInvalid(
                f"The archive is of schema {fields.count('schema')}; this server reads up to"
                f" {SCHEMA}. Import it into a newer one."
            )

    def _take_settings(self, number: int, fields: Fields) -> None:
        """Set what this namespace has not decided by itself."""
        namespace = Namespace.objects.get(pk=self._namespace_id)
        wanted = {
            key: value
            for key, value in fields.object("settings").items()
            if key not in namespace.settings
        }
        if not wanted or self._target.dry_run:
            self.report.settings += len(wanted)
            return
        try:
            policies.change(
                caller=self._target.caller, namespace_id=self._namespace_id, changes=wanted
            )
            self.report.settings += len(wanted)
        except policies.PolicyRefused as error:
            self.report.left_out += len(wanted)
            self.report.refuse(number, f"Settings are left out. {error}")

    def _take_review(self, _number: int, fields: Fields) -> None:
        """Restore a proposal for whoever may decide it; one about mapped memories is left out."""
        key = fields.id("id")
        private_to = fields.text("private_to")
        keys = {Fields({"id": text}).id("id") for text in fields.texts("memory_ids")}
        is_mapped = any(key != other for key, other in self.resolved(keys).items())
        may = self._target.caller.can(Action.DELETE_ANY_MEMORY, self._namespace_id)
        is_own = private_to == self._target.caller.username
        if is_mapped or not (is_own if private_to else may):
            self.report.left_out += 1
            return
        if self._target.dry_run or ReviewItem.objects.filter(pk=key).exists():
            return
        created_at = fields.time("created_at")
        fingerprint = bytes.fromhex(fields.text("fingerprint"))
        is_open = fields.text("state") == ReviewItem.State.OPEN
        clashing = ReviewItem.objects.filter(
            namespace_id=self._namespace_id, fingerprint=fingerprint, state=ReviewItem.State.OPEN
        )
        if is_open and clashing.exists():
            return
        ReviewItem.objects.create(
            id=key,
            namespace_id=self._namespace_id,
            repository_id=self.repository(fields.text("repository")),
            kind=fields.one_of("kind", tuple(ReviewItem.Kind.values), ""),
            private_to_id=self._target.caller.user_id if is_own else None,
            memory_ids=fields.texts("memory_ids"),
            proposal=fields.object("proposal"),
            reason=fields.text("reason"),
            confidence=fields.share("confidence", 0.5),
            fingerprint=fingerprint,
            proposed_by=fields.text("proposed_by", maximum=NAME_LENGTH),
            created_at=created_at or self._target.now,
            state=fields.one_of("state", tuple(ReviewItem.State.values), ""),
            decided_by=fields.text("decided_by", maximum=NAME_LENGTH),
            decided_at=fields.time("decided_at"),
            decision_note=fields.text("decision_note"),
        )
        self.report.reviews += 1

    # --- Parts ------------------------------------------------------------------------------------
    def _screened(self, given: Record) -> tuple[Record, Screen]:
        """Return a record fit to keep: without secrets and hidden signs wherever people write."""
        screen = Screen()
        record = {
            key: screen.value(value) if key in _WRITTEN else value for key, value in given.items()
        }
        for name, written in _WRITTEN_PARTS.items():
            if isinstance(parts := record.get(name), list):
                record[name] = [_part_screened(part, written, screen) for part in parts]
        return record, screen

    def make_vertices(self, memories: Iterable[Memory]) -> None:
        """Make the vertices of memories, as far as they are not there."""
        graph.ensure_memory_vertices(
            namespace_id=self._namespace_id,
            memories={memory.number: memory.pk for memory in memories},
        )

    def repository(self, name: str) -> UUID | None:
        """Return the id of the namespace's repository of that name; raise RecordInvalid."""
        if not name:
            return None
        if name not in self.repositories:
            raise RecordInvalid(
                f"There is no repository {name[:80]!r} in this namespace; register it first."
            )
        return self.repositories[name]

    def _member(self, username: str) -> int | None:
        return self._members.get(username)

    def _nameable_members(self) -> Mapping[str, int]:
        """Return in whose names the caller may bring things in: a maintainer in every member's."""
        caller = self._target.caller
        if not caller.can(Action.DELETE_ANY_MEMORY, self._namespace_id):
            return {caller.username: caller.user_id}
        rows = Membership.objects.filter(namespace_id=self._namespace_id)
        return {caller.username: caller.user_id, **dict(rows.values_list("user__username", "user"))}


def _successors(record: Record | None) -> Iterable[UUID]:
    """Yield the ids that a memory's versions name, as far as they are ids."""
    versions = (record or {}).get("versions")
    for version in versions if isinstance(versions, list) else ():
        snapshot = version.get("snapshot") if isinstance(version, dict) else None
        if isinstance(snapshot, dict) and isinstance(key := snapshot.get("superseded_by_id"), str):
            found = _id_of({"id": key})
            yield from [found] if found else []


def _id_of(record: Record) -> UUID | None:
    try:
        return Fields(record).optional_id("id")
    except RecordInvalid:
        return None


def _check_snapshot(version: Fields) -> None:
    """Raise RecordInvalid for a version that could not be shown or restored."""
    said = version.part("snapshot")
    if said is None:
        return
    for name in ("content", "rationale", "branch", "retired_by"):
        said.text(name)
    said.one_of("memory_type", MemoryType, MemoryType.CONTEXT)
    said.one_of("state", tuple(Memory.State.values), Memory.State.ACTIVE)
    said.one_of("visibility", Visibility, Visibility.NAMESPACE)
    for name in ("tags", "acceptance_criteria"):
        said.texts(name)
    for name in ("evidence", "alternatives"):
        for part in said.objects(name):
            Fields({"values": list(part.values())}).texts("values")
    for name in ("importance", "confidence"):
        said.share(name, 1.0)
    said.flag("is_pinned")
    for name in ("expires_at", "ended_at", "retired_at"):
        said.time(name)


def _part_screened(part: object, written: frozenset[str], screen: Screen) -> object:
    if not isinstance(part, dict):
        return part
    kept = {key: screen.value(value) if key in written else value for key, value in part.items()}
    if isinstance(snapshot := kept.get("snapshot"), dict):
        kept["snapshot"] = _part_screened(snapshot, written, screen)
    return kept


def _use(memory: Memory, fields: Fields | None) -> MemoryUse | None:
    if fields is None:
        return None
    return MemoryUse(
        memory=memory,
        recalled=fields.count("recalled"),
        recalled_at=fields.time("recalled_at"),
        helpful=fields.count("helpful"),
        not_helpful=fields.count("not_helpful"),
        stale=fields.count("stale"),
        wrong=fields.count("wrong"),
        confirmed=fields.count("confirmed"),
        retention=fields.optional_share("retention"),
        retention_at=fields.time("retention_at"),
    )


def _set_times(statement: str, times: Sequence[tuple[Any, datetime]]) -> None:
    """Give rows the times of the archive where the model has set those of the writing."""
    if times:
        with connection.cursor() as cursor:
            cursor.execute(statement, [[key for key, _ in times], [at for _, at in times]])


def _numbers(count: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval('memory_memory_number') FROM generate_series(1, %s::int)", [count]
        )
        return [row[0] for row in cursor.fetchall()]
