import json
from datetime import UTC, datetime

import pytest

from codemem.client.identity import days_left, describe_expiry, user_name


def test_login_says_who_one_is_and_never_the_token(stranger, server):
    server.identities["cm_good"]["token"]["expires_at"] = "2027-05-01T10:00:00Z"
    result = stranger("login", "--url", server.url, "--token-stdin", stdin=b"cm_good\n")
    assert result.status == 0
    assert f"Logged in to {server.url} as ada." in result.out
    assert "laptop, valid until 2027-05-01 (read, write)" in result.out
    assert "platform (writer, 2 repositories)" in result.out
    assert "cm_good" not in result.out + result.err
    assert stranger("status").status == 0


def test_login_under_json_never_prints_the_token(stranger, server):
    result = stranger("login", "--json", "--url", server.url, "--token-stdin", stdin=b"cm_good")
    assert result.json["user"] == "ada"
    assert result.json["url"] == server.url
    assert "cm_good" not in result.out + result.err


def test_login_asks_on_a_terminal_without_echo(stranger, server):
    result = stranger.on_terminal(
        "login",
        typed={"URL of the server: ": f"{server.url}\n", "Token (not shown): ": "cm_good\n"},
    )
    assert result.status == 0, result.err
    assert "cm_good" not in result.out + result.err
    assert json.loads(stranger.config.read_text())["token"] == "cm_good"


def test_a_wrong_token_is_not_stored(stranger, server):
    result = stranger("login", "--url", server.url, "--token-stdin", stdin=b"cm_wrong\n")
    assert result.status == 4
    assert "This token is not known." in result.err
    assert not stranger.config.exists()


@pytest.mark.parametrize("typed", [b"", b"\n", b"\xff\xfe\x00", b"cm_a cm_b\n", b"x" * 5000])
def test_what_is_no_token_is_not_stored(stranger, server, typed):
    result = stranger("login", "--url", server.url, "--token-stdin", stdin=typed)
    assert result.status in {2, 4}
    assert not stranger.config.exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--token-stdin"], "Which server?"),
        (["--url", "localhost:9"], "no terminal to ask for the token"),
        (["--url", "gopher://x", "--token-stdin"], "over http or https, not over gopher"),
    ],
)
def test_login_cannot_ask_without_a_terminal(stranger, arguments, sentence):
    result = stranger("login", *arguments, stdin=b"cm_good")
    assert result.status == 2
    assert sentence in result.err


def test_login_keeps_the_server_one_already_has(stranger, server):
    stranger.store(url=server.url, token="cm_old")
    assert stranger("login", "--token-stdin", stdin=b"cm_good").status == 0


def test_login_names_a_setting_that_wins_over_it(codemem, server):
    result = codemem("login", "--url", server.url, "--token-stdin", stdin=b"cm_good")
    assert "CODEMEM_TOKEN is set and wins" in result.err


def test_a_folder_that_cannot_be_written_is_a_sentence(stranger, server):
    stranger.config.parent.parent.mkdir()
    stranger.config.parent.write_text("in the way")
    result = stranger("login", "--url", server.url, "--token-stdin", stdin=b"cm_good")
    assert result.status == 2
    assert "Cannot" in result.err


@pytest.mark.parametrize("me", [{}, {"user": None, "token": None, "namespaces": None}])
def test_a_sparse_identity_still_reads(stranger, server, me):
    server.identities["cm_good"] = me
    result = stranger("login", "--url", server.url, "--token-stdin", stdin=b"cm_good")
    assert result.status == 0
    assert "none: ask a maintainer to add you" in result.out


def test_days_left_count_from_now():
    me = {"token": {"expires_at": "2026-12-01T00:00:00+00:00"}}
    assert days_left(me, now=datetime(2026, 11, 21, tzinfo=UTC)) == 10
    assert days_left({"token": {"expires_at": None}}, now=datetime.now(UTC)) is None
    assert days_left({"token": {"expires_at": "soon"}}, now=datetime.now(UTC)) is None
    assert days_left({"token": {"expires_at": "2026-12-01"}}, now=datetime.now(UTC)) is not None


def test_names_out_of_the_server_cannot_drive_the_terminal():
    me = {"token": {"name": "\x1b[2J", "scopes": ["a\nb"]}}
    assert "\x1b" not in describe_expiry(me)
    assert user_name({"user": {"username": "ada"}}) == "ada"
