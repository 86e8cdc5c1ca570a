"""Phrases for what every answer of a tool carries: its scope, and how fresh its code is."""

from __future__ import annotations

from typing import Any


def scope_phrase(result: dict[str, Any]) -> str:
    """Return `namespace/repository @ ref` with what the answer names of it."""
    scope = result.get("scope")
    if not isinstance(scope, dict):
        return str(scope or "an unnamed scope")
    place = "/".join(
        part for part in (_name(scope.get("namespace")), _name(scope.get("repository"))) if part
    )
    ref = _name(scope.get("ref"))
    inferred = " (inferred)" if scope.get("inferred") else ""
    return f"{place or 'no namespace'}{f' @ {ref}' if ref else ''}{inferred}"


def repository_of(result: dict[str, Any]) -> str | None:
    """Return the repository that an answer is about, if it is about one."""
    scope = result.get("scope")
    return _name(scope.get("repository")) if isinstance(scope, dict) else None


def code_of(result: dict[str, Any]) -> dict[str, Any] | None:
    """Return what an answer says about the code it is based on, if it is based on code."""
    code = result.get("code")
    return code if isinstance(code, dict) else None


def freshness_warning(result: dict[str, Any]) -> str | None:
    """Return a sentence if the answer is based on an older commit than the server has seen."""
    behind = (code_of(result) or {}).get("behind_by")
    if not isinstance(behind, int) or behind <= 0:
        return None
    return f"The index is {commits(behind)} behind the repository."


def commits(count: int) -> str:
    """Return `1 commit`, `2 commits`."""
    return f"{count} commit{'' if count == 1 else 's'}"


def _name(value: object) -> str | None:
    if isinstance(value, dict):
        value = value.get("name") or value.get("slug") or value.get("id")
    return str(value) if value else None
