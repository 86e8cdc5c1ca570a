# ruff: noqa: E501  a table reads better in long lines
"""Which endpoint answers a request, and which subscription hears a topic."""

import pytest

from indexing.crossing.matching import Endpoints, MatchRule, Server, topic_hears
from indexing.crossing.paths import named_path, target_of, template_of

SERVERS = [
    Server("GET", "/api/v1/users/{}", "users-service"),
    Server("POST", "/api/v1/users", "users-service"),
    Server("GET", "/health", "users-service"),
    Server("GET", "/health", "orders"),
    Server("ANY", "/orders/{}/items", "orders"),
    Server("GET", "/{}", "pages"),
]


def _matches(url: str, method: str = "GET", caller: str = "web") -> list[tuple[str, float, str]]:
    host, template = target_of(url)
    endpoints = Endpoints(SERVERS, aliases={"accounts.example.org": "users-service"})
    found = endpoints.matches(method=method, host=host, template=template, caller=caller)
    return [
        (f"{SERVERS[one.position].service} {SERVERS[one.position].template}", one.confidence, one.rule)
        for one in found
    ]  # fmt: skip


USER = "users-service /api/v1/users/{}"


@pytest.mark.parametrize(
    ("url", "confidence", "rule"),
    [
        ("/api/v1/users/{}", 0.9, MatchRule.EXACT),
        ("http://users/api/v1/users/{}", 0.9, MatchRule.EXACT),
        ("http://users-service:8080/api/v1/users/7?full=1", 0.85, MatchRule.EXACT),
        ("https://accounts.example.org/api/v1/users/{}", 0.9, MatchRule.EXACT),
        ("http://localhost:9000/api/v1/users/{}", 0.9, MatchRule.EXACT),
        ("http://backend/api/v1/users/{}", 0.9, MatchRule.EXACT),
        ("http://gateway/shop/api/v1/users/{}", 0.6, MatchRule.SUFFIX),
        ("{}/users/{}", 0.6, MatchRule.SUFFIX),
    ],
)
def test_a_request_reaches_what_its_path_says(url: str, confidence: float, rule: str) -> None:
    assert _matches(url) == [(USER, confidence, rule)]


@pytest.mark.parametrize(
    ("url", "method"),
    [
        ("https://api.github.com/api/v1/users/{}", "GET"),
        ("http://orders/api/v1/users/{}", "GET"),
        ("/api/v1/users/{}", "DELETE"),
        ("/{}", "GET"),
        ("/{}/{}", "GET"),
        ("/nothing", "GET"),
    ],
)
def test_a_request_for_something_else_reaches_nothing(url: str, method: str) -> None:
    assert all(USER not in match for match in _matches(url, method))


def test_what_several_services_would_answer_is_a_candidate_only() -> None:
    found = _matches("/health")
    assert {one[0] for one in found} == {"users-service /health", "orders /health"}
    assert all(one[1:] == (0.4, MatchRule.AMBIGUOUS) for one in found)


def test_a_service_answers_itself_first() -> None:
    assert _matches("/health", caller="orders") == [("orders /health", 0.9, MatchRule.EXACT)]


def test_a_host_decides_between_services() -> None:
    assert _matches("http://orders-api/health") == [("orders /health", 0.9, MatchRule.EXACT)]


def test_an_endpoint_of_any_method_is_a_little_less_sure() -> None:
    assert _matches("/orders/{}/items", "PUT") == [("orders /orders/{}/items", 0.85, "path")]


@pytest.mark.parametrize(
    ("subscribed", "published", "hears"),
    [
        ("orders", "orders", True),
        ("orders", "orders.placed", False),
        ("orders.*", "orders.placed", True),
        ("orders.*", "orders.placed.eu", False),
        ("orders.>", "orders.placed.eu", True),
        ("orders.#", "orders.placed.eu", True),
        ("news:*", "news:today", True),
        ("", "", False),
        ("*", "", False),
    ],
)
def test_topics_are_heard_by_name_and_by_pattern(
    subscribed: str, published: str, hears: bool
) -> None:
    assert topic_hears(subscribed, published) is hears


@pytest.mark.parametrize(
    ("written", "named", "template"),
    [
        ("/users/<int:id>/", "/users/{id}", "/users/{}"),
        ("^users/(?P<pk>[0-9]+)/$", "/users/{pk}", "/users/{}"),
        ("/users/:id(\\d+)?", "/users/{id}", "/users/{}"),
        ("/users/{id:[0-9]+}", "/users/{id}", "/users/{}"),
        ("/files/*path", "/files/{path}", "/files/{}"),
        ("/files/{**path}", "/files/{path}", "/files/{}"),
        ("", "/", "/"),
    ],
)
def test_paths_of_all_frameworks_have_one_form(written: str, named: str, template: str) -> None:
    assert (named_path(written), template_of(written)) == (named, template)
