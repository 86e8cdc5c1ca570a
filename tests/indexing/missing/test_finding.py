"""What a diff forgot, asked of real repositories: index, history and mirror."""

from collections import Counter
from typing import Any

import pytest

from codemem.accounts.models import Namespace, User
from graph import queries as graph
from graph.models import Repository
from indexing import review
from indexing.comment import comment_of
from indexing.git import Mirror
from indexing.mirrors import find_mirror, mirror_path
from indexing.missing import finding, knowledge
from indexing.missing.values import Missing, MissingChange, Shown, ShownFile
from indexing.sides import Limits
from indexing.values import Review
from tests.factories import NOW, caller_of
from tests.indexing.checkout import Checkout, bring_up, index, register
from workers.tasks import reviewing

pytestmark = pytest.mark.django_db

API = "def create_order(customer):\n    return customer\n"
CLIENT = "def send():\n    return create_order('me')\n"
TEST = "def test_create_order():\n    assert create_order('me')\n"
FILES = {
    "shop/api.py": API,
    "shop/client.py": CLIENT,
    "shop/schema.json": '{"order": 1}\n',
    "tests/test_shop.py": TEST,
    "shop/lonely.py": "def lonely():\n    return 1\n",
    "docs/orders.md": "# Orders\n",
    **{f"other/part{number}.py": f"def part{number}(): ...\n" for number in range(12)},
}


@pytest.fixture
def shop(source: Checkout, namespace: Namespace) -> Repository:
    """A shop whose api and schema changed together nineteen times, and each other file once."""
    source.commit(FILES, at="2026-01-01T00:00:00Z")
    for number in range(2, 20):
        source.commit(
            {
                "shop/api.py": API + f"\n\nV = {number}\n",
                "shop/schema.json": f'{{"v": {number}}}\n',
            },
            at=f"2026-01-{number:02}T00:00:00Z",
        )
    source.commit({"shop/api.py": API}, at="2026-01-20T00:00:00Z")
    repository = register(namespace, source)
    bring_up(repository)
    return repository


def reviewed(repository: Repository, writer: User, diff: str, **changes: Any) -> Review:
    return review.review_diff(
        repository=graph.get_repository(repository_id=repository.pk),
        ref_state=graph.get_ref_state(repository_id=repository.pk, ref=None),
        caller=caller_of(writer),
        diff=diff,
        now=NOW,
        limits=Limits(diff_bytes=1_000_000, file_bytes=1_000_000, processes=1),
        **changes,
    )


def found(repository: Repository, *paths: str, **changes: Any) -> Missing:
    """Ask about a diff of some files, of which nothing else is known unless it is given."""
    commit = graph.get_ref_state(repository_id=repository.pk, ref=None).indexed_commit
    assert commit is not None
    usual: dict[str, Any] = {
        "added": {},
        "removed": {},
        "context": {},
        "redefined": frozenset(),
        "dependents": {},
    }
    asked = {name: changes.pop(name, value) for name, value in usual.items()}
    given: dict[str, Any] = {
        "repository_id": repository.pk,
        "mirror": find_mirror(repository.pk),
        "base_commit": commit,
        "indexed_commit": commit,
        "shown": Shown(
            files=[
                ShownFile(old_path=path, path=path, words=Counter(asked["added"])) for path in paths
            ],
            **asked,
        ),
    }
    return finding.find_missing(**given | changes)


def test_a_review_names_what_past_changes_included_and_says_how_often(shop, source, writer):
    diff = source.diff({"shop/api.py": API + "\n\nV = 30\n"})
    told = reviewed(shop, writer, diff, least_probability=0.2).missing
    missing = {one.path: one for one in told}
    assert 0.2 <= missing["shop/schema.json"].probability < 1
    assert "hanged in 19 of 20 commits of shop/api.py" in missing["shop/schema.json"].reason


def test_a_review_says_so_in_the_comment(shop, source, writer):
    diff = source.diff({"shop/api.py": API + "\n\nV = 30\n"})
    told = reviewed(shop, writer, diff, least_probability=0.2)
    comment = comment_of(told, repository="shop", ref="main")
    assert "**Perhaps forgotten**" in comment
    assert "`shop/schema.json`" in comment


def test_what_is_in_the_diff_is_not_missing(shop, source, writer):
    files = {"shop/api.py": API + "\nX = 1\n", "shop/schema.json": '{"v": 9}\n'}
    missing = reviewed(shop, writer, source.diff(files)).missing
    assert not {one.path for one in missing} & set(files)


def test_who_holds_the_names_that_change_is_suggested(shop):
    words = {"create_order": 2}
    missing = found(
        shop,
        "shop/lonely.py",
        added=words,
        removed=words,
        redefined=frozenset(words),
        dependents={"shop/client.py": 1},
        least=0.0,
        limit=3,
    )
    assert {"shop/client.py", "shop/api.py"} <= {one.path for one in missing.changes}
    (client,) = [one for one in missing.changes if one.path == "shop/client.py"]
    assert "ses create_order, whose definition changes" in client.reason


def test_what_the_title_names_is_likelier(shop, source, writer):
    diff = source.diff({"shop/api.py": API + "\n\nV = 30\n"})

    def told(title: str) -> dict[str, MissingChange]:
        found = reviewed(shop, writer, diff, title=title, most_missing=50, least_probability=0.0)
        return {one.path: one for one in found.missing}

    silent, titled = told(""), told("Tell a lonely customer why")
    assert titled["shop/lonely.py"].probability > 2 * silent["shop/lonely.py"].probability
    assert "s named for lonely, in the title" in titled["shop/lonely.py"].reason
    assert "title" not in silent["shop/lonely.py"].reason


def test_a_title_of_anything_harms_nothing(shop, source, writer):
    diff = source.diff({"shop/api.py": API + "\n\nV = 30\n"})
    usual = reviewed(shop, writer, diff).missing
    for title in ("\0\ud800 \u202e", "!" * 1000, "1 2 3", "zzzz"):
        assert reviewed(shop, writer, diff, title=title).missing == usual


def test_at_most_five_are_named_and_nothing_that_is_unlikely(shop):
    assert len(found(shop, "shop/api.py", least=0.0).changes) == 5
    assert found(shop, "other/part1.py").changes == ()
    assert found(shop).changes == ()


def test_nothing_is_known_that_landed_after_the_base(shop, source):
    old = source.git("rev-list", "--max-parents=0", "HEAD").strip()
    before = found(shop, "shop/api.py", base_commit=old, least=0.0, limit=100)
    assert "hanged in 1 of 1 commit of" in next(
        one.reason for one in before.changes if one.path == "shop/schema.json"
    )
    source.commit({"shop/later.py": "def later():\n    return create_order('later')\n"})
    bring_up(shop)
    words = {"create_order": 1}
    now = found(shop, "shop/api.py", added=words, least=0.0, limit=100)
    then = found(shop, "shop/api.py", added=words, base_commit=old, least=0.0, limit=100)
    assert "shop/later.py" in {one.path for one in now.changes}
    assert "shop/later.py" not in {one.path for one in then.changes}


def test_a_base_on_a_branch_knows_what_was_there_when_it_left_the_main_line(shop, source):
    source.git("checkout", "--quiet", "-b", "topic", "HEAD~2")
    topic = source.commit({"shop/lonely.py": "def lonely():\n    return 2\n"})
    source.git("checkout", "--quiet", "main")
    bring_up(shop)
    history = knowledge.history_of(
        shop.pk,
        mirror=find_mirror(shop.pk),
        commit=topic,
        indexed_commit=source.git("rev-parse", "HEAD").strip(),
    )
    assert history.until == 17


def test_without_a_mirror_history_and_names_are_asked_and_that_is_said(shop):
    missing = found(shop, "shop/api.py", mirror=None, least=0.0)
    assert missing.changes[0].path == "shop/schema.json"
    assert "history and names alone" in missing.notes[0]


def test_a_repository_with_too_many_files_is_said_to_be_so(shop, monkeypatch):
    monkeypatch.setattr(knowledge, "_MOST_FILES", 3)
    knowledge.repository_of(shop.pk).__init__()  # type: ignore[misc]  # nothing is known yet
    missing = found(shop, "shop/api.py")
    assert missing.changes == ()
    assert "too many files" in missing.notes[0]


def test_a_base_that_the_mirror_cannot_read_is_said(shop):
    missing = found(shop, "shop/api.py", base_commit="0" * 40)
    assert missing.changes == ()
    assert "could not be read" in missing.notes[0]


def test_a_repository_without_history_is_ranked_by_words_and_names(source, namespace):
    source.commit(FILES)
    repository = register(namespace, source)
    index(repository)
    missing = found(repository, "shop/api.py", added={"create_order": 1}, least=0.0)
    assert {"shop/client.py", "tests/test_shop.py"} & {one.path for one in missing.changes[:2]}


def test_only_contents_that_are_new_are_read_again(shop, source):
    found(shop, "shop/api.py")
    known = knowledge.repository_of(shop.pk)
    before = len(known.index)
    source.commit({"shop/api.py": API + "\n\nNEW = 1\n"})
    bring_up(shop)
    found(shop, "shop/api.py")
    assert len(known.index) == before + 1
    assert mirror_path(shop.pk).exists()


def test_what_a_worker_kept_is_not_read_again(shop, source, monkeypatch):
    reviewing.keep_words(repository_id=str(shop.pk))
    expected = found(shop, "shop/api.py", added={"create_order": 1}, least=0.0)
    read: list[str] = []
    whole = Mirror.blobs

    def counted(mirror: Mirror, names: Any, **limits: Any) -> Any:
        names = list(names)
        read.extend(names)
        return whole(mirror, names, **limits)

    monkeypatch.setattr(Mirror, "blobs", counted)
    knowledge.repository_of(shop.pk).__init__()  # type: ignore[misc]  # a process that knows nothing
    assert found(shop, "shop/api.py", added={"create_order": 1}, least=0.0) == expected
    assert read == []
    source.commit({"shop/api.py": API + "\n\nNEW = 1\n"})
    bring_up(shop)
    read.clear()
    reviewing.keep_words(repository_id=str(shop.pk))
    assert len(read) == 1


def test_a_torn_file_of_words_is_as_good_as_none(shop):
    reviewing.keep_words(repository_id=str(shop.pk))
    expected = found(shop, "shop/api.py", added={"create_order": 1}, least=0.0)
    (kept,) = mirror_path(shop.pk).glob("codemem-words*")
    kept.write_bytes(kept.read_bytes()[:100])
    knowledge.repository_of(shop.pk).__init__()  # type: ignore[misc]  # a process that knows nothing
    assert found(shop, "shop/api.py", added={"create_order": 1}, least=0.0) == expected
