"""The benchmark's memories must lie as the server writes them."""

from typing import Any

from django.db import connection
from pgvector.psycopg import register_vector

from codemem import embedding
from codemem.accounts.models import Namespace
from graph import cypher
from graph.models import Repository
from memory import services as memory
from memory.models import Memory
from memory.values import MemoryType
from tests import factories
from tests.bench.code_graph import make_code_graph
from tests.bench.code_rows import LoadedCode, copy_code
from tests.bench.memories import memory as synthetic
from tests.bench.memory_rows import copy_memories

# What differs from one memory to the next, and the vector, which is drawn.
OWN = {"id", "number", "created_at", "updated_at", "token_id", "embedding", "branch"}


def test_copied_memories_lie_as_store_memory_would_have_written_them(namespace, repository, writer):
    place = make_repository_with_code(repository)
    register_vector(connection.connection)
    with connection.cursor() as cursor:
        copy_memories(
            cursor,
            numbers=range(1),
            namespace_id=namespace.pk,
            author=writer,
            provider=embedding.from_settings(),
            code=place,
        )
    copied: dict[str, Any] = {**Memory.objects.values().get()}
    copied_ties = ties_of(namespace)
    memory.delete_memory(
        caller=factories.caller_of(writer), memory_id=copied["id"], now=factories.NOW
    )
    said = synthetic(0)
    memory.store_memory(
        caller=factories.caller_of(writer),
        namespace_id=namespace.pk,
        repository_id=repository.pk,
        content=said.content,
        memory_type=MemoryType(said.memory_type),
        importance=said.importance,
        tags=said.tags,
        now=factories.NOW,
    )
    stored: dict[str, Any] = {**Memory.objects.filter(state="active").values().get()}

    assert {key for key in stored if stored[key] != copied[key]} <= OWN
    assert set(copied_ties) <= set(ties_of(namespace))


def make_repository_with_code(repository: Repository) -> LoadedCode:
    with connection.cursor() as cursor:
        return copy_code(
            cursor,
            code=make_code_graph(symbols=2_000, edges=2_000, shares=(1.0,)),
            graph=cypher.graph_name(repository.namespace_id),
            repository_ids=[repository.pk],
        )


def ties_of(namespace: Namespace) -> list[tuple[Any, ...]]:
    found = cypher.run(
        graph=cypher.graph_name(namespace.pk),
        query="MATCH (m:Memory)-[e:RELATES_TO]->(n) RETURN n.uid, e.kind, e.w, e.`by`",
        columns=("code", "kind", "weight", "actor"),
    )
    return sorted(found)
