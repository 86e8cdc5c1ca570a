"""Where a task would go: code that memories lead to."""

from dataclasses import replace

import pytest

from codemem.accounts.models import User
from codemem.accounts.values import Caller, TokenScope
from graph import services as graph
from graph.models import Repository
from memory import modes
from memory.values import RecallQuery
from tests import factories
from tests.memory.conftest import Store, WordModel

pytestmark = pytest.mark.django_db
NOW = factories.NOW


@pytest.fixture(autouse=True)
def one_model(monkeypatch: pytest.MonkeyPatch, model: WordModel) -> None:
    monkeypatch.setattr("codemem.embedding.from_settings", lambda: model)


@pytest.fixture
def two(repository: Repository) -> str:
    """Put two files into the graph; return the id of the second one's symbol."""
    facts = [factories.symbol_fact("src/one.py", "one"), factories.symbol_fact("src/two.py", "two")]
    graph.put(
        repository_id=repository.pk,
        ref_name=repository.default_branch,
        snapshot=factories.snapshot(*facts),
    )
    return facts[1].id


@pytest.fixture
def query(repository: Repository) -> RecallQuery:
    return RecallQuery(
        text="giraffes get in at night",
        namespace_ids=(repository.namespace_id,),
        repository_id=repository.pk,
    )


def code(caller: Caller, query: RecallQuery) -> tuple[str, ...]:
    return modes.brief(caller=caller, query=query, now=NOW).code


def test_a_brief_leads_to_the_code_that_memories_are_about(
    store: Store, writing: Caller, repository: Repository, two: str, query: RecallQuery
):
    store(
        "Giraffes got in at night through an open gate.",
        repository_id=repository.pk,
        links=(two,),
    )
    found = code(writing, query)
    assert found[0] == "file:src/two.py"
    assert next(one for one in found if one.startswith("sym:")) == two


def test_nobody_is_led_by_private_memories_of_others(
    store: Store, writing: Caller, owner: User, two: str, query: RecallQuery
):
    before = code(factories.caller_of(owner), query)
    store(
        "Giraffes got in at night through an open gate.",
        repository_id=query.repository_id,
        links=(two,),
        visibility="private",
    )
    assert code(writing, query)[0] == "file:src/two.py"
    assert code(factories.caller_of(owner), query) == before


def test_who_may_not_read_code_is_not_led_to_it(writer: User, two: str, query: RecallQuery):
    only_memory = factories.caller_of(writer, scopes=frozenset({TokenScope.MEMORY_READ}))
    assert code(only_memory, query) == ()
    assert two in code(factories.caller_of(writer), query)


def test_a_brief_without_a_repository_names_no_code(writing: Caller, query: RecallQuery):
    assert code(writing, replace(query, repository_id=None)) == ()
