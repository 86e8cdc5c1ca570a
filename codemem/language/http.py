"""One request to a provider's API: bounded in time and size, repeated only where that may help.

429 and 5xx are repeated with full jitter ("Exponential Backoff And Jitter", AWS Architecture Blog,
2015), or after as long as Retry-After says. A key is never part of an error.
"""

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

import httpx

from codemem.language.values import LanguageRefused, LanguageUnavailable

_ATTEMPTS: Final = 4
_FIRST_WAIT_SECONDS: Final = 1.0
_LONGEST_WAIT_SECONDS: Final = 30.0
_LONGEST_ANSWER_BYTES: Final = 2 << 20
_CONNECT_SECONDS: Final = 10.0
_SAID_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where and how a provider is asked. `sleep` and `chance` are replaced by tests."""

    url: str
    headers: Mapping[str, str]
    timeout_seconds: float
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def post(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON object that the provider answers.

        `timeout_seconds` bounds each attempt as a whole: a server that trickles gains nothing.
        """
        for attempt in range(_ATTEMPTS):
            is_last = attempt == _ATTEMPTS - 1
            try:
                status, headers, content = self._send(body)
            except httpx.HTTPError as error:
                if is_last:
                    raise LanguageUnavailable(
                        f"The language model does not answer: {type(error).__name__}."
                    ) from None
                self.sleep(self._wait(attempt, {}))
                continue
            if status == HTTPStatus.OK:
                return _object(content)
            if not _may_help(status):
                raise LanguageRefused(
                    f"The language model's provider answered {status}: {_said(content)}"
                )
            if is_last:
                break
            self.sleep(self._wait(attempt, headers))
        raise LanguageUnavailable(
            f"The language model's provider answered {status} {_ATTEMPTS} times."
        )

    def _send(self, body: Mapping[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        deadline = time.monotonic() + self.timeout_seconds
        timeout = httpx.Timeout(
            self.timeout_seconds, connect=min(_CONNECT_SECONDS, self.timeout_seconds)
        )
        with (
            httpx.Client(timeout=timeout, follow_redirects=False, trust_env=True) as client,
            client.stream("POST", self.url, json=body, headers=dict(self.headers)) as response,
        ):
            content = bytearray()
            for piece in response.iter_bytes():
                content += piece
                if len(content) > _LONGEST_ANSWER_BYTES:
                    raise LanguageRefused("The language model's answer is far too long.")
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("too slow")
            return response.status_code, response.headers, bytes(content)

    def _wait(self, attempt: int, headers: Mapping[str, str]) -> float:
        asked = _retry_after(headers.get("retry-after", ""))
        longest = min(_FIRST_WAIT_SECONDS * (1 << attempt), _LONGEST_WAIT_SECONDS)
        jitter = self.chance() * longest
        return jitter if asked is None else min(asked, _LONGEST_WAIT_SECONDS) + jitter


def text_in(value: object) -> str:
    """Return a text that an answer should hold; raise LanguageRefused when it holds none."""
    if not isinstance(value, str):
        raise LanguageRefused("The language model's provider answered in a form that is not its.")
    return value


def count_in(value: object) -> int:
    """Return a count of tokens; a provider that does not say says 0."""
    return value if isinstance(value, int) and value > 0 else 0


def _may_help(status: int) -> bool:
    slow = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS}
    return status in slow or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _object(content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise LanguageRefused("The language model's provider answered no JSON object.")
    return answer


def _said(content: bytes) -> str:
    """Return the provider's own sentence, as far as there is one."""
    try:
        error = json.loads(content).get("error", {})
        message = error.get("message", "") if isinstance(error, dict) else error
    except (ValueError, AttributeError, RecursionError):
        message = ""
    flat = " ".join(str(message).split())
    return flat[:_SAID_CHARACTERS] or "without a reason."


def _retry_after(text: str) -> float | None:
    """Return the seconds that a Retry-After header asks for: a number, or a date."""
    try:
        return max(float(text), 0.0)
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max((at - datetime.now(UTC)).total_seconds(), 0.0)
