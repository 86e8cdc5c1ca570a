"""Models in Hugging Face's layout: a folder on this machine, or a name that fastembed knows.

A folder is read as it is, and nothing is fetched. A name is fetched once, into the directory of
models, by whoever asks first.
"""

import hashlib
import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from codemem.embedding.errors import EmbeddingUnavailable, SpecificationInvalid
from codemem.embedding.local import OnnxProvider, registration
from codemem.embedding.protocol import Kind
from codemem.embedding.specification import MOST_DIMENSIONS, Specification
from codemem.embedding.vectors import unit_rows

if TYPE_CHECKING:
    from fastembed import TextEmbedding

_DEFAULT_MAX_TOKENS: Final = 512
_NO_LIMIT: Final = 1_000_000  # tokenizers without one say 1e30
_CONFIG_FILE: Final = "config.json"
_POOLING_FILE: Final = "1_Pooling/config.json"
# In the order of preference; a folder may have them beside config.json or in onnx/.
_FILES: Final = {
    "full": ("model.onnx",),
    "half": ("model_fp16.onnx",),
    "int8": ("model_int8.onnx", "model_quantized.onnx", "model_qint8_avx512_vnni.onnx"),
}
_NEEDED: Final = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


class HuggingFaceProvider(OnnxProvider):
    """A sentence encoder as ONNX. Its vectors may be cut, if it was trained for that."""

    def __init__(self, specification: Specification, *, models_directory: Path) -> None:
        super().__init__()
        if not specification.model:
            raise SpecificationInvalid(
                "The provider huggingface needs CODEMEM_EMBEDDING_MODEL: a folder, or a name."
            )
        self._specification = specification
        self._models_directory = models_directory
        folder = Path(specification.model).expanduser()
        self._source: _Folder | _Named = (
            _Folder(folder, specification.precision)
            if folder.is_dir() or folder.is_absolute()
            else _Named(specification.model)
        )
        full = self._source.dimensions
        self._dimensions: Final = specification.dimensions or full
        if not 1 <= self._dimensions <= min(full, MOST_DIMENSIONS):
            raise SpecificationInvalid(
                f"CODEMEM_EMBEDDING_DIMENSIONS is {self._dimensions}; {specification.model} has"
                f" {full}, an index can hold {MOST_DIMENSIONS}."
            )
        self.max_tokens: Final = self._source.max_tokens
        self.fingerprint: Final = specification.fingerprint(
            *self._source.identity, self._dimensions
        )

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def _load(self) -> "TextEmbedding":
        try:
            return self._source.opened(self._models_directory)
        except Exception as error:  # a damaged file, or no network, surfaces as almost anything
            raise EmbeddingUnavailable(
                f"The embedding model {self._specification.model} cannot be loaded ({error}).",
                hint=self._source.hint,
            ) from error

    def _dressed(self, text: str, kind: Kind) -> str:
        return self._specification.dressed(text, kind=kind)

    def _finished(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        name = self._specification.model
        shortened = vectors[:, : self._dimensions]
        return unit_rows(list(shortened), dimensions=self._dimensions, model=name)


class _Folder:
    """A model in a folder; what it is can be told without loading it."""

    hint: Final = "Check the files in CODEMEM_EMBEDDING_MODEL."

    def __init__(self, folder: Path, precision: str) -> None:
        self.folder = folder
        self.file = self._onnx_file(precision)
        config = self._read(_CONFIG_FILE)
        self.dimensions = int(config.get("hidden_size") or config.get("dim") or 0)
        if not self.dimensions:
            raise self._unusable(f"its {_CONFIG_FILE} has no hidden_size")
        for name in _NEEDED:
            if not (folder / name).is_file():
                raise self._unusable(f"it has no {name}")
        tokenizer = self._read("tokenizer_config.json")
        limits = (tokenizer.get("model_max_length"), config.get("max_position_embeddings"))
        self.max_tokens = min(
            (
                int(limit)
                for limit in limits
                if isinstance(limit, int | float) and limit < _NO_LIMIT
            ),
            default=_DEFAULT_MAX_TOKENS,
        )

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """Return the folder's name, the hash of its weights, and how tokens become one vector."""
        file = self.folder / self.file
        with file.open("rb") as opened:
            weights = hashlib.file_digest(opened, "sha256")
        for part in sorted(file.parent.glob(f"{file.name}_data*")):
            with part.open("rb") as opened:
                weights.update(hashlib.file_digest(opened, "sha256").digest())
        return (self.folder.name, weights.hexdigest()[:12], self._pooling)

    def opened(self, models_directory: Path) -> "TextEmbedding":
        from fastembed import TextEmbedding
        from fastembed.common.model_description import ModelSource, PoolingType

        name = f"folder:{':'.join(self.identity)}"
        with registration:
            known = {entry["model"] for entry in TextEmbedding.list_supported_models()}
            if name not in known:
                TextEmbedding.add_custom_model(
                    model=name,
                    pooling=PoolingType[self._pooling],
                    normalization=False,  # done for every provider alike
                    sources=ModelSource(hf=name),  # required, and unused with a given path
                    dim=self.dimensions,
                    model_file=self.file,
                )
        return TextEmbedding(
            model_name=name,
            cache_dir=str(models_directory),
            specific_model_path=str(self.folder),
            threads=1,
            cuda=False,
        )

    @cached_property
    def _pooling(self) -> str:
        """Return how sentence-transformers pools this model, if it says; else the mean."""
        if not (self.folder / _POOLING_FILE).is_file():
            return "MEAN"
        said = self._read(_POOLING_FILE)
        if said.get("pooling_mode_cls_token"):
            return "CLS"
        return "LAST_TOKEN" if said.get("pooling_mode_lasttoken") else "MEAN"

    def _onnx_file(self, precision: str) -> str:
        wanted = (
            _FILES[precision] if precision else tuple(name for f in _FILES.values() for name in f)
        )
        for name in wanted:
            for file in (name, f"onnx/{name}"):
                if (self.folder / file).is_file():
                    return file
        raise self._unusable(f"it has no {' or '.join(wanted)}, nor has its folder onnx")

    def _read(self, name: str) -> dict[str, Any]:
        try:
            said = json.loads((self.folder / name).read_text())
        except (OSError, ValueError) as error:
            raise self._unusable(f"its {name} cannot be read") from error
        if not isinstance(said, dict):
            raise self._unusable(f"its {name} is not an object")
        return said

    def _unusable(self, reason: str) -> EmbeddingUnavailable:
        return EmbeddingUnavailable(
            f"The embedding model in {self.folder} cannot be used: {reason}.",
            hint="It takes a folder in Hugging Face's layout with an ONNX file, as `optimum-cli"
            " export onnx` writes it.",
        )


class _Named:
    """A model of fastembed's own list."""

    hint: Final = "Without a way to the hub, set CODEMEM_EMBEDDING_MODEL to a folder."

    def __init__(self, name: str) -> None:
        self.name = name
        self.dimensions = 0
        self.max_tokens = _DEFAULT_MAX_TOKENS
        self.identity: tuple[str, ...] = (name,)
        from fastembed import TextEmbedding

        for entry in TextEmbedding.list_supported_models():
            if entry["model"].lower() == name.lower():
                self.dimensions = int(entry["dim"])
        if not self.dimensions:
            raise SpecificationInvalid(
                f"CODEMEM_EMBEDDING_MODEL is {name!r}: that is neither a folder here nor a model"
                " that fastembed can fetch."
            )

    def opened(self, models_directory: Path) -> "TextEmbedding":
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        from fastembed import TextEmbedding

        return TextEmbedding(
            model_name=self.name, cache_dir=str(models_directory), threads=1, cuda=False
        )
