"""Reviews that the server posts itself: from a webhook's event to one comment, whatever fails."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from codemem.accounts.models import AuditEvent
from graph.models import Repository
from indexing.comment import MARKER
from indexing.models import ReviewRecord
from indexing.posting import delivery, services
from indexing.posting.events import PullRequestEvent, Wish
from indexing.posting.forges import TokenUnset, read_token
from indexing.posting.values import Forge
from indexing.review import review_diff
from memory.services import store_memory
from tests.factories import NOW, caller_of, make_namespace, make_user
from tests.forges import HOSTS, Account, Fault, GitHost, serve
from tests.indexing.checkout import Checkout, index, register

pytestmark = pytest.mark.django_db

KINDS = sorted(HOSTS)
PRICE = "def net(amount: float) -> float:\n    return amount / 1.2\n"
ORDER = "from price import net\n\n\ndef place() -> float:\n    return net(1)\n"
Posting = ReviewRecord.Posting


@dataclass
class Scene:
    host: GitHost
    repository: Repository
    checkout: Checkout
    base: str
    head: str
    private: str

    def event(self, **changes: Any) -> PullRequestEvent:
        usual = PullRequestEvent(
            wish=Wish.REVIEW,
            forge=Forge(self.host.kind),
            number=7,
            head_commit=self.head,
            base_commit=self.base,
            base_branch="main",
            url="https://git.example/acme/shop/pull/7",
            title="Charge taxes",
            at=NOW,
        )
        return replace(usual, **changes)

    def accept(self, *, now: datetime = NOW, **changes: Any) -> Any:
        return delivery.accept(
            repository_id=self.repository.pk, event=self.event(**changes), now=now
        )

    def deliver(self, *, now: datetime = NOW) -> ReviewRecord:
        for record_id in delivery.due_records(now=now):
            delivery.deliver(record_id=record_id, now=now)
        return ReviewRecord.objects.get()

    @property
    def comments(self) -> list[str]:
        return self.host.bodies("codemem")

    def push(self, text: str) -> None:
        self.checkout.git("checkout", "--quiet", "taxes")
        self.head = self.checkout.commit({"price.py": text})


@pytest.fixture
def scene(request, tmp_path: Path, settings, monkeypatch) -> Iterator[Scene]:
    settings.MIRRORS_DIRECTORY = tmp_path / "mirrors"
    settings.LOCAL_REPOSITORY_ROOTS = (tmp_path.resolve(),)
    settings.EXTRACTION_PROCESSES = 1
    monkeypatch.setenv("CODEMEM_FORGE_TOKEN_SHOP", "server-token")
    checkout = Checkout(tmp_path / "checkout")
    checkout.git("config", "uploadpack.allowAnySHA1InWant", "true")
    base = checkout.commit({"price.py": PRICE, "order.py": ORDER})
    writer = make_user()
    namespace = make_namespace("team", writer=writer)
    repository = register(namespace, checkout)
    index(repository)
    private = "I never understood what net() is for."
    store_memory(
        caller=caller_of(writer),
        namespace_id=namespace.pk,
        repository_id=repository.pk,
        content=private,
        memory_type="decision",
        visibility="private",
        links=["sym:price.py#net"],
        now=NOW,
    )
    checkout.git("checkout", "--quiet", "-b", "taxes")
    head = checkout.commit({"price.py": PRICE.replace("amount: float", "amount: float, tax: int")})
    with serve(getattr(request, "param", "github")) as host:
        host.accounts["server-token"] = Account("codemem")
        services.connect(
            repository_id=repository.pk,
            forge=Forge(host.kind),
            api_url=host.api,
            project="42" if host.kind == "gitlab" else "acme/shop",
            token_source="env:CODEMEM_FORGE_TOKEN_SHOP",
            actor="tests",
        )
        yield Scene(host, repository, checkout, base, head, private)


every_host = pytest.mark.parametrize("scene", KINDS, indirect=True)


@every_host
def test_an_event_becomes_one_comment_and_a_push_edits_it(scene: Scene):
    assert scene.accept() is not None
    first = scene.deliver()
    (before,) = scene.comments
    scene.push(PRICE.replace("amount: float", "amount: float, tax: float"))
    scene.accept(at=NOW + timedelta(minutes=5))
    second = scene.deliver(now=NOW + timedelta(minutes=5))
    (after,) = scene.comments

    assert (first.posting, first.posting_error) == (Posting.POSTED, "")
    assert before.startswith(MARKER)
    assert "`order.py" in before
    assert first.pk == second.pk
    assert scene.head[:12] in after
    assert [push["commit"] for push in second.pushes][-1] == scene.head
    assert scene.private not in before + after + str(second.answer)


def test_a_head_that_was_posted_is_not_posted_again(scene: Scene):
    scene.accept()
    scene.deliver()
    asked = len(scene.host.requests)

    assert scene.accept(at=NOW + timedelta(minutes=1)) is None
    assert scene.deliver().posting == Posting.POSTED
    assert len(scene.host.requests) == asked


def test_an_old_event_takes_no_pull_request_back(scene: Scene):
    first = scene.head
    scene.push(PRICE.replace("1.2", "1.3"))
    scene.accept(at=NOW)
    scene.deliver()

    assert scene.accept(head_commit=first, at=NOW - timedelta(minutes=1)) is None
    assert scene.deliver().head_commit == scene.head


def test_what_is_closed_or_not_connected_is_not_reviewed(scene: Scene):
    assert scene.accept(wish=Wish.CLOSE) is None
    assert scene.accept(wish=Wish.NOTHING) is None
    assert not ReviewRecord.objects.exists()
    services.disconnect(repository_id=scene.repository.pk, actor="tests")
    assert scene.accept() is None
    assert AuditEvent.objects.filter(action="repository.post_no_reviews").exists()


def test_a_host_that_asks_to_wait_is_asked_again_when_it_said(scene: Scene):
    scene.host.faults = [Fault(403, {"Retry-After": "120"})]
    scene.accept()
    waiting = scene.deliver()
    assert (waiting.posting, waiting.due_at) == (Posting.WAITING, NOW + timedelta(seconds=120))

    assert scene.deliver(now=NOW + timedelta(seconds=119)).attempts == 1
    assert scene.deliver(now=NOW + timedelta(seconds=120)).posting == Posting.POSTED


def test_a_rate_limit_ends_when_its_header_says(scene: Scene):
    reset = NOW + timedelta(minutes=7)
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(reset.timestamp()))}
    scene.host.faults = [Fault(403, headers)]
    scene.accept()

    assert scene.deliver().due_at == reset.astimezone(UTC)


def test_a_host_that_fails_is_asked_less_and_less_often_and_then_given_up(scene: Scene):
    scene.host.faults = [Fault(502)] * 50
    scene.accept()
    waits, now = [], NOW
    for _ in range(delivery.MAXIMUM_ATTEMPTS):
        record = scene.deliver(now=now)
        if record.due_at is None:
            break
        waits.append((record.due_at - now).total_seconds())
        now = record.due_at

    assert waits == [30, 60, 120, 240, 480, 960, 1920]
    assert record.posting == Posting.FAILED
    assert "8 times" in record.posting_error
    assert scene.accept(at=NOW + timedelta(hours=2), now=now) is not None


def test_a_worker_that_died_is_followed_by_another(scene: Scene):
    scene.accept()
    ReviewRecord.objects.update(posting=Posting.WORKING, due_at=NOW + timedelta(minutes=15))

    assert delivery.due_records(now=NOW) == []
    assert scene.deliver(now=NOW + timedelta(minutes=15)).posting == Posting.POSTED


@every_host
def test_a_comment_that_a_person_deleted_stays_deleted(scene: Scene):
    scene.accept()
    scene.deliver()
    scene.host.delete(scene.host.comments[0]["id"])
    scene.push(PRICE.replace("1.2", "1.3"))
    scene.accept(at=NOW + timedelta(minutes=1))

    assert scene.deliver().posting == Posting.DELETED
    assert scene.comments == []


def test_a_foreign_comment_is_neither_read_nor_written(scene: Scene):
    theirs = scene.host.write("mallory", f"{MARKER}\n- [x] `a`: b <!-- codemem:{'0' * 12}:open -->")
    scene.accept()
    ReviewRecord.objects.update(comment_id=str(theirs["id"]))
    record = scene.deliver()

    assert record.posting == Posting.POSTED
    assert record.dismissals == {}
    assert "- [x] `a`" in theirs["body"]
    assert len(scene.comments) == 1


def test_a_box_that_was_ticked_is_remembered(scene: Scene):
    scene.accept()
    scene.deliver()
    (comment,) = scene.host.comments
    comment["body"] = comment["body"].replace("- [ ]", "- [x]", 1).replace("\n", "\r\n")
    scene.push(PRICE.replace("amount: float", "amount: float, tax: float"))
    scene.accept(at=NOW + timedelta(minutes=1))
    record = scene.deliver()

    (dismissal,) = record.dismissals.values()
    assert dismissal["via"] == "comment"
    assert "1 dismissed" in scene.comments[0]


def test_the_title_of_the_pull_request_is_read(scene: Scene, monkeypatch):
    told: list[str] = []

    def listening(**arguments: Any) -> Any:
        told.append(arguments["title"])
        return review_diff(**arguments)

    monkeypatch.setattr(delivery, "review_diff", listening)
    scene.accept()
    record = scene.deliver()
    assert told == [record.title]
    assert record.title


def test_a_push_that_comes_meanwhile_is_not_overwritten(scene: Scene, monkeypatch):
    scene.accept()
    older = scene.head
    scene.push(PRICE.replace("1.2", "1.3"))

    def slow(**arguments: Any) -> Any:
        found = review_diff(**arguments)
        if ReviewRecord.objects.get().head_commit == older:
            scene.accept(at=NOW + timedelta(minutes=1))
        return found

    monkeypatch.setattr(delivery, "review_diff", slow)
    (record_id,) = delivery.due_records(now=NOW)
    delivery.deliver(record_id=record_id, now=NOW)
    between = ReviewRecord.objects.get()

    assert (between.posting, between.head_commit, scene.comments) == ("waiting", scene.head, [])
    assert scene.deliver().posted_commit == scene.head


def test_a_base_that_is_not_here_is_fetched(scene: Scene):
    # A pull request on top of a branch that the mirror has never seen.
    scene.checkout.git("checkout", "--quiet", "-b", "stack")
    scene.base = scene.checkout.commit({"other.py": "x = 1\n"})
    scene.head = scene.checkout.commit({"other.py": "x = 2\n"})
    scene.accept()
    record = scene.deliver()

    assert record.posting in {Posting.POSTED, Posting.SILENT}, record.posting_error
    assert record.request["base"] == scene.base
    assert [file["path"] for file in record.answer["files"]] == ["other.py"]


def test_a_commit_that_the_host_lacks_is_tried_again_and_said(scene: Scene):
    scene.accept(head_commit="d" * 40)
    record = scene.deliver()

    assert record.posting == Posting.WAITING
    assert record.posting_error


def test_a_change_that_is_too_large_is_reviewed_without_its_largest_files(scene: Scene, settings):
    settings.MAXIMUM_DIFF_BYTES = 20_000
    scene.checkout.write({"big.txt": "line\n" * 10_000})
    scene.push(PRICE.replace("amount: float", "amount: float, tax: float"))
    scene.accept()
    record = scene.deliver()

    assert record.request["omitted_files"] == 1
    assert "1 file left out" in record.answer["notes"][0]
    assert len(scene.comments) == 1


def test_a_token_that_is_refused_is_a_sentence_without_it(scene: Scene):
    scene.host.accounts.clear()
    scene.accept()
    record = scene.deliver()

    assert record.posting == Posting.FAILED
    assert "401" in record.posting_error
    assert "server-token" not in record.posting_error


def test_a_token_that_is_not_there_is_a_sentence(scene: Scene, monkeypatch):
    monkeypatch.delenv("CODEMEM_FORGE_TOKEN_SHOP")
    scene.accept()
    assert "no token at env:CODEMEM_FORGE_TOKEN_SHOP" in scene.deliver().posting_error


@pytest.mark.parametrize(
    "source", ["env:CODEMEM_SECRET_KEY", "env:PATH", "file:../env", "file:/etc/passwd", "x", ""]
)
def test_nothing_else_of_the_server_is_a_token(scene: Scene, source):
    with pytest.raises(TokenUnset):
        read_token(source)
    with pytest.raises(services.ConnectionInvalid):
        services.connect(
            repository_id=scene.repository.pk,
            forge=Forge.GITHUB,
            api_url="https://api.github.com",
            project="acme/shop",
            token_source=source,
            actor="tests",
        )


def test_a_token_may_stand_in_a_file(tmp_path: Path, settings):
    settings.FORGE_TOKENS_DIRECTORY = tmp_path
    (tmp_path / "shop").write_text("  from-a-file\n")
    assert read_token("file:shop") == "from-a-file"
