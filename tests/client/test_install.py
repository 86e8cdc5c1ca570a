"""`codemem init` and `uninstall` on homes with real-looking files of every client."""

import json
import os
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest

from codemem.client.install import jsonc, templates

CLAUDE_SETTINGS = """\
{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "permissions": {
    "allow": ["Bash(npm run lint)", "Bash(git status:*)"],
    "deny": []
  },
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [{ "type": "command", "command": "prettier --write ." }]
      }
    ],
    "Stop": []
  },
  "statusLine": {"type": "command", "command": "~/.claude/status.sh"}
}
"""
CLAUDE_STATE = (
    '{"numStartups":42,"mcpServers":{"other":{"type":"stdio","command":"x"}},'
    '"projects":{"/home/ada/api":{"allowedTools":[]}}}'
)
CODEX_CONFIG = """\
# Ada's Codex
model = "gpt-5.1-codex"          # the good one
approval_policy = "on-request"

[mcp_servers.other]
command = "npx"
args = ["-y", "other"]
env = { "A" = "[mcp_servers.codemem]" }

[projects."/home/ada/api"]
trust_level = "trusted"
notes = \"\"\"
[mcp_servers.codemem]
is not a table here
\"\"\"
"""
GEMINI_SETTINGS = """\
{
\t// Theme
\t"ui": { "theme": "GitHub" },
\t"hooks": {
\t\t"SessionStart": [
\t\t\t{ "hooks": [{ "type": "command", "command": "echo hi" }] }, // mine
\t\t],
\t},
}
"""
OPENCODE = """\
{
  "$schema": "https://opencode.ai/config.json",
  /* models */
  "model": "anthropic/claude", // pinned
  "mcp": {}
}
"""
CURSOR_HOOKS = (
    '{\r\n    "version": 1,\r\n    "hooks": {\r\n        "stop": [{"command": "say"}]\r\n    }\r\n}'
)
WINDSURF_MCP = '{"mcpServers": {}}'
VSCODE_MCP = (
    '\ufeff{\n    "inputs": [],\n    "servers": {\n        "github": {"type": "http"},\n    }\n}\n'
)

FULL = {
    ".claude/settings.json": CLAUDE_SETTINGS,
    ".claude.json": CLAUDE_STATE,
    ".codex/config.toml": CODEX_CONFIG,
    ".gemini/settings.json": GEMINI_SETTINGS,
    ".config/opencode/opencode.json": OPENCODE,
    ".cursor/hooks.json": CURSOR_HOOKS,
    ".codeium/windsurf/mcp_config.json": WINDSURF_MCP,
    ".config/Code/User/mcp.json": VSCODE_MCP,
}
BARE = {
    ".claude/settings.json": "{}",
    ".codex/config.toml": "",
    ".codex/hooks.json": "",
    ".gemini/settings.json": "{\n}\n",
    ".config/opencode/opencode.jsonc": "// nothing yet\n{\n  // none\n}\n",
    ".cursor/mcp.json": '{ "mcpServers": { "a": { "url": "https://a" } } }\n',
    ".cursor/hooks.json": '{"version": 1, "hooks": {}}',
    ".codeium/windsurf/mcp_config.json": "\n\n",
    ".config/Code/User/mcp.json": '{"servers": {"a": {"type": "stdio"}}}',
}
DOS = {
    name: text.replace("\r\n", "\n").replace("\n", "\r\n")
    for name, text in {
        **FULL,
        ".codex/config.toml": 'model = "x"\n\n[tui]\nnotifications = true',
    }.items()
}
EXISTING = {
    # Another version of ours, and hooks around it that are not.
    ".claude/settings.json": json.dumps(
        {
            "hooks": {
                "Stop": [
                    {"hooks": [{"type": "command", "command": "sh /old/codemem-hook tell x"}]},
                    {"hooks": [{"type": "command", "command": "mine"}]},
                ]
            }
        },
        indent=4,
    ),
    ".claude.json": '{"mcpServers": {"codemem": {"type": "http", "url": "https://old"}}}',
    ".codex/config.toml": '[mcp_servers.codemem]\nurl = "https://old"\n\n[tui]\nx = 1\n',
}
HOMES = {"full": FULL, "bare": BARE, "dos": DOS, "existing": EXISTING, "empty": {}}
ALL = ",".join(client.name for client in templates.CLIENTS)


def furnish(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def contents(home: Path) -> dict[str, bytes]:
    """Return every file of a home but our own state and Python's caches."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and ".local/" not in str(path) and "__pycache__" not in path.parts
    }


@pytest.fixture
def init(codemem):
    def run(*arguments, **environment):
        return codemem("init", "--only", ALL, "--yes", *arguments, **environment)

    return run


@pytest.mark.parametrize("name", HOMES)
def test_uninstall_restores_every_file_to_the_byte(codemem, init, name):
    furnish(codemem.home, HOMES[name])
    before = contents(codemem.home)
    assert init().status == 0
    assert contents(codemem.home) != before
    assert codemem("uninstall", "--yes").status == 0
    assert contents(codemem.home) == before
    assert not (codemem.home / ".local/share/codemem/codemem-hook").exists()


@pytest.mark.parametrize("name", HOMES)
def test_a_second_init_changes_nothing(codemem, init, name):
    furnish(codemem.home, HOMES[name])
    init()
    before = contents(codemem.home)
    again = init()
    assert "Nothing to change" in again.err
    assert contents(codemem.home) == before


@pytest.mark.parametrize("name", HOMES)
def test_what_was_there_still_says_the_same(codemem, init, name):
    furnish(codemem.home, HOMES[name])
    init()
    for path, text in HOMES[name].items():
        old = _said(path, text)
        assert _without_ours(_said(path, (codemem.home / path).read_text())) == _without_ours(old)


@pytest.mark.parametrize("name", ["full", "dos", "bare"])
def test_nothing_is_written_otherwise_than_it_was(codemem, init, name):
    """Every byte that was there still is, in its order: ours is inserted, nothing is rewritten."""
    furnish(codemem.home, HOMES[name])
    init()
    for path, text in HOMES[name].items():
        after = (codemem.home / path).read_bytes().decode()
        rest = iter(after)
        assert all(letter in rest for letter in text), f"{path} was rewritten:\n{after}"
        assert after.startswith("\ufeff") == text.startswith("\ufeff")
        if "\r\n" in text:
            assert "\n" not in after.replace("\r\n", "")


@pytest.mark.parametrize("name", ["full", "dos", "existing"])
def test_from_a_file_that_was_touched_since_only_ours_is_taken_out(codemem, init, name):
    furnish(codemem.home, HOMES[name])
    init()
    for path in HOMES[name]:
        file = codemem.home / path
        text = file.read_bytes().decode()
        if path.endswith(".toml"):
            file.write_bytes((text + "\n[later]\nx = 1\n").encode())
        else:
            file.write_bytes(jsonc.with_member(text, ["later"], {"x": 1}).encode())
    codemem("uninstall", "--yes")
    for path, text in HOMES[name].items():
        file = codemem.home / path
        left = file.read_text()
        assert "codemem-hook" not in left
        assert _said(path, left)["later"] == {"x": 1}
        expected = {**_without_ours(_said(path, text)), "later": {"x": 1}}
        assert _without_ours(_said(path, left)) == expected
        if name != "existing" and not path.endswith(".toml"):
            # Taking the person's own addition out again, the file is what it was.
            again = jsonc.without_member(file.read_bytes().decode(), ["later"])
            assert again == text


def test_claude_code_golden(codemem, init):
    furnish(codemem.home, {".claude/settings.json": CLAUDE_SETTINGS})
    init()
    shim = f"sh {codemem.home}/.local/share/codemem/codemem-hook"
    after = (codemem.home / ".claude/settings.json").read_text()
    head, _, _ = CLAUDE_SETTINGS.partition('." }]\n      }')
    before = f'{head}." }}]\n      }},\n'
    assert after.startswith(before)
    rest = after.removeprefix(before)
    assert rest.startswith(
        "      {\n"
        '        "hooks": [\n'
        "          {\n"
        '            "type": "command",\n'
        f'            "command": "{shim} tell claude-code PostToolUse",\n'
        '            "timeout": 5\n'
        "          }\n"
        "        ]\n"
        "      }\n"
        "    ],\n"
        '    "Stop": [\n'
        "      {\n"
    )
    assert after.endswith(
        '    ]\n  },\n  "statusLine": {"type": "command", "command": "~/.claude/status.sh"}\n}\n'
    )
    server = json.loads((codemem.home / ".claude.json").read_text())["mcpServers"]["codemem"]
    assert server["type"] == "http"
    assert server["headersHelper"] == f"{shim} headers"


def test_codex_golden(codemem, init):
    furnish(codemem.home, {".codex/config.toml": CODEX_CONFIG})
    url = codemem.environment["CODEMEM_URL"]
    init()
    assert (codemem.home / ".codex/config.toml").read_text() == (
        f'{CODEX_CONFIG}\n[mcp_servers.codemem]\nurl = "{url}/mcp"\n'
        'bearer_token_env_var = "CODEMEM_TOKEN"\n'
    )
    hooks = json.loads((codemem.home / ".codex/hooks.json").read_text())["hooks"]
    assert hooks["PreToolUse"][0]["hooks"][0]["command"].endswith("ask codex PreToolUse")


def test_gemini_golden(codemem, init):
    furnish(codemem.home, {".gemini/settings.json": GEMINI_SETTINGS})
    init()
    after = (codemem.home / ".gemini/settings.json").read_bytes().decode()
    assert after.startswith(
        "{\n"
        "\t// Theme\n"
        '\t"ui": { "theme": "GitHub" },\n'
        '\t"hooks": {\n'
        '\t\t"SessionStart": [\n'
        '\t\t\t{ "hooks": [{ "type": "command", "command": "echo hi" }] }, // mine\n'
        "\t\t\t{\n"
        '\t\t\t\t"hooks": [\n'
    )
    assert jsonc.value_of(after)["hooks"]["AfterTool"][0]["hooks"][0]["timeout"] == 5000


def test_without_a_token_in_the_environment_clients_go_through_the_bridge(stranger, server):
    stranger.store(url=server.url, token="cm_good")
    assert stranger("init", "--only", ALL, "--yes").status == 0
    said = contents(stranger.home)
    assert b"cm_good" not in b"".join(
        text for name, text in said.items() if name != ".config/codemem/config.json"
    )
    codex = tomllib.loads(said[".codex/config.toml"].decode())["mcp_servers"]["codemem"]
    assert codex["args"][-1] == "serve"
    assert json.loads(said[".config/opencode/opencode.json"])["mcp"]["codemem"]["type"] == "local"


def test_no_token_is_ever_written_anywhere(codemem, init):
    init()
    written = list(contents(codemem.home).values())
    written += [p.read_bytes() for p in (codemem.home / ".local").rglob("*") if p.is_file()]
    assert not any(b"cm_good" in text for text in written)


def test_a_dry_run_shows_and_writes_nothing(codemem):
    furnish(codemem.home, FULL)
    before = contents(codemem.home)
    result = codemem("init", "--only", ALL, "--dry-run")
    assert result.status == 0
    assert '+    "codemem": {' in result.out
    assert "nothing was written" in result.err
    assert contents(codemem.home) == before
    assert not (codemem.home / ".local").exists()


def test_without_anybody_to_ask_nothing_is_written(codemem):
    result = codemem("init", "--only", "codex")
    assert result.status == 2
    assert "--yes" in result.err
    assert contents(codemem.home) == {}


def test_a_person_is_asked(codemem):
    no = codemem.on_terminal("init", "--only", "codex", typed={"Write this? [y/N] ": "n\n"})
    assert no.status == 2
    assert contents(codemem.home) == {}
    yes = codemem.on_terminal("init", "--only", "codex", typed={"Write this? [y/N] ": "y\n"})
    assert yes.status == 0
    assert "trust" in yes.err
    assert set(contents(codemem.home)) == {".codex/config.toml", ".codex/hooks.json"}


def test_clients_are_found_by_their_folders(codemem):
    (codemem.home / ".cursor").mkdir()
    codemem.environment["PATH"] = "/usr/bin:/bin"
    result = codemem("init", "--dry-run", "--json")
    assert result.json["clients"] == ["cursor"]
    assert result.json["written"] is False
    assert {file["action"] for file in result.json["files"]} == {"create"}


def test_no_client_is_said(codemem):
    codemem.environment["PATH"] = "/usr/bin:/bin"
    result = codemem("init", "--json")
    assert (result.status, result.json["error"]["code"]) == (2, "no_client")


def test_a_misspelled_client_is_said(codemem):
    result = codemem("init", "--only", "clod")
    assert result.status == 2
    assert "claude-code" in result.err


@pytest.mark.parametrize(
    ("path", "text", "where"),
    [
        (".claude/settings.json", '{"hooks": [}', "line 1, column 12"),
        (".claude/settings.json", '{"a": 1', "line 1, column 8"),
        (".claude/settings.json", '{\n  "hooks": 3\n}', "object was expected around"),
        (".claude/settings.json", "[]", "object was expected around"),
        (".claude/settings.json", '{"hooks": {"Stop": {}}}', "Stop is not a list"),
        (".claude.json", "{" * 300, "name in quotes"),
        (".codex/config.toml", "model = \n", "Invalid value"),
        (".codex/config.toml", 'mcp_servers = { codemem = { url = "x" } }\n', "edited safely"),
        (".gemini/settings.json", b"\xff\xfe{", "not UTF-8"),
        (".cursor/mcp.json", "nonsense", "no value"),
    ],
)
def test_a_file_that_cannot_be_edited_is_named_and_nothing_is_written(
    codemem, init, path, text, where
):
    furnish(codemem.home, {**FULL, path: ""})
    (codemem.home / path).write_bytes(text if isinstance(text, bytes) else text.encode())
    before = contents(codemem.home)
    result = init()
    assert result.status == 2
    assert path in result.err
    assert where in result.err
    assert "Nothing was written" in result.err
    assert contents(codemem.home) == before
    assert not (codemem.home / ".local").exists()


def test_a_read_only_file_stays(codemem, init):
    furnish(codemem.home, FULL)
    (codemem.home / ".codex/config.toml").chmod(0o444)
    before = contents(codemem.home)
    result = init()
    assert result.status == 2
    assert "read-only" in result.err
    assert contents(codemem.home) == before


def test_a_link_stays_a_link_and_its_file_is_written(codemem, init, tmp_path):
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "settings.json").write_text(CLAUDE_SETTINGS)
    (codemem.home / ".claude").mkdir()
    link = codemem.home / ".claude/settings.json"
    link.symlink_to(dotfiles / "settings.json")
    init()
    assert link.is_symlink()
    assert "codemem-hook" in (dotfiles / "settings.json").read_text()
    codemem("uninstall", "--yes")
    assert (dotfiles / "settings.json").read_text() == CLAUDE_SETTINGS
    assert [path.name for path in dotfiles.iterdir()] == ["settings.json"]


def test_modes_are_kept_and_new_files_are_private(codemem, init):
    furnish(codemem.home, {".claude/settings.json": "{}"})
    (codemem.home / ".claude/settings.json").chmod(0o640)
    init()
    modes = {
        name: stat.S_IMODE((codemem.home / name).stat().st_mode)
        for name in (".claude/settings.json", ".codex/config.toml")
    }
    assert modes == {".claude/settings.json": 0o640, ".codex/config.toml": 0o600}


def test_a_backup_lies_beside_a_file_that_changed(codemem, init):
    furnish(codemem.home, {".claude/settings.json": CLAUDE_SETTINGS})
    init()
    (backup,) = (codemem.home / ".claude").glob("settings.json.before-codemem-*")
    assert backup.read_text() == CLAUDE_SETTINGS


def test_a_project_gets_what_every_colleague_can_use(codemem, repository, server):
    repository.commit()
    repository.commit("AGENTS.md", "# Rules\n\nBe kind.\n")
    codemem.directory = repository.directory
    before = _tree(repository.directory)
    result = codemem("init", "--project", "--only", ALL, "--yes", "--instructions")
    assert result.status == 0
    written = _tree(repository.directory)
    assert {
        ".mcp.json", ".claude/settings.json", ".codex/config.toml", ".codex/hooks.json",
        ".cursor/mcp.json", ".cursor/hooks.json", ".windsurf/hooks.json", ".gemini/settings.json",
        "opencode.json", ".opencode/plugin/codemem.js", ".vscode/mcp.json",
        ".github/hooks/codemem.json", "AGENTS.md", "CLAUDE.md",
    } <= set(written)  # fmt: skip
    everything = b"".join(written.values())
    assert b"cm_good" not in everything
    assert str(codemem.home).encode() not in everything
    assert not any("before-codemem" in name for name in written)
    assert b"|| true" in written[".claude/settings.json"]
    agents = written["AGENTS.md"].decode()
    assert agents.startswith("# Rules\n\nBe kind.\n\n<!-- codemem: begin")
    assert "check_prior_failures" in agents
    codemem("uninstall", "--project", "--yes")
    assert _tree(repository.directory) == before


def test_a_project_needs_a_checkout(codemem):
    result = codemem("init", "--project", "--only", "codex", "--yes")
    assert result.status == 2
    assert "no work tree" in result.err


def test_text_around_the_block_is_kept(codemem, init):
    furnish(codemem.home, {".claude/CLAUDE.md": "# Mine"})
    init("--instructions")
    path = codemem.home / ".claude/CLAUDE.md"
    path.write_text(path.read_text() + "\nAfter.\n")
    init("--instructions")
    assert path.read_text().count("codemem: begin") == 1
    codemem("uninstall", "--yes")
    assert path.read_text() == "# Mine\n\n\nAfter.\n"


def test_the_hooks_that_are_written_run(codemem, init, server):
    """The command of the file, run by a shell as clients do it, reaches the server."""
    init()
    settings = json.loads((codemem.home / ".claude/settings.json").read_text())
    command = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]
    server.canned["/hooks/"] = _canned(b'{"x": 1}')
    finished = subprocess.run(
        command,
        shell=True,
        input=b'{"session_id": "s"}',
        env=codemem.environment,
        capture_output=True,
        check=True,
    )
    assert finished.stdout == b'{"x": 1}'
    assert server.last("/hooks/claude-code?event=UserPromptSubmit").json == {"session_id": "s"}


def test_variables_that_move_a_clients_files_are_followed(codemem, init, tmp_path):
    folder = tmp_path / "moved"
    init(CLAUDE_CONFIG_DIR=str(folder), CODEX_HOME=str(folder / "codex"))
    assert (folder / ".claude.json").exists()
    assert (folder / "settings.json").exists()
    assert (folder / "codex" / "config.toml").exists()


def test_the_shim_in_the_package_can_be_run():
    assert os.access(Path(templates.__file__).with_name("codemem-hook"), os.X_OK)


def _canned(body: bytes):
    from tests.client.server_double import Canned

    return Canned(body=body)


def _tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] != ".git"
    }


def _said(path: str, text: str):
    if path.endswith(".toml"):
        return tomllib.loads(text.removeprefix("\ufeff"))
    return jsonc.value_of(text) or {}


def _without_ours(value):
    """Return a file's meaning without us and without what is empty."""
    if isinstance(value, dict):
        kept = {key: _without_ours(one) for key, one in value.items() if key != "codemem"}
        return {key: one for key, one in kept.items() if one not in ({}, [])}
    if isinstance(value, list):
        return [_without_ours(one) for one in value if "codemem-hook" not in json.dumps(one)]
    return value
