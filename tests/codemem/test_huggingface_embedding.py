"""A folder in Hugging Face's layout, made small here, read by the library that reads real ones."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from codemem.embedding import EmbeddingUnavailable, Specification, SpecificationInvalid
from codemem.embedding.huggingface import HuggingFaceProvider

WORDS = ["[PAD]", "[UNK]", "retry", "policy", "cache", "token", "query:"]
WIDTH = 6


def write_onnx(path: Path, *, seed: int = 0) -> None:
    """Write an encoder that looks its tokens up in a table."""
    table = np.random.default_rng(seed).normal(size=(len(WORDS), WIDTH)).astype(np.float32)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", WIDTH]
    )
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "encoder",
        inputs,
        [output],
        [numpy_helper.from_array(table, "table")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(exist_ok=True)
    onnx.save(made, path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizers = pytest.importorskip("tokenizers")
    made = tmp_path / "tiny-encoder"
    made.mkdir()
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(made / "tokenizer.json"))
    files = {
        "config.json": {"hidden_size": WIDTH, "max_position_embeddings": 64, "pad_token_id": 0},
        "tokenizer_config.json": {"model_max_length": 32, "pad_token": "[PAD]"},
        "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
    }
    for name, content in files.items():
        (made / name).write_text(json.dumps(content))
    write_onnx(made / "onnx" / "model.onnx")
    return made


def opened(folder: Path, **changes) -> HuggingFaceProvider:
    specification = Specification(provider="huggingface", model=str(folder), **changes)
    return HuggingFaceProvider(specification, models_directory=folder.parent)


def test_a_folder_is_read_as_it_is(folder: Path):
    provider = opened(folder)
    vectors = provider.embed(["retry policy", "policy retry", "cache"], kind="document")
    assert (provider.dimensions, provider.max_tokens) == (WIDTH, 32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(vectors[0], vectors[1], atol=1e-6)  # the mean of the same two
    assert abs(float(vectors[0] @ vectors[2])) < 0.999


def test_its_own_pooling_is_used(folder: Path):
    mean = opened(folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    first = opened(folder)
    assert first.fingerprint != mean.fingerprint
    retry, retry_policy = first.embed(["retry", "retry policy"], kind="document")
    assert np.allclose(retry, retry_policy, atol=1e-6)


def test_vectors_may_be_cut_and_texts_dressed(folder: Path):
    short = opened(folder, dimensions=4, query_prefix="query:")
    question = short.embed(["retry"], kind="query")
    assert question.shape == (1, 4)
    assert np.linalg.norm(question) == pytest.approx(1, abs=1e-5)
    assert np.allclose(short.embed(["query: retry"], kind="document"), question, atol=1e-6)


def test_other_weights_and_another_precision_are_another_model(folder: Path):
    prints = {opened(folder).fingerprint, opened(folder, dimensions=4).fingerprint}
    write_onnx(folder / "model_fp16.onnx", seed=1)
    prints.add(opened(folder, precision="half").fingerprint)
    write_onnx(folder / "onnx" / "model.onnx", seed=2)
    prints.add(opened(folder, precision="full").fingerprint)
    assert len(prints) == 4


def test_what_a_folder_lacks_is_said(folder: Path, tmp_path: Path):
    with pytest.raises(EmbeddingUnavailable, match=r"it has no model_int8.onnx or"):
        opened(folder, precision="int8")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(EmbeddingUnavailable, match=r"it has no tokenizer.json"):
        opened(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(EmbeddingUnavailable, match=r"its config.json cannot be read"):
        opened(folder)
    with pytest.raises(EmbeddingUnavailable, match="optimum-cli"):
        opened(tmp_path / "nowhere")


def test_a_damaged_file_is_said_to_be(folder: Path):
    (folder / "onnx" / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded"):
        opened(folder).embed(["x"], kind="document")


def test_a_name_must_be_one_that_can_be_fetched(tmp_path: Path):
    with pytest.raises(SpecificationInvalid, match="neither a folder here nor"):
        opened(Path("nobody/no-such-model"))
    known = opened(Path("BAAI/bge-small-en-v1.5"))
    assert known.dimensions == 384
    assert known.fingerprint == "huggingface:BAAI/bge-small-en-v1.5:384:plain"
    with pytest.raises(SpecificationInvalid, match=r"is 385; BAAI/bge-small-en-v1.5 has 384"):
        opened(Path("BAAI/bge-small-en-v1.5"), dimensions=385)
