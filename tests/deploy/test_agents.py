"""The Claude Code plugin says what `codemem init` would write, and calls tools that exist."""

import json
import re
from pathlib import Path

import pytest

from codemem.client.install import changes, templates
from codemem.gateway import tools  # noqa: F401 - registers them
from codemem.gateway.tool import registry

AGENTS = Path(__file__).parents[2] / "deploy" / "agents"
PLUGIN = AGENTS / "claude-code" / "plugins" / "codemem"


def test_the_plugins_hooks_are_those_of_init():
    connection = templates.Connection(url="", shim='sh "${CLAUDE_PLUGIN_ROOT}/bin/codemem-hook"')
    files = templates.files("claude-code", scope=templates.USER, connection=connection)
    settings = next(file for file in files if file.place.endswith("settings.json"))
    written = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())
    assert written["hooks"] == json.loads(changes.content_of(settings))["hooks"]


@pytest.mark.parametrize("copy", [AGENTS / "bin" / "codemem-hook", PLUGIN / "bin" / "codemem-hook"])
def test_every_copy_of_the_shim_is_the_clients(copy):
    original = Path(templates.__file__).with_name("codemem-hook")
    assert copy.read_bytes() == original.read_bytes()


def test_the_marketplace_leads_to_the_plugin():
    folder = AGENTS / "claude-code"
    listed = json.loads((folder / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    for plugin in listed:
        manifest = folder / plugin["source"] / ".claude-plugin" / "plugin.json"
        assert json.loads(manifest.read_text())["name"] == plugin["name"]


def test_no_secret_is_in_the_plugin():
    server = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"]["codemem"]
    assert server["headers"]["Authorization"] == "Bearer ${user_config.token}"
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["userConfig"]["token"]["sensitive"] is True


def test_every_tool_that_is_named_exists():
    texts = [path.read_text() for path in PLUGIN.rglob("*.md")] + [templates.INSTRUCTIONS]
    named = {name for text in texts for name in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", text)}
    assert named - set(registry()) == set()
