"""A namespace with everything in it that an archive must carry, and ways out, in and away."""

import io
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller
from graph import services as graph
from graph.models import Repository
from graph.values import VertexLabel, graph_id
from memory.models import Anchor, Feedback, Memory, MemoryUse
from memory.portability.exporting import Format, export
from memory.portability.importing import import_file
from memory.portability.reading import Selection
from memory.portability.restoring import Report, Target
from memory.services import associate, delete_memory, store_memory
from memory.services.versioning import Change, record_version
from memory.values import RelationshipKind
from tests import factories
from tests.factories import NOW
from tests.memory.conftest import WordModel, put_symbols

RIGHT_TO_LEFT = "הכלל: חשבונית נסגרת פעם אחת בלבד. قاعدة: لا تُغلق الفاتورة مرتين."
LATER = NOW + timedelta(hours=3)


@dataclass(frozen=True, slots=True)
class Carrier:
    """Exports and imports as one caller, into one namespace."""

    caller: Caller
    namespace: Namespace

    def out(self, form: Format = Format.JSONL, **changes: Any) -> bytes:
        selection = Selection(caller=self.caller, namespace=self.namespace, now=LATER)
        with export(selection=replace(selection, **changes), form=form).file as file:
            return file.read()

    def into(self, content: bytes, form: Format = Format.JSONL, **changes: Any) -> Report:
        first_line = changes.pop("first_line", 1)
        target = Target(caller=self.caller, namespace=self.namespace, now=LATER)
        return import_file(
            target=replace(target, **changes),
            form=form,
            file=io.BytesIO(content),
            first_line=first_line,
        )


@pytest.fixture
def carrier(owner: User, namespace: Namespace) -> Carrier:
    """Carry as the namespace's owner."""
    return Carrier(factories.caller_of(owner), namespace)


@pytest.fixture
def everything(
    owner: User, writer: User, namespace: Namespace, repository: Repository, model: WordModel
) -> list[UUID]:
    """Fill the namespace; return the ids of its memories."""
    save, login = put_symbols(repository, "User.save", "User.login")
    mine, theirs = factories.caller_of(owner), factories.caller_of(writer)
    place: dict[str, Any] = {"namespace_id": namespace.pk, "now": NOW, "provider": model}
    decision = store_memory(
        caller=theirs,
        repository_id=repository.pk,
        content="Sessions end after an hour.\n\n- because of audits\n- measured, too",
        memory_type="decision",
        tags=["auth", "time"],
        links=[save],
        importance=0.1 + 0.2,
        **place,
    ).memory.id
    branch = store_memory(
        caller=mine,
        repository_id=repository.pk,
        branch="feature/סוג",
        content=RIGHT_TO_LEFT,
        memory_type="rule",
        **place,
    ).memory.id
    private = store_memory(
        caller=mine, content="I like short names.", memory_type="preference", **place
    ).memory.id
    Memory.objects.filter(pk=private).update(visibility="private")
    old = store_memory(
        caller=mine,
        content="=SUM(A1) is not a formula here",
        memory_type="context",
        expires_at=NOW + timedelta(days=3),
        **place,
    ).memory.id
    gone = store_memory(
        caller=mine,
        repository_id=repository.pk,
        content="Logins are case sensitive.",
        memory_type="failure",
        links=[login, str(decision)],
        **place,
    ).memory.id
    associate(
        caller=mine,
        source_id=str(old),
        target_id=str(decision),
        kind=RelationshipKind.CONTRADICTS,
        now=NOW,
        weight=0.75,
    )
    associate(
        caller=mine,
        source_id=str(private),
        target_id=str(decision),
        kind=RelationshipKind.EXPLAINS,
        now=NOW,
    )
    Memory.objects.update(created_at=NOW)  # the clock of the rows is the real one
    _change(Memory.objects.get(pk=decision), theirs)
    _hang_on(Memory.objects.get(pk=decision), repository, owner, writer)
    delete_memory(caller=mine, memory_id=gone, now=LATER, reason="No longer so.")
    Memory.objects.filter(pk=old).update(state="superseded", superseded_by=decision, ended_at=LATER)
    namespace.settings = {"recall.floor": 0.3}
    namespace.save()
    return [decision, branch, private, old, gone]


def wipe(namespace: Namespace) -> None:
    """Take every memory of a namespace away, with its links, as if it had never been there."""
    for memory in Memory.objects.filter(namespace=namespace):
        graph.unlink_memory(namespace_id=namespace.pk, number=memory.number)
    Memory.objects.filter(namespace=namespace).update(superseded_by=None)
    Memory.objects.filter(namespace=namespace).delete()
    Namespace.objects.filter(pk=namespace.pk).update(settings={})
    namespace.refresh_from_db()


def vertex(memory: Memory) -> int:
    return graph_id(label=VertexLabel.MEMORY, key=memory.number)


def _change(memory: Memory, caller: Caller) -> None:
    record_version(memory, change=Change.REFINED, actor=caller, now=LATER, reason="Measured again.")
    memory.rationale = "Auditors asked."
    memory.alternatives = [{"option": "A day", "reason": "Too long."}]
    memory.acceptance_criteria = ["No session is older than an hour."]
    memory.evidence = [{"kind": "commit", "ref": "1" * 40}]
    memory.is_pinned = True
    memory.save()


def _hang_on(memory: Memory, repository: Repository, owner: User, writer: User) -> None:
    Anchor.objects.create(
        memory=memory,
        repository=repository,
        kind="lines",
        path="src/user.py",
        start_line=3,
        end_line=9,
        commit="1" * 40,
        content_hash=b"h" * 32,
        state="drifted",
        detail="Line 4 is another.",
        checked_at=LATER,
    )
    Anchor.objects.create(
        memory=memory, repository=repository, kind="dependency", package="pkg:pypi:django"
    )
    for user, verdict in ((owner, "helpful"), (writer, "stale")):
        Feedback.objects.create(
            memory=memory, user=user, verdict=verdict, note="Seen.", given_at=LATER
        )
    MemoryUse.objects.create(memory=memory, recalled=7, recalled_at=LATER, helpful=1, stale=1)
