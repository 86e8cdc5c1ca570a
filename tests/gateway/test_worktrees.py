"""Work trees: shown to their user, to nobody else, and only with contents that were really sent."""

import base64
import json
from typing import Any

import pytest
from django.test import Client

from codemem.accounts.models import Namespace, User
from codemem.gateway import worktrees as gateway
from graph.models import Layer, Repository
from indexing.contents import blob_id
from indexing.mirrors import find_mirror
from tests.factories import make_token
from tests.indexing.checkout import Checkout, index, register

pytestmark = pytest.mark.django_db

PRICE = b"def net(amount):\n    return amount / 1.2\n"
ORDER = b"from price import net\n\n\ndef place():\n    return net(1)\n"
EDITED = (
    b"def gross(amount):\n    return amount\n\n\ndef net(amount):\n    return gross(amount) / 1.2\n"
)
NEW = b"from price import net\n\n\ndef refund():\n    return net(2)\n"


@pytest.fixture
def shop(namespace: Namespace, tmp_path: Any, settings: Any) -> Repository:
    settings.MIRRORS_DIRECTORY = tmp_path / "mirrors"
    settings.LOCAL_REPOSITORY_ROOTS = (tmp_path.resolve(),)
    settings.EXTRACTION_PROCESSES = 1
    checkout = Checkout(tmp_path / "checkout")
    checkout.commit({"price.py": PRICE, "order.py": ORDER})
    repository = register(namespace, checkout)
    index(repository)
    return repository


class Person:
    """Somebody with a token, connected to the shop."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.headers = {
            "Authorization": f"Bearer {make_token(user).secret}",
            "Codemem-Namespace": "team",
            "Codemem-Repository": "shop",
        }

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        return Client().generic(
            method,
            f"/api/v1{path}",
            b"" if body is None else body if isinstance(body, bytes) else _json(body),
            "application/json",
            headers=self.headers | headers,
        )

    def bases(self) -> list[str]:
        commits: list[str] = self.ask("GET", "/worktrees").json()["commits"]
        return commits

    def show(
        self, files: dict[str, bytes | None], *, sends: bool = True, name: str = "laptop"
    ) -> Any:
        blobs = {path: None if text is None else blob_id(text) for path, text in files.items()}
        contents = {blob_id(text): _base64(text) for text in files.values() if text is not None}
        body = {"base": self.bases()[0], "files": blobs, "contents": contents if sends else {}}
        return self.ask("PUT", f"/worktrees/{name}", body)

    def symbols(self, ref: str | None) -> Any:
        arguments = {"qualified_name": "net"} | ({"ref": ref} if ref else {})
        return self.ask("POST", "/tools/get_symbol_graph", arguments)


@pytest.fixture
def anna(writer: User) -> Person:
    return Person(writer)


@pytest.fixture
def bert(owner: User) -> Person:
    return Person(owner)


def test_what_was_just_edited_answers_for_its_user(shop: Repository, anna: Person) -> None:
    answer = anna.show({"price.py": EDITED, "refund.py": NEW}).json()

    assert answer["ref"] == "worktree:laptop"
    assert answer["needs"] == []
    assert answer["files"] == 2
    text = anna.symbols("worktree:laptop").content.decode()
    assert "refund.py" in text
    assert "gross" in text


def test_the_connection_may_name_the_work_tree(shop: Repository, anna: Person) -> None:
    anna.show({"refund.py": NEW})

    answer = anna.ask(
        "POST",
        "/tools/get_symbol_graph",
        {"qualified_name": "net"},
        **{"Codemem-Ref": "worktree:laptop"},
    )

    assert "refund.py" in answer.content.decode()


def test_nobody_else_sees_a_work_tree(shop: Repository, anna: Person, bert: Person) -> None:
    anna.show({"refund.py": NEW})

    foreign = bert.symbols("worktree:laptop")
    unknown = bert.symbols("worktree:nothing")

    assert foreign.status_code == unknown.status_code == 409
    assert foreign.content == unknown.content.replace(b"nothing", b"laptop")
    assert "refund" not in bert.symbols(None).content.decode()
    assert "refund" not in anna.symbols(None).content.decode()
    search = bert.ask("POST", "/tools/search_code", {"query": "refund", "mode": "text"})
    assert "refund.py" not in search.content.decode()


def test_the_last_state_is_what_counts(shop: Repository, anna: Person) -> None:
    anna.show({"refund.py": NEW, "order.py": None})
    assert "order.py" not in anna.symbols("worktree:laptop").content.decode()
    anna.show({})

    text = anna.symbols("worktree:laptop").content.decode()
    assert "order.py" in text
    assert "refund.py" not in text


def test_contents_are_asked_for_once(shop: Repository, anna: Person, bert: Person) -> None:
    assert anna.show({"refund.py": NEW}, sends=False).json()["needs"] == [blob_id(NEW)]
    assert not Layer.objects.exists()
    assert anna.show({"refund.py": NEW}).json()["needs"] == []

    assert anna.show({"again.py": NEW}, sends=False).json()["needs"] == []
    # What one user sent is nobody else's to name.
    assert bert.show({"again.py": NEW}, sends=False).json()["needs"] == [blob_id(NEW)]


def test_a_content_must_have_the_id_that_it_is_sent_under(shop: Repository, anna: Person) -> None:
    wrong = {"base": anna.bases()[0], "files": {}, "contents": {"0" * 40: _base64(NEW)}}

    assert anna.ask("PUT", "/worktrees/laptop", wrong).status_code == 422


def test_contents_never_reach_the_mirror(shop: Repository, anna: Person) -> None:
    anna.show({"refund.py": NEW})
    mirror = find_mirror(shop.pk)
    assert mirror is not None

    (found,) = mirror.blobs([blob_id(NEW)], max_bytes=1_000)

    assert not isinstance(found[1], bytes)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"no json", 400),
        ({"files": {}}, 422),
        ({"base": "HEAD", "files": {}}, 422),
        ({"base": "f" * 40, "files": {}}, 409),
        ({"base": "f" * 40, "files": {}, "also": 1}, 422),
        ({"base": "f" * 40, "files": {}, "contents": {"a": "%"}}, 422),
        ({"base": "f" * 40, "files": {f"{n}": None for n in range(2_001)}}, 422),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    shop: Repository, anna: Person, body: Any, status: int
) -> None:
    answer = anna.ask("PUT", "/worktrees/laptop", body)

    assert answer.status_code == status, answer.content
    assert answer.json()["error"]["message"]


def test_odd_paths_are_left_out(shop: Repository, anna: Person) -> None:
    answer = anna.show({"": NEW, "a\0b.py": NEW, "x" * 1_001: NEW, "é/ü.py": NEW})

    assert answer.status_code == 200, answer.content
    assert answer.json()["files"] == 1


def test_an_outsider_learns_nothing(shop: Repository, outsider: User) -> None:
    other = Person(outsider)

    assert other.ask("GET", "/worktrees").status_code == 404
    assert other.ask("PUT", "/worktrees/x", {"base": "f" * 40, "files": {}}).status_code == 404
    assert other.ask("DELETE", "/worktrees/x").status_code == 404


def test_a_work_tree_is_forgotten_on_request(shop: Repository, anna: Person, bert: Person) -> None:
    anna.show({"refund.py": NEW})
    bert.ask("DELETE", "/worktrees/laptop")
    assert Layer.objects.count() == 1

    assert anna.ask("DELETE", "/worktrees/laptop").status_code == 200
    assert anna.ask("DELETE", "/worktrees/laptop").status_code == 200
    assert not Layer.objects.exists()


def test_without_redis_it_says_to_try_again(
    shop: Repository, anna: Person, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    gateway._client.cache_clear()
    try:
        answer = anna.show({"refund.py": NEW})
    finally:
        gateway._client.cache_clear()

    assert answer.status_code == 503


def _json(value: object) -> bytes:

    return json.dumps(value).encode()


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
