"""What the tests of memories share: a small deterministic model, and a way to store and to ask."""

from collections.abc import Sequence
from typing import Any, Protocol
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller
from codemem.embedding import EmbeddingUnavailable
from codemem.words import code_tokens
from graph import services as graph
from graph.models import Repository
from memory.recall import recall
from memory.services import store_memory
from memory.values import RecallAnswer, RecallQuery, StoreOutcome
from tests import factories


class WordModel:
    """A model for which texts are as alike as the words they share.

    Each new word gets a dimension of its own, as long as there are any.
    """

    dimensions = 384
    max_tokens = 256

    def __init__(self, fingerprint: str = "words-1") -> None:
        self.fingerprint = fingerprint
        self._places: dict[str, int] = {}

    def embed(self, texts: Sequence[str], *, kind: str) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for token in code_tokens(text) or [""]:
                row[self._places.setdefault(token, len(self._places)) % self.dimensions] += 1
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


class AbsentModel(WordModel):
    """A model that cannot be reached."""

    def embed(self, texts: Sequence[str], *, kind: str) -> NDArray[np.float32]:
        raise EmbeddingUnavailable("There is no model.", hint="Prepare one.")


class Store(Protocol):
    def __call__(self, content: str, **changes: Any) -> StoreOutcome: ...


class Ask(Protocol):
    def __call__(self, text: str, **changes: Any) -> RecallAnswer: ...


@pytest.fixture
def model() -> WordModel:
    return WordModel()


@pytest.fixture
def absent_model() -> AbsentModel:
    return AbsentModel()


@pytest.fixture
def writing(writer: User, namespace: Namespace) -> Caller:
    """Return the caller of the namespace's writer."""
    return factories.caller_of(writer)


@pytest.fixture
def store(writing: Caller, namespace: Namespace, model: WordModel) -> Store:
    """Return a function that stores as the writer, in the namespace as a whole."""

    def store(content: str, **changes: Any) -> StoreOutcome:
        arguments: dict[str, Any] = {
            "caller": writing,
            "namespace_id": namespace.pk,
            "content": content,
            "memory_type": "decision",
            "now": factories.NOW,
            "provider": model,
        }
        return store_memory(**(arguments | changes))

    return store


@pytest.fixture
def ask(writing: Caller, namespace: Namespace, model: WordModel) -> Ask:
    """Return a function that recalls as the writer, from the namespace as a whole."""

    def ask(
        text: str,
        *,
        caller: Caller = writing,
        provider: WordModel = model,
        namespace_ids: tuple[UUID, ...] = (namespace.pk,),
        **changes: Any,
    ) -> RecallAnswer:
        query = RecallQuery(text=text, namespace_ids=namespace_ids, **changes)
        return recall(caller=caller, query=query, now=factories.NOW, provider=provider)

    return ask


def put_symbols(repository: Repository, *local_names: str) -> list[str]:
    """Put one file, `src/user.py`, with these methods into the graph; return the methods' ids."""
    facts = [
        factories.symbol_fact("src/user.py", name, line=10 * number + 1)
        for number, name in enumerate(local_names)
    ]
    graph.put(
        repository_id=repository.pk,
        ref_name=repository.default_branch,
        snapshot=factories.snapshot(*facts),
    )
    return [fact.id for fact in facts]
