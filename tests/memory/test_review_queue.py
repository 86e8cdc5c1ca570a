"""The queue as people work through it: who sees what, who may decide, several at once."""

import pytest

from memory.models import Memory, ReviewItem
from memory.review_queue import count_open, decide_several, proposals_about, queue_page
from memory.services import review
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def retire(namespace):
    """Return a function that proposes to retire a memory."""

    def retire(outcome):
        return review.propose(
            namespace_id=namespace.pk,
            kind="forget",
            memory_ids=[outcome.memory.id],
            proposal={"operation": "retire", "arguments": {}},
            reason="Nobody has asked for it in a year.",
            confidence=0.7,
            proposed_by="forget",
            now=NOW,
        )

    return retire


def page(user, namespace, **changes):
    caller = factories.caller_of(user)
    return queue_page(caller=caller, namespace_id=namespace.pk, now=NOW, **changes)


def test_a_proposal_is_shown_with_its_evidence(store, retire, namespace, maintainer):
    retire(store("Deploys happen on Tuesdays."))
    shown = page(maintainer, namespace)
    (one,) = shown.proposals
    assert [memory.content for memory in one.memories] == ["Deploys happen on Tuesdays."]
    assert (one.operation, one.kind, one.may_decide) == ("retire", "forget", True)
    assert (shown.total, shown.open, dict(shown.open_by_kind)) == (1, 1, {"forget": 1})
    assert page(maintainer, namespace, kind="merge").total == 0
    assert page(maintainer, namespace, state="approved").total == 0


def test_a_new_memory_names_what_it_would_replace(store, namespace, maintainer):
    old = store("Deploys happen on Tuesdays.").memory
    store("Deploys happen on Mondays.", is_proposed=True, supersedes=[old.id], is_distinct=True)
    (one,) = page(maintainer, namespace).proposals
    assert [memory.content for memory in one.memories] == ["Deploys happen on Mondays."]
    assert [memory.content for memory in one.replaced] == ["Deploys happen on Tuesdays."]


def test_who_may_decide_is_told_beforehand(store, retire, namespace, writer, reader):
    retire(store("Deploys happen on Tuesdays."))
    assert page(writer, namespace).proposals[0].may_decide is True
    assert page(reader, namespace).proposals[0].may_decide is False


def test_others_private_proposals_are_in_no_list_and_no_count(
    store, retire, namespace, owner, outsider
):
    kept = store("I like tabs.", visibility="private")
    retire(kept)
    for user in (owner, outsider):
        caller = factories.caller_of(user)
        assert page(user, namespace).total == 0
        assert dict(page(user, namespace).open_by_kind) == {}
        assert count_open(caller=caller, namespace_id=namespace.pk) == 0
        assert proposals_about(caller=caller, memory=kept.memory, now=NOW) == ()


def test_ones_own_private_proposals_are(store, writing, retire, namespace, writer):
    kept = store("I like tabs.", visibility="private")
    retire(kept)
    (one,) = page(writer, namespace).proposals
    assert (one.is_private, one.may_decide) == (True, True)
    assert count_open(caller=writing, namespace_id=namespace.pk) == 1
    assert [p.id for p in proposals_about(caller=writing, memory=kept.memory, now=NOW)] == [one.id]


def test_several_are_decided_each_for_itself(store, retire, namespace, maintainer):
    one, two = retire(store("One fact.")), retire(store("Another statement."))
    caller = factories.caller_of(maintainer)
    review.decide(caller=caller, item_id=two.pk, approve=False, now=NOW)
    gone = factories.make_namespace().pk

    outcomes = decide_several(
        caller=caller,
        namespace_id=namespace.pk,
        item_ids=[one.pk, two.pk, gone],
        approve=True,
        note="Tidied.",
        now=NOW,
    )
    assert [outcome.state for outcome in outcomes] == ["approved", "", ""]
    assert "rejected already" in outcomes[1].refused
    assert "no proposal" in outcomes[2].refused
    assert ReviewItem.objects.get(pk=one.pk).decision_note == "Tidied."


def test_several_are_refused_to_who_may_not(store, retire, namespace, reader, outsider):
    item = retire(store("One fact."))
    for user, words in ((reader, "takes the role"), (outsider, "no proposal")):
        (outcome,) = decide_several(
            caller=factories.caller_of(user),
            namespace_id=namespace.pk,
            item_ids=[item.pk],
            approve=True,
            note="",
            now=NOW,
        )
        assert words in outcome.refused
    assert Memory.objects.get().state == "active"
