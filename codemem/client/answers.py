"""Phrases for what every answer of a tool carries: its scope, and how fresh its code is."""

from __future__ import annotations

from typing import Any


def scope_phrase(result: dict[str, Any]) -> str:
    """Return `namespace/repository @ ref` with what the answer names of it."""
    scope = _object(result, "scope")
    spaces = scope.get("namespaces")
    namespace = scope.get("namespace") or (
        ", ".join(map(str, spaces)) if isinstance(spaces, list) else None
    )
    place = "/".join(str(part) for part in (namespace, scope.get("repository")) if part)
    ref = scope.get("ref") or scope.get("branch") or _object(result, "code").get("ref")
    inferred = " (inferred)" if is_inferred(result) else ""
    return f"{place or 'no namespace'}{f' @ {ref}' if ref else ''}{inferred}"


def is_inferred(result: dict[str, Any]) -> bool:
    """Tell whether the server chose the scope, because nothing in the call named one."""
    return _object(result, "scope").get("source") == "inferred"


def repository_of(result: dict[str, Any]) -> str | None:
    """Return the repository that an answer is about, if it is about one."""
    repository = _object(result, "scope").get("repository")
    return str(repository) if repository else None


def code_of(result: dict[str, Any]) -> dict[str, Any] | None:
    """Return what an answer says about the code it is based on, if it is based on code."""
    return _object(result, "code") or None


def lag(result: dict[str, Any]) -> str | None:
    """Return how far the index is behind the newest commit the server has, None if it is not."""
    code = _object(result, "code")
    behind_by = code.get("behind_by")
    if isinstance(behind_by, int) and behind_by > 0:
        behind = f"{commits(behind_by)} behind the server's mirror"
    elif code.get("behind"):
        behind = "behind the server's mirror"
    else:
        return None
    return f"{behind}, an index run is on its way" if code.get("pending") else behind


def remarks(result: dict[str, Any]) -> list[str]:
    """Return what a reader should know about an answer: notes of the server, and its lag."""
    notes = [result.get("note"), _object(result, "code").get("note")]
    behind = lag(result)
    return [str(note) for note in notes if note] + ([f"The index is {behind}."] if behind else [])


def commits(count: int) -> str:
    """Return `1 commit`, `2 commits`."""
    return f"{count} commit{'' if count == 1 else 's'}"


def _object(result: dict[str, Any], key: str) -> dict[str, Any]:
    value = result.get(key)
    return value if isinstance(value, dict) else {}
