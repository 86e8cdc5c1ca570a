"""Typed readers of environment variables: each returns the value or refuses nonsense in a sentence.

Knows nothing of Django and nothing of which variables exist; settings.py does.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


class EnvironmentInvalid(Exception):
    """An environment variable is missing or cannot mean what its reader needs."""


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    host: str
    port: int
    name: str
    user: str
    password: str


def text(name: str, default: str = "") -> str:
    """Return the variable, or `default` when it is unset or blank."""
    return os.environ.get(name, "").strip() or default


def required_text(name: str, *, hint: str) -> str:
    """Return the variable; raise EnvironmentInvalid with `hint` when it is unset or blank."""
    value = text(name)
    if not value:
        raise EnvironmentInvalid(f"{name} is not set. {hint}")
    return value


def integer(name: str, default: int, *, minimum: int = 0, maximum: int | None = None) -> int:
    """Return a whole number within its bounds."""
    raw = text(name)
    if not raw:
        return default
    try:
        value = int(raw)
    except ValueError:
        raise EnvironmentInvalid(f"{name} must be a whole number, not {raw!r}.") from None
    if value < minimum or (maximum is not None and value > maximum):
        upper = f" and at most {maximum}" if maximum is not None else ""
        raise EnvironmentInvalid(f"{name} must be at least {minimum}{upper}, not {value}.")
    return value


def number(name: str, default: float, *, minimum: float = 0.0, maximum: float = 1.0) -> float:
    """Return a number within its bounds; not-a-number is none."""
    raw = text(name)
    if not raw:
        return default
    try:
        value = float(raw)
    except ValueError:
        raise EnvironmentInvalid(f"{name} must be a number, not {raw!r}.") from None
    if not minimum <= value <= maximum:
        raise EnvironmentInvalid(f"{name} must be from {minimum} to {maximum}, not {value}.")
    return value


def boolean(name: str, *, default: bool) -> bool:
    """Return true for 1, true, yes, on and false for 0, false, no, off, in any case."""
    raw = text(name).lower()
    if not raw:
        return default
    if raw in _TRUE:
        return True
    if raw in _FALSE:
        return False
    raise EnvironmentInvalid(f"{name} must be true or false, not {raw!r}.")


def choice(name: str, default: str, *, choices: tuple[str, ...]) -> str:
    """Return one of `choices`, however it is capitalized in the environment."""
    raw = text(name, default)
    for known in choices:
        if known.lower() == raw.lower():
            return known
    raise EnvironmentInvalid(f"{name} must be one of {', '.join(choices)}, not {raw!r}.")


def words(name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return a comma-separated list without blanks."""
    return tuple(word for item in text(name).split(",") if (word := item.strip())) or default


def pairs(name: str) -> dict[str, str]:
    """Return a comma-separated list of key=value as a dictionary."""
    found = {}
    for item in words(name):
        key, equals, value = item.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise EnvironmentInvalid(f"{name} must be a list of key=value, not {item!r}.")
        found[key.strip()] = value.strip()
    return found


def commands(name: str) -> dict[str, str]:
    """Return a JSON object of command lines by name."""
    raw = text(name)
    try:
        value = json.loads(raw) if raw else {}
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(line, str) for line in value.values()):
        example = '{"go": "scip-go index --output {output}", "ruby": "off"}'
        raise EnvironmentInvalid(f"{name} must be a JSON object like {example}, not {raw!r}.")
    return value


def directory(name: str, default: Path) -> Path:
    """Return an absolute path; ~ is the home directory."""
    path = Path(text(name) or default).expanduser()
    if not path.is_absolute():
        raise EnvironmentInvalid(f"{name} must be an absolute path, not {path}.")
    return path


def database(name: str, *, hint: str) -> DatabaseAddress:
    """Read postgresql://user:password@host:port/name; a refusal does not repeat the password."""
    form = f"{name} must look like postgresql://user:password@host:5432/database."
    parts, port = _split(required_text(name, hint=hint), problem=form)
    if parts.scheme not in {"postgres", "postgresql"} or not parts.hostname:
        raise EnvironmentInvalid(form)
    if not parts.path.strip("/"):
        raise EnvironmentInvalid(f"{name} names no database: end it with /codemem, for example.")
    return DatabaseAddress(
        host=parts.hostname,
        port=port or 5432,
        name=unquote(parts.path.strip("/")),
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )


def redis_url(name: str, *, hint: str) -> str:
    """Return an address that the Redis client understands."""
    url = required_text(name, hint=hint)
    form = f"{name} must look like redis://:password@host:6379/0."
    parts, _ = _split(url, problem=form)
    if parts.scheme not in {"redis", "rediss", "unix"}:
        raise EnvironmentInvalid(form)
    return url


def _split(url: str, *, problem: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # an impossible port or an unclosed IPv6 bracket
        raise EnvironmentInvalid(problem) from None
    return parts, port
