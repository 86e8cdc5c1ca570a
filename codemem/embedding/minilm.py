"""Writes the ONNX graph of a BERT sentence encoder from its safetensors; knows no file names.

The graph has inputs `input_ids` and `attention_mask` (batch x sequence, int64) and the output
`sentence_embedding` (batch x dimensions, float32, mean over the tokens, rows unit-length). Only
standard operators of opset 17 are used, so every ONNX runtime can read it.
"""

import json
import math
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from codemem.embedding.bundled import OUTPUT_NAME

OPSET: Final = 17
_IR_VERSION: Final = 8  # the one that came with opset 17
_FAR_BELOW_ANY_SCORE: Final = -10_000.0

Weights = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The numbers of `config.json` that the graph depends on."""

    layers: int
    heads: int
    width: int
    epsilon: float

    @classmethod
    def read(cls, path: Path) -> "Shape":
        config = json.loads(path.read_text())
        return cls(
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            width=config["hidden_size"],
            epsilon=config["layer_norm_eps"],
        )


def read_safetensors(path: Path) -> Weights:
    """Return the tensors of a safetensors file by name, read-only views of one memory map."""
    with path.open("rb") as file:
        (header_bytes,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(header_bytes))
    data = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + header_bytes)
    types = {"F32": np.float32, "I64": np.int64}
    return {
        name: np.frombuffer(
            data[entry["data_offsets"][0] : entry["data_offsets"][1]], types[entry["dtype"]]
        ).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__"
    }


def sentence_encoder(weights: Weights, shape: Shape) -> onnx.ModelProto:
    """Return the checked model: embeddings, `shape.layers` encoder layers, mean pooling."""
    graph = _Graph(weights=weights, shape=shape)
    _add_attention_mask(graph)
    hidden = _add_embeddings(graph)
    for layer in range(shape.layers):
        hidden = _add_encoder_layer(graph, hidden, f"encoder.layer.{layer}")
    _add_mean_pooling(graph, hidden)
    return _checked_model(graph)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Graph:
    weights: Weights
    shape: Shape
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: dict[str, onnx.TensorProto] = field(default_factory=dict)

    def weight(self, name: str) -> str:
        return self.tensor(name, self.weights[name])

    def matrix(self, name: str) -> str:
        """Return a linear layer's weights as MatMul wants them: input x output."""
        return self.tensor(name, self.weights[name].T)

    def tensor(self, name: str, values: NDArray[Any]) -> str:
        self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def number(self, value: float) -> str:
        return self.tensor(f"number:{value}", np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        return self.tensor(f"integers:{values}", np.array(values, np.int64))

    def add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output


def _add_attention_mask(graph: _Graph) -> None:
    """Add `mask` (1 for a token, 0 for padding) and `bias`, which keeps attention off padding."""
    mask = graph.add("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    padding = graph.add("Sub", [graph.number(1), mask], "padding")
    penalty = graph.add("Mul", [padding, graph.number(_FAR_BELOW_ANY_SCORE)], "penalty")
    graph.add("Unsqueeze", [penalty, graph.integers(1, 2)], "bias")


def _add_embeddings(graph: _Graph) -> str:
    words = graph.add(
        "Gather", [graph.weight("embeddings.word_embeddings.weight"), "input_ids"], "words"
    )
    # Every token is of type 0, so its embedding is part of each position's.
    table = graph.tensor(
        "positions_table",
        graph.weights["embeddings.position_embeddings.weight"]
        + graph.weights["embeddings.token_type_embeddings.weight"][0],
    )
    zero, one, two = graph.integers(0), graph.integers(1), graph.integers(2)
    ids_shape = graph.add("Shape", ["input_ids"], "ids_shape")
    length = graph.add("Slice", [ids_shape, one, two, zero], "length")
    positions = graph.add("Slice", [table, zero, length, zero], "positions")
    embedded = graph.add("Add", [words, positions], "embedded")
    return _add_layer_norm(graph, embedded, "embeddings.LayerNorm")


def _add_encoder_layer(graph: _Graph, hidden: str, prefix: str) -> str:
    attended = _add_attention(graph, hidden, prefix)
    attended = _add_linear(graph, attended, f"{prefix}.attention.output.dense")
    attended = graph.add("Add", [attended, hidden], f"{prefix}.attention.residual")
    attended = _add_layer_norm(graph, attended, f"{prefix}.attention.output.LayerNorm")
    widened = _add_gelu(graph, _add_linear(graph, attended, f"{prefix}.intermediate.dense"))
    narrowed = _add_linear(graph, widened, f"{prefix}.output.dense")
    narrowed = graph.add("Add", [narrowed, attended], f"{prefix}.residual")
    return _add_layer_norm(graph, narrowed, f"{prefix}.output.LayerNorm")


def _add_attention(graph: _Graph, hidden: str, prefix: str) -> str:
    head_width = graph.shape.width // graph.shape.heads
    query = _add_heads(graph, hidden, f"{prefix}.attention.self.query", order=[0, 2, 1, 3])
    key = _add_heads(graph, hidden, f"{prefix}.attention.self.key", order=[0, 2, 3, 1])
    value = _add_heads(graph, hidden, f"{prefix}.attention.self.value", order=[0, 2, 1, 3])
    scores = graph.add("MatMul", [query, key], f"{prefix}.scores")
    scaled = graph.add(
        "Div", [scores, graph.number(math.sqrt(head_width))], f"{prefix}.scores.scaled"
    )
    masked = graph.add("Add", [scaled, "bias"], f"{prefix}.scores.masked")
    shares = graph.add("Softmax", [masked], f"{prefix}.shares", axis=-1)
    mixed = graph.add("MatMul", [shares, value], f"{prefix}.mixed")
    merged = graph.add("Transpose", [mixed], f"{prefix}.merged", perm=[0, 2, 1, 3])
    width = graph.integers(0, 0, graph.shape.width)
    return graph.add("Reshape", [merged, width], f"{prefix}.context")


def _add_heads(graph: _Graph, hidden: str, name: str, *, order: list[int]) -> str:
    heads = graph.shape.heads
    split = graph.integers(0, 0, heads, graph.shape.width // heads)
    projected = _add_linear(graph, hidden, name)
    reshaped = graph.add("Reshape", [projected, split], f"{name}.split")
    return graph.add("Transpose", [reshaped], f"{name}.heads", perm=order)


def _add_linear(graph: _Graph, hidden: str, name: str) -> str:
    product = graph.add("MatMul", [hidden, graph.matrix(f"{name}.weight")], f"{name}.product")
    return graph.add("Add", [product, graph.weight(f"{name}.bias")], f"{name}.sum")


def _add_gelu(graph: _Graph, hidden: str) -> str:
    """Add x/2 * (1 + erf(x / sqrt 2)), in the form that runtimes recognize and fuse."""
    scaled = graph.add("Div", [hidden, graph.number(math.sqrt(2))], f"{hidden}.scaled")
    error = graph.add("Erf", [scaled], f"{hidden}.erf")
    shifted = graph.add("Add", [error, graph.number(1)], f"{hidden}.shifted")
    product = graph.add("Mul", [hidden, shifted], f"{hidden}.gated")
    return graph.add("Mul", [product, graph.number(0.5)], f"{hidden}.gelu")


def _add_layer_norm(graph: _Graph, hidden: str, name: str) -> str:
    return graph.add(
        "LayerNormalization",
        [hidden, graph.weight(f"{name}.weight"), graph.weight(f"{name}.bias")],
        f"{name}.normalized",
        axis=-1,
        epsilon=graph.shape.epsilon,
    )


def _add_mean_pooling(graph: _Graph, hidden: str) -> None:
    """Add the mean of the real tokens' vectors; there are always two, [CLS] and [SEP]."""
    kept = graph.add("Unsqueeze", ["mask", graph.integers(2)], "mask.column")
    tokens = graph.add("Mul", [hidden, kept], "tokens")
    total = graph.add("ReduceSum", [tokens, graph.integers(1)], "total", keepdims=0)
    count = graph.add("ReduceSum", ["mask", graph.integers(1)], "count", keepdims=1)
    mean = graph.add("Div", [total, count], "mean")
    graph.add("LpNormalization", [mean], OUTPUT_NAME, axis=-1, p=2)


def _checked_model(graph: _Graph) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info(
        OUTPUT_NAME, TensorProto.FLOAT, ["batch", graph.shape.width]
    )
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, "sentence_encoder", inputs, [output], [*graph.initializers.values()]
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="codemem",
        ir_version=_IR_VERSION,
    )
    onnx.checker.check_model(model)
    return model
