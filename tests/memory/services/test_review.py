"""The review queue: asked once, decided once, by whoever has the right, about what is still so."""

from datetime import timedelta
from uuid import UUID

import pytest

from codemem.accounts.models import AuditEvent
from codemem.accounts.values import Role
from graph import queries as graph
from graph.values import VertexLabel, graph_id
from memory.models import Memory, ReviewItem
from memory.services import review
from memory.services.rights import RightMissing
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def propose(namespace):
    """Return a function that proposes to retire some memories."""

    def propose(*memory_ids: UUID, **changes):
        arguments = {
            "namespace_id": namespace.pk,
            "kind": "forget",
            "memory_ids": memory_ids,
            "proposal": {"operation": "retire", "arguments": {}},
            "reason": "Nobody has asked for it in a year.",
            "confidence": 0.7,
            "proposed_by": "forget",
            "now": NOW,
        }
        return review.propose(**(arguments | changes))

    return propose


def private(stored, author):
    Memory.objects.filter(pk=stored.memory.id).update(visibility="private", author=author)


def decide(user, item, *, approve=True, now=NOW, **more):
    caller = factories.caller_of(user)
    return review.decide(caller=caller, item_id=item.pk, approve=approve, now=now, **more)


def test_an_approved_proposal_is_carried_out_as_the_one_who_approves(propose, store, maintainer):
    stored = store("Deploys happen on Tuesdays.")
    decided = decide(maintainer, propose(stored.memory.id), note="Right.")

    assert decided.state == "approved"
    memory = Memory.objects.get(pk=stored.memory.id)
    assert (memory.state, memory.retired_by) == ("retired", "mary")
    item = ReviewItem.objects.get()
    assert (item.state, item.decided_by, item.decision_note) == ("approved", "mary", "Right.")
    actions = set(AuditEvent.objects.values_list("action", flat=True))
    assert {"proposal.approved", "memory.delete"} <= actions


def test_the_same_is_asked_once(propose, store):
    one, two = store("One."), store("Two.")
    assert propose(one.memory.id, two.memory.id) is not None
    assert propose(two.memory.id, one.memory.id) is None


def test_a_rejection_is_remembered_for_180_days(propose, store, maintainer):
    stored = store("One.")
    decide(maintainer, propose(stored.memory.id), approve=False)

    assert Memory.objects.get(pk=stored.memory.id).state == "active"
    assert propose(stored.memory.id, now=NOW + timedelta(days=179)) is None
    assert propose(stored.memory.id, now=NOW + timedelta(days=181)) is not None


def test_what_has_changed_since_is_not_carried_out(propose, store, maintainer):
    stored = store("One.")
    item = propose(stored.memory.id)
    Memory.objects.filter(pk=stored.memory.id).update(content="Two.", content_hash=b"2")

    with pytest.raises(review.ProposalOvertaken):
        decide(maintainer, item)
    assert Memory.objects.get(pk=stored.memory.id).state == "active"
    assert ReviewItem.objects.get().state == "overtaken"
    assert propose(stored.memory.id) is not None


def test_proposals_about_what_has_changed_are_closed_by_the_clock(propose, store):
    one, two = store("One."), store("Two.")
    kept, gone = propose(one.memory.id), propose(two.memory.id)
    Memory.objects.filter(pk=two.memory.id).update(state="resolved")

    assert review.close_overtaken(now=NOW) == 1
    assert {row.pk: row.state for row in ReviewItem.objects.all()} == {
        kept.pk: "open",
        gone.pk: "overtaken",
    }


def test_use_and_vectors_may_change_beneath_a_proposal(propose, store, maintainer):
    stored = store("One.")
    item = propose(stored.memory.id)
    Memory.objects.filter(pk=stored.memory.id).update(tags=["late"], embedding=None)
    assert decide(maintainer, item).state == "approved"


def test_a_proposal_is_decided_once(propose, store, maintainer, owner):
    item = propose(store("One.").memory.id)
    decide(maintainer, item, approve=False)
    with pytest.raises(review.ProposalDecided, match="rejected already by mary"):
        decide(owner, item)


def test_a_refused_operation_leaves_the_proposal_open(namespace, store, propose, writer):
    mine = store("Mine.")
    item = propose(mine.memory.id)
    Memory.objects.filter(pk=mine.memory.id).update(author=None)
    with pytest.raises(RightMissing, match="maintainer"):
        decide(writer, item)
    assert ReviewItem.objects.get().state == "open"


def test_ones_own_memory_is_ones_own_decision(propose, store, writer):
    assert decide(writer, propose(store("Mine.").memory.id)).state == "approved"


def test_a_reader_decides_nothing(propose, store, reader):
    with pytest.raises(RightMissing, match="role writer"):
        decide(reader, propose(store("One.").memory.id))


def test_a_private_memorys_proposal_is_its_authors_alone(propose, store, writer, owner, outsider):
    secret = store("Mine alone.")
    private(secret, writer)
    shared = store("For all.")
    item = propose(secret.memory.id, shared.memory.id)

    for user in (owner, outsider):
        caller = factories.caller_of(user)
        assert not review.visible_proposals(caller=caller).exists()
        with pytest.raises(review.ProposalUnknown):
            decide(user, item)
    assert review.visible_proposals(caller=factories.caller_of(writer)).get() == item


def test_a_memory_that_became_private_takes_its_proposals_along(propose, store, writer, owner):
    stored = store("For all.")
    propose(stored.memory.id)
    private(stored, writer)
    assert not review.visible_proposals(caller=factories.caller_of(owner)).exists()
    assert review.visible_proposals(caller=factories.caller_of(writer)).exists()


def test_members_see_shared_proposals_and_outsiders_none(propose, store, reader, outsider):
    propose(store("For all.").memory.id)
    assert review.visible_proposals(caller=factories.caller_of(reader)).count() == 1
    assert review.visible_proposals(caller=factories.caller_of(outsider)).count() == 0


def test_private_memories_of_two_people_are_not_proposed_together(propose, store, writer, owner):
    one, two = store("One."), store("Two.")
    private(one, writer)
    private(two, owner)
    with pytest.raises(review.ProposalInvalid, match="several people"):
        propose(one.memory.id, two.memory.id)


def test_a_foreign_memory_is_not_proposed_about(propose, store, outsider):
    elsewhere = factories.make_namespace("other", owner=outsider)
    foreign = store("Theirs.", caller=factories.caller_of(outsider), namespace_id=elsewhere.pk)
    with pytest.raises(review.ProposalInvalid, match="does not have"):
        propose(foreign.memory.id)


def test_an_unknown_operation_is_not_proposed(propose, store):
    with pytest.raises(review.ProposalInvalid, match="no operation 'burn'"):
        propose(store("One.").memory.id, proposal={"operation": "burn"})


def test_an_association_is_carried_out(propose, store, namespace, maintainer):
    one, two = store("One."), store("Two.")
    item = propose(
        one.memory.id,
        two.memory.id,
        kind="merge",
        proposal={"operation": "associate", "arguments": {"kind": "EXPLAINS", "weight": 0.5}},
    )
    decide(maintainer, item)
    vertex = graph_id(label=VertexLabel.MEMORY, key=one.memory.number)
    (link,) = graph.links_of(namespace_id=namespace.pk, vertices=[vertex])
    assert (link.kind, link.confidence) == ("EXPLAINS", 0.5)


def test_leaving_the_namespace_ends_seeing(propose, store, namespace, maintainer):
    propose(store("One.").memory.id)
    assert Role.MAINTAINER in factories.caller_of(maintainer).roles.values()
    namespace.memberships.filter(user=maintainer).delete()
    assert not review.visible_proposals(caller=factories.caller_of(maintainer)).exists()
