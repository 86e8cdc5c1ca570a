"""Anchors: what is cited, hashed by the server, and checked against the code."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest

from codemem.accounts.values import Caller
from graph import queries as graph_queries
from graph import services as graph
from graph.models import Repository
from memory import anchors_seen
from memory.anchors import AnchorInvalid, AnchorState, citation, lines_hash, lines_of
from memory.anchors_seen import PatternTooSlow, matches
from memory.models import Anchor, Memory, MemoryEntity
from memory.services import (
    anchor_memory,
    anchors_of,
    check_anchors,
    drafted,
    list_drifted,
    memories_anchored_at,
    recheck,
)
from memory.services.anchoring import demotion, state_of
from tests import factories
from tests.memory.conftest import Store

pytestmark = pytest.mark.django_db

TEXT = "import os\n\ndef retry():\n    return 3\n\ndef wait():\n    return 1\n"


class Contents:
    """Repositories' content by blob id, as a mirror has it."""

    def __init__(self) -> None:
        self.by_blob: dict[str, bytes] = {}
        self.at_commit: dict[str, dict[str, str]] = {}
        self.declared: frozenset[str] | None = frozenset({"pkg:pypi:django"})

    def contents(self, *, repository_id: UUID, blobs: Collection[str]) -> Mapping[str, bytes]:
        return {blob: self.by_blob[blob] for blob in blobs if blob in self.by_blob}

    def blobs_at(
        self, *, repository_id: UUID, commit: str, paths: Sequence[str]
    ) -> Mapping[str, str] | None:
        return self.at_commit.get(commit)

    def packages(self, *, repository_id: UUID) -> frozenset[str] | None:
        return self.declared


@pytest.fixture
def contents() -> Iterator[Contents]:
    before = list(anchors_seen._readers)
    reader = Contents()
    anchors_seen.read_code_with(reader)
    yield reader
    anchors_seen._readers[:] = before


def put(
    repository: Repository,
    contents: Contents,
    files: Mapping[str, str],
    *,
    commit: str = "1",
    body: str = "return 3",
    renamed: bool = False,
) -> None:
    """Put a snapshot whose files have these texts, and a symbol `retry` in each."""
    facts = []
    for path, text in files.items():
        fact = factories.file_fact(path, blob=text)
        contents.by_blob[fact.blob] = text.encode()
        facts.append(fact)
    symbols = [factories.symbol_fact(path, "retry", line=3, body=body) for path in files]
    graph.put(
        repository_id=repository.pk,
        ref_name="main",
        snapshot=factories.snapshot(*symbols, files=facts, commit=commit, at=1_000 + ord(commit)),
    )


def anchored(store: Store, repository: Repository, *cited: Any, text: str = "Retry.") -> Memory:
    memory = Memory.objects.get(pk=store(text, repository_id=repository.pk).memory.id)
    drafts = drafted(cited, repository_id=repository.pk)
    anchor_memory(memory, drafts, actor="walter", now=factories.NOW)
    return memory


def state_after(memory: Memory, repository: Repository, **changes: Any) -> tuple[str, str]:
    """Return the state of a memory's one anchor after a check, and what it cites by then."""
    arguments: dict[str, Any] = {"touched": None, "renames": {}, "commit": "2" * 40}
    check_anchors(repository_id=repository.pk, now=factories.NOW, **(arguments | changes))
    (anchor,) = anchors_of([memory.pk])[memory.pk]
    return anchor.state, anchor.cites


def test_cited_lines_are_hashed_by_the_server(
    store: Store, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"src/net.py": TEXT})
    memory = anchored(store, repository, citation(path="src/net.py", start_line=3, end_line=4))
    anchor = Anchor.objects.get(memory=memory)
    assert (anchor.state, anchor.commit) == ("ok", "1" * 40)
    assert anchor.content_hash is not None
    assert bytes(anchor.content_hash) == lines_hash(["def retry():", "return 3"])
    entity = MemoryEntity.objects.get(memory=memory, kind="path")
    assert entity.key == "src/net.py"
    vertex = graph_queries.get_node(repository_id=repository.pk, id="file:src/net.py").vertex
    assert graph_queries.memories_linked_to(
        namespace_id=repository.namespace_id, vertices=[vertex]
    ) == [memory.number]


def test_lines_that_moved_are_ok_where_they_are_now(
    store: Store, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"src/net.py": TEXT})
    memory = anchored(store, repository, citation(path="src/net.py", start_line=3, end_line=4))
    put(repository, contents, {"src/net.py": "# one\n# two\n" + TEXT}, commit="2")
    assert state_after(memory, repository) == (AnchorState.OK, "src/net.py:5-6")


def test_lines_that_say_something_else_drifted_and_come_back(
    store: Store, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"src/net.py": TEXT})
    memory = anchored(store, repository, citation(path="src/net.py", start_line=3, end_line=4))
    put(repository, contents, {"src/net.py": TEXT.replace("3", "9")}, commit="2")
    assert state_after(memory, repository) == (AnchorState.DRIFTED, "src/net.py:3-4")
    values = anchors_of([memory.pk])[memory.pk]
    assert state_of(values) is AnchorState.DRIFTED
    assert demotion(values) < 1
    put(repository, contents, {"src/net.py": TEXT}, commit="3")
    assert state_after(memory, repository, commit="3" * 40)[0] is AnchorState.OK
    assert Memory.objects.get(pk=memory.pk).state == "active"


def test_a_renamed_file_is_followed_and_a_removed_one_is_missing(
    store: Store, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"src/net.py": TEXT, "src/gone.py": TEXT})
    moved = anchored(store, repository, citation(path="src/net.py", start_line=3))
    gone = anchored(store, repository, citation(path="src/gone.py"), text="Gone.")
    put(repository, contents, {"lib/net.py": TEXT}, commit="2")
    renames = {"src/net.py": "lib/net.py"}
    touched = {"src/net.py", "lib/net.py", "src/gone.py"}
    assert state_after(moved, repository, renames=renames, touched=touched) == (
        AnchorState.OK,
        "lib/net.py:3-3",
    )
    assert anchors_of([gone.pk])[gone.pk][0].state is AnchorState.MISSING


def test_a_symbol_is_ok_while_its_text_is_and_found_again_where_it_went(
    store: Store, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"src/net.py": TEXT})
    memory = anchored(store, repository, citation(symbol="sym:src/net.py#retry"))
    put(repository, contents, {"lib/http.py": "x\n" + TEXT}, commit="2")
    assert state_after(memory, repository) == (AnchorState.OK, "sym:lib/http.py#retry")
    put(repository, contents, {"lib/http.py": "y\n" + TEXT}, commit="3", body="return 9")
    assert state_after(memory, repository, commit="3" * 40)[0] is AnchorState.DRIFTED
    put(repository, contents, {"other.py": TEXT}, commit="4", body="return 7")
    assert state_after(memory, repository, commit="4" * 40)[0] is AnchorState.MISSING


def test_patterns_and_packages_are_cited_too(
    store: Store, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"src/net.py": TEXT})
    memory = anchored(store, repository, citation(path="src/net.py", pattern=r"return \d$"))
    other = anchored(store, repository, citation(package="pkg:pypi:django"), text="Django.")
    put(repository, contents, {"src/net.py": TEXT.replace("return", "yield")}, commit="2")
    contents.declared = frozenset({"pkg:pypi:flask"})
    assert state_after(memory, repository)[0] is AnchorState.DRIFTED
    assert anchors_of([other.pk])[other.pk][0].state is AnchorState.MISSING


def test_only_what_a_push_touched_is_checked(
    store: Store, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"a.py": TEXT, "b.py": TEXT})
    memory = anchored(store, repository, citation(path="a.py", start_line=4))
    other = anchored(store, repository, citation(path="b.py", start_line=4), text="Other.")
    changed = {"a.py": TEXT.replace("3", "4"), "b.py": TEXT.replace("3", "4")}
    put(repository, contents, changed, commit="2")
    assert state_after(memory, repository, touched={"a.py"})[0] is AnchorState.DRIFTED
    assert Anchor.objects.get(memory=other).checked_commit == "1" * 40


def test_a_read_judges_what_the_push_was_not_checked_for_yet(
    store: Store, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"a.py": TEXT})
    memory = anchored(store, repository, citation(path="a.py", start_line=4))
    put(repository, contents, {"a.py": TEXT.replace("3", "4")}, commit="2")
    live = graph_queries.get_ref_state(repository_id=repository.pk, ref=None)
    unknown = graph_queries.get_ref_state(repository_id=repository.pk, ref="feature")

    def state(ref: Any) -> AnchorState:
        found = anchors_of([memory.pk], ref=ref, repository_id=repository.pk)
        return found[memory.pk][0].state

    assert state(None) is AnchorState.OK
    assert state(live) is AnchorState.DRIFTED
    assert state(unknown) is AnchorState.UNVERIFIED
    contents.by_blob.clear()
    assert state(live) is AnchorState.UNVERIFIED
    assert Anchor.objects.get(memory=memory).state == "ok"


def test_what_is_not_committed_yet_is_cited_by_the_callers_hash(
    store: Store, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"a.py": TEXT})
    ahead = TEXT.replace("3", "5")
    digest = lines_hash(lines_of(ahead.encode())[2:4]).hex()
    memory = anchored(
        store, repository, citation(path="a.py", start_line=3, end_line=4, content_hash=digest)
    )
    assert Anchor.objects.get(memory=memory).state == "unverified"
    put(repository, contents, {"a.py": ahead}, commit="2")
    assert state_after(memory, repository)[0] is AnchorState.OK


def test_a_citation_of_an_older_commit_is_hashed_there(
    store: Store, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"a.py": TEXT})
    contents.by_blob["old"] = b"first\nsecond\n"
    contents.at_commit["f" * 40] = {"a.py": "old"}
    memory = anchored(store, repository, citation(path="a.py", start_line=2, commit="f" * 40))
    anchor = Anchor.objects.get(memory=memory)
    assert (anchor.state, anchor.commit) == ("ok", "f" * 40)
    assert state_after(memory, repository)[0] is AnchorState.DRIFTED
    absent = anchored(
        store, repository, citation(path="a.py", start_line=1, commit="e" * 40), text="Absent."
    )
    assert Anchor.objects.get(memory=absent).state == "unverified"


@pytest.mark.parametrize(
    "cited",
    [
        {"path": "../etc/passwd"},
        {"path": "/etc/passwd"},
        {"path": "C:\\windows"},
        {"path": "src//a.py"},
        {"path": "src/\0.py"},
        {"path": "a.py", "start_line": 0},
        {"path": "a.py", "start_line": -3, "end_line": -1},
        {"path": "a.py", "start_line": 9, "end_line": 3},
        {"path": "a.py", "start_line": 1, "end_line": 2_001},
        {"path": "a.py", "commit": "main; rm -rf"},
        {"path": "a.py", "content_hash": "abc"},
        {"symbol": "retry"},
        {"symbol": "sym:../a.py#x"},
        {"package": "django"},
        {"pattern": "x"},
        {"path": "a.py", "pattern": "x" * 501},
        {},
    ],
)
def test_a_broken_citation_is_refused_in_a_sentence(cited: dict[str, Any]) -> None:
    with pytest.raises(AnchorInvalid, match=r"\.$"):
        citation(**cited)


@pytest.mark.parametrize(
    "cited",
    [
        {"path": "nowhere.py"},
        {"path": "a.py", "start_line": 500},
        {"symbol": "sym:a.py#nothing"},
        {"path": "a.py", "pattern": "nothing like it"},
        {"path": "a.py", "pattern": "(unclosed"},
        {"path": "a.py", "pattern": "((((x{1,255}){1,255}){1,255}){1,255})"},
        {"package": "pkg:npm:left-pad"},
    ],
)
def test_what_is_not_there_cannot_be_cited(
    store: Store, repository: Repository, contents: Contents, cited: dict[str, Any]
) -> None:
    put(repository, contents, {"a.py": TEXT})
    with pytest.raises(AnchorInvalid):
        drafted([citation(**cited)], repository_id=repository.pk)


def test_a_pattern_that_takes_too_long_is_stopped_and_the_connection_goes_on() -> None:
    with pytest.raises(PatternTooSlow):
        matches(r"^(a+)(a+)(a+)b\1\2\3c$", b"a" * 3_000 + b"b" + b"a" * 2_999 + b"c")
    assert matches(r"^(a+)+$", b"a" * 30_000 + b"!") is False
    assert matches(r"^b", b"a\nb\n") is True
    assert matches(r"a.b", b"a\nb\n") is False


def test_places_lead_to_the_memories_anchored_there(
    store: Store, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"a.py": TEXT})
    memory = anchored(store, repository, citation(symbol="sym:a.py#retry"))

    def found(*paths: str, symbols: Sequence[str] = ()) -> dict[UUID, float]:
        return memories_anchored_at(repository_id=repository.pk, paths=paths, symbols=symbols)

    assert found(symbols=["sym:a.py#retry"]) == {memory.pk: 1.0}
    assert found(symbols=["sym:a.py#other"]) == {memory.pk: 0.5}
    assert found("b.py") == {}


def test_the_same_place_is_anchored_once(
    store: Store, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"a.py": TEXT})
    one = citation(path="a.py", start_line=3, end_line=4)
    memory = anchored(store, repository, one, one)
    again = drafted([one], repository_id=repository.pk)
    assert anchor_memory(memory, again, actor="walter", now=factories.NOW) == 0
    assert Anchor.objects.filter(memory=memory).count() == 1


def test_the_author_finds_what_drifted_and_confirms_what_still_holds(
    store: Store, writing: Caller, repository: Repository, contents: Contents
) -> None:
    put(repository, contents, {"a.py": TEXT})
    memory = anchored(store, repository, citation(path="a.py", start_line=4))

    def drifted() -> list[UUID]:
        places = [repository.namespace_id]
        found = list_drifted(caller=writing, namespace_ids=places, now=factories.NOW)
        return [one.id for one in found]

    assert drifted() == []
    put(repository, contents, {"a.py": TEXT.replace("3", "4")}, commit="2")
    state_after(memory, repository)
    assert drifted() == [memory.pk]
    assert recheck(caller=writing, memory_id=memory.pk, now=factories.NOW) == 0
    assert recheck(caller=writing, memory_id=memory.pk, now=factories.NOW, confirm=True) == 1
    assert drifted() == []
    anchor = Anchor.objects.get(memory=memory)
    assert anchor.content_hash is not None
    assert bytes(anchor.content_hash) == lines_hash(["return 4"])
