"""Manifests as their ecosystems write them, a module each; which file is read by whom."""

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Final

from indexing.crossing.manifests.dotnet import read_project_of_dotnet
from indexing.crossing.manifests.go import read_go_mod, read_go_work
from indexing.crossing.manifests.javascript import read_npm, read_pnpm_workspace
from indexing.crossing.manifests.jvm import read_gradle, read_gradle_settings, read_pom
from indexing.crossing.manifests.php import read_composer
from indexing.crossing.manifests.python import read_pyproject, read_requirements, read_setup_cfg
from indexing.crossing.manifests.ruby import read_gemfile, read_gemspec
from indexing.crossing.manifests.rust import read_cargo
from indexing.crossing.values import Manifest

Reader = Callable[[str, bytes], Manifest | None]

_BY_NAME: Final[Mapping[str, Reader]] = {
    "Cargo.toml": read_cargo,
    "package.json": read_npm,
    "pnpm-workspace.yaml": read_pnpm_workspace,
    "go.mod": read_go_mod,
    "go.work": read_go_work,
    "pyproject.toml": read_pyproject,
    "setup.cfg": read_setup_cfg,
    "pom.xml": read_pom,
    "build.gradle": read_gradle,
    "build.gradle.kts": read_gradle,
    "settings.gradle": read_gradle_settings,
    "settings.gradle.kts": read_gradle_settings,
    "Gemfile": read_gemfile,
    "composer.json": read_composer,
}
_BY_EXTENSION: Final[Mapping[str, Reader]] = {
    ".gemspec": read_gemspec,
    ".csproj": read_project_of_dotnet,
    ".fsproj": read_project_of_dotnet,
    ".vbproj": read_project_of_dotnet,
}
_REQUIREMENTS: Final = re.compile(r"^(.*[-_.])?requirements([-_.].*)?\.(txt|in)$")


def reader_of(path: str) -> Reader | None:
    """Return who reads the manifest at `path`; None for what is no manifest."""
    folder, name = posixpath.split(path)
    if name in _BY_NAME:
        return _BY_NAME[name]
    is_list = name.endswith((".txt", ".in"))
    in_folder = posixpath.basename(folder) == "requirements"
    if _REQUIREMENTS.match(name) or (is_list and in_folder):
        return read_requirements
    return _BY_EXTENSION.get(posixpath.splitext(name)[1])
