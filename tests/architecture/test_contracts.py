"""The import contracts of pyproject.toml hold, and each of them breaks when it is violated."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("codemem", "graph", "memory", "indexing", "workers")

# Contract -> a file, and a line in it that nobody may write.
VIOLATIONS = {
    "1. Imports point down": ("graph/remotes.py", "import memory.values"),
    "2. The client stands alone": ("codemem/client/cli.py", "import structlog"),
    "3. Gateway, console and workers reach rows through queries and services": (
        "codemem/gateway/resources.py",
        "import memory.models",
    ),
    "4. Web processes stay light": ("codemem/gateway/rest.py", "import indexing.pipeline"),
    "5. What computes knows neither Django nor Celery": (
        "graph/algorithms/pagerank.py",
        "from django.conf import settings",
    ),
    "6. Only the graph speaks Cypher": ("memory/recall.py", "import graph.cypher"),
    "7. No cycles among siblings": ("graph/models/__init__.py", "import graph.services"),
}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Return a copy of the packages, to be damaged."""
    copy = tmp_path_factory.mktemp("house")
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def contracts(house: Path) -> dict[str, str]:
    """Return KEPT or BROKEN for each contract."""
    result = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--cache-dir", ".cache"],
        cwd=house,
        capture_output=True,
        text=True,
        check=False,
    )
    return dict(re.findall(r"^(\d\. .+?) (KEPT|BROKEN)", result.stdout, re.MULTILINE))


def test_every_contract_holds_and_has_a_violation_here(house):
    assert contracts(house) == dict.fromkeys(VIOLATIONS, "KEPT")


@pytest.mark.parametrize("contract", VIOLATIONS)
def test_a_violation_breaks_its_contract_and_no_other(house, contract):
    name, line = VIOLATIONS[contract]
    file = house / name
    innocent = file.read_text()
    file.write_text(f"{innocent}\n{line}\n")
    try:
        found = contracts(house)
    finally:
        file.write_text(innocent)

    assert found == {**dict.fromkeys(VIOLATIONS, "KEPT"), contract: "BROKEN"}


def test_the_client_imports_the_standard_library_only():
    allowed = sys.stdlib_module_names | {"codemem"}
    for file in (ROOT / "codemem/client").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            for imported in names:
                assert imported.partition(".")[0] in allowed, (file.name, imported)
                assert not imported.startswith("codemem.") or imported.startswith("codemem.client")
