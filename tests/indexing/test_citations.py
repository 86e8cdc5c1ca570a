"""The code that memories cite, as somebody who looks at the memory is shown it."""

import pytest

from codemem.accounts.models import User
from codemem.accounts.values import TokenScope
from graph.models import Repository
from indexing.citations import MOST_LINES, cited_code
from indexing.pipeline import run_index
from indexing.services import request_index
from memory.anchors import citation
from memory.models import Memory
from memory.services import anchor_memory, anchors_of, drafted, store_memory
from tests import factories
from tests.factories import NOW
from tests.indexing.checkout import Checkout
from tests.memory.conftest import WordModel

pytestmark = pytest.mark.django_db

CODE = "import os\n\n\ndef retry(x):\n    return x * 3\n\n\ndef wait():\n    return 1\n"


@pytest.fixture
def anchored(mirrored: Repository, source: Checkout, writer: User) -> Memory:
    source.commit({"a.py": CODE, "long.py": "pass\n" * 100})
    run_id = request_index(repository_id=mirrored.pk, ref="", requested_by="tests")
    run_index(run_id=run_id, now=NOW)
    outcome = store_memory(
        caller=factories.caller_of(writer),
        namespace_id=mirrored.namespace_id,
        repository_id=mirrored.pk,
        content="Thrice is enough.",
        memory_type="decision",
        now=NOW,
        provider=WordModel(),
    )
    memory = Memory.objects.get(pk=outcome.memory.id)
    cited = [
        citation(path="a.py", start_line=8, end_line=9),
        citation(symbol="sym:a.py#retry"),
        citation(path="long.py"),
    ]
    anchor_memory(memory, drafted(cited, repository_id=mirrored.pk), actor="walter", now=NOW)
    return memory


def test_lines_and_symbols_are_shown_with_their_numbers(anchored: Memory, writer: User) -> None:
    anchors = anchors_of([anchored.pk])[anchored.pk]
    found = cited_code(
        caller=factories.caller_of(writer), namespace_id=anchored.namespace_id, anchors=anchors
    )
    by_cite = {one.anchor.cites: one for one in found}

    lines = by_cite["a.py:8-9"].lines
    assert [(line.number, line.text) for line in lines if line.is_cited] == [
        (8, "def wait():"),
        (9, "    return 1"),
    ]
    assert [line.number for line in lines] == [6, 7, 8, 9]
    symbol = by_cite["sym:a.py#retry"]
    assert symbol.symbol == "sym:a.py#retry"
    assert [line.text for line in symbol.lines if line.is_cited] == [
        "def retry(x):",
        "    return x * 3",
    ]
    whole = by_cite["long.py"]
    assert (len(whole.lines), whole.is_cut) == (MOST_LINES, True)


def test_who_may_not_read_code_is_shown_none(anchored: Memory, writer: User) -> None:
    anchors = anchors_of([anchored.pk])[anchored.pk]
    memories_only = factories.caller_of(writer, scopes=[TokenScope.MEMORY_READ])
    outside = factories.caller_of(factories.make_user())
    for caller in (memories_only, outside):
        found = cited_code(caller=caller, namespace_id=anchored.namespace_id, anchors=anchors)
        assert len(found) == len(anchors)
        assert not any(one.lines for one in found)
