"""LoCoMo's conversations as memories of one namespace: a repository each, priors that vary.

Every memory has its session and its author, as an agent's or a person's would; importance and
confidence are drawn at random with a fixed seed, so that a ranking that leans on them is punished.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db import connection, transaction
from django.utils import timezone
from numpy.typing import NDArray
from pgvector.psycopg import register_vector
from psycopg import sql

from codemem import policies
from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace, User, new_id
from codemem.accounts.values import Caller
from codemem.embedding import Kind, Provider
from codemem.embedding.words import word_model
from codemem.words import tokens_text
from graph import cypher
from graph import services as graph
from graph.models import Repository
from graph.values import VertexLabel, graph_id
from memory.context import make_contexts
from memory.indexes import ensure_vector_indexes
from memory.models import Memory, MemoryContext
from memory.neighbors import neighbors_of, places
from memory.values import Neighbor, RecallQuery, Visibility
from tests.bench.copying import copy_lines, take_numbers
from tests.bench.locomo_data import Conversation, Unit

_USER: Final = "bench"
_SEED: Final = 7
_MEMORY_TYPE: Final = "context"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """One conversation in the database. `units` and `vectors` are in the order of the memories."""

    conversation: Conversation
    namespace_id: UUID
    repository_id: UUID
    memory_ids: tuple[UUID, ...]
    units: tuple[Unit, ...]
    importances: tuple[float, ...]
    confidences: tuple[float, ...]
    vectors: NDArray[np.float32]

    @property
    def by_id(self) -> dict[UUID, Unit]:
        return dict(zip(self.memory_ids, self.units, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What was said around any memories of a conversation, as recall brings it."""

    data: Loaded
    caller: Caller
    now: datetime
    places: dict[UUID, dict[UUID, int]]
    characters: int

    @classmethod
    def of(cls, data: Loaded, caller: Caller, *, now: datetime) -> "Beside":
        rows = MemoryContext.objects.filter(memory_id__in=data.memory_ids)
        return cls(
            data=data,
            caller=caller,
            now=now,
            places={row.memory_id: places(row.around, before=row.before) for row in rows},
            characters=policies.count(data.namespace_id, "recall.neighbor_characters"),
        )

    def of_hits(self, ids: Sequence[UUID]) -> dict[UUID, tuple[Neighbor, ...]]:
        query = RecallQuery(
            text="",
            namespace_ids=(self.data.namespace_id,),
            repository_id=self.data.repository_id,
        )
        told = neighbors_of(
            caller=self.caller,
            query=query,
            around={key: self.places[key] for key in ids},
            characters=dict.fromkeys(ids, self.characters),
            now=self.now,
        )
        return {key: told.get(key, ()) for key in ids}


class CachedProvider:
    """The real provider with what it said kept on disk: loading again takes seconds."""

    def __init__(self, provider: Provider, directory: Path) -> None:
        self.dimensions = provider.dimensions
        self.fingerprint = provider.fingerprint
        self.max_tokens = provider.max_tokens
        self.model = word_model(provider)
        self._provider = provider
        name = hashlib.sha256(provider.fingerprint.encode()).hexdigest()[:16]
        self._path = directory / f"vectors-{name}.npz"
        self._known: dict[str, NDArray[np.float32]] = {}
        if self._path.is_file():
            with np.load(self._path) as kept:
                self._known = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        keys = [hashlib.sha256(f"{kind}\0{text}".encode()).hexdigest() for text in texts]
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in self._known
        }
        if missing:
            made = self._provider.embed(list(missing.values()), kind=kind)
            self._known.update(zip(missing, made, strict=True))
        return np.stack([self._known[key] for key in keys])

    def keep(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(
            self._path,
            keys=np.array(list(self._known)),
            vectors=np.array(list(self._known.values())),
        )


def load(
    conversations: Sequence[Conversation],
    *,
    namespace: str,
    units_of: Callable[[Conversation], list[Unit]],
    provider: Provider,
) -> list[Loaded]:
    """Write the conversations into a namespace of their own and build its search indexes."""
    user = User.objects.filter(username=_USER).first() or accounts.create_user(
        username=_USER, actor=_USER
    )
    place = accounts.create_namespace(name=namespace, owner=user, actor=_USER)
    priors = Random(_SEED)
    loaded = []
    for conversation in conversations:
        repository = graph.register_repository(
            namespace=place,
            name=conversation.name,
            url=f"https://git.example.com/locomo/{conversation.name}.git",
            created_by=user,
            default_branch="main",
        )
        units = units_of(conversation)
        owned = _Owner(namespace=place, repository=repository, user=user)
        loaded.append(_write(conversation, units, owned, provider, priors))
    while make_contexts(limit=1_000, provider=provider):
        pass
    ensure_vector_indexes()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE) memory_memory")
    return loaded


def caller() -> Caller:
    """Return the one who stored it all, as a token of theirs authenticates."""
    return caller_of(User.objects.get(username=_USER))


def caller_of(user: User) -> Caller:
    return accounts.authenticate_token(secret=token_of(user), now=timezone.now(), ip=None)


def token_of(user: User) -> str:
    """Return the secret of a new token of somebody's."""
    token = accounts.issue_token(
        user=user,
        name="bench",
        actor=user,
        now=timezone.now(),
        expires_at=timezone.now() + timedelta(hours=6),
    )
    return token.secret


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owner:
    """Where memories go, and whose they are."""

    namespace: Namespace
    repository: Repository
    user: User


def _write(
    conversation: Conversation,
    units: Sequence[Unit],
    owned: _Owner,
    provider: Provider,
    priors: Random,
) -> Loaded:
    vectors = provider.embed([unit.text for unit in units], kind="document")
    rows = [_row(unit, place, owned, priors) for place, unit in enumerate(units)]
    graph_name = cypher.ensure_graph(owned.namespace.pk)
    with transaction.atomic(), connection.cursor() as cursor:
        register_vector(connection.connection)
        for row, vector, number in zip(
            rows, vectors, take_numbers(cursor, "memory_memory_number", len(rows)), strict=True
        ):
            row.number = number
            row.embedding, row.embedding_fingerprint = vector, provider.fingerprint
        Memory.objects.bulk_create(rows, batch_size=500)
        copy_lines(
            cursor,
            sql.Identifier(graph_name, VertexLabel.MEMORY.title),
            ("id", "properties"),
            map(_vertex_line, rows),
        )
    return Loaded(
        conversation=conversation,
        namespace_id=owned.namespace.pk,
        repository_id=owned.repository.pk,
        memory_ids=tuple(row.pk for row in rows),
        units=tuple(units),
        importances=tuple(row.importance for row in rows),
        confidences=tuple(row.confidence for row in rows),
        vectors=vectors,
    )


def _row(
    unit: Unit,
    place: int,
    owned: _Owner,
    priors: Random,
) -> Memory:
    tags = [author.lower() for author in unit.authors] if len(unit.authors) > 1 else []
    return Memory(
        id=new_id(),
        namespace=owned.namespace,
        repository=owned.repository,
        visibility=Visibility.REPOSITORY,
        memory_type=_MEMORY_TYPE,
        content=unit.text,
        # The same words may be said twice; which turn they are makes them two memories.
        content_hash=hashlib.sha256(f"{unit.turn_ids[0]} {unit.text}".encode()).digest(),
        tags=tags,
        importance=round(priors.random(), 3),
        confidence=round(priors.uniform(0.3, 1.0), 3),
        author=owned.user,
        author_name=unit.authors[0] if len(unit.authors) == 1 else owned.user.username,
        session_id=f"{owned.namespace.name}/{owned.repository.name}/{unit.session}",
        source="import",
        # Said one after the other: a session's date is its first turn's.
        created_at=unit.at + timedelta(seconds=place),
        tokens=tokens_text("\n".join([unit.text, *tags])),
    )


def _vertex_line(row: Memory) -> str:
    properties: Any = cypher.agtype_text({"uid": str(row.pk), "kind": "memory"})
    return f"{graph_id(label=VertexLabel.MEMORY, key=row.number)}\t{properties}\n"
