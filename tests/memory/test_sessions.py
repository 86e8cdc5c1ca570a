"""Who may see sessions, which went silent, what is found in them, and what is forgotten."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from codemem.accounts.values import TokenScope
from memory import sessions
from memory.checkpoints import SessionUnknown
from memory.models import Checkpoint, Injection, Observation, Session
from tests import factories
from tests.factories import NOW, caller_of
from tests.fakes import StoppedClock
from workers import queue
from workers.tasks import sessions as tasks

pytestmark = pytest.mark.django_db


@pytest.fixture
def make(namespace, repository, writer):
    def make_session(user=None, *, words="Mend the ledger", key="s-1", at=NOW, **fields):
        session = Session.objects.create(
            namespace=namespace,
            repository=repository,
            user=user or writer,
            agent="codex",
            client_session_id=key,
            started_at=at,
            last_event_at=at,
            **fields,
        )
        place = {"session": session, "namespace": namespace}
        Observation.objects.create(
            **place,
            key="1",
            kind="prompt",
            tier="S",
            content=words,
            tokens=" ".join(words.lower().split()),
            happened_at=at,
            received_at=at,
        )
        Checkpoint.objects.create(**place, origin="agent", summary=words, created_at=at)
        Injection.objects.create(**place, event="prompt", kind="rule", reason="why", shown_at=at)
        return session

    return make_session


# --- Who may see --------------------------------------------------------------------------------


def seen_by(user):
    rows = sessions.list_sessions(caller=caller_of(user), limit=9)
    return [row.client_session_id for row in rows]


def test_a_session_is_its_users_alone(make, writer, owner, reader, outsider):
    session = make()
    assert seen_by(writer) == ["s-1"]
    for user in (owner, reader, outsider):
        assert seen_by(user) == []
        caller = caller_of(user)
        with pytest.raises(SessionUnknown):
            sessions.get_session(caller=caller, session_id=session.pk)
        with pytest.raises(SessionUnknown):
            sessions.observations_of(caller=caller, session_id=session.pk, limit=9)
        with pytest.raises(SessionUnknown):
            sessions.injections_of(caller=caller, session_id=session.pk, limit=9)
        assert found(user, session, "ledger") == []


def test_a_shared_one_is_the_members(make, writer, owner, reader, outsider):
    session = make(is_shared=True)
    for user in (writer, owner, reader):
        assert seen_by(user) == ["s-1"]
        assert len(found(user, session, "ledger")) == 1
    assert seen_by(outsider) == []
    assert found(outsider, session, "ledger") == []


def test_it_takes_the_scope_to_read_memory(make, writer):
    make()
    caller = caller_of(writer, scopes=[TokenScope.HOOKS_WRITE])
    assert sessions.list_sessions(caller=caller, limit=9) == []


def test_only_its_own_user_ends_it(make, writer, owner):
    session = make(is_shared=True)
    with pytest.raises(SessionUnknown):
        sessions.end_session(caller=caller_of(owner), session_id=session.pk, now=NOW)
    ended = sessions.end_session(caller=caller_of(writer), session_id=session.pk, now=NOW)
    assert (ended.ended_at, ended.end_reason) == (NOW, "by hand")


def found(user, session, text):
    return sessions.search(
        caller=caller_of(user), text=text, limit=9, namespace_ids=[session.namespace_id]
    )


def test_most_words_come_first(make, writer):
    session = make(words="the ledger is mended")
    make(words="ledger and invoice rounding", key="s-2")
    hits = found(writer, session, "invoice ledger")
    assert [hit.session.client_session_id for hit in hits] == ["s-2", "s-1"]
    assert "invoice" in hits[0].excerpt
    assert found(writer, session, "zebra") == []
    assert found(writer, session, "the of and") == []


# --- Silence and retention ----------------------------------------------------------------------


def test_half_an_hour_of_silence_ends_a_session(make):
    silent = make()
    live = make(key="s-2", at=NOW + timedelta(minutes=20))
    assert sessions.close_silent(now=NOW + timedelta(minutes=31)) == [silent.pk]
    silent.refresh_from_db()
    live.refresh_from_db()
    assert (silent.ended_at, silent.end_reason) == (NOW, "silence")
    assert live.ended_at is None
    assert sessions.close_silent(now=NOW + timedelta(minutes=31)) == []


def test_an_end_that_nobody_dealt_with_is_asked_for_again(make):
    session = make(ended_at=NOW)
    assert sessions.unfinished(now=NOW + timedelta(minutes=1)) == []
    assert sessions.unfinished(now=NOW + timedelta(minutes=3)) == [session.pk]
    tasks.end.run(session_id=str(session.pk))
    assert sessions.unfinished(now=NOW + timedelta(minutes=3)) == []


def test_what_was_captured_goes_when_its_time_is_over(make, namespace):
    make(at=NOW - timedelta(days=31))
    make(key="s-2", at=NOW - timedelta(days=29))
    assert sessions.forget_captured(now=NOW) == 4
    assert Session.objects.get().client_session_id == "s-2"
    assert Observation.objects.count() == Checkpoint.objects.count() == 1
    namespace.settings = {"capture.retention_days": 7}
    namespace.save()
    assert sessions.forget_captured(now=NOW) == 4
    assert not Session.objects.exists()


def test_a_long_session_keeps_what_is_young(make):
    session = make(at=NOW - timedelta(days=31))
    Session.objects.update(last_event_at=NOW)
    sessions.forget_captured(now=NOW)
    assert Session.objects.get() == session
    assert not Observation.objects.exists()


# --- Over REST ----------------------------------------------------------------------------------


def ask(user, path, *, method="get", scopes=TokenScope, headers=None, **fields):
    token = factories.make_token(user, scopes=scopes).secret
    given = {"Authorization": f"Bearer {token}", **(headers or {})}
    call = getattr(Client(), method)
    return call(f"/api/v1/{path}", headers=given, content_type="application/json", **fields)


def test_a_person_sees_what_was_captured_and_why_something_was_shown(make, writer):
    session = make()
    listed = ask(writer, "sessions").json()["sessions"]
    assert [one["id"] for one in listed] == [str(session.pk)]
    seen = ask(writer, f"sessions/{session.pk}/observations").json()["observations"]
    assert [one["content"] for one in seen] == ["Mend the ledger"]
    shown = ask(writer, f"sessions/{session.pk}/injections").json()["injections"]
    assert [one["reason"] for one in shown] == ["why"]


def test_lists_go_on_where_they_stopped(make, writer):
    for number in range(3):
        make(key=f"s-{number}", at=NOW + timedelta(minutes=number))
    first = ask(writer, "sessions?limit=2").json()
    assert [one["client_session_id"] for one in first["sessions"]] == ["s-2", "s-1"]
    before = first["next_before"].replace("+", "%2B")
    rest = ask(writer, f"sessions?limit=2&before={before}").json()
    assert [one["client_session_id"] for one in rest["sessions"]] == ["s-0"]
    assert rest["next_before"] is None


@pytest.mark.parametrize("part", ["", "/observations", "/injections"])
def test_strangers_get_the_same_answer_as_for_nothing(make, owner, outsider, part):
    session = make()
    nobody = uuid4()
    for user in (owner, outsider):
        theirs = ask(user, f"sessions/{session.pk}{part}")
        none = ask(user, f"sessions/{nobody}{part}")
        assert theirs.status_code == none.status_code == 404
        assert theirs.json() == {
            "error": {
                **none.json()["error"],
                "message": none.json()["error"]["message"].replace(str(nobody), str(session.pk)),
            }
        }


def test_a_session_is_begun_and_ended_by_hand(repository, writer):
    place = {"Codemem-Namespace": "team", "Codemem-Repository": "app"}
    wanted = {"client_session_id": "by-hand", "capture": "metadata"}
    begun = ask(writer, "sessions", method="post", data=wanted, headers=place).json()
    assert "Scope: team/app" in begun["context"]
    assert begun["session"]["capture"] == "metadata"
    key = begun["session"]["id"]
    ended = ask(writer, f"sessions/{key}/end", method="post").json()
    assert ended["end_reason"] == "by hand"


@pytest.mark.parametrize(
    "wanted", [{}, {"client_session_id": ""}, {"client_session_id": "x", "capture": "all"}, []]
)
def test_a_session_that_is_begun_wrongly_is_explained(repository, writer, wanted):
    answer = ask(writer, "sessions", method="post", data=wanted)
    assert answer.status_code == 422
    assert not Session.objects.exists()


def test_maintainers_change_what_a_repository_lets_be_captured(repository, writer, maintainer):
    place = {"Codemem-Namespace": "team", "Codemem-Repository": "app"}
    wanted = {"mode": "metadata", "ignored_paths": ["private/"]}
    refused = ask(writer, "capture", method="put", data=wanted, headers=place)
    assert refused.status_code == 403
    changed = ask(maintainer, "capture", method="put", data=wanted, headers=place).json()
    assert (changed["mode"], changed["ignored_paths"]) == ("metadata", ["private/"])
    assert ask(writer, "capture", headers=place).json()["changed_by"] == "mary"
    only_mode = ask(maintainer, "capture", method="put", data={"mode": "off"}, headers=place)
    assert only_mode.json()["ignored_paths"] == ["private/"]


def test_the_clock_ends_what_is_silent(make, monkeypatch):
    session = make()
    monkeypatch.setattr(timezone, "now", StoppedClock(NOW + timedelta(hours=1)))
    asked = []
    monkeypatch.setattr(queue, "end_session", lambda **given: asked.append(given))
    tasks.close_silent.run()
    assert [given["session_id"] for given in asked] == [session.pk]
