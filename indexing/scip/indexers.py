"""The indexers codemem knows, as data: for which files, how prepared, started, asked for a version.

An indexer is a program on PATH (or in CODEMEM_SCIP_TOOLS) that writes index.scip; a command of
one's own in CODEMEM_SCIP_COMMANDS replaces a row's. None of them is installed by itself
(`deploy/indexers.sh` does that), and none runs repository code as it is called here.
"""

import os
import posixpath
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from indexing.scip import projects
from indexing.scip.projects import Exported


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexer:
    """One row. `command` holds {output}, {project} and {tools}; it starts in the project's folder.

    `languages` are names of language rows; `extensions` and `names` say which files it is shown.
    With `roots`, it runs once in every folder that holds a file so named. `crash_mark` begins the
    line of its log that names the file it died of.
    """

    name: str
    languages: frozenset[str]
    extensions: tuple[str, ...]
    program: str
    command: tuple[str, ...]
    version_command: tuple[str, ...]
    version_pattern: str = r"\S.*"
    prepare: Callable[[Exported], dict[str, str]]
    names: frozenset[str] = frozenset()
    manifests: frozenset[str] = frozenset()
    roots: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    crash_mark: str = ""
    needs_wall: bool = False

    def wants(self, path: str) -> bool:
        """Tell whether the indexer is shown the file."""
        return path.endswith(self.extensions) or posixpath.basename(path) in self.names


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """An indexer that can be started here. `version` is part of what its indexes are cached by."""

    indexer: Indexer
    command: tuple[str, ...]
    version: str


INDEXERS: tuple[Indexer, ...] = (
    Indexer(
        name="python",
        languages=frozenset({"python"}),
        extensions=(".py", ".pyi"),
        manifests=frozenset({"pyproject.toml", "setup.cfg"}),
        program="scip-python",
        command=(
            *("scip-python", "index", ".", "--quiet", "--output", "{output}"),
            *("--project-name", "{project}", "--project-version", "0"),
            *("--environment", ".codemem-environment.json"),
        ),
        version_command=("scip-python", "--version"),
        prepare=projects.pyright_project,
        crash_mark="currentFilepath",
    ),
    Indexer(
        name="typescript",
        languages=frozenset({"typescript", "tsx", "javascript"}),
        extensions=(".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"),
        manifests=frozenset({"package.json", "tsconfig.json", "jsconfig.json"}),
        program="scip-typescript",
        command=("scip-typescript", "index", "--no-progress-bar", "--output", "{output}"),
        version_command=("scip-typescript", "--version"),
        prepare=projects.typescript_project,
    ),
    Indexer(
        name="go",
        languages=frozenset({"go"}),
        extensions=(".go",),
        manifests=frozenset({"go.mod"}),
        roots="go.mod",
        program="scip-go",
        command=("scip-go", "index", "--output", "{output}"),
        version_command=("go", "version", "-m", "{program}"),
        version_pattern=r"(?<=\tmod\t).*",
        environment=(
            ("GOPROXY", "off"),
            ("GOFLAGS", "-mod=mod"),
            ("GOTOOLCHAIN", "local"),
            ("GOWORK", "off"),
            ("CGO_ENABLED", "0"),
        ),
        prepare=projects.go_project,
    ),
    Indexer(
        name="rust",
        languages=frozenset({"rust"}),
        extensions=(".rs",),
        manifests=frozenset({"Cargo.toml"}),
        program="rust-analyzer",
        command=(
            "rust-analyzer",
            "scip",
            ".",
            "--output",
            "{output}",
            "--exclude-vendored-libraries",
        ),
        version_command=("rust-analyzer", "--version"),
        prepare=projects.rust_project,
    ),
    Indexer(
        name="java",
        languages=frozenset({"java"}),
        extensions=(".java",),
        program="scip-java",
        # deploy/indexers.sh's own: javac with the SemanticDB plug-in, no build tool, no processors.
        command=("scip-java-sources", ".codemem-sources", "{output}"),
        version_command=("scip-java", "--version"),
        prepare=projects.java_sources,
    ),
    Indexer(
        name="csharp",
        languages=frozenset({"csharp"}),
        extensions=(".cs", ".csproj", ".sln"),
        program="scip-dotnet",
        command=("scip-dotnet", "index", "--skip-dotnet-restore", "true", "--output", "{output}"),
        version_command=("scip-dotnet", "--version"),
        prepare=projects.nothing,
        needs_wall=True,  # MSBuild runs what a project file says
    ),
    Indexer(
        name="ruby",
        languages=frozenset({"ruby"}),
        extensions=(".rb", ".rbi"),
        program="scip-ruby",
        command=("scip-ruby", ".", "--index-file", "{output}", "--gem-metadata", "{project}@0"),
        version_command=("scip-ruby", "--version"),
        prepare=projects.nothing,
    ),
)


def indexers_for(languages: Iterable[str]) -> list[Indexer]:
    """Return the rows that cover at least one of the languages."""
    wanted = set(languages)
    return [indexer for indexer in INDEXERS if wanted & indexer.languages]


def find_installed(
    indexer: Indexer, *, tools: Path, commands: Mapping[str, str]
) -> Installed | None:
    """Return how the indexer is started here; None if it is not here or was turned off."""
    own = commands.get(indexer.name)
    if own is not None and own.strip() in ("", "off"):
        return None
    command = tuple(own.split()) if own is not None else indexer.command
    program = _program(command[0], tools)
    if program is None:
        return None
    version = own or _version(indexer, tools)
    return Installed(indexer=indexer, command=(program, *command[1:]), version=version)


def search_path(tools: Path) -> str:
    """Return where an indexer finds programs: the tools, and what it is run by."""
    bins = [home / "bin" for home in runtime_homes()]
    places = [
        tools.parent / "shim",
        tools,
        *bins,
        *map(Path, ("/usr/local/bin", "/usr/bin", "/bin")),
    ]
    return os.pathsep.join(dict.fromkeys(map(str, places)))


@cache
def runtime_homes() -> tuple[Path, ...]:
    """Return the folders that run times are installed below, links followed."""
    found = (shutil.which(program) for program in ("node", "go", "java", "javac", "dotnet"))
    return tuple(dict.fromkeys(Path(path).resolve().parent.parent for path in found if path))


def _program(name: str, tools: Path) -> str | None:
    return shutil.which(name, path=str(tools)) or shutil.which(name)


@cache
def _version(indexer: Indexer, tools: Path) -> str:
    """Ask a tool what it is, once per process; a tool that does not say is "unknown"."""
    program = _program(indexer.program, tools) or ""
    first, *rest = (part.replace("{program}", program) for part in indexer.version_command)
    try:
        ended = subprocess.run(
            [_program(first, tools) or first, *rest],
            capture_output=True,
            timeout=30,
            check=False,
            cwd="/",
            env={"PATH": search_path(tools), "HOME": "/nonexistent", "LANG": "C.UTF-8"},
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    said = ended.stdout.decode("utf-8", "replace")
    found = re.search(indexer.version_pattern, said)
    return found[0][:200] if found else "unknown"
