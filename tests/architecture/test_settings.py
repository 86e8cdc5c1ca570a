"""Every setting is read in one place, by a typed reader, and is in the README's table."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("codemem", "graph", "memory", "indexing", "workers")

# Where the environment is read or set without codemem.env, and why.
EXCEPTIONS = {
    "codemem/env.py": "the readers themselves",
    "codemem/wsgi.py": "names the settings module",
    "workers/app.py": "names the settings module",
    "codemem/metrics.py": "prometheus_client takes its folder from there",
    "codemem/gateway/exposition.py": "prometheus_client takes its folder from there",
    "codemem/embedding/huggingface.py": "switches of other people's libraries",
    "codemem/embedding/local.py": "switches of other people's libraries",
    "codemem/embedding/prepare.py": "runs before there are settings",
    "indexing/git.py": "hands git a clean environment",
}


def names_in_settings() -> set[str]:
    tree = ast.parse((ROOT / "codemem/settings.py").read_text())
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "env"
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }


def names_in_readme() -> set[str]:
    return set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE))


def test_every_setting_is_in_the_readme_and_nothing_else_is():
    assert names_in_settings()
    assert names_in_readme() == names_in_settings()


def test_nothing_else_reads_the_environment():
    readers = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"\bos\.(environ|getenv)\b|from os import .*environ", path.read_text())
        and not path.is_relative_to(ROOT / "codemem/client")
    }

    assert readers <= EXCEPTIONS.keys()


def load_settings(**environment: str | None) -> str:
    """Return what loading the settings says at its end, in a process of its own."""
    wanted = {**os.environ, "CODEMEM_SECRET_KEY": "x", **environment}
    result = subprocess.run(
        [sys.executable, "-c", "import codemem.settings"],
        cwd=ROOT,
        env={name: value for name, value in wanted.items() if value is not None},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stderr.strip().rpartition("\n")[2]


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"DATABASE_URL": None}, "DATABASE_URL is not set. `make up` starts a server"),
        ({"REDIS_URL": "localhost"}, "REDIS_URL must look like redis://"),
        ({"CODEMEM_SECRET_KEY": " "}, "CODEMEM_SECRET_KEY is not set. Any long random string"),
        ({"CODEMEM_DEBUG": "perhaps"}, "CODEMEM_DEBUG must be true or false, not 'perhaps'."),
        ({"CODEMEM_LOG_FORMAT": "xml"}, "CODEMEM_LOG_FORMAT must be one of json, text"),
        ({"CODEMEM_MAXIMUM_FILES": "-1"}, "CODEMEM_MAXIMUM_FILES must be at least 1, not -1."),
    ],
)
def test_a_setting_that_means_nothing_stops_the_server_with_a_sentence(environment, sentence):
    assert load_settings(**environment).startswith(f"codemem.env.EnvironmentInvalid: {sentence}")


def test_good_settings_load_in_silence():
    assert load_settings() == ""
