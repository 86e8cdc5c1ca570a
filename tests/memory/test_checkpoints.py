"""Checkpoints: kept for a session, brought back as they were, written by its user alone."""

from datetime import timedelta
from uuid import uuid4

import pytest

from codemem.accounts.models import Namespace, User
from graph.models import Repository
from memory import checkpoints
from memory.baton import Baton
from memory.checkpoints import Origin, SessionUnknown
from memory.models import Checkpoint, Session
from memory.services import MemoryInvalid, NamespaceUnknown, RightMissing
from tests import factories
from tests.factories import NOW
from tests.memory.test_handoffs import observe, session_of, told


def test_the_newest_one_comes_back(namespace: Namespace, writer: User) -> None:
    session = session_of(writer, namespace)
    for hours, summary in ((2, "Half."), (1, "Nearly.")):
        checkpoints.checkpoint(
            session_id=session.pk,
            origin=Origin.AGENT,
            baton=Baton(summary=summary, open_questions=("Why?",)),
            now=NOW - timedelta(hours=hours),
        )
    newest = checkpoints.newest_checkpoint(session_id=session.pk)
    assert newest is not None
    assert newest.baton == Baton(summary="Nearly.", open_questions=("Why?",))
    assert checkpoints.newest_of_sessions(session_ids=[session.pk, uuid4()]) == {session.pk: newest}


def test_before_a_compaction_it_is_read_from_what_was_captured(
    namespace: Namespace, writer: User
) -> None:
    session = told(session_of(writer, namespace))
    kept = checkpoints.checkpoint(session_id=session.pk, origin="before_compaction", now=NOW)
    assert kept is not None
    assert "Add retries" in kept.baton.summary
    assert kept.baton.files == ("app/upload.py",)


def test_a_session_of_which_nothing_is_known_has_none(namespace: Namespace, writer: User) -> None:
    session = session_of(writer, namespace)
    assert (
        checkpoints.checkpoint(session_id=session.pk, origin="before_compaction", now=NOW) is None
    )
    assert checkpoints.newest_checkpoint(session_id=session.pk) is None


def test_a_clients_summary_is_cut_and_an_agents_is_refused(
    namespace: Namespace, writer: User
) -> None:
    session = session_of(writer, namespace)
    long = Baton(summary="x" * 20_000)
    kept = checkpoints.checkpoint(
        session_id=session.pk, origin=Origin.COMPACTION, baton=long, now=NOW
    )
    assert kept is not None
    assert len(kept.baton.summary) == 8_000
    with pytest.raises(MemoryInvalid):
        checkpoints.checkpoint(session_id=session.pk, origin=Origin.AGENT, baton=long, now=NOW)
    assert Checkpoint.objects.count() == 1


def test_a_session_is_found_by_its_own_id_and_by_its_clients(
    namespace: Namespace, writer: User, maintainer: User, outsider: User
) -> None:
    session = session_of(writer, namespace, client_session_id="abc")
    mine = factories.caller_of(writer)
    for name in ("abc", str(session.pk)):
        found = checkpoints.find_own_session(caller=mine, name=name, namespace_ids=[namespace.pk])
        assert found is not None
        assert found.id == session.pk
        for other in (maintainer, outsider):
            caller = factories.caller_of(other)
            asked = {"caller": caller, "name": name, "namespace_ids": [namespace.pk]}
            assert checkpoints.find_own_session(**asked) is None  # type: ignore[arg-type]


def test_an_agent_without_hooks_has_a_session_made(
    namespace: Namespace, repository: Repository, writer: User
) -> None:
    asked = {
        "caller": factories.caller_of(writer),
        "namespace_id": namespace.pk,
        "repository_id": repository.pk,
        "client_session_id": " s 1 ",
        "agent": "Zed 1.2",
        "now": NOW,
    }
    first = checkpoints.open_session(**asked)  # type: ignore[arg-type]
    assert (first.agent, first.client_session_id) == ("zed", "s 1")
    assert checkpoints.open_session(**asked).id == first.id  # type: ignore[arg-type]
    assert Session.objects.count() == 1


def test_a_session_is_made_only_where_one_may_write(
    namespace: Namespace, reader: User, outsider: User, writer: User
) -> None:
    asked = {
        "namespace_id": namespace.pk,
        "repository_id": None,
        "client_session_id": "s",
        "agent": "",
        "now": NOW,
    }
    with pytest.raises(RightMissing):
        checkpoints.open_session(caller=factories.caller_of(reader), **asked)  # type: ignore[arg-type]
    with pytest.raises(NamespaceUnknown):
        checkpoints.open_session(caller=factories.caller_of(outsider), **asked)  # type: ignore[arg-type]
    for bad in ("", "x" * 201):
        with pytest.raises(MemoryInvalid):
            checkpoints.open_session(
                caller=factories.caller_of(writer),
                **(asked | {"client_session_id": bad}),  # type: ignore[arg-type]
            )


def test_a_session_of_another_namespace_is_not_taken_over(
    namespace: Namespace, writer: User
) -> None:
    other = factories.make_namespace("other", owner=writer)
    session_of(writer, other, agent="mcp", client_session_id="s")
    with pytest.raises(SessionUnknown):
        checkpoints.open_session(
            caller=factories.caller_of(writer),
            namespace_id=namespace.pk,
            repository_id=None,
            client_session_id="s",
            agent="",
            now=NOW,
        )


def test_live_ones_and_the_last_one_are_the_callers_own(
    namespace: Namespace, repository: Repository, writer: User, maintainer: User
) -> None:
    live = session_of(writer, namespace, repository=repository, ended_at=None)
    over = session_of(writer, namespace, repository=repository)
    session_of(maintainer, namespace, repository=repository, ended_at=None)
    place = {
        "caller": factories.caller_of(writer),
        "namespace_ids": [namespace.pk],
        "repository_id": repository.pk,
    }
    assert [one.id for one in checkpoints.live_sessions(**place)] == [live.pk]  # type: ignore[arg-type]
    last = checkpoints.last_session(**place)  # type: ignore[arg-type]
    assert last is not None
    assert last.id == over.pk


def test_what_happened_comes_in_order_without_noise(namespace: Namespace, writer: User) -> None:
    session = session_of(writer, namespace)
    for kind in ("prompt", "notification", "tool_use", "stop"):
        observe(session, kind, content=kind)
    kinds = [one.kind for one in checkpoints.happenings_of(session_id=session.pk)]
    assert kinds == ["prompt", "tool_use", "stop"]
