"""Reviews that are kept: one for a pull request, edited by reruns, read by who may, dismissed."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from codemem import policies
from codemem.accounts.models import AuditEvent, Namespace, User
from codemem.accounts.values import TokenScope
from graph.models import Repository
from indexing.models import ReviewRecord
from indexing.posting import services
from memory.services import store_memory
from tests.factories import NOW, caller_of, make_token
from tests.gateway.surfaces import bearer, post
from tests.gateway.test_resources import error, person
from tests.indexing.checkout import Checkout, index, register
from workers.tasks import reviews as tasks

pytestmark = pytest.mark.django_db

PLACE = {"namespace": "team", "repository": "shop"}
PRICE = "def net(amount: float) -> float:\n    return amount / 1.2\n"
ORDER = "from price import net\n\n\ndef place() -> float:\n    return net(1)\n"
SHARED = "net() divides by 1.2 because the tax is included."
PRIVATE = "I never understood what net() is for."
HEAD, NEXT = "a" * 40, "b" * 40
PULL = {"forge": "github", "number": 7, "url": "https://github.example/acme/shop/pull/7"}
REVIEWS = "/api/reviews"


@pytest.fixture
def repository(tmp_path, settings, namespace: Namespace, writer: User) -> Repository:
    settings.MIRRORS_DIRECTORY = tmp_path / "mirrors"
    settings.LOCAL_REPOSITORY_ROOTS = (tmp_path.resolve(),)
    settings.EXTRACTION_PROCESSES = 1
    checkout = Checkout(tmp_path / "checkout")
    checkout.commit({"price.py": PRICE, "order.py": ORDER})
    repository = register(namespace, checkout)
    index(repository)
    for content, visibility in ((SHARED, "repository"), (PRIVATE, "private")):
        store_memory(
            caller=caller_of(writer),
            namespace_id=namespace.pk,
            repository_id=repository.pk,
            content=content,
            memory_type="decision",
            visibility=visibility,
            links=["sym:price.py#net"],
            now=NOW,
        )
    return repository


@pytest.fixture
def diff(repository: Repository) -> str:
    """Return a diff that changes a signature which another file relies on."""
    checkout = Checkout(Path(repository.url))
    return checkout.diff({"price.py": PRICE.replace("amount: float", "amount: float, tax: float")})


def review(user: User, diff: str, **more: Any) -> dict[str, Any]:
    body = {"diff": diff, **PLACE, "head": HEAD, "pull_request": PULL, **more}
    answer = post("/api/v1/reviews", body, headers=bearer(make_token(user).secret))
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_a_rerun_and_a_further_push_edit_the_same_record(diff, writer):
    first = review(writer, diff)
    again = review(writer, diff)
    later = review(writer, diff, head=NEXT)

    kept = ReviewRecord.objects.get()
    assert {one["record"]["id"] for one in (first, again, later)} == {str(kept.pk)}
    assert (kept.subject, kept.head_commit, kept.runs) == ("github:7", NEXT, 3)
    assert [push["commit"] for push in kept.pushes] == [HEAD, NEXT]
    assert kept.risk_level == later["review"]["risk"]["level"]


def test_a_commit_without_a_pull_request_has_a_record_of_its_own(diff, writer):
    for head in (HEAD, HEAD, NEXT):
        review(writer, diff, head=head, pull_request=None)

    assert set(ReviewRecord.objects.values_list("subject", "runs")) == {
        (f"commit:{HEAD}", 2),
        (f"commit:{NEXT}", 1),
    }


def test_a_diff_of_nothing_that_is_named_is_not_kept(diff, writer):
    answer = review(writer, diff, head=None, pull_request=None)

    assert "record" not in answer
    assert answer["remarks"]
    assert not ReviewRecord.objects.exists()


def test_private_memories_are_in_no_review_that_is_kept(diff, writer):
    kept = json.dumps(review(writer, diff))
    own = json.dumps(review(writer, diff, head=None, pull_request=None))

    assert SHARED in kept
    assert PRIVATE not in kept
    assert PRIVATE in own


def test_a_record_holds_no_word_of_a_memory(diff, writer):
    review(writer, diff)

    record = ReviewRecord.objects.get()
    (memory,) = record.answer["memories"]
    assert set(memory) <= {
        *("id", "memory_type", "importance", "state", "role", "contradiction", "broken_anchors")
    }
    assert SHARED not in json.dumps([record.answer, record.comment, record.remarks])


def test_what_is_left_behind_is_a_remark_with_a_key_that_lasts(diff, repository, writer):
    moved = Checkout(Path(repository.url)).diff(
        {"price.py": "# Taxes.\n" + PRICE.replace("amount: float", "amount: float, tax: float")}
    )
    (first,) = review(writer, diff)["remarks"]
    (later,) = review(writer, moved, head=NEXT)["remarks"]

    assert "order.py" in first["path"] + first["message"]
    assert first["key"] == later["key"]


def test_what_has_a_record_comes_with_the_comment_to_post(diff, writer):
    answer = review(writer, diff, formats=["sarif", "code_quality"], omitted_files=2)
    (remark,) = answer["remarks"]

    assert f"- [ ] `{remark['path']}`" in answer["comment"]
    assert f"<!-- codemem:{remark['key']}:open -->" in answer["comment"]
    assert SHARED in answer["comment"]
    assert answer["is_quiet"] is False
    assert "2 files left out, the largest first" in answer["review"]["notes"][0]
    assert answer["sarif"]["version"] == "2.1.0"
    assert answer["code_quality"][0]["fingerprint"] == remark["key"]


def test_the_script_of_a_job_comes_from_the_server(client):
    answer = client.get("/setup/codemem_review.py")

    assert answer.status_code == 200
    compile(answer.content, "codemem_review.py", "exec")


def test_a_tick_in_the_comment_dismisses_and_taking_it_out_restores(diff, writer):
    (remark,) = review(writer, diff)["remarks"]
    (ticked,) = review(writer, diff, head=NEXT, dismissed=[remark["key"]])["remarks"]
    (still,) = review(writer, diff)["remarks"]
    (restored,) = review(writer, diff, restored=[remark["key"]])["remarks"]

    assert (ticked.get("dismissed"), still.get("dismissed")) == (True, True)
    assert "dismissed" not in restored
    assert ReviewRecord.objects.get().dismissals == {}


def test_only_what_was_remarked_can_be_ticked(diff, writer):
    review(writer, diff)
    review(writer, diff, dismissed=["0" * 12, "<script>", ""])

    assert ReviewRecord.objects.get().dismissals == {}


def test_members_read_reviews_and_outsiders_find_none(diff, writer, reader, owner, outsider):
    kept = review(writer, diff)["record"]["id"]

    for user in (owner, reader):
        (listed,) = person(user).get(REVIEWS).json()["results"]
        assert (listed["id"], listed["subject"]) == (kept, "github:7")
        assert "answer" not in listed
        whole = person(user).get(f"{REVIEWS}/{kept}").json()
        assert whole["answer"]["changed_symbols"][0]["id"] == "sym:price.py#net"
        assert whole["comment"].startswith("<!--")
    assert person(outsider).get(REVIEWS).json()["results"] == []
    error(person(outsider).get(f"{REVIEWS}/{kept}"), 404)


@pytest.mark.parametrize("scope", [TokenScope.MEMORY_READ, TokenScope.GRAPH_READ])
def test_a_review_takes_the_right_to_code_and_to_memories(diff, writer, reader, scope):
    review(writer, diff)
    assert person(reader, scopes=[scope]).get(REVIEWS).json()["results"] == []


def test_reviews_are_narrowed_by_repository_number_and_risk(diff, writer):
    level = review(writer, diff)["review"]["risk"]["level"]

    def count(query: str) -> int:
        return len(person(writer).get(f"{REVIEWS}?{query}").json()["results"])

    assert count(f"namespace=team&repository=shop&number=7&risk={level}") == 1
    assert count("number=8") == count("repository=other") == count("posting=posted") == 0


def test_a_member_dismisses_with_a_reason_and_takes_it_back(diff, writer):
    answer = review(writer, diff)
    (remark,), kept = answer["remarks"], answer["record"]["id"]

    dismissed = person(writer).post(
        f"{REVIEWS}/{kept}/dismiss", {"key": remark["key"], "reason": "Comes next week."}
    )
    assert dismissed.status_code == 200, dismissed.content
    held = dismissed.json()["dismissals"][remark["key"]]
    assert (held["by"], held["via"], held["reason"]) == (
        writer.username,
        "api",
        "Comes next week.",
    )
    assert review(writer, diff, head=NEXT)["remarks"][0]["dismissed"]

    restored = person(writer).post(f"{REVIEWS}/{kept}/restore", {"key": remark["key"]})
    assert restored.json()["dismissals"] == {}
    events = AuditEvent.objects.filter(action__startswith="review.").order_by("pk")
    assert [event.action for event in events] == ["review.dismiss", "review.restore"]


def test_a_reader_may_not_dismiss_and_an_outsider_does_not_learn_of_it(
    diff, writer, reader, outsider
):
    answer = review(writer, diff)
    key, kept = answer["remarks"][0]["key"], answer["record"]["id"]

    error(person(reader).post(f"{REVIEWS}/{kept}/dismiss", {"key": key}), 403)
    error(person(outsider).post(f"{REVIEWS}/{kept}/dismiss", {"key": key}), 404)
    error(person(writer).post(f"{REVIEWS}/{kept}/dismiss", {"key": "f" * 12}), 404)
    assert ReviewRecord.objects.get().dismissals == {}


def told(user: User, kept: str, **more: Any) -> Any:
    body = {"posting": "posted", "head": HEAD, "comment_id": "41", **more}
    secret = make_token(user).secret
    return post(f"/api/v1/reviews/{kept}/posting", body, headers=bearer(secret))


def test_what_became_of_the_comment_is_told_and_answered_next_time(diff, reader, outsider):
    kept = review(reader, diff)["record"]["id"]

    assert told(reader, kept).status_code == 204
    assert review(reader, diff)["record"] == {"id": kept, "posting": "posted", "comment_id": "41"}
    assert told(reader, kept, posting="silent", comment_id="").status_code == 204
    assert review(reader, diff)["record"]["comment_id"] == "41"
    assert told(outsider, kept).status_code == 404
    assert told(reader, kept, comment_url="javascript:alert(1)").status_code == 422


@pytest.mark.parametrize(
    "mistake",
    [
        {"head": "main"},
        {"head": None},
        {"pull_request": {"forge": "sourcehut", "number": 1}},
        {"pull_request": {"forge": "github", "number": 0}},
        {"pull_request": {**PULL, "url": "javascript:alert(1)"}},
        {"dismissed": ["x"] * 201},
    ],
)
def test_a_mistake_is_refused_and_keeps_nothing(diff, writer, mistake):
    body = {"diff": diff, **PLACE, "head": HEAD, "pull_request": PULL, **mistake}
    answer = post("/api/v1/reviews", body, headers=bearer(make_token(writer).secret))

    assert answer.status_code == 422, answer.content
    assert not ReviewRecord.objects.exists()


def test_reviews_are_forgotten_when_their_namespace_says_so(diff, writer, namespace):
    review(writer, diff)
    review(writer, diff, pull_request=None)
    policies.change_as(
        actor="tests", namespace_id=namespace.pk, changes={"reviews.retention_days": 30}
    )
    ReviewRecord.objects.filter(subject="github:7").update(
        reviewed_at=timezone.now() - timedelta(days=31)
    )

    tasks.forget_reviews()

    assert [kept.subject for kept in ReviewRecord.objects.all()] == [f"commit:{HEAD}"]


def test_a_record_takes_what_postgres_does_not(diff, writer, repository):
    assert services.without_words({"a": ["x\0y", "\ud800"]}) == {"a": ["x\ufffdy", "?"]}


def test_a_record_keeps_what_a_memory_is_to_the_change_and_none_of_its_words():
    said = {
        "id": "1",
        "memory_type": "decision",
        "content": "Use the ledger.",
        "author": "walter",
        "role": "decision",
        "contradiction": "The diff brings in decimal, which this decision names.",
        "broken_anchors": [{"cites": "a.py#f", "state": "missing", "detail": "a.py#f is gone."}],
    }
    kept = services.without_words({"memories": [said, said | {"contradiction": ""}]})["memories"]

    assert [one.get("contradiction") for one in kept] == [
        "The change may go against this decision.",
        None,
    ]
    assert kept[0]["broken_anchors"] == said["broken_anchors"]
    assert "ledger" not in repr(kept)
    assert "decimal" not in repr(kept)
    assert "walter" not in repr(kept)
