import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from tests.client.server_double import Canned


def outcomes(result):
    return {check["name"]: check["outcome"] for check in result.json["checks"]}


def check(result, name):
    return next(check for check in result.json["checks"] if check["name"] == name)


@pytest.fixture
def here(codemem, server, repository):
    head = repository.commit()
    repository.git("remote", "add", "origin", "https://git.example.com/team/api")
    server.status["code"] = {"indexed_commit": head, "behind_by": 0}
    codemem.directory = repository.directory
    return codemem


def test_a_healthy_setup_is_ok_on_every_line(here):
    result = here("doctor")
    assert result.status == 0
    lines = result.out.splitlines()
    assert [line.split()[0] for line in lines] == ["ok"] * len(lines)
    assert "checkout of https://git.example.com/team/api, on main" in result.out
    assert "platform (writer, 2 repositories)" in result.out
    assert "mcp 2025-11-25  2 tools" in result.out
    assert "mcp 2026-07-28  speaks 2026-07-28, 2025-11-25" in result.out
    assert "platform/api @ main, indexed up to your HEAD" in result.out


def test_json_lists_every_check(here):
    result = here("doctor", "--json")
    assert result.json["ok"] is True
    assert list(outcomes(result)) == [
        "configuration", "checkout", "name", "connection", "healthz", "readyz", "token",
        "namespaces", "mcp 2025-11-25", "mcp 2026-07-28", "repository",
    ]  # fmt: skip


def test_no_configuration_fails_with_what_to_do(stranger):
    result = stranger("doctor")
    assert result.status == 1
    assert "no server is configured  -> Run `codemem login`" in result.out


def test_a_broken_file_fails(stranger):
    stranger.store()
    stranger.config.write_text("{")
    assert outcomes(stranger("doctor", "--json")) == {"configuration": "fail"}


def test_an_open_token_file_fails_and_the_server_is_still_looked_at(stranger, server):
    stranger.store(mode=0o644, url=server.url, token="cm_good")
    found = outcomes(stranger("doctor", "--json"))
    assert found["token file"] == "fail"
    assert found["readyz"] == "ok"
    assert "token" not in found


def test_a_private_token_file_is_ok(stranger, server):
    stranger.store(url=server.url, token="cm_good")
    found = outcomes(stranger("doctor", "--json"))
    assert (found["configuration"], found["token file"]) == ("ok", "ok")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://codemem.invalid", {"encryption": "warn", "name": "fail"}),
        ("http://127.0.0.1:1", {"name": "ok", "connection": "fail"}),
    ],
)
def test_the_broken_link_is_named(codemem, url, expected):
    result = codemem("doctor", "--json", CODEMEM_URL=url)
    assert result.status == 1
    found = outcomes(result)
    assert {name: found[name] for name in expected} == expected
    assert list(found)[-1] == list(expected)[-1]


def test_a_server_without_tls_fails_at_the_encryption(codemem, server):
    result = codemem("doctor", "--json", CODEMEM_URL=server.url.replace("http:", "https:"))
    found = outcomes(result)
    assert (found["name"], found["connection"], found["encryption"]) == ("ok", "ok", "fail")


def test_an_unready_server_fails_with_what_it_lacks(here, server):
    server.canned["/readyz"] = Canned(
        status=503, body=b'{"database": "does not answer", "redis": "ok"}'
    )
    result = here("doctor", "--json")
    assert result.status == 1
    assert check(result, "readyz")["outcome"] == "fail"
    assert check(result, "readyz")["message"].endswith("(HTTP 503): database does not answer")


def test_a_server_without_redis_is_warned(here, server):
    server.canned["/readyz"] = Canned(body=b'{"database": "ok", "redis": "does not answer"}')
    result = here("doctor", "--json")
    assert result.status == 0
    assert check(result, "readyz")["message"] == "serves, but redis does not answer"


def test_another_web_server_is_recognized(here, server):
    server.canned["/"] = Canned(status=404, body=b"<html>", content_type="text/html")
    result = here("doctor", "--json")
    assert check(result, "healthz")["hint"] == "Is this the URL of a codemem server?"
    assert check(result, "token")["outcome"] == "fail"


def test_a_wrong_token_ends_the_examination(here):
    result = here("doctor", "--json", CODEMEM_TOKEN="cm_wrong")
    assert result.status == 1
    assert check(result, "token")["message"] == "This token is not known."
    assert list(outcomes(result))[-1] == "token"


@pytest.mark.parametrize(("days", "outcome"), [(5, "warn"), (100, "ok")])
def test_the_expiry_of_the_token_is_told(here, server, days, outcome):
    expires_at = datetime.now(UTC) + timedelta(days=days, hours=1)
    server.identities["cm_good"]["token"]["expires_at"] = expires_at.isoformat()
    found = check(here("doctor", "--json"), "token")
    assert found["outcome"] == outcome
    assert f"expires in {days} days" in found["message"]


def test_a_member_of_nothing_is_warned(here, server):
    server.identities["cm_good"]["namespaces"] = []
    assert check(here("doctor", "--json"), "namespaces")["outcome"] == "warn"


@pytest.mark.parametrize(
    "canned",
    [
        Canned(status=404, body=b"<html>", content_type="text/html"),
        Canned(status=400, body=b'{"jsonrpc": "2.0", "id": 1, "error": {"message": "no"}}'),
        Canned(body=b'{"jsonrpc": "2.0", "id": 1, "error": {"message": "no"}}'),
        Canned(body=b"event: message\n", content_type="text/event-stream"),
    ],
)
def test_a_broken_mcp_endpoint_fails_in_both_eras(here, server, canned):
    server.canned["/mcp"] = canned
    found = outcomes(here("doctor", "--json"))
    assert (found["mcp 2025-11-25"], found["mcp 2026-07-28"]) == ("fail", "fail")


def test_mcp_without_tools_fails(here, server):
    server.mcp_tools = []
    assert outcomes(here("doctor", "--json"))["mcp 2025-11-25"] == "fail"


def test_mcp_without_the_modern_era_is_warned(here, server):
    server.mcp_versions = ["2025-11-25"]
    assert outcomes(here("doctor", "--json"))["mcp 2026-07-28"] == "warn"


def test_both_eras_of_mcp_are_spoken_as_agents_speak_them(here, server):
    here("doctor")
    calls = [one for one in server.received if one.path == "/mcp"]
    assert [call.json["method"] for call in calls] == [
        "initialize",
        "tools/list",
        "server/discover",
    ]
    assert [call.headers.get("mcp-protocol-version") for call in calls] == [
        None,
        "2025-11-25",
        "2026-07-28",
    ]
    assert {call.headers["authorization"] for call in calls} == {"Bearer cm_good"}


def test_an_unknown_repository_is_warned_with_its_remote(here, server):
    error = {"error": {"code": "not_found", "message": "No such repository."}}
    server.canned["/api/v1/tools/"] = Canned(status=404, body=json.dumps(error).encode())
    found = check(here("doctor", "--json"), "repository")
    assert found["outcome"] == "warn"
    assert found["message"] == "No such repository."


def test_a_scope_without_a_repository_is_warned(here, server):
    server.status["scope"] = {"namespace": "platform"}
    found = check(here("doctor", "--json"), "repository")
    assert found["outcome"] == "warn"
    assert "register the repository https://git.example.com/team/api" in found["hint"]


def test_an_inferred_repository_is_not_taken_for_the_checkout(here, server):
    server.status["scope"]["source"] = "inferred"
    found = check(here("doctor", "--json"), "repository")
    assert found["outcome"] == "warn"
    assert "does not know this checkout and answers for platform/api @ main" in found["message"]


def test_an_index_behind_the_checkout_is_warned(here, repository):
    repository.commit("b.py")
    found = check(here("doctor", "--json"), "repository")
    assert found["outcome"] == "warn"
    assert "1 commit behind your HEAD" in found["message"]


def test_a_directory_without_git_is_warned(codemem):
    result = codemem("doctor", "--json")
    assert result.status == 0
    assert outcomes(result)["checkout"] == "warn"


def test_a_linked_worktree_and_a_detached_head_are_named(here, repository, tmp_path):
    repository.git("worktree", "add", "-q", "--detach", str(tmp_path / "side"))
    here.directory = tmp_path / "side"
    message = check(here("doctor", "--json"), "checkout")["message"]
    assert message.startswith("linked worktree of https://git.example.com/team/api, on detached at")


def test_the_token_is_never_printed(here):
    result = here("doctor")
    assert "cm_good" not in result.out + result.err


def opening(server):
    answer = b'{"hookSpecificOutput": {"additionalContext": "Scope: platform/api"}}'
    server.canned["/hooks/"] = Canned(body=answer)
    server.identities["cm_good"]["token"]["scopes"].append("hooks:write")


def test_an_event_is_sent_through_the_real_shim(here, server):
    here("init", "--only", "claude-code", "--yes")
    opening(server)
    found = check(here("doctor", "--json"), "hook event")
    assert found["outcome"] == "ok"
    request = server.last("/hooks/claude-code?event=SessionStart")
    assert request.headers["codemem-capture"] == "metadata"
    assert request.headers["codemem-remote"] == "https://git.example.com/team/api"


def test_an_event_for_which_no_session_is_opened_is_a_warning(here, server):
    here("init", "--only", "claude-code", "--yes")
    opening(server)
    server.canned["/hooks/"] = Canned(body=b"")
    assert check(here("doctor", "--json"), "hook event")["outcome"] == "warn"


def test_an_event_that_does_not_arrive_fails(here, server):
    here("init", "--only", "claude-code", "--yes")
    opening(server)
    server.canned["/hooks/"] = Canned(status=503)
    result = here("doctor", "--json")
    assert check(result, "hook event")["outcome"] == "fail"
    assert result.status == 1


def test_a_token_that_may_send_no_events_is_a_warning(here, server):
    here("init", "--only", "claude-code", "--yes")
    assert check(here("doctor", "--json"), "hook right")["outcome"] == "warn"


def test_each_client_is_looked_at(here, server):
    for folder in (".claude", ".codex", ".cursor"):
        (here.home / folder).mkdir()
    here("init", "--only", "claude-code,codex", "--yes")
    result = here("doctor", "--json")
    found = outcomes(result)
    assert (found["claude-code"], found["codex"], found["cursor"]) == ("ok", "warn", "warn")
    assert "/hooks" in check(result, "codex")["hint"]
    assert "not connected" in check(result, "cursor")["message"]
    config = here.home / ".codex" / "config.toml"
    trusted = '[hooks.state."/home/ada/.codex/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n'
    config.write_text(config.read_text() + trusted)
    (here.home / ".claude" / "settings.json").unlink()
    found = outcomes(here("doctor", "--json"))
    assert (found["claude-code"], found["codex"]) == ("warn", "ok")


def test_what_waits_in_the_spool_is_told(here):
    spool = here.home / ".local" / "state" / "codemem" / "spool"
    spool.mkdir(parents=True)
    assert check(here("doctor", "--json"), "hook spool")["message"] == "nothing waits to be sent"
    waiting = spool / "20261122T101112.1+0000001+codex+Stop.event"
    waiting.write_text("{}")
    os.utime(waiting, (0, 0))
    assert check(here("doctor", "--json"), "hook spool")["outcome"] == "warn"
