"""Lists of memories: narrowed as asked, in pages, and nothing of what others keep to themselves."""

from datetime import timedelta

import pytest

from memory.anchors import AnchorState
from memory.catalog import ANY, NOT_ANCHORED, Narrowing, catalog
from memory.models import Anchor, Memory
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def listed(namespace):
    """Return a function that lists what a user sees of the namespace, as contents."""

    def listed(user, **changes):
        page = catalog(
            caller=factories.caller_of(user),
            namespace_id=namespace.pk,
            now=NOW,
            narrowing=Narrowing(**changes),
        )
        assert page.total == len(page.entries)
        return {entry.memory.content for entry in page.entries}

    return listed


def test_each_filter_narrows(store, listed, writer, repository):
    store("Retries are three.", repository_id=repository.pk, tags=["net"], is_pinned=True)
    store("Ledgers are append-only.", memory_type="rule")
    past = store("The freeze ends soon.", expires_at=NOW + timedelta(hours=1)).memory
    Memory.objects.filter(pk=past.id).update(expires_at=NOW - timedelta(hours=1))
    retired = store("We use SOAP.").memory
    Memory.objects.filter(pk=retired.id).update(state="retired")

    assert listed(writer) == {"Retries are three.", "Ledgers are append-only."}
    assert listed(writer, memory_type="rule") == {"Ledgers are append-only."}
    assert listed(writer, tag="net") == {"Retries are three."}
    assert listed(writer, is_pinned=True) == {"Retries are three."}
    assert listed(writer, visibility="repository") == {"Retries are three."}
    assert listed(writer, author="walter", memory_type="rule") == {"Ledgers are append-only."}
    assert listed(writer, author="olga") == set()
    assert listed(writer, state="expired") == {"The freeze ends soon."}
    assert listed(writer, state="retired") == {"We use SOAP."}
    assert len(listed(writer, state=ANY)) == 4
    # The namespace's answer for its repositories, too.
    assert listed(writer, repository_id=repository.pk, memory_type="rule") == {
        "Ledgers are append-only."
    }


def test_the_worst_of_what_a_memory_cites_decides(store, listed, writer, repository):
    for content, states in (
        ("Holds.", ["ok", "ok"]),
        ("Drifts.", ["ok", "drifted"]),
        ("Is gone.", ["missing", "drifted"]),
        ("Cites nothing.", []),
    ):
        memory = store(content, repository_id=repository.pk).memory
        Anchor.objects.bulk_create(
            Anchor(
                memory_id=memory.id, repository=repository, kind="file", path=f"{n}.py", state=state
            )
            for n, state in enumerate(states)
        )
    assert listed(writer, anchored=AnchorState.OK) == {"Holds."}
    assert listed(writer, anchored=AnchorState.DRIFTED) == {"Drifts."}
    assert listed(writer, anchored=AnchorState.MISSING) == {"Is gone."}
    assert listed(writer, anchored=NOT_ANCHORED) == {"Cites nothing."}


def test_pages_are_newest_first_and_counted(store, writing, namespace):
    for number in range(5):
        stored = store(f"Fact number {number}.", is_distinct=True).memory
        Memory.objects.filter(pk=stored.id).update(created_at=NOW + timedelta(minutes=number))

    def page(number):
        return catalog(
            caller=writing,
            namespace_id=namespace.pk,
            now=NOW,
            narrowing=Narrowing(),
            page=number,
            size=2,
        )

    first = page(1)
    assert (first.total, first.last) == (5, 3)
    assert [entry.memory.content for entry in first.entries] == ["Fact number 4.", "Fact number 3."]
    assert [entry.memory.content for entry in page(3).entries] == ["Fact number 0."]
    # Beyond the last there is the last.
    assert page(99).number == 3


def test_what_is_private_is_its_authors_alone(store, listed, writer, owner, outsider):
    store("I like tabs.", visibility="private")
    store("We like spaces.")
    assert listed(writer) == {"I like tabs.", "We like spaces."}
    assert listed(owner) == {"We like spaces."}
    assert listed(owner, state=ANY, author="walter") == {"We like spaces."}
    assert listed(outsider, state=ANY) == set()
