"""Reviews of commits: the server makes the diff from its mirror, and fetches what it lacks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from codemem.accounts.models import Namespace
from codemem.gateway.tool import find_tool
from graph.models import Repository
from indexing import review
from indexing.models import ReviewRecord
from indexing.review import review_diff
from tests.factories import make_namespace, make_token
from tests.gateway import surfaces
from tests.gateway.surfaces import bearer, post
from tests.indexing.checkout import Checkout, index, register

pytestmark = pytest.mark.django_db

PLACE = {"namespace": "team", "repository": "shop"}
PRICE = "def net(amount: float) -> float:\n    return amount / 1.2\n"
TAXED = PRICE.replace("amount: float", "amount: float, tax: float")
ORDER = "from price import net\n\n\ndef place() -> float:\n    return net(1)\n"
OTHER = {"other.py": "x = 1\n"}


@dataclass
class Shop:
    """An indexed repository, and what was pushed to it since: a branch that nobody has fetched."""

    checkout: Checkout
    repository: Repository
    base: str
    head: str
    token: str

    def ask(self, **arguments: Any) -> surfaces.Answer:
        return surfaces.over_rest(
            token=self.token, tool="review_diff", arguments={**PLACE, **arguments}
        )

    def post(self, **arguments: Any) -> Any:
        return post("/api/v1/reviews", {**PLACE, **arguments}, headers=bearer(self.token))

    def branch(self, name: str, start: str, files: dict[str, str]) -> str:
        self.checkout.git("checkout", "--quiet", "-b", name, start)
        return self.checkout.commit(files)


@pytest.fixture
def shop(tmp_path: Path, settings: Any, namespace: Namespace, reader: Any) -> Shop:
    settings.MIRRORS_DIRECTORY = tmp_path / "mirrors"
    settings.LOCAL_REPOSITORY_ROOTS = (tmp_path.resolve(),)
    settings.EXTRACTION_PROCESSES = 1
    checkout = Checkout(tmp_path / "checkout")
    checkout.git("config", "uploadpack.allowAnySHA1InWant", "true")
    base = checkout.commit({"price.py": PRICE, "order.py": ORDER})
    repository = register(namespace, checkout)
    index(repository)
    shop = Shop(checkout, repository, base, "", make_token(reader).secret)
    shop.head = shop.branch("taxes", "main", {"price.py": TAXED})
    return shop


def test_a_head_that_nobody_has_fetched_is_reviewed_as_its_diff_would_be(shop: Shop):
    diff = shop.checkout.git("diff", f"{shop.base}...{shop.head}")
    made = shop.ask(base=shop.base, head=shop.head).content
    sent = shop.ask(base=shop.base, diff=diff).content

    assert [one["id"] for one in made["changed_symbols"]] == ["sym:price.py#net"]
    assert [one["id"] for one in made["dependents"]] == ["sym:order.py#place"]
    assert made["head_commit"] == shop.head
    assert made["base_commit"] == shop.base
    notes = made.pop("notes")
    assert notes[-1].startswith(f"The head {shop.head[:12]} is 1 commit ahead of the indexed")
    assert made.pop("head_commit")
    sent.pop("notes", None)
    assert made == sent


def test_the_change_is_what_the_head_did_since_it_left_the_base(shop: Shop):
    newer = shop.branch("further", "main", OTHER)
    found = shop.ask(base=newer, head=shop.head).content

    assert [file["path"] for file in found["files"]] == ["price.py"]
    assert found["base_commit"] == shop.base


def test_without_a_base_it_is_the_default_branch(shop: Shop):
    assert shop.ask(head=shop.head).content["base_commit"] == shop.base


def test_branches_that_are_here_go_by_their_names(shop: Shop):
    index(shop.repository)
    found = shop.post(base="main", head="taxes").json()

    assert found["review"]["head_commit"] == shop.head
    record = ReviewRecord.objects.get()
    assert (record.subject, record.head_commit) == (f"commit:{shop.head}", shop.head)


def test_what_the_change_does_is_said_by_its_author_its_pull_request_or_its_commits(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
):
    told: list[str] = []

    def listening(**arguments: Any) -> Any:
        told.append(arguments["title"])
        return review_diff(**arguments)

    monkeypatch.setattr(review, "review_diff", listening)
    diff = shop.checkout.git("diff", f"{shop.base}...{shop.head}")
    pull = {"forge": "github", "number": 7, "title": "Tax prices"}
    shop.checkout.git("commit", "--quiet", "--allow-empty", "-m", "Round them", "-m", "As asked.")
    head = shop.checkout.git("rev-parse", "HEAD").strip()
    for asked in (
        {"diff": diff},
        {"diff": diff, "pull_request": pull, "head": shop.head},
        {"diff": diff, "pull_request": pull, "head": shop.head, "title": "My own"},
        {"base": shop.base, "head": head},
        {"base": shop.base, "head": head, "title": "My own"},
    ):
        assert shop.post(**asked).status_code == 200
    first = shop.checkout.git("log", "-1", "--format=%s", shop.head).strip()
    assert told == ["", "Tax prices", "My own", f"Round them\n{first}", "My own"]


def test_a_head_that_is_behind_the_index_is_told_how_far(shop: Shop):
    shop.checkout.git("checkout", "--quiet", "main")
    for number in range(3):
        shop.checkout.commit({"price.py": f"{PRICE}# {number}\n"})
    index(shop.repository)
    found = shop.ask(base=f"{shop.base}", head=shop.base).content

    assert found["files"] == []
    assert any("is 3 commits behind the indexed commit" in note for note in found["notes"])


@pytest.mark.parametrize("side", ["base", "head"])
def test_a_commit_that_is_nowhere_is_named_with_what_to_do(shop: Shop, side: str):
    sides = {"base": shop.base, "head": shop.head, side: "d" * 40}
    answer = shop.ask(**sides)

    assert answer.code == "commit_unknown"
    message = answer.content["error"]["message"]
    assert f"The {side} dddddddddddd is not here" in message
    assert "send the diff itself" in message
    assert shop.post(**sides).status_code == 422


def test_a_git_host_that_is_away_is_a_sentence_without_its_address(shop: Shop, tmp_path: Path):
    (tmp_path / "checkout").rename(tmp_path / "elsewhere")
    message = shop.ask(head="d" * 40).content["error"]["message"]

    assert "could not be fetched from the repository's git host" in message
    assert str(tmp_path) not in message


@pytest.mark.parametrize(
    "name",
    [
        "nothing-of-that-name",
        "main~1",
        "--upload-pack=touch pwned",
        "file:///etc",
        "https://example.org/x.git",
        "\nmain",
        "../../x",
        "abcdef1",
        "ü" * 900,
    ],
)
def test_what_is_no_commit_is_never_fetched(shop: Shop, monkeypatch: Any, name: str):
    def fetched(*_: Any, **__: Any) -> None:
        raise AssertionError("The remote was asked.")

    monkeypatch.setattr("indexing.git.Mirror._fetch", fetched)
    answer = shop.ask(base=name, head=name)

    # A name is shown as it came, without what would break the line.
    if name.strip() == "main":
        assert answer.content["files"] == []
        return
    assert answer.code == "commit_unknown"
    assert "full sha" in answer.content["error"]["message"]
    assert "\n" not in answer.content["error"]["message"]


def test_sides_without_a_common_commit_are_told(shop: Shop):
    shop.checkout.git("checkout", "--quiet", "--orphan", "island")
    island = shop.checkout.commit({"island.py": "x = 1\n"})
    answer = shop.ask(head=island)

    assert answer.code == "no_common_commit"


def test_a_server_without_a_mirror_asks_for_the_diff(shop: Shop, settings: Any, tmp_path: Path):
    settings.MIRRORS_DIRECTORY = tmp_path / "none"
    answer = shop.ask(head=shop.head)

    assert answer.code == "commit_unknown"
    assert "send the diff itself" in answer.content["error"]["message"]


def test_neither_diff_nor_head_is_a_mistake(shop: Shop):
    answer = shop.ask(base=shop.base)

    assert answer.code == "invalid_arguments"
    assert "name the head" in answer.content["error"]["message"]


def test_beside_a_diff_the_head_is_a_full_sha(shop: Shop):
    assert shop.post(diff="", head="taxes").status_code == 422


def test_a_pull_request_is_reviewed_by_its_commits(shop: Shop):
    pull = {"forge": "github", "number": 7}
    answer = shop.post(base=shop.base, head=shop.head, pull_request=pull).json()

    assert "price.py" in answer["comment"]
    record = ReviewRecord.objects.get()
    assert (record.subject, record.head_commit) == ("github:7", shop.head)


def test_a_commit_of_another_repository_is_not_here(
    shop: Shop, tmp_path: Path, outsider: Any, reader: Any
):
    """Whoever may read one repository names commits of that one only."""
    theirs = Checkout(tmp_path / "theirs")
    secret = theirs.commit({"secret.py": "def key(): ...\n"})
    foreign = make_namespace("foreign", owner=outsider)
    index(register(foreign, theirs, name="vault"))

    assert shop.ask(head=secret).code == "commit_unknown"
    place = {"namespace": "foreign", "repository": "vault"}
    assert shop.ask(head=secret, **place).code == "not_found"
    answer = post(
        "/api/v1/reviews", {**PLACE, "head": shop.head}, headers=bearer(make_token(outsider).secret)
    )
    assert answer.status_code == 404


def test_over_mcp_it_is_the_same_answer(shop: Shop):
    arguments = {**PLACE, "base": shop.base, "head": shop.head}
    answers = [
        ask(token=shop.token, tool="review_diff", arguments=arguments).content
        for ask in (surfaces.over_rest, surfaces.over_mcp)
    ]

    assert answers[0] == answers[1]
    assert "head" in find_tool("review_diff").input_schema["properties"]


def test_of_a_large_change_the_largest_files_are_only_named(shop: Shop, settings: Any):
    settings.MAXIMUM_DIFF_BYTES = 5_000
    head = shop.branch("vendored", "taxes", {"vendor/all.js": "call();\n" * 4_000})
    found = shop.ask(head=head).content

    assert "1 file left out, the largest first: vendor/all.js (" in found["notes"][0]
    assert {file["path"] for file in found["files"]} == {"price.py", "vendor/all.js"}
    assert [one["id"] for one in found["changed_symbols"]] == ["sym:price.py#net"]
