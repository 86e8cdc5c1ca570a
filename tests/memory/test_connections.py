"""What a memory is tied to, as far as whoever looks may see the other end."""

import pytest

from codemem.accounts.values import TokenScope
from memory import queries
from memory.connections import connections_of
from memory.reception import reception_of
from memory.services import associate, give_feedback
from memory.values import RelationshipKind
from tests import factories
from tests.factories import NOW
from tests.memory.conftest import put_symbols

pytestmark = pytest.mark.django_db


def told(user, memory, **scopes):
    caller = factories.caller_of(user, **scopes)
    found = connections_of(caller=caller, memory=memory, now=NOW)
    return {
        (one.relationship, one.is_outgoing, getattr(end, "content", "") or end.id)
        for one in found
        if (end := one.memory or one.node)
    }


def test_links_lead_to_memories_and_code(store, writing, writer, repository):
    (symbol,) = put_symbols(repository, "User.save")
    why = store("Saves are audited.", repository_id=repository.pk, links=[symbol]).memory
    first = store("Audit everything.", memory_type="rule").memory
    mine = store("I doubt that.", visibility="private").memory
    for source, target, kind in (
        (why, first, RelationshipKind.DERIVED_FROM),
        (mine, why, RelationshipKind.CONTRADICTS),
    ):
        associate(
            caller=writing,
            repository_id=None,
            source_id=str(source.id),
            target_id=str(target.id),
            kind=kind,
            weight=0.9,
            now=NOW,
        )
    assert told(writer, why) == {
        ("DERIVED_FROM", True, "Audit everything."),
        ("CONTRADICTS", False, "I doubt that."),
        ("RELATES_TO", True, symbol),
    }


def test_others_see_neither_private_ends_nor_code_they_may_not_read(
    store, writing, owner, repository
):
    (symbol,) = put_symbols(repository, "User.save")
    why = store("Saves are audited.", repository_id=repository.pk, links=[symbol]).memory
    mine = store("I doubt that.", visibility="private").memory
    associate(
        caller=writing,
        repository_id=None,
        source_id=str(mine.id),
        target_id=str(why.id),
        kind=RelationshipKind.CONTRADICTS,
        weight=0.9,
        now=NOW,
    )
    assert told(owner, why) == {("RELATES_TO", True, symbol)}
    assert told(owner, why, scopes=[TokenScope.MEMORY_READ]) == set()


def test_a_verdict_is_ones_own_and_counts_are_everybodys(store, reader, writer, outsider):
    memory = store("Deploys happen on Tuesdays.").memory
    give_feedback(
        caller=factories.caller_of(reader),
        memory_id=memory.id,
        verdict="stale",
        note="On Mondays now.",
        now=NOW,
    )
    mine = reception_of(caller=factories.caller_of(reader), memory_id=memory.id, now=NOW)
    assert (mine.stale, mine.own_verdict, mine.own_note) == (1, "stale", "On Mondays now.")
    theirs = reception_of(caller=factories.caller_of(writer), memory_id=memory.id, now=NOW)
    assert (theirs.stale, theirs.own_verdict, theirs.own_note) == (1, "", "")
    with pytest.raises(queries.MemoryUnknown):
        reception_of(caller=factories.caller_of(outsider), memory_id=memory.id, now=NOW)
