"""Figures of a namespace, as each member sees them."""

from typing import Any

import pytest

from codemem.accounts.models import Namespace, User
from graph.models import Repository
from memory.models import Memory
from memory.services import delete_memory
from memory.statistics import statistics
from tests.factories import NOW, caller_of
from tests.memory.conftest import AbsentModel, Store

pytestmark = pytest.mark.django_db


@pytest.fixture
def filled(store: Store, repository: Repository, writer: User, owner: User) -> None:
    store("Totals are cents.", importance=0.4, tags=["money", "units"])
    store("Charge once.", memory_type="rule", importance=0.6, tags=["money"])
    store("Of the app.", memory_type="rule", repository_id=repository.pk, importance=0.5)
    store("Unseen by the model.", provider=AbsentModel(), importance=0.5)
    gone = store("No longer so.").memory
    delete_memory(caller=caller_of(writer), memory_id=gone.id, now=NOW)
    store("Walter's own.", memory_type="preference", importance=1.0, tags=["secret"])
    Memory.objects.filter(content="Walter's own.").update(visibility="private")


def figures(user: User, namespace: Namespace, **changes: Any) -> Any:
    return statistics(caller=caller_of(user), namespace_id=namespace.pk, now=NOW, **changes)


def test_figures_are_of_what_holds(filled: None, namespace: Namespace, owner: User) -> None:
    found = figures(owner, namespace)
    assert found.total == 4
    assert found.by_state == {"active": 4, "retired": 1}
    assert found.by_type == {"decision": 2, "rule": 2}
    assert found.by_repository == {"app": 1}
    assert found.by_author == {"walter": 4}
    assert list(found.tags.items()) == [("money", 2), ("units", 1)]
    assert found.average_importance == pytest.approx(0.5)
    assert found.embedded_share == 0.75


def test_private_ones_count_for_their_author_only(
    filled: None, namespace: Namespace, owner: User, writer: User, reader: User
) -> None:
    assert figures(writer, namespace).by_visibility["private"] == 1
    for user in (owner, reader):
        found = figures(user, namespace)
        assert "private" not in found.by_visibility
        assert "secret" not in found.tags
        assert "preference" not in found.by_type


def test_one_repository_and_none_at_all(
    filled: None, namespace: Namespace, repository: Repository, owner: User, outsider: User
) -> None:
    assert figures(owner, namespace, repository_id=repository.pk).total == 1
    nothing = figures(outsider, namespace)
    assert (nothing.total, nothing.oldest, nothing.embedded_share) == (0, None, None)
