from typing import Any

import pytest

from codemem.accounts.models import Namespace
from codemem.accounts.values import TokenScope
from codemem.gateway.tool import find_tool
from indexing.comment import MARKER
from memory.services import store_memory
from tests.factories import NOW, caller_of, make_token
from tests.gateway import surfaces
from tests.gateway.surfaces import bearer, post
from tests.indexing.checkout import Checkout, index, register

pytestmark = pytest.mark.django_db

PLACE = {"namespace": "team", "repository": "shop"}
PRICE = "def net(amount: float) -> float:\n    return amount / 1.2\n"
ORDER = "from price import net\n\n\ndef place() -> float:\n    return net(1)\n"
MEMORY = "net() divides by 1.2 because the tax is included."


@pytest.fixture
def diff(tmp_path, settings, namespace: Namespace, writer) -> str:
    """Index a small shop in the namespace `team` and return a diff that changes a signature."""
    settings.MIRRORS_DIRECTORY = tmp_path / "mirrors"
    settings.LOCAL_REPOSITORY_ROOTS = (tmp_path.resolve(),)
    settings.EXTRACTION_PROCESSES = 1
    checkout = Checkout(tmp_path / "checkout")
    checkout.commit({"price.py": PRICE, "order.py": ORDER})
    repository = register(namespace, checkout)
    index(repository)
    store_memory(
        caller=caller_of(writer),
        namespace_id=namespace.pk,
        repository_id=repository.pk,
        content=MEMORY,
        memory_type="decision",
        links=["sym:price.py#net"],
        now=NOW,
    )
    return checkout.diff({"price.py": PRICE.replace("amount: float", "amount: float, tax: float")})


def token_of(user, **options: Any) -> str:
    return make_token(user, **options).secret


def review(token: str, body: object) -> Any:
    return post("/api/v1/reviews", body, headers=bearer(token))


def test_a_review_comes_with_the_comment_to_post(diff, reader):
    response = review(token_of(reader), {"diff": diff, **PLACE})

    assert response.status_code == 200
    answer = response.json()
    assert set(answer) == {"review", "markdown", "remarks"}
    assert answer["markdown"].startswith(f"{MARKER}\n")
    assert "`net`" in answer["markdown"]
    assert "`team/shop`" in answer["markdown"]


def test_a_review_is_exactly_what_the_tool_answers(diff, reader):
    arguments = {"diff": diff, **PLACE, "depth": 3}
    token = token_of(reader)

    posted = review(token, arguments).json()["review"]
    called = surfaces.over_rest(token=token, tool="review_diff", arguments=arguments)

    assert posted == called.content
    find_tool("review_diff").result.model_validate_json(called.text)


def test_a_review_names_what_changed_and_who_depends_on_it(diff, reader):
    found = review(token_of(reader), {"diff": diff, **PLACE}).json()["review"]

    (symbol,) = found["changed_symbols"]
    assert symbol["id"] == "sym:price.py#net"
    assert symbol["signature_changed"]
    (dependent,) = found["dependents"]
    assert dependent["id"] == "sym:order.py#place"
    assert dependent["uses"][0]["changed"] == "sym:price.py#net"
    risk = found["risk"]
    assert risk["score"] == pytest.approx(100 * risk["probability"], abs=0.1)
    # What the parts add comes on top of what every change has.
    assert 0 < sum(part["points"] for part in risk["parts"]) < risk["score"]
    assert found["totals"]["direct_dependents"] == found["totals"]["dependents"] == 1
    assert found["scope"]["repository"] == "shop"
    assert found["code"]["indexed_commit"]


def test_memories_are_shown_to_who_may_read_them(diff, reader):
    may = review(token_of(reader), {"diff": diff, **PLACE}).json()
    may_not = review(token_of(reader, scopes=[TokenScope.REVIEW_RUN]), {"diff": diff, **PLACE})

    assert [memory["content"] for memory in may["review"]["memories"]] == [MEMORY]
    assert may_not.status_code == 200
    assert MEMORY not in may_not.content.decode()
    assert any("Memories are left out" in one for one in may_not.json()["review"]["notes"])


def test_a_token_without_the_right_to_review_is_told_so(diff, reader):
    token = token_of(reader, scopes=[TokenScope.GRAPH_READ, TokenScope.MEMORY_READ])

    response = review(token, {"diff": diff, **PLACE})

    assert response.status_code == 403
    assert "review:run" in response.json()["error"]["message"]


def test_an_outsider_cannot_tell_that_the_repository_is_there(diff, outsider):
    token = token_of(outsider)

    theirs = review(token, {"diff": diff, **PLACE})
    nowhere = review(token, {"diff": diff, "namespace": "nowhere", "repository": "shop"})

    assert theirs.status_code == nowhere.status_code == 404
    assert theirs.json()["error"]["code"] == nowhere.json()["error"]["code"] == "not_found"


def test_nobody_reviews_without_a_token(diff):
    assert post("/api/v1/reviews", {"diff": diff}, headers={}).status_code == 401


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"diff": "Please have a look."}, 422, "not_a_diff"),
        ({"diff": 7}, 422, "invalid_arguments"),
        ({}, 422, "invalid_arguments"),
        ({"diff": "", "depth": 6}, 422, "invalid_arguments"),
        ({"diff": "", "deep": 2}, 422, "invalid_arguments"),
        (b"{", 400, "malformed_json"),
    ],
)
def test_a_mistake_is_answered_with_its_code(diff, reader, body, status, code):
    body = body if isinstance(body, bytes) else {**PLACE, **body}

    response = review(token_of(reader), body)

    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


def test_a_diff_too_large_for_a_tool_call_is_reviewed_here(diff, reader, settings):
    settings.MAXIMUM_BODY_BYTES = len(diff)
    arguments = {"diff": diff, **PLACE}
    token = token_of(reader)

    called = surfaces.over_rest(token=token, tool="review_diff", arguments=arguments)

    assert called.code == "body_too_large"
    assert "/api/v1/reviews" in called.content["error"]["hint"]
    assert review(token, arguments).status_code == 200


def test_a_body_above_the_limit_is_refused(diff, reader, settings):
    settings.MAXIMUM_DIFF_BYTES = len(diff) // 2

    response = review(token_of(reader), {"diff": diff, **PLACE})

    assert (response.status_code, response.json()["error"]["code"]) == (413, "body_too_large")
