"""What the pages of namespaces, repositories and jobs change."""

from datetime import UTC, datetime

import pytest
from django.template.loader import render_to_string
from django.utils import timezone

from codemem import policies
from codemem.accounts.models import AuditEvent, Membership, Namespace, Token
from graph import queries as graph
from graph.models import Ref, Repository
from indexing.models import Erasure, IndexRun
from indexing.signing import webhook_secret
from tests import factories

QUEUED = IndexRun.State.QUEUED


def text_of(response):
    return response.content.decode()


# --- Repositories -------------------------------------------------------------------------------
@pytest.mark.parametrize("place", ["", "n/team/repositories", "n/team/r/app/branches"])
def test_a_repository_that_is_deleted_while_a_page_is_made_is_left_out(
    as_reader, repository, monkeypatch, place
):
    states_of = graph.list_ref_states

    def states_after_deletion(*, asked):
        Repository.objects.all().delete()
        return states_of(asked=asked)

    Ref.objects.create(repository=repository, name="main", head_seen_at=timezone.now())
    monkeypatch.setattr(graph, "list_ref_states", states_after_deletion)
    response = as_reader.get(f"/console/{place}")

    assert response.status_code == 200
    assert not Repository.objects.exists()


def test_a_maintainer_adds_a_repository_and_it_is_indexed(as_maintainer, namespace):
    fields = {"name": "shop", "url": "https://git.example/shop.git"}
    response = as_maintainer.post("/console/n/team/repositories", fields, follow=True)

    made = Repository.objects.get(name="shop")
    assert response.redirect_chain[-1][0] == "/console/n/team/r/shop"
    assert list(made.runs.values_list("state", "requested_by")) == [(QUEUED, "mary")]
    assert "a worker indexes it now" in text_of(response)


@pytest.mark.parametrize(
    ("name", "url", "sentence"),
    [
        ("Not a name", "https://git.example/x.git", "Use lower-case letters"),
        ("app", "https://git.example/y.git", "There is a repository named"),
        ("other", "", "Say where the repository is"),
    ],
)
def test_a_repository_that_cannot_be_is_told_on_the_page(
    as_maintainer, repository, name, url, sentence
):
    response = as_maintainer.post(
        "/console/n/team/repositories",
        {"name": name, "url": url},
        follow=True,
        HTTP_REFERER="http://testserver/console/n/team/r/app",
    )

    assert sentence in text_of(response)
    assert Repository.objects.count() == 1


def test_a_reader_adds_no_repository_and_sees_no_form(as_reader, namespace):
    fields = {"name": "shop", "url": "https://git.example/shop.git"}

    assert as_reader.post("/console/n/team/repositories", fields).status_code == 403
    assert "Add a repository</h2>" not in text_of(as_reader.get("/console/n/team/repositories"))
    assert not Repository.objects.exists()


def test_the_webhooks_secret_is_shown_once_to_maintainers(as_maintainer, as_reader, repository):
    secret = webhook_secret(repository.pk)
    shown = as_maintainer.post("/console/n/team/r/app/webhook")

    assert secret in text_of(shown)
    assert shown["Cache-Control"] == "no-store"
    assert secret not in text_of(as_maintainer.get("/console/n/team/r/app"))
    assert as_reader.post("/console/n/team/r/app/webhook").status_code == 403
    assert AuditEvent.objects.filter(action="repository.show_webhook_secret").count() == 1


def test_credentials_in_an_address_are_not_shown(as_reader, namespace):
    factories.make_repository(namespace, "locked", url="https://bob:hunter2@git.example/l.git")

    assert "hunter2" not in text_of(as_reader.get("/console/n/team/r/locked"))


def test_a_writer_has_a_branch_indexed(client, writer, repository):
    client.force_login(writer)
    client.post("/console/n/team/r/app/index", {"branch": "topic"})

    assert list(repository.runs.values_list("ref", flat=True)) == ["topic"]


def test_a_reader_has_nothing_indexed(as_reader, repository):
    assert as_reader.post("/console/n/team/r/app/index").status_code == 403
    assert not repository.runs.exists()


def test_a_run_is_asked_about_until_it_is_over(as_reader, repository):
    run = IndexRun.objects.create(
        repository=repository, state="running", step="parsing", files_total=200, files_done=50
    )
    address = f"/console/n/team/r/app/runs/{run.pk}"
    under_way = text_of(as_reader.get(address, headers={"HX-Request": "true"}))
    IndexRun.objects.filter(pk=run.pk).update(state="done", finished_at=timezone.now())
    over = text_of(as_reader.get(address, headers={"HX-Request": "true"}))

    assert "every 2s" in under_way
    assert "25%" in under_way
    assert "<html" not in under_way
    assert "every 2s" not in over


def test_a_run_of_another_repository_is_not_found_here(as_reader, namespace, repository):
    other = factories.make_repository(namespace, "other")
    run = IndexRun.objects.create(repository=other)

    assert as_reader.get(f"/console/n/team/r/app/runs/{run.pk}").status_code == 404
    assert as_reader.get(f"/console/n/team/r/other/runs/{run.pk}").status_code == 200


def test_a_failure_that_nothing_followed_is_on_the_dashboard(as_reader, repository):
    IndexRun.objects.create(repository=repository, state="failed", error="The host is away.")
    assert "The host is away." in text_of(as_reader.get("/console/"))

    IndexRun.objects.create(repository=repository, state="done")
    assert "The host is away." not in text_of(as_reader.get("/console/"))


# --- Members ------------------------------------------------------------------------------------
def test_an_owner_adds_changes_and_removes_a_member(as_owner, outsider, namespace):
    as_owner.post("/console/n/team/members", {"username": "otto", "role": "1"})
    as_owner.post("/console/n/team/members", {"username": "otto", "role": "2"})
    assert Membership.objects.get(namespace=namespace, user=outsider).role == 2

    as_owner.post("/console/n/team/members/remove", {"username": "otto"})
    assert not Membership.objects.filter(namespace=namespace, user=outsider).exists()


def test_the_last_owner_stays(as_owner, namespace):
    response = as_owner.post(
        "/console/n/team/members/remove",
        {"username": "olga"},
        follow=True,
        HTTP_REFERER="http://testserver/console/n/team/members",
    )

    assert Membership.objects.filter(namespace=namespace, user__username="olga").exists()
    assert 'class="flash error"' in text_of(response)


def test_a_maintainer_manages_no_members(as_maintainer, outsider, namespace):
    fields = {"username": "otto", "role": "4"}

    assert as_maintainer.post("/console/n/team/members", fields).status_code == 403
    assert as_maintainer.get("/console/n/team/audit").status_code == 403


# --- Settings -----------------------------------------------------------------------------------
def test_a_setting_is_changed_shown_and_taken_back(as_maintainer, namespace):
    as_maintainer.post("/console/n/team/settings", {"key": "recall.floor", "value": "0.7"})
    assert policies.number(namespace.pk, "recall.floor") == 0.7
    assert "1 setting differs" in text_of(as_maintainer.get("/console/n/team/settings"))

    as_maintainer.post(
        "/console/n/team/settings", {"key": "recall.floor", "value": "0.7", "reset": "1"}
    )
    namespace.refresh_from_db()
    assert namespace.settings == {}


@pytest.mark.parametrize("value", ["much", "7", "<script>alert(1)</script>"])
def test_a_value_that_a_setting_does_not_take_is_told(as_maintainer, namespace, value):
    response = as_maintainer.post(
        "/console/n/team/settings", {"key": "recall.floor", "value": value}, follow=True
    )

    assert "it must be a number from 0 to 1" in text_of(response)
    assert "<script>alert" not in text_of(response)
    namespace.refresh_from_db()
    assert namespace.settings == {}


def test_what_is_the_owners_is_not_the_maintainers(as_maintainer, as_reader, namespace):
    theirs = next(policy for policy in policies.registry().values() if policy.is_for_owners)
    value = theirs.choices[-1] if theirs.choices else "true"
    as_maintainer.post("/console/n/team/settings", {"key": theirs.key, "value": value})
    as_reader.post("/console/n/team/settings", {"key": "recall.floor", "value": "0.7"})

    namespace.refresh_from_db()
    assert namespace.settings == {}


# --- Namespaces ---------------------------------------------------------------------------------
def test_a_person_makes_a_namespace_and_owns_it(as_reader, reader, namespace):
    as_reader.post("/console/n", {"name": "lab", "description": "Tries"})

    made = Namespace.objects.get(name="lab")
    assert list(made.memberships.values_list("user__username", "role")) == [("rita", 4)]


@pytest.mark.parametrize("name", ["team", "Not a name", "", "a" * 70])
def test_a_name_that_is_none_makes_no_namespace(as_reader, namespace, name):
    as_reader.post("/console/n", {"name": name})

    assert Namespace.objects.count() == 1


def test_deleting_shows_first_and_wants_the_name(as_owner, namespace):
    preview = text_of(as_owner.get("/console/n/team/settings/delete"))
    as_owner.post("/console/n/team/settings/delete", {"confirm": "tea"})
    assert "for good" in preview
    assert not Erasure.objects.exists()

    receipt = as_owner.post("/console/n/team/settings/delete", {"confirm": "team"}, follow=True)

    assert "Deletion of team" in text_of(receipt)
    assert as_owner.get("/console/n/team").status_code == 404


def test_only_an_owner_deletes_and_sees_the_receipt(as_maintainer, as_owner, namespace):
    assert as_maintainer.get("/console/n/team/settings/delete").status_code == 403
    as_owner.post("/console/n/team/settings/delete", {"confirm": "team"})
    receipt = Erasure.objects.get()

    assert as_owner.get(f"/console/erasures/{receipt.pk}").status_code == 200
    assert as_maintainer.get(f"/console/erasures/{receipt.pk}").status_code == 404


# --- Tokens -------------------------------------------------------------------------------------
def test_a_token_is_shown_once(as_reader, reader, namespace):
    fields = {"name": "laptop", "kind": "user", "days": "30"}
    made = as_reader.post("/console/tokens", fields)

    token = Token.objects.get(user=reader)
    assert f"{token.prefix}_" in text_of(made)
    assert f"{token.prefix}_" not in text_of(as_reader.get("/console/tokens"))


def test_a_token_reaches_no_namespace_of_others(as_outsider, namespace):
    fields = {"name": "x", "kind": "user", "days": "30", "namespaces": "team"}
    as_outsider.post("/console/tokens", fields)

    assert not Token.objects.exists()


def test_nobody_revokes_anothers_token(as_outsider, owner, namespace):
    token = factories.make_token(owner).token

    assert as_outsider.post(f"/console/tokens/{token.pk}/revoke").status_code == 404
    token.refresh_from_db()
    assert token.revoked_at is None


# --- Jobs and finding -----------------------------------------------------------------------------
def test_jobs_are_shown_of_ones_own_namespaces(as_reader, as_outsider, repository):
    IndexRun.objects.create(repository=repository, state="running", step="parsing")

    assert ">app<" in text_of(as_reader.get("/console/jobs"))
    assert ">app<" not in text_of(as_outsider.get("/console/jobs"))


def test_jobs_say_when_redis_is_away(as_reader, namespace, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    assert "Redis does not answer" in text_of(as_reader.get("/console/jobs"))


def test_what_is_found_is_ones_own(as_reader, as_outsider, repository):
    asked = "/console/find?q=app"

    assert "/console/n/team/r/app" in text_of(as_reader.get(asked))
    assert "/console/n/team/r/app" not in text_of(as_outsider.get(asked))
    # A place that is not theirs narrows nothing, and is not told of.
    hidden = as_outsider.get(f"{asked}&namespace=team&repository=app")
    assert (hidden.status_code, "team" in text_of(hidden)) == (200, False)


def test_pages_are_found_by_their_names(as_reader, namespace):
    found = text_of(
        as_reader.get("/console/find?q=memb&namespace=team", headers={"HX-Request": "1"})
    )

    assert "/console/n/team/members" in found
    assert "<html" not in found


# --- What people read ---------------------------------------------------------------------------
def test_names_in_figures_stay_names_and_kinds_are_words():
    counts = {"web-shop_2": 3, "PUBLISHES_TO": 1}
    page = render_to_string("console/namespaces/counts.html", {"title": "x", "counts": counts})
    assert "<dt>web-shop_2</dt>" in page
    words = {"title": "x", "counts": counts, "is_code": True}
    assert "<dt>publishes to</dt>" in render_to_string("console/namespaces/counts.html", words)


def test_days_are_written_as_people_write_them(as_reader, namespace):
    Membership.objects.update(created_at=datetime(2026, 3, 7, tzinfo=UTC))
    assert "7 Mar 2026" in text_of(as_reader.get("/console/n/team/members"))
