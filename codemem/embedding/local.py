"""Embeds on this machine's processor with the prepared MiniLM model; never opens a socket."""

import os
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from codemem.embedding import EmbeddingUnavailable, Kind, model

if TYPE_CHECKING:
    from fastembed import TextEmbedding

_REMEMBERED_QUERIES: Final = 2_048  # 1.5 KB each
_BATCH_TEXTS: Final = 16  # at 256 tokens each, about 150 MB of activations
# Far more than 256 tokens of any language; spares the tokenizer what would be cut off anyway.
_MAX_CHARACTERS: Final = 16_384

# fastembed keeps one list of models for the process and refuses to add a name twice.
_registration = threading.Lock()


class LocalProvider:
    """MiniLM through fastembed and ONNX Runtime, loaded at the first text (about 0.5 s, 110 MB).

    One thread for each call: two web threads or two worker processes share the cores better than
    one call that spins on all of them.
    """

    dimensions: Final = model.DIMENSIONS
    max_tokens: Final = model.MAX_TOKENS

    def __init__(self, *, models_directory: Path) -> None:
        self.fingerprint: Final = model.fingerprint()
        self._directory = model.directory(models_directory)
        self._loading = threading.Lock()
        self._loaded: TextEmbedding | None = None
        self._query_vector = lru_cache(maxsize=_REMEMBERED_QUERIES)(self._vector)

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        """See Provider.embed. Repeated queries are remembered; documents are not."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        if kind == "query":
            return np.stack([self._query_vector(text) for text in texts])
        return self._vectors(texts)

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._vectors([text])[0]
        return vector

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed shortest first, so that a batch is padded little, and return in the given order."""
        prepared = [_embeddable(text) for text in texts]
        order = np.argsort([len(text) for text in prepared], kind="stable")
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        ascending = [prepared[index] for index in order]
        vectors[order] = list(self._model().embed(ascending, batch_size=_BATCH_TEXTS))
        return vectors

    def _model(self) -> "TextEmbedding":
        with self._loading:
            if self._loaded is None:
                self._loaded = _load(self._directory)
            return self._loaded


def _embeddable(text: str) -> str:
    """Cut a text to what can matter, without the lone surrogates that no tokenizer accepts."""
    return text[:_MAX_CHARACTERS].encode(errors="replace").decode()


def _load(directory: Path) -> "TextEmbedding":
    if not (directory / model.MANIFEST_FILE).is_file():
        raise EmbeddingUnavailable(
            f"The embedding model is not in {directory}.",
            hint=f"Run `make up`, or `{_prepare_command(directory)}`.",
        )
    # Read when they are imported: stay offline, and leave the threads to us.
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        return _opened(directory)
    except Exception as error:  # a damaged file surfaces as almost anything
        raise EmbeddingUnavailable(
            f"The embedding model in {directory} cannot be loaded ({error}).",
            hint=f"Run `{_prepare_command(directory)}`; it replaces damaged files.",
        ) from error


def _opened(directory: Path) -> "TextEmbedding":
    from fastembed import TextEmbedding  # 0.4 s, and not needed by processes that never embed

    _register()
    return TextEmbedding(
        model_name=model.fingerprint(),
        cache_dir=str(directory.parent),
        specific_model_path=str(directory),
        threads=1,
        cuda=False,
    )


def _register() -> None:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    with _registration:
        known = {entry["model"] for entry in TextEmbedding.list_supported_models()}
        if model.fingerprint() not in known:
            TextEmbedding.add_custom_model(
                model=model.fingerprint(),
                pooling=PoolingType.DISABLED,  # the graph pools and normalizes
                normalization=False,
                sources=ModelSource(hf=model.NAME),  # required, and unused with a given path
                dim=model.DIMENSIONS,
                model_file=model.ONNX_FILE,
                output_name=model.OUTPUT_NAME,
            )


def _prepare_command(directory: Path) -> str:
    return f"python -m codemem.embedding.prepare --directory {directory.parent}"
