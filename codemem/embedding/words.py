"""Vectors of the single words of a text, each in its context: for comparing texts word by word.

The model that embeds texts computes them anyway, one step before it averages them. They find what
an average hides (LoCoMo, conversations 1-5: any-evidence@10 .92 with them, .90 without).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from codemem.embedding import bundled

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

_OUTPUT: Final = "tokens"  # what `minilm` calls the vectors before their mean
_BATCH_TEXTS: Final = 16
_MAX_CHARACTERS: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class WordVectors:
    """The word pieces of one text: n x dimensions float32, rows unit-length, and where they stand.

    `spans` are (start, end) in characters of the text, end exclusive.
    """

    values: NDArray[np.float32]
    spans: tuple[tuple[int, int], ...]

    def between(self, start: int, end: int) -> NDArray[np.float32]:
        """Return the vectors of the pieces inside a part of the text."""
        inside = [place for place, (a, b) in enumerate(self.spans) if a >= start and b <= end]
        return self.values[inside]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one run of a model says of a text: its vector (unit-length float32), and its words'."""

    vector: NDArray[np.float32]
    words: WordVectors


@runtime_checkable
class EmbedsWords(Protocol):
    """A provider that can also say what each word of a text means there."""

    def embed_words(self, texts: Sequence[str]) -> list[WordVectors]:
        """Return the vectors of each text's words, in order; raise EmbeddingUnavailable."""
        ...


def word_model(provider: object) -> EmbedsWords | None:
    """Return who says what single words mean: the provider, or the one that it caches for."""
    inner = getattr(provider, "model", provider)
    return inner if isinstance(inner, EmbedsWords) else None


class LocalWordModel:
    """The local model read one step earlier: a second session over the same file (about 60 MB)."""

    def __init__(self, directory: Path) -> None:
        self._session = _session(directory)
        self._tokenizer = _tokenizer(directory)

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """Return each text's vector and those of its words, in the order of the texts."""
        prepared = [text[:_MAX_CHARACTERS].encode(errors="replace").decode() for text in texts]
        encodings = self._tokenizer.encode_batch(prepared)
        order = sorted(range(len(texts)), key=lambda place: len(encodings[place].ids))
        found: dict[int, Reading] = {}
        for start in range(0, len(order), _BATCH_TEXTS):
            places = order[start : start + _BATCH_TEXTS]
            readings = self._run([encodings[place] for place in places])
            found |= dict(zip(places, readings, strict=True))
        return [found[place] for place in range(len(texts))]

    def _run(self, encodings: "Sequence[Encoding]") -> list[Reading]:
        longest = max(len(encoding.ids) for encoding in encodings)
        ids = np.zeros((len(encodings), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        vectors, hidden = self._session.run(
            [bundled.OUTPUT_NAME, _OUTPUT], {"input_ids": ids, "attention_mask": mask}
        )
        return [
            Reading(vector=vector, words=_of(encoding, rows))
            for vector, encoding, rows in zip(vectors, encodings, hidden, strict=True)
        ]


def _of(encoding: "Encoding", rows: NDArray[np.float32]) -> WordVectors:
    # The first and the last piece are the model's own marks: they stand for no character.
    places = [place for place, (start, end) in enumerate(encoding.offsets) if end > start]
    values = rows[places]
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    unit = (values / np.maximum(lengths, 1e-9)).astype(np.float32)
    unit.setflags(write=False)  # a question's are remembered, and handed out again
    return WordVectors(
        values=unit,
        spans=tuple(encoding.offsets[place] for place in places),
    )


def _session(directory: Path) -> "InferenceSession":
    import onnx
    import onnxruntime

    graph: Any = onnx.load(directory / bundled.ONNX_FILE)
    shape: list[str | int | None] = ["batch", "sequence", bundled.DIMENSIONS]
    graph.graph.output.append(
        onnx.helper.make_tensor_value_info(_OUTPUT, onnx.TensorProto.FLOAT, shape)
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # as in `local`: calls share the cores, they do not spin
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(graph.SerializeToString(), options)


def _tokenizer(directory: Path) -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(bundled.MAX_TOKENS)
    return tokenizer
