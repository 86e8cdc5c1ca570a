"""Models behind HTTP: Ollama, Gemini, and whatever speaks OpenAI's embeddings endpoint.

What they share stands here: batches, patience, retries, and what is refused. How each is asked and
answers is a dialect. Nothing of a text or a key is ever in an error.
"""

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import numpy as np
from numpy.typing import NDArray

from codemem.embedding.errors import EmbeddingUnavailable, SpecificationInvalid
from codemem.embedding.protocol import Kind
from codemem.embedding.specification import MOST_DIMENSIONS, Specification
from codemem.embedding.vectors import unit_rows

INTERACTIVE_SECONDS: Final = 4.0
"""How long somebody who waits for an answer waits for a vector; then words answer alone."""

_AWAY_SECONDS: Final = 15.0
_BACKOFF_SECONDS: Final = 0.5
_LONGEST_WAIT_SECONDS: Final = 60.0
_LONGEST_MESSAGE: Final = 200
_MAX_CHARACTERS: Final = 16_384
_REMEMBERED_QUERIES: Final = 2_048
_TOO_LARGE: Final = 413
_MODEL_UNKNOWN: Final = 404
_KEY_REFUSED: Final = frozenset({401, 403})
_WORTH_ANOTHER_TRY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class Dialect(ABC):
    """How one kind of server is asked for vectors, and where they stand in its answer."""

    default_url: str

    def __init__(self, specification: Specification) -> None:
        self.specification = specification
        self.base_url = (specification.base_url or self.default_url).rstrip("/")

    @abstractmethod
    def path(self) -> str: ...

    @abstractmethod
    def body(self, texts: Sequence[str], kind: Kind) -> Mapping[str, Any]: ...

    @abstractmethod
    def vectors(self, answer: Any) -> list[Any]:
        """Return the vectors in the order of the texts; raise LookupError or TypeError."""

    def headers(self) -> Mapping[str, str]:
        return {}


class Ollama(Dialect):
    default_url = "http://127.0.0.1:11434"

    def path(self) -> str:
        return "/api/embed"

    def body(self, texts: Sequence[str], kind: Kind) -> Mapping[str, Any]:  # noqa: ARG002
        return {"model": self.specification.model, "input": list(texts), "truncate": True}

    def vectors(self, answer: Any) -> list[Any]:
        return list(answer["embeddings"])

    def headers(self) -> Mapping[str, str]:
        return _bearer(self.specification)  # a proxy before it may want one


class OpenAI(Dialect):
    default_url = "https://api.openai.com/v1"

    def path(self) -> str:
        return "/embeddings"

    def body(self, texts: Sequence[str], kind: Kind) -> Mapping[str, Any]:  # noqa: ARG002
        model = self.specification.model
        asked: dict[str, Any] = {"model": model, "input": list(texts), "encoding_format": "float"}
        # Only these can be shortened; servers of other models refuse to be asked.
        if "text-embedding-3" in model:
            asked["dimensions"] = self.specification.dimensions
        return asked

    def vectors(self, answer: Any) -> list[Any]:
        rows = sorted(answer["data"], key=lambda row: row["index"])
        return [row["embedding"] for row in rows]

    def headers(self) -> Mapping[str, str]:
        return _bearer(self.specification)


class Gemini(Dialect):
    default_url = "https://generativelanguage.googleapis.com/v1beta"

    def path(self) -> str:
        return f"/models/{self.specification.model}:batchEmbedContents"

    def body(self, texts: Sequence[str], kind: Kind) -> Mapping[str, Any]:
        task = "RETRIEVAL_QUERY" if kind == "query" else "RETRIEVAL_DOCUMENT"
        return {
            "requests": [
                {
                    "model": f"models/{self.specification.model}",
                    "content": {"parts": [{"text": text}]},
                    "taskType": task,
                    "outputDimensionality": self.specification.dimensions,
                }
                for text in texts
            ]
        }

    def vectors(self, answer: Any) -> list[Any]:
        return [row["values"] for row in answer["embeddings"]]

    def headers(self) -> Mapping[str, str]:
        key = self.specification.api_key
        return {"x-goog-api-key": key} if key else {}


DIALECTS: Final[Mapping[str, type[Dialect]]] = {
    "ollama": Ollama,
    "openai": OpenAI,
    "gemini": Gemini,
}


class RemoteProvider:
    """A model behind HTTP, asked in batches.

    Whoever waits (`is_patient` false) gets a vector within four seconds or is told that there is
    none; a server that just failed is not asked again for 15 seconds, so that words answer at
    once. Background work keeps to `timeout_seconds` and `retries`.
    """

    max_tokens: Final = 8_192

    def __init__(self, specification: Specification, *, is_patient: bool) -> None:
        _check(specification)
        self.dimensions: Final = specification.dimensions
        self.fingerprint: Final = specification.fingerprint(
            specification.model, specification.dimensions, "half"
        )
        self._specification = specification
        self._is_patient = is_patient
        self._dialect = DIALECTS[specification.provider](specification)
        self._opening = threading.Lock()
        self._client: httpx.Client | None = None
        self._away_until = 0.0
        self._query_vector = lru_cache(maxsize=_REMEMBERED_QUERIES)(self._vector)

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        """See Provider.embed. Repeated questions are remembered."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        if kind == "query":
            return np.stack([self._query_vector(text) for text in texts])
        return self._vectors(texts, kind)

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._vectors([text], "query")[0]
        return vector

    def _vectors(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        dressed = [_sendable(self._specification.dressed(text, kind=kind)) for text in texts]
        size = self._specification.batch_size
        patience = _Patience(self._specification, is_patient=self._is_patient)
        return np.concatenate(
            [
                self._batch(dressed[start : start + size], kind, patience)
                for start in range(0, len(dressed), size)
            ]
        )

    def _batch(self, texts: list[str], kind: Kind, patience: "_Patience") -> NDArray[np.float32]:
        """Return the vectors of one batch, asking for halves where a server answers only a part."""
        rows = self._answer(texts, kind, patience)
        if rows is not None and len(rows) == len(texts):
            return unit_rows(rows, dimensions=self.dimensions, model=self._name)
        if len(texts) == 1:
            raise EmbeddingUnavailable(
                f"{self._name} answers {len(rows or ())} vectors for one text.",
                hint="Its answers are not those of this provider: check CODEMEM_EMBEDDING_PROVIDER"
                " and CODEMEM_EMBEDDING_BASE_URL.",
            )
        middle = len(texts) // 2
        halves = (texts[:middle], texts[middle:])
        return np.concatenate([self._batch(half, kind, patience) for half in halves])

    def _answer(self, texts: list[str], kind: Kind, patience: "_Patience") -> list[Any] | None:
        """Return what the server answers; None when it says that the batch is too large."""
        if not self._is_patient and time.monotonic() < self._away_until:
            raise self._unavailable("did not answer a moment ago")
        for is_last in patience.attempts():
            response, reason = self._ask(texts, kind, patience)
            if response is not None and response.status_code not in _WORTH_ANOTHER_TRY:
                return self._read(response)
            if is_last or not patience.wait(response):
                self._away_until = time.monotonic() + _AWAY_SECONDS
                raise self._unavailable(reason)
        raise AssertionError("the last attempt returns or raises")

    def _ask(
        self, texts: list[str], kind: Kind, patience: "_Patience"
    ) -> tuple[httpx.Response | None, str]:
        """Return the response, and what to say if it is none or not the last word."""
        try:
            response = self._opened().post(
                f"{self._dialect.base_url}{self._dialect.path()}",
                json=self._dialect.body(texts, kind),
                headers=dict(self._dialect.headers()),
                timeout=patience.timeout(),
            )
        except httpx.TimeoutException:
            return None, "did not answer in time"
        except (httpx.HTTPError, httpx.InvalidURL):
            return None, "cannot be reached"
        return response, f"answered {response.status_code}"

    def _read(self, response: httpx.Response) -> list[Any] | None:
        if response.status_code == _TOO_LARGE:
            return None
        if response.status_code in _KEY_REFUSED:
            raise EmbeddingUnavailable(
                f"{self._name} refuses the key.", hint="Set CODEMEM_EMBEDDING_API_KEY."
            )
        if response.status_code == _MODEL_UNKNOWN:
            raise EmbeddingUnavailable(
                f"{self._name} is not there ({_message(response)}).",
                hint="Check CODEMEM_EMBEDDING_MODEL and CODEMEM_EMBEDDING_BASE_URL; with Ollama,"
                f" run `ollama pull {self._specification.model}`.",
            )
        if not response.is_success:
            raise self._unavailable(f"answered {response.status_code}: {_message(response)}")
        try:
            return self._dialect.vectors(response.json())
        except (ValueError, LookupError, TypeError) as error:
            raise EmbeddingUnavailable(
                f"{self._name} answers what is no answer of this provider.",
                hint="Check CODEMEM_EMBEDDING_PROVIDER and CODEMEM_EMBEDDING_BASE_URL.",
            ) from error

    def _unavailable(self, reason: str) -> EmbeddingUnavailable:
        return EmbeddingUnavailable(
            f"{self._name} {reason}.",
            hint="Words are compared until it answers; what is stored meanwhile gets its vectors"
            " later.",
        )

    @property
    def _name(self) -> str:
        return f"{self._specification.model} at {urlsplit(self._dialect.base_url).netloc}"

    def _opened(self) -> httpx.Client:
        with self._opening:
            if self._client is None:
                # No redirects: a key must not follow one.
                self._client = httpx.Client(follow_redirects=False)
            return self._client


class _Patience:
    """How long and how often one call may try, all its batches together when somebody waits."""

    def __init__(self, specification: Specification, *, is_patient: bool) -> None:
        self._timeout = specification.timeout_seconds
        self._retries = specification.retries
        self._deadline = None if is_patient else time.monotonic() + INTERACTIVE_SECONDS
        self._tried = 0

    def attempts(self) -> Sequence[bool]:
        """Return for each try whether it is the last one."""
        self._tried = 0
        return [number == self._retries for number in range(self._retries + 1)]

    def timeout(self) -> float:
        left = self._left()
        return self._timeout if left is None else max(min(left, self._timeout), 0.05)

    def wait(self, response: httpx.Response | None) -> bool:
        """Sleep as long as the server asks for, or twice as long as before, a little at random.

        Return False, without sleeping, when that is longer than anybody is willing to wait.
        """
        asked = _retry_after(response)
        grown = _BACKOFF_SECONDS * 2**self._tried
        self._tried += 1
        # Not sooner than asked; apart from each other, so that waiting processes do not all return
        # at once.
        seconds = (grown if asked is None else asked) + random.uniform(0, grown)  # noqa: S311
        left = self._left()
        if seconds > (_LONGEST_WAIT_SECONDS if left is None else left):
            return False
        time.sleep(seconds)
        return True

    def _left(self) -> float | None:
        return None if self._deadline is None else self._deadline - time.monotonic()


def _check(specification: Specification) -> None:
    """Raise SpecificationInvalid unless a server can be asked for this."""
    if not specification.model:
        raise SpecificationInvalid(
            f"The provider {specification.provider} needs CODEMEM_EMBEDDING_MODEL."
        )
    if not 1 <= specification.dimensions <= MOST_DIMENSIONS:
        raise SpecificationInvalid(
            f"The provider {specification.provider} needs CODEMEM_EMBEDDING_DIMENSIONS, the length"
            f" of the model's vectors: from 1 to {MOST_DIMENSIONS}, not"
            f" {specification.dimensions}."
        )
    if specification.base_url and urlsplit(specification.base_url).scheme not in ("http", "https"):
        raise SpecificationInvalid(
            "CODEMEM_EMBEDDING_BASE_URL must begin with http:// or https://, not"
            f" {specification.base_url!r}."
        )


def _bearer(specification: Specification) -> Mapping[str, str]:
    key = specification.api_key
    return {"Authorization": f"Bearer {key}"} if key else {}


def _sendable(text: str) -> str:
    """Return a text without lone surrogates, cut where no model reads on; servers refuse none."""
    return text[:_MAX_CHARACTERS].encode(errors="replace").decode() if text.strip() else "-"


def _retry_after(response: httpx.Response | None) -> float | None:
    """Return how many seconds a server asks to be left alone."""
    value = response.headers.get("Retry-After", "") if response is not None else ""
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max((until - datetime.now(UTC)).total_seconds(), 0.0)


def _message(response: httpx.Response) -> str:
    """Return what a server says went wrong, in one short line."""
    try:
        said = response.json()["error"]
        text = said["message"] if isinstance(said, dict) else str(said)
    except (ValueError, LookupError, TypeError):
        text = response.reason_phrase
    return " ".join(str(text).split())[:_LONGEST_MESSAGE]
