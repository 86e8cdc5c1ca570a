"""What came of a session, for who may read it."""

import pytest

from memory import failures, handoffs
from memory.baton import Baton
from memory.checkpoints import SessionUnknown, checkpoint
from memory.session_outcomes import outcomes_of
from tests import factories
from tests.factories import NOW
from tests.memory.failures.conftest import fail, play  # noqa: F401

pytestmark = pytest.mark.django_db


def of(user, session):
    return outcomes_of(caller=factories.caller_of(user), session_id=session.pk, now=NOW)


@pytest.fixture
def session(play, store):  # noqa: F811
    played = play()
    fail(played)
    checkpoint(
        session_id=played.session.pk, origin="agent", baton=Baton(summary="Half way."), now=NOW
    )
    store("Totals are decimals.", session_id=played.session.client_session_id, keep=True)
    store("I hate floats.", session_id=played.session.client_session_id, visibility="private")
    return played.session


def test_a_session_tells_what_came_of_it(session, writer):
    came = of(writer, session)
    assert [one.baton.summary for one in came.checkpoints] == ["Half way."]
    said = {memory.content for memory in came.memories}
    assert {"Totals are decimals.", "I hate floats."} <= said
    assert any("TypeError" in one.what for one in came.failures)


def test_it_is_its_users_alone(session, owner, reader, outsider):
    for user in (owner, reader, outsider):
        with pytest.raises(SessionUnknown):
            of(user, session)


def test_a_shared_one_keeps_private_memories_back(session, owner, outsider):
    session.is_shared = True
    session.save()
    assert {memory.content for memory in of(owner, session).memories} >= {"Totals are decimals."}
    assert "I hate floats." not in {memory.content for memory in of(owner, session).memories}
    with pytest.raises(SessionUnknown):
        of(outsider, session)


def test_failures_are_listed_open_and_fixed(session, writer, owner, outsider, namespace):
    def listed(user, **changes):
        caller = factories.caller_of(user)
        return failures.list_failures(caller=caller, namespace_id=namespace.pk, **changes)

    (one,) = listed(writer)
    assert one.state == "open"
    assert listed(writer, is_open=True) == [one]
    assert listed(writer, is_open=False) == []
    assert listed(outsider) == []
    # Private until the namespace shares failures.
    from memory.models import Memory

    Memory.objects.filter(pk=one.memory_id).update(visibility="private")
    assert listed(owner) == []
    Memory.objects.filter(pk=one.memory_id).update(visibility="repository", state="resolved")
    assert [found.state for found in listed(owner)] == ["fixed"]


def test_own_handoffs_have_their_text_and_others_do_not(namespace, writer, maintainer, reader):
    writing, taking = factories.caller_of(writer), factories.caller_of(maintainer)
    left = handoffs.write_handoff(
        caller=writing,
        namespace_id=namespace.pk,
        baton=Baton(summary="Retries work."),
        is_shared=True,
        now=NOW,
    )

    def own(caller):
        return handoffs.own_handoffs(caller=caller, namespace_id=namespace.pk)

    assert [one.baton.summary for one in own(writing)] == ["Retries work."]
    assert own(taking) == own(factories.caller_of(reader)) == []
    handoffs.claim(caller=taking, handoff_id=left.id, now=NOW, namespace_ids=[namespace.pk])
    (held,) = own(taking)
    assert (held.claimed_by, held.state) == ("mary", "claimed")
