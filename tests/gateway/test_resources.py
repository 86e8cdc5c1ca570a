"""Resources over DRF, seen by an owner, by members and by an outsider."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from codemem.accounts import services as accounts
from codemem.accounts.models import AuditEvent, Membership, Namespace, Token, User
from codemem.accounts.values import TokenScope
from graph.models import Repository
from indexing.models import IndexRun
from memory import services as memory
from memory.models import Memory
from memory.values import MemoryType
from tests.factories import caller_of, make_namespace, make_repository, make_token

NOWHERE = UUID("01890000-0000-7000-8000-000000000000")


@dataclass
class Person:
    """Somebody with a token, and the requests they can make."""

    secret: str

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        return Client().generic(
            method,
            path,
            content,
            "application/json",
            headers={"Authorization": f"Bearer {self.secret}"},
        )

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def post(self, path: str, body: Any = None) -> Any:
        return self.ask("POST", path, body)

    def listed(self, path: str, field: str) -> list[Any]:
        return sorted(row[field] for row in self.get(path).json()["results"])


def person(user: User, **options: Any) -> Person:
    return Person(make_token(user, **{"scopes": list(TokenScope), **options}).secret)


def error(response: Any, status: int) -> dict[str, str]:
    assert response.status_code == status, response.content
    assert response.json().keys() == {"error"}
    found: dict[str, str] = response.json()["error"]
    return found


def store(user: User, namespace: Namespace, content: str, **options: Any) -> None:
    memory.store_memory(
        caller=caller_of(user),
        namespace_id=namespace.pk,
        content=content,
        now=timezone.now(),
        **{"memory_type": MemoryType.RULE, **options},
    )


# --- Not yours reads like not there -------------------------------------------------------------
@pytest.fixture
def addresses(namespace, repository, owner, reader):
    """Return what an outsider may guess: (method, path with the id left open, id, body)."""
    store(owner, namespace, "Sign every commit.")
    token = make_token(reader).token
    membership = Membership.objects.get(namespace=namespace, user=reader)
    memory_id = Memory.objects.get().pk
    return [
        ("GET", "/api/namespaces/{}", "team", "nope", None),
        ("PATCH", "/api/namespaces/{}", "team", "nope", {"name": "mine"}),
        ("GET", "/api/namespaces/{}", namespace.pk, NOWHERE, None),
        ("DELETE", "/api/members/{}", membership.pk, 987654321, None),
        ("GET", "/api/tokens/{}", token.pk, NOWHERE, None),
        ("DELETE", "/api/tokens/{}", token.pk, NOWHERE, None),
        ("GET", "/api/repositories/{}", repository.pk, NOWHERE, None),
        ("GET", "/api/repositories/{}/runs", repository.pk, NOWHERE, None),
        ("POST", "/api/repositories/{}/index", repository.pk, NOWHERE, None),
        ("GET", "/api/memories/{}", memory_id, NOWHERE, None),
        ("DELETE", "/api/memories/{}", memory_id, NOWHERE, None),
    ]


def test_an_outsider_cannot_tell_what_is_there(addresses, outsider):
    otto = person(outsider)

    for method, path, theirs, nowhere, body in addresses:
        seen = otto.ask(method, path.format(theirs), body)
        unseen = otto.ask(method, path.format(nowhere), body)
        assert error(seen, 404)["code"] == "not_found", path
        assert seen.content.replace(str(theirs).encode(), b"ID") == unseen.content.replace(
            str(nowhere).encode(), b"ID"
        )


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/members", {"user": "otto", "role": "owner"}),
        ("/api/repositories", {"name": "app", "url": "https://git.example/otto/app.git"}),
        ("/api/tokens", {"name": "mine"}),
    ],
)
def test_an_outsider_cannot_create_in_a_namespace_that_is_not_theirs(
    namespace, outsider, path, body
):
    otto = person(outsider)

    def created_in(name: str) -> Any:
        place = {"namespaces": [name]} if path == "/api/tokens" else {"namespace": name}
        return otto.post(path, {**body, **place})

    assert error(created_in("team"), 404)["message"] == "There is no namespace 'team'."
    assert created_in("team").content.replace(b"team", b"") == created_in("nope").content.replace(
        b"nope", b""
    )


def test_an_outsider_lists_only_what_is_theirs(addresses, outsider):
    otto = person(outsider)

    assert otto.listed("/api/namespaces", "name") == ["elsewhere"]
    assert otto.listed("/api/members", "namespace") == ["elsewhere"]
    assert otto.listed("/api/tokens", "name") == ["tests"]
    assert otto.listed("/api/repositories", "name") == []
    assert otto.listed("/api/memories", "id") == []
    assert set(otto.listed("/api/audit", "namespace")) == {"elsewhere"}


def test_an_id_that_is_no_id_is_not_there_either(namespace, owner):
    for path in ("tokens", "repositories", "memories"):
        error(person(owner).get(f"/api/{path}/nonsense"), 404)


def test_members_see_the_namespace_but_run_none_of_it(namespace, repository, reader):
    rita = person(reader)

    assert rita.listed("/api/namespaces", "name") == ["team"]
    assert rita.listed("/api/repositories", "name") == ["app"]
    assert rita.listed("/api/members", "user") == []
    assert rita.listed("/api/audit", "action") == []
    for method, path, body in (
        ("PATCH", "/api/namespaces/team", {"name": "mine"}),
        ("POST", "/api/members", {"namespace": "team", "user": "rita", "role": "owner"}),
        ("POST", "/api/repositories", {"namespace": "team", "name": "b", "url": "https://g/x/y"}),
        ("POST", f"/api/repositories/{repository.pk}/index", None),
    ):
        refused = error(rita.ask(method, path, body), 403)
        assert refused["code"] == "right_missing"
        assert "It takes the role" in refused["hint"]


def test_an_owner_without_the_scope_runs_nothing_either(namespace, owner):
    olga = person(owner, scopes=[TokenScope.GRAPH_READ])

    refused = error(olga.ask("PATCH", "/api/namespaces/team", {"name": "mine"}), 403)
    assert "admin:namespace" in refused["hint"]


# --- Namespaces and members ---------------------------------------------------------------------
def test_an_owner_renames_and_describes(namespace, owner):
    response = person(owner).ask(
        "PATCH", "/api/namespaces/team", {"name": "crew", "description": "Us"}
    )

    assert response.json()["name"] == "crew"
    stored = Namespace.objects.get(pk=namespace.pk)
    assert (stored.name, stored.description) == ("crew", "Us")


def test_a_taken_name_is_a_conflict(namespace, owner, outsider):
    refused = error(person(owner).ask("PATCH", "/api/namespaces/team", {"name": "elsewhere"}), 409)

    assert refused["code"] == "name_taken"


def test_a_namespace_may_be_called_like_a_file(owner):
    make_namespace("site.json", owner=owner)

    assert person(owner).get("/api/namespaces/site.json").json()["name"] == "site.json"


def test_an_owner_adds_changes_and_removes_members(namespace, owner, outsider):
    olga = person(owner)

    added = olga.post("/api/members", {"namespace": "team", "user": "otto", "role": "reader"})
    changed = olga.post("/api/members", {"namespace": "team", "user": "otto", "role": "writer"})
    removed = olga.ask("DELETE", f"/api/members/{added.json()['id']}")

    assert (added.status_code, changed.status_code, removed.status_code) == (201, 201, 204)
    assert (added.json()["role"], changed.json()["role"]) == ("reader", "writer")
    assert added.json()["id"] == changed.json()["id"]
    assert "otto" not in olga.listed("/api/members", "user")


def test_the_last_owner_stays(namespace, owner):
    olga = person(owner)
    mine = Membership.objects.get(namespace=namespace, user=owner)

    assert error(olga.ask("DELETE", f"/api/members/{mine.pk}"), 409)["code"] == "last_owner"
    body = {"namespace": "team", "user": "olga", "role": "reader"}
    assert error(olga.post("/api/members", body), 409)["code"] == "last_owner"


def test_a_user_who_does_not_exist_is_said_so_to_an_owner(namespace, owner):
    body = {"namespace": "team", "user": "nobody", "role": "reader"}

    assert error(person(owner).post("/api/members", body), 404)["message"] == (
        "There is no user 'nobody'."
    )


# --- Tokens -------------------------------------------------------------------------------------
def test_a_new_token_shows_its_secret_once(namespace, reader):
    rita = person(reader)

    made = rita.post("/api/tokens", {"name": "laptop", "days": 7, "scopes": ["memory:read"]})

    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    assert Person(made.json()["secret"]).get("/api/v1/me").json()["token"]["name"] == "laptop"
    again = rita.get(f"/api/tokens/{made.json()['id']}").json()
    assert made.json().keys() - again.keys() == {"secret"}
    assert made.json()["secret"] not in str(again)
    expires_at = Token.objects.get(name="laptop").expires_at
    assert expires_at is not None
    assert timezone.now() < expires_at < timezone.now() + timedelta(days=7)


def test_a_token_cannot_make_a_mightier_one(namespace, reader):
    weak = person(reader, scopes=[TokenScope.MEMORY_READ])

    refused = error(
        weak.post("/api/tokens", {"name": "x", "scopes": ["memory:read", "memory:write"]}), 403
    )

    assert refused["message"] == "Your own token lacks: memory:write."
    assert weak.post("/api/tokens", {"name": "x"}).json()["scopes"] == ["memory:read"]


def test_a_limited_token_cannot_leave_its_namespaces(namespace, owner):
    make_namespace("second", owner=owner)
    limited = person(owner, namespaces=[namespace])

    assert error(limited.post("/api/tokens", {"name": "x", "namespaces": ["second"]}), 404)
    made = limited.post("/api/tokens", {"name": "x"}).json()
    assert (made["is_limited"], made["namespaces"]) == (True, ["team"])
    assert Person(made["secret"]).listed("/api/namespaces", "name") == ["team"]


def test_a_revoked_token_is_closed_at_once(namespace, reader):
    rita = person(reader)
    made = rita.post("/api/tokens", {"name": "lost"}).json()

    assert rita.ask("DELETE", f"/api/tokens/{made['id']}").status_code == 204

    assert error(Person(made["secret"]).get("/api/namespaces"), 401)["code"] == "invalid_token"
    assert rita.get(f"/api/tokens/{made['id']}").json()["revoked_at"] is not None


def test_nobody_sees_another_members_tokens(namespace, owner, reader):
    person(reader)

    assert Token.objects.count() == 1
    assert len(person(owner).get("/api/tokens").json()["results"]) == 1


# --- Repositories -------------------------------------------------------------------------------
def test_a_registered_repository_is_queued_for_indexing(namespace, maintainer):
    mary = person(maintainer)

    made = mary.post(
        "/api/repositories",
        {"namespace": "team", "name": "web", "url": "https://mary:hunter2@git.example/web.git"},
    )

    assert made.status_code == 201
    assert made.json()["url"] == "https://git.example/web.git"
    (run,) = mary.get(f"/api/repositories/{made.json()['id']}/runs").json()
    assert run["state"] == "queued"
    assert "note" not in made.json()


@pytest.mark.django_db(transaction=True)
def test_without_redis_a_repository_is_registered_and_waits(
    namespace, maintainer, queue_without_redis
):
    mary = person(maintainer)

    made = mary.post(
        "/api/repositories",
        {"namespace": "team", "name": "web", "url": "https://git.example/web.git"},
    )
    again = error(mary.post(f"/api/repositories/{made.json()['id']}/index"), 503)

    assert made.status_code == 201
    assert "will be queued when it is back" in made.json()["note"]
    assert again["code"] == "queue_unavailable"
    assert IndexRun.objects.get().state == IndexRun.State.QUEUED


def test_a_name_or_remote_in_use_is_a_conflict(namespace, repository, maintainer):
    mary = person(maintainer)
    body = {"namespace": "team", "name": "app", "url": "https://git.example/other.git"}

    assert error(mary.post("/api/repositories", body), 409)["code"] == "name_taken"
    body = {"namespace": "team", "name": "other", "url": repository.url}
    assert error(mary.post("/api/repositories", body), 409)["code"] == "remote_taken"
    assert Repository.objects.count() == 1


def test_asking_twice_for_an_index_run_queues_one(namespace, repository, maintainer):
    mary = person(maintainer)
    runs = [mary.post(f"/api/repositories/{repository.pk}/index") for _ in range(2)]

    assert [run.status_code for run in runs] == [202, 202]
    assert runs[0].json()["id"] == runs[1].json()["id"]


# --- Memories and the trail ---------------------------------------------------------------------
def test_memories_are_filtered_in_the_words_of_the_wire(namespace, repository, writer):
    store(writer, namespace, "Sign every commit.")
    store(writer, namespace, "Use Postgres.", memory_type=MemoryType.DECISION)
    store(writer, namespace, "The app listens on 80.", repository_id=repository.pk)
    walter = person(writer)

    def found(query: str) -> list[str]:
        return walter.listed(f"/api/memories?{query}", "content")

    assert len(found("namespace=team")) == 3
    assert found("type=decision") == ["Use Postgres."]
    assert found("repository=app") == ["The app listens on 80."]
    assert found("namespace=nope") == []
    assert len(found("author=walter&type=rule")) == 2


def test_a_retired_memory_is_gone_from_the_list(namespace, writer):
    store(writer, namespace, "Sign every commit.")
    walter = person(writer)
    (memory_id,) = walter.listed("/api/memories", "id")

    assert walter.ask("DELETE", f"/api/memories/{memory_id}").status_code == 204

    assert walter.listed("/api/memories", "id") == []
    error(walter.get(f"/api/memories/{memory_id}"), 404)


def test_a_reader_retires_nothing(namespace, writer, reader):
    store(writer, namespace, "Sign every commit.")
    memory_id = Memory.objects.get().pk

    refused = error(person(reader).ask("DELETE", f"/api/memories/{memory_id}"), 403)

    assert refused["code"] == "right_missing"


def test_an_owner_reads_the_trail_newest_first(namespace, owner):
    olga = person(owner)
    olga.ask("PATCH", "/api/namespaces/team", {"name": "crew"})

    events = olga.get("/api/audit?namespace=crew").json()["results"]

    assert [event["action"] for event in events] == ["namespace.rename"]
    assert events[0]["actor"] == "olga"
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        error(olga.ask(method, "/api/audit", {}), 405)
    assert AuditEvent.objects.filter(action="namespace.rename").count() == 1


# --- Pages and bad input ------------------------------------------------------------------------
def test_pages_are_whole_while_rows_arrive(owner):
    olga = person(owner)
    for number in range(5):
        make_namespace(f"n{number}", owner=owner)

    first = olga.get("/api/namespaces?page_size=2").json()
    make_namespace("late", owner=owner)
    second = olga.get(first["next"]).json()
    third = olga.get(second["next"]).json()

    names = [row["name"] for page in (first, second, third) for row in page["results"]]
    assert names == ["n4", "n3", "n2", "n1", "n0"]
    assert third["next"] is None


@pytest.mark.parametrize("query", ["page_size=0", "page_size=x", "page_size=1000000"])
def test_an_odd_page_size_is_put_right(namespace, owner, query):
    assert person(owner).get(f"/api/namespaces?{query}").status_code == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/namespaces?cursor=nonsense", 404),
        ("/api/memories?namspace=team", 422),
        ("/api/memories?type=nonsense", 422),
        ("/api/memories?namespace=%00", 422),
        ("/api/tokens?name=x", 422),
        ("/api/namespaces?namespace__name=team", 422),
    ],
)
def test_an_odd_query_is_refused_in_a_sentence(namespace, owner, path, status):
    assert error(person(owner).get(path), status)["message"].endswith(".")


def test_an_unknown_filter_names_the_known_ones(namespace, owner):
    refused = error(person(owner).get("/api/repositories?nam=x"), 422)

    assert refused["message"] == "There is no filter 'nam'."
    assert refused["hint"] == "Filters here: name, namespace."


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "The body is not JSON"),
        (b"", 422, "name: This field is required."),
        (b"[]", 422, "Invalid data. Expected a dictionary"),
        (b'{"name": ""}', 422, "name: This field may not be blank."),
        (b'{"name": "x", "days": 0}', 422, "days: "),
        (b'{"name": "x", "days": "soon"}', 422, "days: A valid integer is required."),
        (b'{"name": "x", "kind": "robot"}', 422, 'kind: "robot" is not a valid choice.'),
        (b'{"name": "x", "scopes": []}', 422, "scopes: This list may not be empty."),
        (b'{"name": "x", "scopes": ["all"]}', 422, 'scopes: 0: "all" is not a valid choice.'),
        (b'{"name": "x", "scopes": "memory:read"}', 422, "scopes: Expected a list"),
        (b'{"name": "x", "day": 7}', 422, "day: This cannot be set."),
        (b'{"name": "x", "prefix": "cm_mine"}', 422, "prefix: This cannot be set."),
        (b'{"name": "a\\u0000b"}', 422, "name: Null characters are not allowed."),
        (b'{"name": "\\ud800"}', 422, "name: "),
        (b'{"name": 7, "namespaces": [[]]}', 422, "namespaces: 0: Not a valid string."),
    ],
)
def test_a_body_that_means_nothing_is_refused_in_a_sentence(
    namespace, reader, body, status, message
):
    response = Client().generic(
        "POST",
        "/api/tokens",
        body,
        "application/json",
        headers={"Authorization": f"Bearer {person(reader).secret}"},
    )

    assert error(response, status)["message"].startswith(message)
    assert Token.objects.count() == 1


def test_a_body_over_the_limit_is_refused(namespace, reader, settings):
    settings.MAXIMUM_BODY_BYTES = 100

    refused = error(person(reader).post("/api/tokens", {"name": "x" * 200}), 413)

    assert refused["code"] == "body_too_large"


def test_a_form_is_not_a_body(namespace, reader):
    response = Client().post(
        "/api/tokens",
        {"name": "x"},
        headers={"Authorization": f"Bearer {person(reader).secret}"},
    )

    assert error(response, 415)["code"] == "unsupported_media_type"


@pytest.mark.parametrize("name", ["%00", "a%00b", "ä", "..", "%F0%9F%92%A9"])
def test_an_odd_name_is_not_found(namespace, owner, name):
    assert person(owner).get(f"/api/namespaces/{name}").status_code == 404


def test_members_of_two_namespaces_filter_by_one(namespace, owner, repository):
    second = make_namespace("second", owner=owner)
    make_repository(second, "app")
    olga = person(owner)

    assert olga.listed("/api/repositories?namespace=second", "namespace") == ["second"]
    assert olga.listed("/api/repositories?name=app", "namespace") == ["second", "team"]
    assert olga.listed("/api/members?namespace=second", "user") == ["olga"]


def test_an_archived_namespace_is_gone_from_every_list(namespace, repository, owner):
    store(owner, namespace, "Sign every commit.")
    olga = person(owner)
    accounts.archive_namespace(namespace=namespace, actor="olga", now=timezone.now())

    for path in ("namespaces", "members", "repositories", "memories", "audit"):
        assert olga.get(f"/api/{path}").json()["results"] == [], path
