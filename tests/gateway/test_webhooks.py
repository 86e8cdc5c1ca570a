"""A git host's deliveries: signed, understood, and answered without waiting."""

import base64
import hmac
import json
from datetime import timedelta
from hashlib import sha256

import pytest

from graph.models import Ref
from indexing.models import IndexRun, ReviewRecord
from indexing.posting import services
from indexing.posting.values import Forge
from indexing.signing import webhook_secret, webhook_signing_token
from tests.factories import NOW, make_namespace, make_repository
from tests.indexing.posting.test_events import HEAD, of_actions, of_gitlab
from workers import queue

pytestmark = pytest.mark.django_db

COMMIT = "a" * 40
PUSH = {"ref": "refs/heads/feature/x", "after": COMMIT}
GONE = {"ref": "refs/heads/feature/x", "after": "0" * 40}


@pytest.fixture
def repository():
    return make_repository(make_namespace(), "shop", default_branch="main")


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    sent = []
    monkeypatch.setattr(queue, "index", lambda *, run_id: sent.append(run_id))
    return sent


def deliver(client, repository, provider, delivery, *, secret=None):
    content = json.dumps(delivery).encode()
    key = secret or webhook_secret(repository.pk)
    digest = hmac.new(key.encode(), content, sha256).hexdigest()
    headers = {
        "github": {"X-GitHub-Event": "push", "X-Hub-Signature-256": f"sha256={digest}"},
        "gitlab": {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": key},
        "gitea": {"X-Gitea-Event": "push", "X-Gitea-Signature": digest},
        "forgejo": {"X-Forgejo-Event": "push", "X-Forgejo-Signature": digest},
    }[provider]
    return client.post(
        f"/webhooks/{provider}/{repository.pk}",
        content,
        content_type="application/json",
        headers=headers,
    )


@pytest.mark.parametrize("provider", ["github", "gitlab", "gitea", "forgejo"])
def test_a_push_queues_one_run_of_its_branch(client, repository, sent, provider):
    first = deliver(client, repository, provider, PUSH)
    again = deliver(client, repository, provider, PUSH)

    run = IndexRun.objects.get(repository=repository)
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json() == again.json() == {"run": str(run.pk)}
    assert (run.ref, set(sent)) == ("feature/x", {run.pk})


@pytest.mark.parametrize("provider", ["github", "gitlab", "gitea", "forgejo"])
def test_another_secret_and_another_repository_get_the_same_answer(client, repository, provider):
    other = make_repository(make_namespace("others"), "shop")
    foreign = deliver(client, repository, provider, PUSH, secret=webhook_secret(other.pk))
    other.pk = "00000000-0000-4000-8000-000000000000"
    unknown = deliver(client, other, provider, PUSH)

    assert (foreign.status_code, unknown.status_code) == (404, 404)
    assert foreign.content == unknown.content
    assert not IndexRun.objects.exists()


def test_a_deleted_branch_has_the_next_fetch_notice(client, repository):
    assert deliver(client, repository, "github", GONE).status_code == 202
    assert IndexRun.objects.get(repository=repository).ref == ""


def test_what_the_graph_shows_already_queues_nothing(client, repository):
    Ref.objects.create(
        repository=repository,
        name="feature/x",
        head_commit=COMMIT,
        head_seen_at=NOW,
        indexed_commit=COMMIT,
    )
    assert "already" in deliver(client, repository, "gitea", PUSH).json()["ignored"]
    assert not IndexRun.objects.exists()


@pytest.mark.parametrize("delivery", [{"zen": "x"}, [], {"ref": "refs/tags/v1", "after": COMMIT}])
def test_what_is_about_no_branch_is_ignored(client, repository, delivery):
    answer = deliver(client, repository, "github", delivery)
    assert (answer.status_code, list(answer.json())) == (200, ["ignored"])


def test_a_delivery_waits_for_no_queue(client, repository, monkeypatch):
    def away(*, run_id):
        raise queue.QueueUnavailable("Redis does not answer.")

    monkeypatch.setattr(queue, "index", away)
    assert deliver(client, repository, "github", PUSH).status_code == 202


# --- Pull requests --------------------------------------------------------------------------------


@pytest.fixture
def reviews(monkeypatch):
    sent = []
    monkeypatch.setattr(queue, "post_review", lambda *, record_id: sent.append(record_id))
    return sent


def connect(repository, provider):
    services.connect(
        repository_id=repository.pk,
        forge=Forge(provider),
        api_url="https://git.example/api",
        project="acme/shop",
        token_source="env:CODEMEM_FORGE_TOKEN_SHOP",
        actor="tests",
    )


def pull_request(provider, **changes):
    return of_gitlab(**changes) if provider == "gitlab" else of_actions(**changes)


@pytest.mark.parametrize("provider", ["github", "gitlab", "gitea", "forgejo"])
def test_a_pull_request_queues_one_review(client, repository, reviews, provider):
    connect(repository, provider)
    first = deliver(client, repository, provider, pull_request(provider))
    replayed = deliver(client, repository, provider, pull_request(provider))

    kept = ReviewRecord.objects.get()
    assert (first.status_code, first.json()) == (202, {"review": str(kept.pk)})
    assert (replayed.status_code, list(replayed.json())) == (200, ["ignored"])
    assert (kept.subject, kept.head_commit, kept.posting) == (f"{provider}:7", HEAD, "waiting")
    assert reviews == [kept.pk]
    assert not IndexRun.objects.exists()


@pytest.mark.parametrize("provider", ["github", "gitlab", "gitea", "forgejo"])
def test_a_pull_request_that_is_not_signed_is_not_reviewed(client, repository, reviews, provider):
    connect(repository, provider)
    answer = deliver(client, repository, provider, pull_request(provider), secret="guessed")

    assert answer.status_code == 404
    assert reviews == []
    assert not ReviewRecord.objects.exists()


def test_a_delivery_of_50_mb_is_refused_unread(client, repository, sent):
    answer = deliver(client, repository, "github", {**PUSH, "commits": "x" * 50_000_000})

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")
    assert sent == []
    assert not IndexRun.objects.exists()
    assert deliver(client, repository, "github", PUSH).status_code == 202


def test_a_repository_that_is_not_connected_gets_no_reviews(client, repository, reviews):
    answer = deliver(client, repository, "github", of_actions())

    assert list(answer.json()) == ["ignored"]
    assert reviews == []


def test_a_replay_of_an_older_push_is_refused_without_redis_too(
    client, repository, reviews, monkeypatch
):
    connect(repository, "github")
    monkeypatch.setattr("codemem.gateway.webhooks._Seen.is_known", lambda _: False)
    newer = of_actions(updated_at="2026-11-22T19:00:00Z", head={"sha": "c" * 40})
    deliver(client, repository, "github", newer)
    deliver(client, repository, "github", of_actions())

    assert ReviewRecord.objects.get().head_commit == "c" * 40
    assert len(reviews) == 1


def test_a_review_waits_for_no_queue(client, repository, monkeypatch):
    def away(*, record_id):
        raise queue.QueueUnavailable("Redis does not answer.")

    connect(repository, "gitea")
    monkeypatch.setattr(queue, "post_review", away)
    assert deliver(client, repository, "gitea", of_actions()).status_code == 202
    assert ReviewRecord.objects.get().posting == "waiting"


def deliver_signed(client, repository, delivery, *, sent_at, key=None):
    """Deliver as newer GitLab does, by Standard Webhooks."""
    content = json.dumps(delivery).encode()
    token = key or webhook_signing_token(repository.pk)
    raw = base64.b64decode(token.removeprefix("whsec_"))
    stamp = str(int(sent_at.timestamp()))
    signed = b".".join([b"msg_1", stamp.encode(), content])
    signature = base64.b64encode(hmac.new(raw, signed, sha256).digest()).decode()
    return client.post(
        f"/webhooks/gitlab/{repository.pk}",
        content,
        content_type="application/json",
        headers={
            "X-Gitlab-Event": "Merge Request Hook",
            "webhook-id": "msg_1",
            "webhook-timestamp": stamp,
            "webhook-signature": f"v1,{'A' * 43}= v1,{signature}",
        },
    )


def test_a_signing_token_of_gitlab_is_checked_with_its_time(client, repository, reviews, clock):
    connect(repository, "gitlab")
    late, other = NOW - timedelta(minutes=6), "whsec_" + base64.b64encode(b"x" * 32).decode()

    assert deliver_signed(client, repository, of_gitlab(), sent_at=late).status_code == 404
    assert (
        deliver_signed(client, repository, of_gitlab(), sent_at=NOW, key=other).status_code == 404
    )
    assert reviews == []
    assert deliver_signed(client, repository, of_gitlab(), sent_at=NOW).status_code == 202
    assert len(reviews) == 1
