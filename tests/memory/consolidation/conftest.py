"""What the tests of cycles share: rows of any age, runs, and what must be as before after undo."""

import hashlib
import json
from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.db import connection

from graph import services as graph
from graph.values import VertexLabel, graph_id
from memory.consolidation import runs
from memory.models import ConsolidationRun, Memory, MemoryUse
from memory.services.versioning import content_hash
from tests import factories
from tests.factories import NOW

TABLES = (
    "memory_memory",
    "memory_memoryuse",
    "memory_anchor",
    "memory_memoryentity",
    "memory_feedback",
    "memory_reviewitem",
)


@pytest.fixture
def remember(store, model):
    """Return a function that stores a memory and then makes it what the test needs.

    Its words come afterwards, for storing finds near duplicates itself; here they are older.
    """

    def remember(content: str, *, days: int = 0, use=None, store_as=None, **columns) -> Memory:
        arguments = dict(store_as or {})
        stored = store(uuid4().hex, **arguments)
        Memory.objects.filter(pk=stored.memory.id).update(
            content=content,
            content_hash=content_hash(content),
            embedding=model.embed([content], kind="document")[0],
            created_at=NOW - timedelta(days=days),
            **columns,
        )
        if use:
            MemoryUse.objects.update_or_create(memory_id=stored.memory.id, defaults=use)
        return Memory.objects.get(pk=stored.memory.id)

    return remember


@pytest.fixture
def run(namespace):
    """Return a function that carries out one cycle as a worker would, and returns the run."""

    def run(cycle: str, *, is_dry: bool = False, now=NOW) -> ConsolidationRun:
        row = ConsolidationRun.objects.create(
            namespace=namespace, cycle=cycle, is_dry=is_dry, asked_by="mary", started_at=now
        )
        assert runs.execute(run_id=row.pk, now=now)
        row.refresh_from_db()
        assert row.state == "done", row.error
        return row

    return run


@pytest.fixture
def people(owner, maintainer, writer, reader, outsider):
    """Return everybody at once, for tests that ask as several."""
    return SimpleNamespace(
        owner=owner, maintainer=maintainer, writer=writer, reader=reader, outsider=outsider
    )


@pytest.fixture
def undo(maintainer):
    def undo(row: ConsolidationRun, *, now=NOW):
        return runs.undo(caller=factories.caller_of(maintainer), run_id=row.pk, now=now)

    return undo


@pytest.fixture
def everything(namespace):
    """Return a function that returns a hash of each table's rows and of all links.

    Of memories without their version, which goes on when a run is undone.
    """

    def everything() -> dict[str, str]:
        with connection.cursor() as cursor:
            found = {}
            for table in TABLES:
                cursor.execute(f"SELECT to_jsonb(t) - 'version' FROM {table} t")
                found[table] = _hash([row for (row,) in cursor.fetchall()])
        numbers = Memory.objects.values_list("number", flat=True)
        vertices = [graph_id(label=VertexLabel.MEMORY, key=number) for number in numbers]
        links = graph.link_rows(namespace_id=namespace.pk, vertices=vertices)
        found["links"] = _hash([[row.id, row.source, row.target, row.properties] for row in links])
        return found

    return everything


def _hash(rows: Sequence[object]) -> str:
    texts = sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
