"""Work items: whose they are, who sees them, and what may be done to one that is over."""

from uuid import uuid4

import pytest

from codemem.accounts.models import AuditEvent, Namespace, User
from graph.models import Repository
from memory import work_items
from memory.models import WorkItem
from memory.services import MemoryInvalid, NamespaceUnknown, RepositoryUnknown, RightMissing
from memory.work_items import WorkEnded, WorkTexts, WorkUnknown, WorkValue
from tests import factories
from tests.factories import NOW
from tests.memory.test_handoffs import session_of


def opened(
    user: User, namespace: Namespace, title: str = "Retries", **changes: object
) -> WorkValue:
    texts = WorkTexts(title=title, goal="Uploads survive a lost line.", remaining=["Tests"])
    arguments = {"namespace_id": namespace.pk, "texts": texts, "now": NOW} | changes
    return work_items.open_item(caller=factories.caller_of(user), **arguments)  # type: ignore[arg-type]


def listed(user: User, namespace: Namespace, **changes: object) -> list[str]:
    arguments = {"namespace_ids": [namespace.pk]} | changes
    found = work_items.list_items(caller=factories.caller_of(user), **arguments)  # type: ignore[arg-type]
    return [item.title for item in found]


def test_an_item_is_its_owners_until_it_is_shared(
    namespace: Namespace, writer: User, maintainer: User, outsider: User
) -> None:
    item = opened(writer, namespace)
    assert listed(writer, namespace) == ["Retries"]
    assert listed(maintainer, namespace) == listed(outsider, namespace) == []
    with pytest.raises(WorkUnknown):
        work_items.get_item(caller=factories.caller_of(maintainer), item_id=item.id)
    work_items.update_item(
        caller=factories.caller_of(writer),
        item_id=item.id,
        texts=WorkTexts(is_shared=True),
        now=NOW,
    )
    assert listed(maintainer, namespace) == ["Retries"]
    assert listed(outsider, namespace) == []


def test_a_colleague_moves_shared_work_on_but_neither_hides_nor_cancels_it(
    namespace: Namespace, writer: User, maintainer: User, reader: User
) -> None:
    item = opened(writer, namespace, texts=WorkTexts(title="Retries", is_shared=True))
    colleague = factories.caller_of(maintainer)
    moved = work_items.update_item(
        caller=colleague, item_id=item.id, texts=WorkTexts(done=["Code"]), now=NOW
    )
    assert moved.done == ("Code",)
    with pytest.raises(RightMissing):
        work_items.update_item(
            caller=colleague, item_id=item.id, texts=WorkTexts(is_shared=False), now=NOW
        )
    with pytest.raises(RightMissing):
        work_items.change_state(caller=colleague, item_id=item.id, state="cancelled", now=NOW)
    assert work_items.change_state(
        caller=colleague, item_id=item.id, state="done", now=NOW
    ).ended_at
    with pytest.raises(RightMissing):
        work_items.change_state(
            caller=factories.caller_of(reader), item_id=item.id, state="open", now=NOW
        )


def test_what_is_not_named_stays(namespace: Namespace, writer: User) -> None:
    item = opened(writer, namespace)
    changed = work_items.update_item(
        caller=factories.caller_of(writer),
        item_id=item.id,
        texts=WorkTexts(remaining=[]),
        now=NOW,
    )
    assert (changed.goal, changed.remaining) == (item.goal, ())


def test_the_same_title_is_the_same_item(
    namespace: Namespace, repository: Repository, writer: User, maintainer: User
) -> None:
    first = opened(writer, namespace)
    assert opened(writer, namespace, "retries").id == first.id
    assert opened(writer, namespace, repository_id=repository.pk).id != first.id
    assert opened(maintainer, namespace).id != first.id
    work_items.change_state(
        caller=factories.caller_of(writer), item_id=first.id, state="done", now=NOW
    )
    assert opened(writer, namespace).id != first.id


def test_what_is_over_is_resumed_before_it_goes_on(namespace: Namespace, writer: User) -> None:
    item = opened(writer, namespace)
    caller = factories.caller_of(writer)
    over = work_items.change_state(caller=caller, item_id=item.id, state="done", now=NOW)
    assert over.ended_at == NOW
    assert listed(writer, namespace) == []
    assert listed(writer, namespace, states=["done"]) == ["Retries"]
    with pytest.raises(WorkEnded, match="resume"):
        work_items.update_item(caller=caller, item_id=item.id, texts=WorkTexts(done=["x"]), now=NOW)
    again = work_items.change_state(caller=caller, item_id=item.id, state="open", now=NOW)
    assert again.ended_at is None


def test_a_pause_is_listed_and_leaves_an_event_once(namespace: Namespace, writer: User) -> None:
    item = opened(writer, namespace)
    for _ in range(2):
        work_items.change_state(
            caller=factories.caller_of(writer), item_id=item.id, state="paused", now=NOW
        )
    assert listed(writer, namespace) == ["Retries"]
    actions = list(AuditEvent.objects.filter(target=str(item.id)).values_list("action", flat=True))
    assert sorted(actions) == ["work.open", "work.paused"]


def test_sessions_that_worked_on_it_are_counted(
    namespace: Namespace, writer: User, maintainer: User
) -> None:
    mine, theirs = session_of(writer, namespace), session_of(maintainer, namespace)
    item = opened(writer, namespace, session_id=mine.pk)
    assert item.sessions == 1
    assert opened(writer, namespace, session_id=theirs.pk).sessions == 1


def test_work_of_the_whole_namespace_shows_in_every_repository(
    namespace: Namespace, repository: Repository, writer: User
) -> None:
    other = factories.make_repository(namespace, "other")
    opened(writer, namespace, "Everywhere")
    opened(writer, namespace, "Here", repository_id=repository.pk)
    assert set(listed(writer, namespace, repository_id=repository.pk)) == {"Everywhere", "Here"}
    assert listed(writer, namespace, repository_id=other.pk) == ["Everywhere"]


def test_secrets_are_taken_out(namespace: Namespace, writer: User) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    opened(writer, namespace, texts=WorkTexts(title="Deploy", goal=f"with {secret}"))
    assert secret not in WorkItem.objects.get().goal


@pytest.mark.parametrize(
    "texts",
    [
        WorkTexts(),
        WorkTexts(title=" "),
        WorkTexts(title="x" * 201),
        WorkTexts(title="x", goal="y" * 8_001),
        WorkTexts(title="x", done=["y" * 1_001]),
        WorkTexts(title="x", remaining=[str(n) for n in range(51)]),
        WorkTexts(title="x", files=[str(n) for n in range(201)]),
    ],
)
def test_what_cannot_be_kept_is_refused(
    texts: WorkTexts, namespace: Namespace, writer: User
) -> None:
    with pytest.raises(MemoryInvalid):
        opened(writer, namespace, texts=texts)
    assert not WorkItem.objects.exists()


def test_places_that_are_not_the_callers_are_unknown(
    namespace: Namespace, writer: User, reader: User, outsider: User
) -> None:
    foreign = factories.make_repository(factories.make_namespace())
    with pytest.raises(RepositoryUnknown):
        opened(writer, namespace, repository_id=foreign.pk)
    with pytest.raises(NamespaceUnknown):
        opened(outsider, namespace)
    with pytest.raises(RightMissing):
        opened(reader, namespace)
    with pytest.raises(WorkUnknown):
        work_items.change_state(
            caller=factories.caller_of(writer), item_id=uuid4(), state="done", now=NOW
        )
