"""What pushes do to memories: real repositories, real mirrors, the pipeline as a worker runs it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from codemem.accounts.models import Namespace, User
from graph import queries as graph
from graph.models import Repository
from indexing.memories import MirrorReader, Settled, settle
from indexing.pipeline import run_index
from indexing.services import request_index
from memory.anchors import citation
from memory.models import Anchor, Memory, MemoryVersion, ReviewItem
from memory.services import anchor_memory, anchors_of, drafted, store_memory
from tests import factories
from tests.factories import NOW
from tests.indexing.checkout import Checkout
from tests.memory.conftest import WordModel

pytestmark = pytest.mark.django_db

CODE = "import os\n\n\ndef retry(x):\n    return x * 3\n\n\ndef wait():\n    return 1\n"
Remember = Callable[..., Memory]


def push(repository: Repository, *, ref: str = "") -> Settled:
    """Index a ref and do what a worker does after it."""
    run_id = request_index(repository_id=repository.pk, ref=ref, requested_by="tests")
    assert run_index(run_id=run_id, now=NOW) is not None
    settled = settle(repository_id=repository.pk, ref=ref, now=NOW)
    assert settled is not None
    return settled


@pytest.fixture
def remember(mirrored: Repository, writer: User) -> Remember:
    model = WordModel()

    def remember(text: str, *cited: Any, **changes: Any) -> Memory:
        outcome = store_memory(
            caller=factories.caller_of(writer),
            namespace_id=mirrored.namespace_id,
            repository_id=mirrored.pk,
            content=text,
            memory_type="decision",
            now=NOW,
            provider=model,
            **changes,
        )
        memory = Memory.objects.get(pk=outcome.memory.id)
        drafts = drafted(cited, repository_id=mirrored.pk)
        anchor_memory(memory, drafts, actor="walter", now=NOW)
        return memory

    return remember


def state(memory: Memory) -> tuple[str, str]:
    (anchor,) = anchors_of([memory.pk])[memory.pk]
    return anchor.state.value, anchor.cites


# --- Anchors --------------------------------------------------------------------------------------
def test_a_push_finds_what_moved_what_changed_and_what_is_gone(
    mirrored: Repository, source: Checkout, remember: Remember
) -> None:
    alone = "def wait():\n    return None\n"
    source.commit({"a.py": CODE, "b.py": CODE, "c.py": alone, "d.py": CODE})
    push(mirrored)
    moved = remember("Moved.", citation(path="a.py", start_line=4, end_line=5))
    changed = remember("Changed.", citation(symbol="sym:b.py#retry"))
    gone = remember("Gone.", citation(path="c.py", pattern=r"def wait"))
    renamed = remember("Renamed.", citation(path="d.py", start_line=4, end_line=5))
    assert {state(one)[0] for one in (moved, changed, gone, renamed)} == {"ok"}
    source.commit(
        {
            "a.py": "# new\n" + CODE,
            "b.py": CODE.replace("* 3", "* 5"),
            "c.py": None,
            "d.py": None,
            "lib/e.py": CODE,
        }
    )
    assert push(mirrored).anchors_changed == 2  # what changed, and what is gone
    assert state(moved) == ("ok", "a.py:5-6")
    assert state(changed) == ("drifted", "sym:b.py#retry")
    assert state(renamed) == ("ok", "lib/e.py:4-5")
    assert state(gone)[0] == "missing"
    assert Memory.objects.get(pk=changed.pk).state == "active"
    source.commit({"b.py": CODE})
    push(mirrored)
    assert state(changed)[0] == "ok"


def test_only_what_a_push_touched_is_checked_and_twice_is_once(
    mirrored: Repository, source: Checkout, remember: Remember
) -> None:
    source.commit({"a.py": CODE, "b.py": CODE})
    push(mirrored)
    touched = remember("Touched.", citation(path="a.py", start_line=4, end_line=5))
    other = remember("Other.", citation(path="b.py", start_line=4, end_line=5))
    first = Anchor.objects.get(memory=other).checked_commit
    head = source.commit({"a.py": CODE.replace("3", "4")})
    assert push(mirrored).anchors_changed == 1
    assert push(mirrored).anchors_changed == 0
    assert Anchor.objects.get(memory=touched).checked_commit == head
    assert Anchor.objects.get(memory=other).checked_commit == first


def test_a_history_that_was_rewritten_has_everything_checked(
    mirrored: Repository, source: Checkout, remember: Remember
) -> None:
    source.commit({"a.py": CODE})
    push(mirrored)
    memory = remember("Kept.", citation(path="a.py", start_line=4, end_line=5))
    source.git("checkout", "--quiet", "--orphan", "again")
    source.commit({"a.py": CODE.replace("3", "7")})
    source.git("branch", "--force", "main")
    source.git("checkout", "--quiet", "main")
    push(mirrored)
    assert state(memory)[0] == "drifted"


def test_a_read_on_a_branch_sees_its_own_content(
    mirrored: Repository, source: Checkout, remember: Remember
) -> None:
    source.commit({"a.py": CODE, "b.py": CODE})
    push(mirrored)
    memory = remember("Cited.", citation(path="a.py", start_line=4, end_line=5))
    source.git("checkout", "--quiet", "-b", "feature")
    source.commit({"a.py": CODE.replace("3", "4")})
    push(mirrored, ref="feature")

    def seen(ref: str | None) -> str:
        where = graph.get_ref_state(repository_id=mirrored.pk, ref=ref)
        found = anchors_of([memory.pk], ref=where, repository_id=mirrored.pk)
        return found[memory.pk][0].state.value

    assert (seen(None), seen("feature"), seen("nowhere")) == ("ok", "drifted", "unverified")
    assert state(memory)[0] == "ok"


def test_the_mirror_says_what_it_has_and_nothing_else(
    mirrored: Repository, source: Checkout
) -> None:
    head = source.commit({"a.py": CODE})
    reader = MirrorReader()
    assert reader.blobs_at(repository_id=mirrored.pk, commit=head, paths=["a.py"]) is None
    push(mirrored)
    found = reader.blobs_at(repository_id=mirrored.pk, commit=head, paths=["a.py", "x"])
    assert found is not None
    assert reader.contents(repository_id=mirrored.pk, blobs=[*found.values(), "0" * 40]) == {
        found["a.py"]: CODE.encode()
    }
    assert reader.blobs_at(repository_id=mirrored.pk, commit="f" * 40, paths=["a.py"]) is None


# --- Branches -------------------------------------------------------------------------------------
@pytest.fixture
def feature(mirrored: Repository, source: Checkout) -> Checkout:
    """Return the checkout on a branch with a commit of its own, both indexed."""
    source.commit({"a.py": CODE})
    push(mirrored)
    source.git("checkout", "--quiet", "-b", "feature")
    source.commit({"b.py": CODE})
    push(mirrored, ref="feature")
    return source


def test_memories_of_a_merged_branch_hold_everywhere(
    mirrored: Repository, feature: Checkout, remember: Remember
) -> None:
    memory = remember("Only there.", branch="feature")
    assert push(mirrored).promoted == 0
    feature.git("checkout", "--quiet", "main")
    feature.git("merge", "--quiet", "--no-ff", "--message=Merge", "feature")
    assert push(mirrored).promoted == 1
    assert Memory.objects.get(pk=memory.pk).branch == ""
    version = MemoryVersion.objects.get(memory=memory)
    assert (version.change, version.snapshot["branch"]) == ("promoted", "feature")


def test_a_squashed_branch_counts_when_it_is_gone_with_a_memory_nobody_had_noted(
    mirrored: Repository, feature: Checkout, remember: Remember
) -> None:
    memory = remember("Only there.", branch="feature")
    feature.git("checkout", "--quiet", "main")
    feature.git("merge", "--quiet", "--squash", "feature")
    feature.commit({"z.py": "z = 1\n"}, subject="Squashed")
    feature.git("branch", "--quiet", "-D", "feature")
    assert push(mirrored).promoted == 1
    assert Memory.objects.get(pk=memory.pk).branch == ""


def test_a_branch_that_just_began_is_not_merged_and_one_forwarded_is_when_gone(
    mirrored: Repository, source: Checkout, remember: Remember
) -> None:
    source.commit({"a.py": CODE})
    source.git("branch", "fresh")
    push(mirrored)
    memory = remember("Only there.", branch="fresh")
    assert push(mirrored).promoted == 0
    source.commit({"b.py": CODE})
    source.git("branch", "--quiet", "-D", "fresh")
    assert push(mirrored).promoted == 1
    assert Memory.objects.get(pk=memory.pk).branch == ""


def test_what_the_base_learned_meanwhile_is_put_before_a_person(
    mirrored: Repository, feature: Checkout, remember: Remember
) -> None:
    memory = remember(
        "Failed uploads to the archive are retried three times before the night run.",
        branch="feature",
    )
    Memory.objects.filter(pk=memory.pk).update(created_at=NOW - timedelta(days=1))
    rival = remember(
        "Failed uploads to the archive are retried five times before the night run.",
        is_distinct=True,
    )
    feature.git("checkout", "--quiet", "main")
    feature.git("merge", "--quiet", "--no-ff", "--message=Merge", "feature")
    settled = push(mirrored)
    assert (settled.promoted, settled.queued) == (0, 1)
    item = ReviewItem.objects.get(kind="promote")
    assert item.memory_ids == [str(memory.pk), str(rival.pk)]
    assert Memory.objects.get(pk=memory.pk).branch == "feature"
    assert push(mirrored).queued == 0


def test_memories_of_an_abandoned_branch_expire_after_a_while_unless_pinned(
    mirrored: Repository, feature: Checkout, remember: Remember, namespace: Namespace
) -> None:
    memory = remember("Only there.", branch="feature")
    pinned = remember("Pinned down.", branch="feature", is_pinned=True)
    feature.git("checkout", "--quiet", "main")
    feature.git("branch", "--quiet", "-D", "feature")
    assert push(mirrored).expiring == 1
    assert Memory.objects.get(pk=memory.pk).expires_at == NOW + timedelta(days=30)
    assert Memory.objects.get(pk=pinned.pk).expires_at is None
    assert push(mirrored).expiring == 0


def test_words_that_the_base_has_already_are_not_said_twice(
    mirrored: Repository, feature: Checkout, remember: Remember
) -> None:
    base = remember("Said in both.")
    memory = remember("Said in both.", branch="feature", is_distinct=True)
    assert memory.pk != base.pk
    feature.git("checkout", "--quiet", "main")
    feature.git("merge", "--quiet", "--no-ff", "--message=Merge", "feature")
    assert push(mirrored).promoted == 1
    after = Memory.objects.get(pk=memory.pk)
    assert (after.state, after.superseded_by_id) == ("superseded", base.pk)
