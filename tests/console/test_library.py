"""Memories, the queue, sessions, handoffs and reviews: who sees which page, and what is in it.

The writer, walter, made it all; what is private is his. The owner is no exception to that.
"""

import pytest
from django.urls import reverse

from codemem.accounts.models import AuditEvent, Membership
from codemem.accounts.values import Role
from codemem.console.urls import urlpatterns
from indexing.models import ReviewRecord
from memory.models import Handoff, Memory, ReviewItem, WorkItem
from tests import factories
from tests.console.conftest import signed_in
from tests.console.library import HOSTILE, KEY, PRIVATE, SESSION, tell

pytestmark = pytest.mark.django_db

# Put together here, so that no scanner takes it for one.
SECRET = "gh" + "p_" + "9aB3dE6fG7hJ2kL4mN8pQ1rS5tU0vW3xY6zA"
LISTS = (
    *("memories", "memory-timeline", "queue", "consolidation", "sessions", "handoffs", "work"),
    *("failures", "reviews"),
)
ONES = (
    ("memory", "memory_id", "shared"),
    ("memory", "memory_id", "chained"),
    ("consolidation-run", "run_id", "run"),
    ("session", "session_id", "shared_session"),
    ("review", "review_id", "review"),
)
SECRETS = (PRIVATE, "vault", SESSION, "refunds wait", "secret rewrite", "The vault is red now.")


@pytest.fixture
def told(namespace, repository, writer, maintainer):
    return tell(namespace, repository, writer, maintainer)


@pytest.fixture
def as_writer(writer, namespace):
    return signed_in(writer)


def address(page, **names):
    return reverse(f"console:{page}", kwargs={"namespace": "team", **names})


def text(client, page, query="", **names):
    response = client.get(address(page, **names) + query)
    assert response.status_code == 200, page
    return response.content.decode()


# --- Who sees what ----------------------------------------------------------------------------
@pytest.mark.parametrize("page", LISTS)
def test_a_list_shows_members_nothing_that_is_anothers(
    page, told, as_owner, as_reader, as_outsider
):
    for client in (as_owner, as_reader):
        said = text(client, page)
        assert not [secret for secret in SECRETS if secret in said]
    assert as_outsider.get(address(page)).status_code == 404


@pytest.mark.parametrize("one", ONES)
def test_a_page_is_for_members(one, told, as_owner, as_reader, as_outsider):
    page, name, which = one
    names = {name: getattr(told, which)}
    for client in (as_owner, as_reader):
        said = text(client, page, **names)
        assert not [secret for secret in SECRETS if secret in said]
    assert as_outsider.get(address(page, **names)).status_code == 404


@pytest.mark.parametrize(
    "one",
    [
        ("memory", "memory_id", "private"),
        ("memory-edit", "memory_id", "private"),
        ("session", "session_id", "session"),
    ],
)
def test_what_is_private_is_nobody_elses_page(one, told, as_writer, as_owner):
    page, name, which = one
    names = {name: getattr(told, which)}
    assert as_writer.get(address(page, **names)).status_code == 200
    assert as_owner.get(address(page, **names)).status_code == 404


def test_ones_own_private_things_are_shown_to_oneself(told, as_writer):
    assert PRIVATE in text(as_writer, "memories")
    assert "The vault is red now." in text(as_writer, "queue")
    assert SESSION in text(as_writer, "sessions").replace("&#x27;", "'")
    assert "secret rewrite" in text(as_writer, "work")
    assert "refunds wait" in text(as_writer, "handoffs")


def test_searching_and_filtering_find_nothing_of_others(told, as_owner, as_writer):
    assert PRIVATE in text(as_writer, "memories", "?q=Which+color+has+the+vault")
    for query in ("?q=Which+color+has+the+vault", "?state=any", "?visibility=private"):
        assert PRIVATE not in text(as_owner, "memories", query)
    assert "vault" not in text(as_owner, "memories", "?state=any")  # nor as a tag to choose
    assert "quiet session" not in text(as_owner, "sessions", "?q=quiet+ledger")
    assert "quiet" in text(as_writer, "sessions", "?q=quiet+ledger")


def test_a_memory_of_another_namespace_is_not_on_this_ones_address(told, as_writer, writer):
    from tests.factories import make_namespace

    make_namespace("other", writer=writer)
    wrong = reverse("console:memory", kwargs={"namespace": "other", "memory_id": told.shared})
    assert as_writer.get(wrong).status_code == 404


def test_a_review_names_only_memories_that_its_reader_may_read(told, as_owner, as_writer):
    assert PRIVATE in text(as_writer, "review", review_id=told.review)
    said = text(as_owner, "review", review_id=told.review)
    assert PRIVATE not in said
    assert "1 that it named then" in said


# --- Text is data -----------------------------------------------------------------------------
def test_hostile_text_is_shown_as_text(told, as_writer):
    pages = [text(as_writer, page) for page in LISTS]
    pages += [text(as_writer, page, **{name: getattr(told, which)}) for page, name, which in ONES]
    pages.append(text(as_writer, "memories", "?q=alert+script"))
    pages.append(text(as_writer, "memory-edit", memory_id=told.shared))
    pages.append(text(as_writer, "memory-new", f"?anchors={HOSTILE.replace(' ', '+')}"))
    for said in pages:
        assert "<script>alert" not in said
        assert "<img src=x" not in said
        assert "<b>bold" not in said
        assert 'href="javascript:' not in said
    assert "&lt;script&gt;alert(1)" in text(as_writer, "memory", memory_id=told.shared)
    assert "{{ 7|add:7 }}" in text(as_writer, "memory", memory_id=told.shared)


# --- What is done -----------------------------------------------------------------------------
def test_a_memory_is_stored_without_its_secrets_and_what_is_near_is_told(as_writer, told):
    typed = {
        "content": f"Charges are rounded half up. {SECRET} pays for them.",
        "memory_type": "decision",
        "importance": "0.7",
        "confidence": "1",
        "tags": "money, rounding",
    }
    answer = as_writer.post(address("memory-new"), typed)
    said = answer.content.decode()
    assert answer.status_code == 200
    stored = Memory.objects.get(content__startswith="Charges are rounded half up. ")
    assert SECRET not in stored.content
    assert (stored.tags, stored.importance, stored.source) == (
        ["money", "rounding"],
        0.7,
        "console",
    )
    assert "Taken out before it was kept" in said


def test_a_form_that_is_refused_keeps_what_was_typed(as_writer, told):
    answer = as_writer.post(
        address("memory-new"),
        {"content": "Uploads retry.", "memory_type": "decision", "importance": "much"},
    )
    assert answer.status_code == 422
    assert "Uploads retry." in answer.content.decode()
    assert "a number from 0 to 1" in answer.content.decode()


def test_editing_keeps_the_version_and_refuses_to_overwrite(as_writer, told):
    where = address("memory-edit", memory_id=told.chained)
    typed = {
        "content": "Charges are rounded half even.",
        "memory_type": "decision",
        "importance": "0.5",
        "confidence": "1",
        "reason": "The auditors said so.",
        "version": "1",
    }
    assert as_writer.post(where, typed).status_code == 302
    shown = text(as_writer, "memory", memory_id=told.chained)
    assert "Charges are rounded half even." in shown
    assert "The auditors said so." in shown
    late = as_writer.post(where, {**typed, "content": "Charges are rounded down."})
    assert late.status_code == 422
    assert "Charges are rounded down." in late.content.decode()
    assert Memory.objects.get(pk=told.chained).content == "Charges are rounded half even."


@pytest.mark.parametrize(
    ("mark", "field", "value"),
    [
        ("pin", "is_pinned", True),
        ("retire", "state", "retired"),
        ("move", "visibility", "private"),
    ],
)
def test_marks_are_carried_out(mark, field, value, told, as_writer):
    where = address("memory-mark", memory_id=told.chained)
    as_writer.post(where, {"mark": mark, "visibility": "private"})
    assert getattr(Memory.objects.get(pk=told.chained), field) == value


def test_who_may_not_is_told_and_nothing_happens(told, as_reader, as_outsider):
    where = address("memory-mark", memory_id=told.chained)
    answer = as_reader.post(where, {"mark": "retire"}, follow=True)
    assert "role" in answer.content.decode()
    assert as_outsider.post(where, {"mark": "retire"}).status_code == 404
    assert Memory.objects.get(pk=told.chained).state == "active"
    assert as_reader.get(address("memory-new")).status_code == 403
    assert as_reader.get(address("memory-edit", memory_id=told.chained)).status_code == 403


def test_a_memory_is_split_and_others_are_merged(told, as_writer):
    as_writer.post(
        address("memory-split", memory_id=told.chained),
        {"parts": "Charges are rounded.\n---\nRounding is half up.", "version": "1"},
    )
    assert Memory.objects.get(pk=told.chained).state == "superseded"
    parts = Memory.objects.filter(content__in=["Charges are rounded.", "Rounding is half up."])
    keys = [str(part.pk) for part in parts]
    form = as_writer.get(address("memory-merge"), {"id": keys})
    assert "Rounding is half up." in form.content.decode()
    as_writer.post(address("memory-merge"), {"id": keys, "content": "All is rounded half up."})
    assert Memory.objects.get(content="All is rounded half up.").state == "active"


def test_proposals_are_decided_several_at_once(told, as_maintainer, as_reader, as_outsider):
    ids = [str(told.proposal)]
    chosen = {"decide": "approve", "id": ids, "note": "Right."}
    assert as_outsider.post(address("queue"), chosen).status_code == 404
    as_reader.post(address("queue"), chosen)
    assert ReviewItem.objects.get(pk=told.proposal).state == "open"
    # Another's private one is passed over, however its id was come by.
    ids.append(str(told.private_proposal))
    said = as_maintainer.post(address("queue"), chosen, follow=True).content.decode()
    assert "Approved: 1 proposal" in said
    assert ReviewItem.objects.get(pk=told.proposal).decision_note == "Right."
    assert ReviewItem.objects.get(pk=told.private_proposal).state == "open"
    assert Memory.objects.get(pk=told.shared).state == "retired"


def test_one_proposal_is_turned_down_by_its_own_button(told, as_maintainer):
    as_maintainer.post(address("queue"), {"decide": f"reject:{told.proposal}"})
    assert ReviewItem.objects.get(pk=told.proposal).state == "rejected"


def test_a_handoff_is_claimed_once_and_given_back(told, as_maintainer, as_writer):
    where = address("handoff-change", handoff_id=told.handoff)
    assert "refunds wait" not in text(as_maintainer, "handoffs")
    as_maintainer.post(where, {"operation": "claim"})
    assert "refunds wait" in text(as_maintainer, "handoffs")
    said = as_writer.post(where, {"operation": "claim"}, follow=True).content.decode()
    assert "claimed by mary" in said
    as_maintainer.post(where, {"operation": "release"})
    assert Handoff.objects.get(pk=told.handoff).state == "offered"


def test_a_handoff_is_written_to_oneself_a_colleague_or_all(told, as_writer, as_owner, as_reader):
    where = address("handoff-new")
    typed = {"summary": f"The vault opens. {SECRET}", "next_steps": "Close it.\nLock it."}
    said = as_writer.post(where, typed, follow=True).content.decode()
    assert "offered to your next session" in said
    assert "Secrets taken out: 1" in said
    own = Handoff.objects.get(summary__startswith="The vault opens.")
    assert SECRET not in own.summary
    assert (own.next_steps, own.to_user, own.is_shared) == (["Close it.", "Lock it."], None, False)
    assert "The vault opens" not in text(as_owner, "handoffs")

    as_writer.post(where, {"summary": "For mary.", "to": "mary", "repository": "app"})
    assert Handoff.objects.filter(summary="For mary.", to_user__username="mary").exists()
    as_writer.post(where, {"summary": "For whoever.", "to": "*"})
    assert Handoff.objects.get(summary="For whoever.").is_shared
    # Sent twice, it is one offer.
    as_writer.post(where, {"summary": "For whoever.", "to": "*"})
    assert Handoff.objects.filter(summary="For whoever.").count() == 1
    assert as_reader.get(where).status_code == 403
    assert as_reader.post(where, typed).status_code == 403


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"summary": ""}, "summary"),
        ({"summary": "Kept.", "to": "mallory"}, "no member"),
        ({"summary": "Kept.", "repository": "none"}, "no repository"),
        ({"summary": "Kept.", "work": "soon"}, "work item"),
        ({"summary": "Kept.", "work": "01920000-0000-7000-8000-00000000dead"}, "work item"),
    ],
)
def test_a_handoff_that_is_refused_keeps_what_was_typed(typed, sentence, told, as_writer):
    answer = as_writer.post(address("handoff-new"), typed)
    said = answer.content.decode()
    assert answer.status_code == 422
    assert sentence in said
    assert typed["summary"] in said
    assert not Handoff.objects.filter(summary="Kept.").exists()


def test_only_members_who_could_claim_it_are_offered_as_colleagues(told, as_writer):
    said = text(as_writer, "handoff-new")
    assert "<option>mary</option>" in said
    assert "walter</option>" not in said  # oneself
    assert "rita</option>" not in said  # may only read


def test_a_memory_is_erased_with_a_receipt_by_who_may(told, as_writer, as_maintainer, as_reader):
    where = address("memory-erase", memory_id=told.chained)
    assert as_reader.get(where).status_code == 403
    assert as_reader.post(where, {"confirm": str(told.chained)}).status_code == 403
    assert "What goes with it" in as_writer.get(where).content.decode()

    wrong = as_writer.post(where, {"confirm": "yes"})
    assert wrong.status_code == 422
    assert Memory.objects.filter(pk=told.chained).exists()

    done = as_maintainer.post(where, {"confirm": str(told.chained), "reason": "A customer asked."})
    said = done.content.decode()
    assert "Receipt: what was erased" in said
    assert str(told.chained) in said
    assert not Memory.objects.filter(pk=told.chained).exists()
    kept = AuditEvent.objects.get(action="memory.purge")
    assert kept.detail["reason"] == "A customer asked."
    # Sent again, there is nothing any more.
    assert as_maintainer.post(where, {"confirm": str(told.chained)}).status_code == 404


def test_nobody_erases_what_they_do_not_see(told, as_owner, as_outsider):
    private = address("memory-erase", memory_id=told.private)
    assert as_owner.get(private).status_code == 404
    assert as_owner.post(private, {"confirm": str(told.private)}).status_code == 404
    shared = address("memory-erase", memory_id=told.shared)
    assert as_outsider.post(shared, {"confirm": str(told.shared)}).status_code == 404
    assert Memory.objects.filter(pk__in=[told.private, told.shared]).count() == 2


def test_who_wrote_nothing_of_it_and_is_no_maintainer_erases_nothing(told, namespace, as_writer):
    other = factories.make_user("nora")
    Membership.objects.create(namespace=namespace, user=other, role=Role.WRITER)
    where = address("memory-erase", memory_id=told.shared)
    answer = signed_in(other).post(where, {"confirm": str(told.shared)})
    assert answer.status_code == 403
    assert "author or by a maintainer" in answer.content.decode()
    assert Memory.objects.filter(pk=told.shared).exists()


def test_work_is_opened_and_moved_on_by_who_sees_it(told, as_writer, as_owner):
    as_writer.post(address("work"), {"title": "Move the ledger", "remaining": "one\ntwo"})
    assert WorkItem.objects.get(title="Move the ledger").remaining == ["one", "two"]
    where = address("work-change", item_id=told.work)
    assert as_owner.post(where, {"operation": "complete"}).status_code == 404
    as_writer.post(where, {"operation": "complete"})
    assert WorkItem.objects.get(pk=told.work).state == "done"


def test_a_run_of_consolidation_is_undone_by_who_may(told, as_maintainer, as_writer):
    where = address("consolidation-undo", run_id=told.run)
    said = as_writer.post(where, follow=True).content.decode()
    assert "role" in said
    said = as_maintainer.post(where, follow=True).content.decode()
    assert "Put back:" in said


def test_a_remark_is_dismissed_with_its_reason(told, as_writer, as_reader):
    where = address("review-dismiss", review_id=told.review)
    assert as_reader.post(where, {"key": KEY}).status_code == 403
    as_writer.post(where, {"key": KEY, "reason": "Generated.", "operation": "dismiss"})
    kept = ReviewRecord.objects.get(pk=told.review).dismissals[KEY]
    assert (kept["by"], kept["via"], kept["reason"]) == ("walter", "console", "Generated.")
    assert AuditEvent.objects.filter(action="review.dismiss").exists()
    as_writer.post(where, {"key": KEY, "operation": "restore"})
    assert ReviewRecord.objects.get(pk=told.review).dismissals == {}


def test_the_course_of_a_session_goes_on_in_fragments(told, as_owner):
    where = address("session", session_id=told.shared_session)
    part = as_owner.get(where, {"after": "0"}, headers={"HX-Request": "true"}).content.decode()
    assert "pytest -q" in part
    assert "<html" not in part


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("memories", "?type=poem"),
        ("memories", "?repository=none"),
        ("memory-timeline", "?since=tomorrow"),
        ("queue", "?state=maybe"),
        ("sessions", "?before=later"),
        ("reviews", "?risk=huge"),
    ],
)
def test_what_cannot_be_asked_is_told_in_a_sentence(page, query, told, as_owner):
    answer = as_owner.get(address(page) + query)
    assert answer.status_code == 400
    assert "cannot be shown" in answer.content.decode()


def test_ids_of_another_team_read_like_ids_that_nobody_has(told, as_outsider, repository):
    nobodys = "01920000-0000-7000-8000-00000000dead"
    of_team = {
        "memory_id": told.shared,
        "run_id": told.run,
        "session_id": told.shared_session,
        "handoff_id": told.handoff,
        "item_id": told.work,
        "review_id": told.review,
    }
    tried = 0
    for pattern in urlpatterns:
        names = set(pattern.pattern.converters)
        one = names & set(of_team)
        if not one or "repository" in names:
            continue
        (name,) = one
        answers = []
        for key in (of_team[name], nobodys):
            place = {"namespace": "elsewhere", name: key}
            where = reverse(f"console:{pattern.name}", kwargs=place)
            answers += [
                [as_outsider.get(where), as_outsider.post(where, {"operation": "claim"})],
            ]
        for theirs, nothing in zip(*answers, strict=True):
            tried += 1
            assert theirs.status_code == nothing.status_code, pattern.name
            assert theirs.status_code in {302, 404, 405}, pattern.name
            said = theirs.content.decode().replace(str(of_team[name]), nobodys)
            assert said == nothing.content.decode(), pattern.name
    assert tried > 20
    assert Handoff.objects.get(pk=told.handoff).state == "offered"
