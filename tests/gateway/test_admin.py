"""The admin of repositories: registering one has it indexed, and Redis being away loses nothing."""

from typing import Any

import pytest
from django.test import Client

from codemem.accounts.models import Namespace
from graph.models import Repository
from indexing.models import IndexRun
from tests.factories import make_administrator, make_repository

ADD = "/admin/graph/repository/add/"
LIST = "/admin/graph/repository/"
INLINE = {"aliases-TOTAL_FORMS": "0", "aliases-INITIAL_FORMS": "0"}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def admin(db):
    browser = Client()
    browser.force_login(make_administrator())
    return browser


def register(browser: Client, namespace: Namespace, **changes: str) -> Any:
    fields = {
        "namespace": str(namespace.pk),
        "name": "web",
        "url": "https://ci:hunter2@git.example/web.git",
        "default_branch": "trunk",
        **INLINE,
        **changes,
    }
    return browser.post(ADD, fields, follow=True)


def messages(response: Any) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def test_a_registered_repository_is_queued(admin, namespace):
    response = register(admin, namespace)

    assert "web will be indexed by a worker." in messages(response)
    repository = Repository.objects.get()
    assert (repository.name, repository.default_branch) == ("web", "trunk")
    assert repository.created_by is not None
    assert repository.created_by.username == "admin"
    assert IndexRun.objects.get().requested_by == "admin"


def test_without_redis_it_is_registered_and_waits(admin, namespace, queue_without_redis):
    response = register(admin, namespace)

    assert response.redirect_chain[-1][0] == LIST
    (said,) = [text for text in messages(response) if "Redis" in text]
    assert "will be queued when it is back" in said
    assert not any("will be indexed by a worker" in text for text in messages(response))
    assert Repository.objects.get().name == "web"
    assert IndexRun.objects.get().state == IndexRun.State.QUEUED


def test_indexing_is_asked_for_from_the_list(admin, namespace, repository):
    response = admin.post(
        LIST, {"action": "index_now", "_selected_action": [str(repository.pk)]}, follow=True
    )

    assert messages(response) == ["app will be indexed by a worker."]
    assert IndexRun.objects.get().repository == repository


def test_without_redis_each_run_that_was_asked_for_waits(
    admin, namespace, repository, queue_without_redis
):
    other = make_repository(namespace, "other")
    response = admin.post(
        LIST,
        {"action": "index_now", "_selected_action": [str(repository.pk), str(other.pk)]},
        follow=True,
    )

    assert [text.partition(":")[0] for text in messages(response)] == ["app", "other"]
    assert IndexRun.objects.count() == 2


def test_a_remote_in_use_is_said_over_the_form(admin, namespace, repository):
    response = register(admin, namespace, url=repository.url)

    assert messages(response) == ["Another repository of this namespace has this remote."]
    assert Repository.objects.count() == 1
    assert not IndexRun.objects.exists()


def test_a_name_in_use_is_refused_in_the_form(admin, namespace, repository):
    response = register(admin, namespace, name="app")

    assert "already exists" in response.content.decode()
    assert Repository.objects.count() == 1


def test_the_list_shows_no_password(admin, namespace):
    register(admin, namespace)

    page = admin.get(LIST).content.decode()

    assert "https://git.example/web.git" in page
    assert "hunter2" not in page


def test_a_repository_stays_in_its_namespace_and_is_never_deleted(admin, namespace, repository):
    page = f"/admin/graph/repository/{repository.pk}/change/"

    assert 'name="namespace"' not in admin.get(page).content.decode()
    assert admin.post(f"/admin/graph/repository/{repository.pk}/delete/").status_code == 403


def test_runs_are_there_to_read(admin, namespace):
    register(admin, namespace)
    run = IndexRun.objects.get()
    page = f"/admin/indexing/indexrun/{run.pk}/change/"

    assert "web" in admin.get("/admin/indexing/indexrun/").content.decode()
    assert 'name="_save"' not in admin.get(page).content.decode()
    assert admin.post(page, {}).status_code == 403
    assert admin.get("/admin/indexing/indexrun/add/").status_code == 403
