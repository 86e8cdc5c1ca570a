"""Where the server is and who asks: the environment first, then the file that `login` writes.

Nothing here talks to the server.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from codemem.client.failure import ExitStatus, Failure

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700


class ConfigurationInvalid(Failure):
    """The configuration file or a setting in the environment cannot be used."""

    code = "configuration_invalid"


class NotLoggedIn(Failure):
    """There is no server or no token to use."""

    status = ExitStatus.UNAUTHORIZED
    code = "not_logged_in"


class UrlInvalid(Failure):
    """The text is not the address of a server."""

    code = "url_invalid"


class TokenInvalid(Failure):
    """The text cannot be a token, whatever the server would say."""

    code = "token_invalid"


class Configuration(NamedTuple):
    """The settings of one call. Repr leaves the token out."""

    path: Path
    url: str | None
    token: str | None
    namespace: str | None
    repository: str | None
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Configuration(url={self.url!r}, token={'set' if self.token else None})"


def configuration_path() -> Path:
    """Return where `login` keeps the settings of this user (XDG base directories)."""
    # The specification says to ignore a relative XDG_CONFIG_HOME.
    base = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if not base.is_absolute():
        base = _home() / ".config"
    return base / "codemem" / "config.json"


def read_configuration() -> Configuration:
    """Return the settings in force. Raises ConfigurationInvalid or UrlInvalid."""
    path = configuration_path()
    stored = _read_file(path)
    url = _setting("CODEMEM_URL", stored.get("url"))
    token, warnings = _token_for(url, stored=stored, path=path)
    return Configuration(
        path=path,
        url=normalize_url(url) if url else None,
        token=check_token(token) if token else None,
        namespace=_setting("CODEMEM_NAMESPACE", stored.get("namespace")),
        repository=_setting("CODEMEM_REPOSITORY", stored.get("repository")),
        warnings=warnings,
    )


def store_login(*, url: str, token: str) -> Path:
    """Write the verified server and token, keep the other settings, return the file's path."""
    path = configuration_path()
    settings = _read_file(path) | {"url": url, "token": token}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)
        path.parent.chmod(_PRIVATE_FOLDER)
        _write_atomically(path, settings)
    except OSError as error:
        raise ConfigurationInvalid(f"Cannot write {path}: {error.strerror}.") from error
    return path


def normalize_url(text: str) -> str:
    """Return `scheme://host[:port][/prefix]`; a missing scheme is https, http for this machine."""
    text = text.strip()
    if not text.isprintable() or " " in text:
        raise UrlInvalid("The URL of the server contains spaces or control characters.")
    if "://" not in text:
        text = f"{'http' if _is_loopback('http://' + text) else 'https'}://{text}"
    parts = _split(text)
    if parts.scheme not in ("http", "https"):
        raise UrlInvalid(f"A server is reached over http or https, not over {parts.scheme}.")
    if not parts.hostname:
        raise UrlInvalid(f"The URL {text} names no host.")
    if parts.username is not None or parts.query or parts.fragment:
        raise UrlInvalid(
            "The URL of the server holds more than an address.",
            hint="Leave out user names, passwords, queries and fragments; a token goes to `login`.",
        )
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"


def is_plain_text(url: str) -> bool:
    """Tell whether a token sent to this server crosses a network unencrypted."""
    return url.startswith("http://") and not _is_loopback(url)


def check_token(token: str) -> str:
    """Return the token without surrounding space. Raises TokenInvalid if no header can carry it."""
    token = token.strip()
    if not token:
        raise TokenInvalid("The token is empty.")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise TokenInvalid(
            "This is not a token: it contains spaces or characters outside ASCII.",
            hint="A token is one word that begins with cm_.",
        )
    return token


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        # A container under a made-up user has neither HOME nor a name; it has the environment.
        return Path("/")


def _read_file(path: Path) -> dict[str, Any]:
    import json

    try:
        stored = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigurationInvalid(f"Cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise ConfigurationInvalid(
            f"{path} is not valid JSON.", hint="Repair it, or delete it and run `codemem login`."
        ) from error
    if not isinstance(stored, dict):
        raise ConfigurationInvalid(f"{path} does not hold a JSON object.")
    return stored


def _setting(variable: str, stored: object) -> str | None:
    value = os.environ.get(variable) or stored
    if value is not None and not isinstance(value, str):
        raise ConfigurationInvalid(f"{variable.removeprefix('CODEMEM_').lower()} is not a text.")
    return value or None


def _token_for(
    url: str | None, *, stored: dict[str, Any], path: Path
) -> tuple[str | None, tuple[str, ...]]:
    if token := os.environ.get("CODEMEM_TOKEN"):
        return token, ()
    token = stored.get("token")
    if not isinstance(token, str):
        return None, ()
    # A stored token belongs to the stored server: another one must never be shown it.
    if url is None or normalize_url(url) != normalize_url(str(stored.get("url", ""))):
        return None, (f"The token in {path} belongs to another server than {url}; it is not used.",)
    if problem := _exposure(path):
        return None, (f"{problem} The token in it is not used; run: chmod 600 {path}",)
    return token, ()


def _exposure(path: Path) -> str | None:
    if os.name == "nt":
        return None  # Windows profiles are private by their access lists; modes say nothing there.
    status = path.stat()
    if status.st_uid != os.getuid():
        return f"{path} belongs to another user."
    if mode := stat.S_IMODE(status.st_mode) & ~_PRIVATE_FILE:
        return f"{path} is open to others (mode {mode | _PRIVATE_FILE:04o})."
    return None


def _write_atomically(path: Path, settings: dict[str, Any]) -> None:
    import json

    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    # Private from its first byte: created with its final mode, never narrowed afterwards.
    with os.fdopen(
        os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE), "w"
    ) as file:
        json.dump(settings, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _is_loopback(url: str) -> bool:
    return _split(url).hostname in _LOOPBACK


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # parsed lazily: a port that is no number is found out here
    except ValueError as error:
        raise UrlInvalid(f"{text} is not a URL: {error}.") from error
    return parts
