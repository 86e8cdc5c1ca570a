import json
import stat

import pytest

from codemem.client.configuration import UrlInvalid, check_token, is_plain_text, normalize_url
from codemem.client.failure import Failure


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("codemem.lan", "https://codemem.lan"),
        ("codemem.lan:8443/", "https://codemem.lan:8443"),
        ("  https://CodeMem.LAN/memory// ", "https://codemem.lan/memory"),
        ("http://10.0.0.7:8000", "http://10.0.0.7:8000"),
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_a_url_has_one_spelling(text, url):
    assert normalize_url(text) == url
    assert normalize_url(url) == url


@pytest.mark.parametrize(
    "text",
    [
        "", "ftp://codemem.lan", "file:///etc/passwd", "https://", "https://a b", "https://a:port",
        "https://a:99999", "https://ada:secret@codemem.lan", "https://a/?token=x", "https://a/#x",
        "https://a\nHost: b", "http://[::1",
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_server_is_refused(text):
    with pytest.raises(UrlInvalid) as refusal:
        normalize_url(text)
    assert "secret" not in refusal.value.message


@pytest.mark.parametrize("token", ["", "  \n", "cm_a b", "cm_a\r\nX-Evil: 1", "cm_ü"])
def test_what_no_header_can_carry_is_no_token(token):
    with pytest.raises(Failure):
        check_token(token)


def test_only_http_beyond_this_machine_is_plain_text():
    assert is_plain_text("http://codemem.lan")
    assert not is_plain_text("https://codemem.lan")
    assert not is_plain_text("http://localhost:8000")


def test_nothing_configured_says_what_to_do(stranger):
    result = stranger("status")
    assert result.status == 4
    assert "No server is configured." in result.err
    assert "codemem login" in result.err


def test_a_server_without_a_token_says_what_to_do(stranger, server):
    result = stranger("status", CODEMEM_URL=server.url)
    assert result.status == 4
    assert f"There is no token for {server.url}." in result.err


def test_the_file_serves_where_the_environment_is_silent(stranger, server):
    stranger.store(url=server.url, token="cm_good", namespace="platform")
    assert stranger("status").status == 0
    headers = server.last("/api/v1/tools/codemem_status").headers
    assert headers["codemem-namespace"] == "platform"


def test_the_environment_wins_over_the_file(codemem, server):
    codemem.store(url="http://127.0.0.1:1", token="cm_other", namespace="there")
    assert codemem("status", CODEMEM_NAMESPACE="here").status == 0
    request = server.last("/api/v1/tools/codemem_status")
    assert request.headers["authorization"] == "Bearer cm_good"
    assert request.headers["codemem-namespace"] == "here"


def test_a_stored_token_never_goes_to_another_server(stranger, server):
    stranger.store(url="https://codemem.lan", token="cm_good")
    result = stranger("status", CODEMEM_URL=server.url)
    assert result.status == 4
    assert "belongs to another server" in result.err
    assert server.received == []


def test_a_stored_token_serves_its_server_in_any_spelling(stranger, server):
    stranger.store(url=server.url, token="cm_good")
    assert stranger("status", CODEMEM_URL=f"{server.url}/").status == 0


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606, 0o660])
def test_a_token_open_to_others_is_not_used(stranger, server, mode):
    stranger.store(mode=mode, url=server.url, token="cm_good")
    result = stranger("status")
    assert result.status == 4
    assert f"(mode {mode:04o})" in result.err
    assert f"chmod 600 {stranger.config}" in result.err
    assert server.received == []


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "\x00", '{"url": 7, "token": "cm_a"}', '{"url": "ftp://x"}']
)
def test_a_broken_file_is_a_sentence(stranger, content):
    stranger.store()
    stranger.config.write_text(content)
    result = stranger("status")
    assert result.status == 2
    assert result.err.startswith("codemem: ")


def test_a_relative_xdg_config_home_is_ignored(stranger, server):
    stranger.store(url=server.url, token="cm_good")
    assert stranger("status", XDG_CONFIG_HOME="relative").status == 0


def test_without_a_home_the_environment_is_enough(codemem, monkeypatch, server):
    import pwd
    from pathlib import Path

    from codemem.client.configuration import read_configuration

    def nobody(_):
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CODEMEM_URL", server.url)
    monkeypatch.setenv("CODEMEM_TOKEN", "cm_good")
    configuration = read_configuration()
    assert configuration.path == Path("/.config/codemem/config.json")
    assert (configuration.url, configuration.token) == (server.url, "cm_good")


def test_login_writes_for_the_user_only(stranger, server, tmp_path):
    result = stranger(
        "login", "--url", server.url, "--token-stdin",
        stdin=b"cm_good\n", XDG_CONFIG_HOME=str(tmp_path / "xdg"),
    )  # fmt: skip
    assert result.status == 0
    file = tmp_path / "xdg" / "codemem" / "config.json"
    assert json.loads(file.read_text()) == {"url": server.url, "token": "cm_good"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert list(file.parent.iterdir()) == [file]


def test_login_narrows_an_open_file_and_keeps_other_settings(stranger, server):
    stranger.store(mode=0o666, url="https://old.lan", token="cm_old", namespace="platform")
    stranger("login", "--url", server.url, "--token-stdin", stdin=b"cm_good")
    assert json.loads(stranger.config.read_text()) == {
        "url": server.url,
        "token": "cm_good",
        "namespace": "platform",
    }
    assert stat.S_IMODE(stranger.config.stat().st_mode) == 0o600
