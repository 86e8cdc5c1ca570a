"""Which namespace, repository and ref a call is about, as headers of the request.

Flags win over the environment, the environment over the file, and what nobody names is told as
facts of the checkout, which the server maps to a repository through its aliases.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from codemem.client import gitscope
from codemem.client.configuration import Configuration, ConfigurationInvalid


class Scope(NamedTuple):
    """What a call is about. Any part may be unknown; the server then infers or asks."""

    directory: Path
    namespace: str | None
    repository: str | None
    ref: str | None
    checkout: gitscope.Checkout | None
    git_problem: str | None = None

    def headers(self) -> dict[str, str]:
        """Return the Codemem-* headers, those without a value left out."""
        checkout = self.checkout
        named = {
            "Codemem-Namespace": self.namespace,
            "Codemem-Repository": self.repository,
            "Codemem-Ref": self.ref,
            "Codemem-Remote": checkout.remote if checkout else None,
            "Codemem-Root-Commit": checkout.root_commit if checkout else None,
            "Codemem-Head": checkout.head if checkout else None,
        }
        return {name: value for name, value in named.items() if value}


def find_scope(
    *,
    configuration: Configuration,
    namespace: str | None = None,
    repository: str | None = None,
    ref: str | None = None,
) -> Scope:
    """Return the scope of a call from flags, settings and the current directory.

    A repository named by flag may be another one than the directory's, so nothing about the
    checkout is sent along with it. Settings describe the place one works in, and keep it.
    """
    directory = _current_directory()
    checkout, problem = (None, None) if repository else _look_around(directory)
    return Scope(
        directory=directory,
        namespace=namespace or configuration.namespace,
        repository=repository or configuration.repository,
        ref=ref or (checkout.branch if checkout else None),
        checkout=checkout,
        git_problem=problem,
    )


def _current_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise ConfigurationInvalid("The current directory no longer exists.") from error


def _look_around(directory: Path) -> tuple[gitscope.Checkout | None, str | None]:
    try:
        return gitscope.find_checkout(directory=directory), None
    except (gitscope.GitMissing, gitscope.GitRefused) as failure:
        return None, failure.message
