"""The tools over REST: tokens, broken bodies, who-am-I."""

from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from codemem.accounts import services as accounts
from codemem.accounts.values import TokenScope
from tests import factories
from tests.fakes import StoppedClock
from tests.gateway import surfaces
from tests.gateway.team import FOREIGN_WORD, Team

DOORS = ("/api/v1/tools/recall", "/mcp", "/api/v1/reviews")
GOOD = {"query": "rounding"}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic b2xnYTpw",
        "Bearer cm_nothing",
        "Bearer \u00fc\u00fc",
        "Bearer cm_AAAAAAAA_" + "0" * 43 + "_000000",
        "Bearer " + "x" * 5_000,
    ],
)
def test_a_wrong_token_opens_no_door(door: str, header: str | None, db: None) -> None:
    headers = {} if header is None else {"Authorization": header}
    answer = surfaces.post(door, GOOD, headers=headers)
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert answer.json()["error"]["code"] == "invalid_token"
    assert answer.json()["error"]["message"].endswith(".")
    assert answer["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("door", DOORS)
def test_an_expired_or_revoked_token_is_told_so(door: str, team: Team, clock: StoppedClock) -> None:
    until = clock.now + timedelta(hours=1)
    expiring = factories.make_token(team.writer, expires_at=until, now=clock.now)
    revoked = factories.make_token(team.writer)
    accounts.revoke_token(token=revoked.token, actor="walter", now=clock.now)
    clock.advance(timedelta(hours=2))
    for secret, word in ((expiring.secret, "expired"), (revoked.secret, "revoked")):
        answer = surfaces.post(door, GOOD, headers=surfaces.bearer(secret))
        assert answer.status_code == HTTPStatus.UNAUTHORIZED
        assert word in answer.json()["error"]["message"]


@pytest.mark.parametrize("door", DOORS)
def test_the_token_of_a_closed_account_opens_no_door(door: str, team: Team) -> None:
    token = team.token(team.writer)
    type(team.writer).objects.filter(pk=team.writer.pk).update(is_active=False)
    answer = surfaces.post(door, GOOD, headers=surfaces.bearer(token))
    assert answer.status_code == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "malformed_json"),
        (b"", "malformed_json"),
        (b"\xff\xfe", "malformed_json"),
        (b'{"query": "x", "k": NaN}', "malformed_json"),
        (b'{"query": ' + b"[" * 100_000, "malformed_json"),
        (b'{"query": "x", "k": ' + b"9" * 5_000 + b"}", "malformed_json"),
        (b"[]", "invalid_arguments"),
        (b'[{"query": "x"}]', "invalid_arguments"),
        (b"null", "invalid_arguments"),
        (b"7", "invalid_arguments"),
        (b'"recall"', "invalid_arguments"),
    ],
)
def test_a_broken_body_is_named(body: bytes, code: str, team: Team) -> None:
    headers = surfaces.bearer(team.token(team.writer))
    answer = surfaces.post("/api/v1/tools/recall", body, headers=headers)
    assert answer.json()["error"]["code"] == code
    assert answer.status_code in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}


def test_a_body_over_the_limit_is_refused(team: Team, settings: Any) -> None:
    settings.MAXIMUM_BODY_BYTES = 2_000
    answer = surfaces.over_rest(
        token=team.token(team.writer), tool="recall", arguments={"query": "x" * 3_000}
    )
    assert answer.code == "body_too_large"


@pytest.mark.parametrize("name", ["dance", "RECALL", "recall%00", "%ff", "recall.json"])
def test_an_unknown_tool_is_named(name: str, team: Team) -> None:
    answer = surfaces.over_rest(token=team.token(team.writer), tool=name, arguments={})
    assert answer.code == "tool_unknown"


def test_a_tool_is_called_by_post_only(team: Team) -> None:
    headers = surfaces.bearer(team.token(team.writer))
    answer = Client().get("/api/v1/tools/recall", headers=headers)
    assert answer.status_code == HTTPStatus.METHOD_NOT_ALLOWED


def test_me_says_who_the_token_speaks_for(team: Team) -> None:
    token = team.token(team.writer, scopes=[TokenScope.MEMORY_READ])
    answer = Client().get("/api/v1/me", headers=surfaces.bearer(token)).json()
    assert answer["user"] == "walter"
    assert answer["token"]["scopes"] == ["memory:read"]
    assert answer["namespaces"] == [{"name": "team", "role": "writer", "repositories": ["app"]}]


def test_me_leaves_out_what_the_token_was_not_made_for(team: Team) -> None:
    other = factories.make_namespace("other", owner=team.owner)
    token = team.token(team.owner, namespaces=[other])
    answer = Client().get("/api/v1/me", headers=surfaces.bearer(token))
    assert [row["name"] for row in answer.json()["namespaces"]] == ["other"]
    assert FOREIGN_WORD not in answer.content.decode()


def test_me_needs_a_token(db: None) -> None:
    answer = Client().get("/api/v1/me")
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert answer.json()["error"]["code"] == "invalid_token"


def test_a_tokens_use_is_noted_at_most_once_a_minute(team: Team, clock: StoppedClock) -> None:
    issued = factories.make_token(team.writer)
    noted = []
    for seconds in (0, 30, 31):
        clock.advance(timedelta(seconds=seconds))
        surfaces.over_rest(token=issued.secret, tool="list_namespaces", arguments={})
        issued.token.refresh_from_db()
        noted.append(issued.token.last_used_at)
    assert noted == [timezone.now() - timedelta(seconds=61)] * 2 + [timezone.now()]
