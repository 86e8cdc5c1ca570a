"""Embeds on this machine's processor with the prepared MiniLM model; never opens a socket."""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from codemem.embedding import bundled
from codemem.embedding.errors import EmbeddingUnavailable
from codemem.embedding.protocol import Kind
from codemem.embedding.words import LocalWordModel, Reading, WordVectors

if TYPE_CHECKING:
    from fastembed import TextEmbedding

_REMEMBERED_QUERIES: Final = 2_048  # 1.5 KB each
_REMEMBERED_READINGS: Final = 256  # 15 KB each for ten words
_BATCH_TEXTS: Final = 16  # at 256 tokens each, about 150 MB of activations
# Far more than 256 tokens of any language; spares the tokenizer what would be cut off anyway.
_MAX_CHARACTERS: Final = 16_384

# fastembed keeps one list of models for the process and refuses to add a name twice.
registration: Final = threading.Lock()


class OnnxProvider(ABC):
    """A model that fastembed and ONNX Runtime run, loaded at the first text.

    One thread for each call: two web threads or two worker processes share the cores better than
    one call that spins on all of them.
    """

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._loaded: TextEmbedding | None = None
        self._query_vector = lru_cache(maxsize=_REMEMBERED_QUERIES)(self._vector)

    @property
    @abstractmethod
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        """See Provider.embed. Repeated queries are remembered; documents are not."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        if kind == "query":
            return np.stack([self._query_vector(text) for text in texts])
        return self._vectors(texts, kind)

    @abstractmethod
    def _load(self) -> "TextEmbedding":
        """Return the model; raise EmbeddingUnavailable."""

    def _dressed(self, text: str, kind: Kind) -> str:  # noqa: ARG002
        return text

    def _finished(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        return vectors

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._vectors([text], "query")[0]
        return vector

    def _vectors(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Embed shortest first, so that a batch is padded little, and return in the given order."""
        prepared = [_embeddable(self._dressed(text, kind)) for text in texts]
        order = np.argsort([len(text) for text in prepared], kind="stable")
        ascending = [prepared[index] for index in order]
        made = np.array(list(self._model().embed(ascending, batch_size=_BATCH_TEXTS)), np.float32)
        vectors = np.empty_like(made)
        vectors[order] = made
        return self._finished(vectors)

    def _model(self) -> "TextEmbedding":
        with self._loading:
            if self._loaded is None:
                # Read when they are imported: the threads are ours.
                os.environ["TOKENIZERS_PARALLELISM"] = "false"
                self._loaded = self._load()
            return self._loaded


class LocalProvider(OnnxProvider):
    """MiniLM (0.5 s to load, 110 MB)."""

    dimensions: Final = bundled.DIMENSIONS
    max_tokens: Final = bundled.MAX_TOKENS

    def __init__(self, *, models_directory: Path) -> None:
        super().__init__()
        self.fingerprint: Final = bundled.fingerprint()
        self._directory = bundled.directory(models_directory)
        self._loaded_words: LocalWordModel | None = None
        self._read_question = lru_cache(maxsize=_REMEMBERED_READINGS)(self._read)

    def embed_words(self, texts: Sequence[str]) -> list[WordVectors]:
        """Return the vectors of each text's words, in order; raise EmbeddingUnavailable.

        A text alone is taken for a question, which is remembered.
        """
        if len(texts) == 1:
            return [self._read_question(texts[0]).words]
        return [reading.words for reading in self._word_model().read(texts)] if texts else []

    def _vector(self, text: str) -> NDArray[np.float32]:
        # Its words will be asked for as well: one run of the model serves both.
        return self._read_question(text).vector

    def _read(self, text: str) -> Reading:
        return self._word_model().read([text])[0]

    def _word_model(self) -> LocalWordModel:
        self._model()  # says what is missing, if anything is
        with self._loading:
            if self._loaded_words is None:
                self._loaded_words = LocalWordModel(self._directory)
            return self._loaded_words

    def _load(self) -> "TextEmbedding":
        directory = self._directory
        if not (directory / bundled.MANIFEST_FILE).is_file():
            raise EmbeddingUnavailable(
                f"The embedding model is not in {directory}.",
                hint=f"Run `make up`, or `{_prepare_command(directory)}`.",
            )
        os.environ["HF_HUB_OFFLINE"] = "1"  # read when it is imported
        try:
            return _opened(directory)
        except Exception as error:  # a damaged file surfaces as almost anything
            raise EmbeddingUnavailable(
                f"The embedding model in {directory} cannot be loaded ({error}).",
                hint=f"Run `{_prepare_command(directory)}`; it replaces damaged files.",
            ) from error


def _embeddable(text: str) -> str:
    """Cut a text to what can matter, without the lone surrogates that no tokenizer accepts."""
    return text[:_MAX_CHARACTERS].encode(errors="replace").decode()


def _opened(directory: Path) -> "TextEmbedding":
    from fastembed import TextEmbedding  # 0.4 s, and not needed by processes that never embed

    _register()
    return TextEmbedding(
        model_name=bundled.fingerprint(),
        cache_dir=str(directory.parent),
        specific_model_path=str(directory),
        threads=1,
        cuda=False,
    )


def _register() -> None:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    with registration:
        known = {entry["model"] for entry in TextEmbedding.list_supported_models()}
        if bundled.fingerprint() not in known:
            TextEmbedding.add_custom_model(
                model=bundled.fingerprint(),
                pooling=PoolingType.DISABLED,  # the graph pools and normalizes
                normalization=False,
                sources=ModelSource(hf=bundled.NAME),  # required, and unused with a given path
                dim=bundled.DIMENSIONS,
                model_file=bundled.ONNX_FILE,
                output_name=bundled.OUTPUT_NAME,
            )


def _prepare_command(directory: Path) -> str:
    return f"python -m codemem.embedding.prepare --directory {directory.parent}"
