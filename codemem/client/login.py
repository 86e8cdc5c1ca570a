"""`codemem login`: verify a token against its server, then remember both."""

from __future__ import annotations

import os
import sys
from typing import Any

from codemem.client.configuration import (
    check_token,
    is_plain_text,
    normalize_url,
    read_configuration,
    store_login,
)
from codemem.client.failure import ExitStatus, Failure
from codemem.client.identity import describe_expiry, namespaces_with_roles, user_name
from codemem.client.terminal import line, note, print_json, styled
from codemem.client.transport import Server


class PromptImpossible(Failure):
    """Something has to be asked, but there is no terminal to ask on."""

    code = "prompt_impossible"


def run(*, url: str | None, token_from_stdin: bool, as_json: bool) -> ExitStatus:
    """Ask for what is missing, verify it with GET /api/v1/me, store it, say who one is."""
    address = normalize_url(url or _known_url() or _ask_url(token_from_stdin=token_from_stdin))
    if is_plain_text(address):
        note(f"{address} is not encrypted: your token can be read on the way.")
    token = check_token(_token_from_stdin() if token_from_stdin else _ask_token())
    identity = Server(url=address, token=token).ask("GET", "/api/v1/me")
    path = store_login(url=address, token=token)
    _warn_of_overrides(address)
    if as_json:
        print_json({"url": address, "configuration": str(path), **identity})
    else:
        _show(identity, address=address, path=str(path))
    return ExitStatus.OK


def _known_url() -> str | None:
    return read_configuration().url


def _ask_url(*, token_from_stdin: bool) -> str:
    if token_from_stdin or not sys.stdin.isatty():
        raise PromptImpossible("Which server?", hint="Name it with --url or CODEMEM_URL.")
    print("URL of the server: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline()


def _ask_token() -> str:
    if not sys.stdin.isatty():
        raise PromptImpossible(
            "There is no terminal to ask for the token on.",
            hint="Pipe the token in and say --token-stdin.",
        )
    from getpass import getpass

    return getpass("Token (not shown): ", stream=sys.stderr)


def _token_from_stdin() -> str:
    return sys.stdin.buffer.readline(4096).decode("utf-8-sig", "replace")


def _warn_of_overrides(address: str) -> None:
    if os.environ.get("CODEMEM_TOKEN"):
        note("CODEMEM_TOKEN is set and wins over the token just stored.")
    other = os.environ.get("CODEMEM_URL")
    if other and normalize_url(other) != address:
        note("CODEMEM_URL is set to another server and wins over the one just stored.")


def _show(identity: dict[str, Any], *, address: str, path: str) -> None:
    print(f"Logged in to {styled(address, 'bold')} as {styled(line(user_name(identity)), 'bold')}.")
    print(f"Token       {describe_expiry(identity)}")
    for number, membership in enumerate(namespaces_with_roles(identity)):
        print(f"{'' if number else 'Namespaces':<11} {line(membership)}")
    print(f"Stored in   {path}")
