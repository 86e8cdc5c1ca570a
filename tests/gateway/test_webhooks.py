"""A git host's deliveries: signed, understood, and answered without waiting."""

import hmac
import json
from hashlib import sha256

import pytest

from graph.models import Ref
from indexing.models import IndexRun
from indexing.signing import webhook_secret
from tests.factories import NOW, make_namespace, make_repository
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
