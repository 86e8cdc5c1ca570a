"""History from Git, step by step and after everything that happens to a repository."""

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from graph import services as graph
from graph.events import Happening
from graph.models import Commit, PullRequest, Repository
from graph.queries import history as queries
from indexing.history import backfill, mapping, spans
from indexing.history.backfill import advance, histories_to_advance
from indexing.history.past import graph_at, moment
from indexing.history.spans import tree_at
from indexing.mirrors import mirror_path
from indexing.models import BlobFacts, History, TreeSpan
from tests.indexing.checkout import index

pytestmark = pytest.mark.django_db

TOTAL = """\
def total(items):
    amount = 0
    for item in items:
        amount += item.price * item.count
    return amount
"""


def bring_up(repository: Repository) -> History:
    """Index the head and its whole history, as workers would after a push."""
    index(repository)
    while advance(repository_id=repository.pk, seconds=60):
        pass
    return History.objects.get(pk=repository.pk)


def told(repository: Repository, node: str) -> list[tuple[str, str, str]]:
    """Return (subject, what happened, to what), newest first."""
    vertex = queries.vertex_of_past(repository_id=repository.pk, id=node)
    assert vertex is not None, node
    events, _ = queries.events_of(namespace_id=repository.namespace_id, vertex=vertex, limit=100)
    return [
        (event.commit.subject, event.touched.happening.value, event.touched.id) for event in events
    ]


def landed(repository: Repository) -> dict[str, int | None]:
    return dict(Commit.objects.filter(repository=repository).values_list("subject", "landed"))


def test_every_commit_of_the_default_branch_is_known(mirrored, source):
    source.commit({"a.py": "x = 1\n"}, subject="First")
    source.commit({"a.py": "x = 2\n"}, subject="Second (#4)")

    history = bring_up(mirrored)

    assert history.state == History.State.DONE
    assert (history.commits_total, history.commits_done, history.length) == (2, 2, 2)
    assert landed(mirrored) == {"First": 0, "Second (#4)": 1}
    assert Commit.objects.get(pull_request__number=4).subject == "Second (#4)"


def test_a_symbol_is_followed_through_changes_renames_and_moves(mirrored, source):
    source.commit({"a.py": "def other():\n    return 1\n"}, subject="Begin")
    source.commit({"a.py": "def other():\n    return 1\n\n\n" + TOTAL}, subject="Add")
    source.commit(
        {"a.py": "import os\n\n\ndef other():\n    return 2\n\n\n" + TOTAL}, subject="Not it"
    )
    changed = TOTAL.replace("amount = 0", "amount = 0.0")
    source.commit({"a.py": "def other():\n    return 2\n\n\n" + changed}, subject="Change")
    renamed = changed.replace("def total", "def sum_of")
    source.commit({"a.py": "def other():\n    return 2\n\n\n" + renamed}, subject="Rename")
    source.commit(
        {"a.py": None, "lib/b.py": "def other():\n    return 2\n\n\n" + renamed}, subject="Move"
    )

    bring_up(mirrored)

    assert told(mirrored, "sym:lib/b.py#sum_of") == [
        ("Move", "moved", "sym:lib/b.py#sum_of"),
        ("Rename", "moved", "sym:a.py#sum_of"),
        ("Change", "modified", "sym:a.py#total"),
        ("Add", "added", "sym:a.py#total"),
    ]
    assert told(mirrored, "file:lib/b.py")[0] == ("Move", "moved", "file:lib/b.py")
    assert told(mirrored, "file:lib/b.py")[-1] == ("Begin", "added", "file:a.py")
    gone = queries.vertex_of_past(repository_id=mirrored.pk, id="sym:a.py#total")
    assert gone is not None
    life = queries.lifetime_of(namespace_id=mirrored.namespace_id, vertex=gone)
    ends = (life.valid_from, life.valid_to)
    assert [end.subject for end in ends if end is not None] == ["Add", "Rename"]


def test_a_function_that_stood_behind_others_of_its_name_tells_only_of_itself(mirrored, source):
    overloads = "@overload\ndef total(items: list[int]) -> int: ...\n" * 2
    source.commit({"a.py": TOTAL}, subject="Add", at="2026-01-01T00:00:00Z")
    source.commit({"a.py": overloads + TOTAL}, subject="Overload", at="2026-01-02T00:00:00Z")
    source.commit({"a.py": TOTAL}, subject="Plain again", at="2026-01-03T00:00:00Z")

    bring_up(mirrored)

    assert told(mirrored, "sym:a.py#total") == [
        ("Plain again", "moved", "sym:a.py#total"),
        ("Overload", "moved", "sym:a.py#total~2"),
        ("Add", "added", "sym:a.py#total"),
    ]


def test_a_merged_request_has_the_commits_of_its_branch(mirrored, source):
    source.commit({"a.py": "x = 1\n"}, subject="First")
    source.git("checkout", "--quiet", "-b", "fix")
    source.commit({"a.py": "x = 2\n"}, subject="On the branch")
    source.git("checkout", "--quiet", "main")
    source.commit({"b.py": "y = 1\n"}, subject="Beside it")
    message = "Merge pull request #7 from olga/fix\n\nRound totals"
    source.git("merge", "--quiet", "--no-ff", f"--message={message}", "fix")

    bring_up(mirrored)

    request = PullRequest.objects.get(repository=mirrored)
    assert (request.number, request.title, request.branch) == (7, "Round totals", "olga/fix")
    assert {commit.subject for commit in request.commits.all()} == {
        "On the branch",
        "Merge pull request #7 from olga/fix",
    }
    assert landed(mirrored)["On the branch"] == 2


def test_trees_of_the_main_line_are_known_by_position(mirrored, source):
    source.commit({"a.py": "x = 1\n", "b.py": "y = 1\n"})
    source.commit({"a.py": "x = 2\n", "b.py": None})
    source.commit({"a.py": "x = 1\n", "b.py": "y = 1\n"})

    bring_up(mirrored)

    trees = [tree_at(repository_id=mirrored.pk, position=position) for position in range(3)]
    assert [sorted(tree) for tree in trees] == [["a.py", "b.py"], ["a.py"], ["a.py", "b.py"]]
    assert trees[0] == trees[2]
    assert trees[0]["a.py"] != trees[1]["a.py"]


def test_a_push_adds_what_is_new(mirrored, source, monkeypatch):
    source.commit({"a.py": TOTAL}, subject="First")
    bring_up(mirrored)
    source.commit({"a.py": TOTAL.replace("0", "1")}, subject="Second")
    monkeypatch.setattr(backfill, "POSITIONS_AT_ONCE", 1)

    history = bring_up(mirrored)

    assert (history.commits_done, history.length, history.spans_until) == (2, 2, 2)
    assert [subject for subject, _, _ in told(mirrored, "sym:a.py#total")] == ["Second", "First"]
    assert TreeSpan.objects.filter(repository=mirrored, to_position=None).count() == 1


def test_what_a_force_push_takes_away_is_marked_not_deleted(mirrored, source):
    source.commit({"a.py": TOTAL}, subject="First")
    source.commit({"a.py": TOTAL.replace("0", "1")}, subject="Gone")
    bring_up(mirrored)
    source.git("reset", "--quiet", "--hard", "HEAD~1")
    source.commit({"a.py": TOTAL.replace("0", "2")}, subject="Instead")

    bring_up(mirrored)

    assert landed(mirrored) == {"First": 0, "Gone": None, "Instead": 1}
    vertex = queries.vertex_of_past(repository_id=mirrored.pk, id="sym:a.py#total")
    assert vertex is not None
    events, _ = queries.events_of(namespace_id=mirrored.namespace_id, vertex=vertex, limit=10)
    assert {(event.commit.subject, event.commit.is_landed) for event in events} == {
        ("First", True),
        ("Gone", False),
        ("Instead", True),
    }
    blob = source.git("rev-parse", "HEAD:a.py").strip()
    assert tree_at(repository_id=mirrored.pk, position=1) == {"a.py": blob}


def test_a_history_that_was_rewritten_from_its_root_is_read_anew(mirrored, source):
    source.commit({"a.py": TOTAL}, subject="First")
    bring_up(mirrored)
    source.git("checkout", "--quiet", "--orphan", "other")
    source.commit({"b.py": TOTAL}, subject="Another beginning")
    source.git("branch", "--quiet", "-M", "other", "main")

    history = bring_up(mirrored)

    assert history.length == 1
    assert landed(mirrored) == {"First": None, "Another beginning": 0}
    assert list(tree_at(repository_id=mirrored.pk, position=0)) == ["a.py", "b.py"]


def test_a_worker_that_is_killed_in_between_leaves_what_it_did(mirrored, source, monkeypatch):
    for number in range(5):
        source.commit({"a.py": TOTAL.replace("0", str(number))}, subject=f"Change {number}")
    index(mirrored)
    monkeypatch.setattr(backfill, "_COMMITS_AT_ONCE", 2)
    record, calls = graph.record_events, []

    def killed(**arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        record(**arguments)

    monkeypatch.setattr(graph, "record_events", killed)
    with pytest.raises(KeyboardInterrupt):
        advance(repository_id=mirrored.pk, seconds=60)
    mapped = Commit.objects.exclude(mapped_at=None)
    assert {commit.subject for commit in mapped} == {"Change 4", "Change 3"}  # newest first

    history = bring_up(mirrored)

    assert history.commits_done == 5
    assert [subject for subject, _, _ in told(mirrored, "sym:a.py#total")] == [
        f"Change {number}" for number in (4, 3, 2, 1, 0)
    ]


def test_of_what_was_soon_gone_only_the_outline_is_read(mirrored, source, monkeypatch):
    monkeypatch.setattr(spans, "_BRIEF_SHARE", 1)
    for number in range(3):
        source.commit({"a.py": TOTAL.replace("0", str(number))}, subject=f"Change {number}")

    bring_up(mirrored)

    assert [subject for subject, _, _ in told(mirrored, "sym:a.py#total")] == [
        f"Change {number}" for number in (2, 1, 0)
    ]
    assert {row.blob for row in BlobFacts.objects.all()} == set(
        tree_at(repository_id=mirrored.pk, position=2).values()
    )
    then = graph_at(
        moment(repository_id=mirrored.pk, text=source.git("rev-parse", "HEAD~2").strip())
    )
    assert "total" in {node.name for node in then.nodes}


def test_what_a_large_commit_brought_is_kept_however_soon_it_went(mirrored, source, monkeypatch):
    monkeypatch.setattr(spans, "_BRIEF_SHARE", 1)
    monkeypatch.setattr(mapping, "_LARGE_COMMIT_FILES", 1)
    source.commit({"a.py": TOTAL, "b.py": "x = 1\n"}, subject="Two files")
    source.commit({"a.py": TOTAL.replace("0", "1")}, subject="One file")
    source.commit({"a.py": TOTAL.replace("0", "2"), "b.py": "x = 2\n"}, subject="Two again")

    bring_up(mirrored)

    trees = [tree_at(repository_id=mirrored.pk, position=position) for position in range(3)]
    assert {row.blob for row in BlobFacts.objects.all()} == {*trees[0].values(), *trees[2].values()}


def test_of_a_lock_file_only_the_file_has_a_history(mirrored, source):
    source.commit({"pnpm-lock.yaml": "packages: 1\n", "a.py": TOTAL}, subject="First")
    source.commit({"pnpm-lock.yaml": "packages: 2\n"}, subject="Second")

    bring_up(mirrored)

    assert [subject for subject, _, _ in told(mirrored, "file:pnpm-lock.yaml")] == [
        "Second",
        "First",
    ]
    vertex = queries.vertex_of_past(repository_id=mirrored.pk, id="sym:pnpm-lock.yaml#packages")
    events = queries.events_of(namespace_id=mirrored.namespace_id, vertex=vertex or 0, limit=9)
    assert events == ([], 0)


def test_it_works_in_slices(mirrored, source):
    source.commit({"a.py": TOTAL})
    index(mirrored)
    assert advance(repository_id=mirrored.pk, seconds=-1)
    assert History.objects.get().state == History.State.RUNNING
    assert not advance(repository_id=mirrored.pk, seconds=60)
    assert History.objects.get().state == History.State.DONE


def test_only_the_newest_commits_are_looked_into_when_a_depth_is_set(mirrored, source, settings):
    settings.HISTORY_DEPTH = 1
    source.commit({"a.py": TOTAL}, subject="Old", at="2024-05-01T10:00:00Z")
    source.commit({"a.py": TOTAL + "\n"}, subject="New", at="2024-05-02T10:00:00Z")

    history = bring_up(mirrored)

    done = Commit.objects.exclude(mapped_at=None)
    assert [commit.subject for commit in done] == ["New"]
    assert (history.commits_total, history.length, history.spans_until) == (1, 2, 2)


def test_of_a_shallow_clone_the_last_commit_known_adds_nothing(mirrored, source, tmp_path):
    source.commit({"a.py": TOTAL}, subject="First")
    source.commit({"a.py": TOTAL.replace("0", "1")}, subject="Second")
    source.commit({"a.py": TOTAL.replace("0", "2")}, subject="Third")
    shallow = tmp_path / "shallow"
    subprocess.run(
        ["git", "clone", "--quiet", "--depth=2", f"file://{source.path}", str(shallow)], check=True
    )
    mirrored.url = str(shallow)
    mirrored.save()

    history = bring_up(mirrored)

    assert (history.shallow, history.length) == (1, 2)
    assert [row[:2] for row in told(mirrored, "sym:a.py#total")] == [("Third", "modified")]
    assert list(tree_at(repository_id=mirrored.pk, position=0)) == ["a.py"]


def test_what_a_merge_itself_changed_is_its_own(mirrored, source):
    source.commit({"a.py": "x = 1\n" + TOTAL}, subject="First")
    source.git("checkout", "--quiet", "-b", "side")
    source.commit({"a.py": "x = 2\n" + TOTAL}, subject="Side")
    source.git("checkout", "--quiet", "main")
    source.commit({"b.py": "y = 1\n"}, subject="Main")
    source.git("merge", "--quiet", "--no-ff", "--no-commit", "side")
    source.write({"a.py": "x = 2\n" + TOTAL.replace("0", "5")})
    source.git("add", "--all")
    source.git("commit", "--quiet", "--message=Evil merge")

    bring_up(mirrored)

    assert told(mirrored, "sym:a.py#total")[0][:2] == ("Evil merge", "modified")
    assert "Evil merge" not in {row[0] for row in told(mirrored, "sym:a.py#x")}


def test_an_unreachable_remote_is_said_on_the_record(mirrored, source, settings):
    source.commit({"a.py": TOTAL})
    settings.LOCAL_REPOSITORY_ROOTS = ()
    assert not advance(repository_id=mirrored.pk, seconds=60)
    history = History.objects.get()
    assert history.state == History.State.FAILED
    assert "may not read" in history.error


def test_the_clock_finds_histories_that_are_behind(mirrored, source):
    now = timezone.now()
    assert histories_to_advance(now=now) == []
    source.commit({"a.py": TOTAL})
    index(mirrored)
    assert histories_to_advance(now=now) == [mirrored.pk]
    advance(repository_id=mirrored.pk, seconds=60)
    later = timezone.now() + timedelta(hours=2)
    assert histories_to_advance(now=later) == []
    source.commit({"a.py": TOTAL.replace("0", "1")})
    index(mirrored)
    assert histories_to_advance(now=timezone.now()) == []  # its message is on the way
    assert histories_to_advance(now=later) == [mirrored.pk]


def test_a_damaged_object_costs_the_commits_that_need_it_only(mirrored, source):
    source.commit({"a.py": TOTAL}, subject="First")
    source.commit({"b.py": TOTAL.replace("0", "1")}, subject="Second")
    source.commit({"a.py": None, "c.py": TOTAL + "\n"}, subject="Moved")
    index(mirrored)
    blob = source.git("rev-parse", "HEAD:c.py").strip()
    mirror = mirror_path(mirrored.pk)
    remove_object(mirror, blob)

    while advance(repository_id=mirrored.pk, seconds=60):
        pass

    history = History.objects.get()
    assert (history.state, history.commits_done) == (History.State.DONE, 3)
    assert [row[:2] for row in told(mirrored, "sym:b.py#total")] == [("Second", "added")]
    assert [row[:2] for row in told(mirrored, "file:c.py")] == [("Moved", "added")]


def test_another_worker_at_it_is_left_alone(mirrored, source, monkeypatch):
    source.commit({"a.py": TOTAL})
    index(mirrored)

    class Taken:
        def __enter__(self):
            return False

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(backfill, "only_worker", lambda **_: Taken())
    assert not advance(repository_id=mirrored.pk, seconds=60)
    assert not History.objects.exists()


def test_awkward_files_do_no_harm(mirrored, source):
    source.commit(
        {
            "bad.py": b"\xff\xfe\x00not text",
            "deep.py": "(" * 5_000,
            "\udcff.py".encode("utf-8", "surrogateescape").decode("latin-1"): "x = 1\n",
            "big.py": "x = 1\n" * 300_000,
        },
        subject="Awkward",
    )
    source.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    source.git("commit", "--quiet", "--message=Submodule")

    history = bring_up(mirrored)

    assert history.commits_done == 2
    assert "module" not in tree_at(repository_id=mirrored.pk, position=1)
    assert Happening.ADDED.value in {row[1] for row in told(mirrored, "file:bad.py")}


def remove_object(mirror: Path, blob: str) -> None:
    """Take one object out of a mirror, packed or not."""
    for pack in (mirror / "objects" / "pack").glob("*.pack"):
        moved = mirror / pack.name
        pack.rename(moved)
        pack.with_suffix(".idx").unlink()
        with moved.open("rb") as packed:
            subprocess.run(
                ["git", "-C", str(mirror), "unpack-objects", "-q"], stdin=packed, check=True
            )
    (mirror / "objects" / blob[:2] / blob[2:]).unlink()
