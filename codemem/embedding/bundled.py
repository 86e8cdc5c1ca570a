"""What the bundled model is: its identity, limits and place on disk. Standard library only.

`prepare` makes the files, `local` reads them; both take every fact about the model from here.
"""

import hashlib
import json
from pathlib import Path
from typing import Final

NAME: Final = "all-MiniLM-L6-v2"
DIMENSIONS: Final = 384
MAX_TOKENS: Final = 256  # what the model was trained on; its position table would allow 512

WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PRECISION: Final = "int8-channel"
POOLING: Final = "mean"
# How texts are dressed before they are embedded: 1 is as they come (MiniLM knows no prefixes).
TEMPLATE_VERSION: Final = 1
# How the files are derived from the weights; raised whenever that could move a vector.
RECIPE_VERSION: Final = 1

ONNX_FILE: Final = "model.onnx"
OUTPUT_NAME: Final = "sentence_embedding"
MANIFEST_FILE: Final = "fingerprint.json"


def fingerprint() -> str:
    """Return the text that is equal only for vectors that may be compared with each other."""
    return (
        f"{NAME}:{WEIGHTS_SHA256[:12]}:{PRECISION}:recipe-{RECIPE_VERSION}:{POOLING}"
        f":{MAX_TOKENS}:template-{TEMPLATE_VERSION}"
    )


def directory(models: Path) -> Path:
    """Return where the prepared model stands, or would stand, below the directory of models."""
    short_hash = hashlib.sha256(fingerprint().encode()).hexdigest()[:12]
    return models / f"{NAME}-int8-{short_hash}"


def write_manifest(prepared: Path) -> None:
    """Record what the files of a prepared model are, so that damage can be noticed."""
    hashes = {path.name: sha256(path) for path in sorted(prepared.iterdir())}
    manifest = {"fingerprint": fingerprint(), "files": hashes}
    (prepared / MANIFEST_FILE).write_text(json.dumps(manifest, indent=2) + "\n")


def is_intact(prepared: Path) -> bool:
    """Tell whether a prepared model is there and every file is as it was written (about 50 ms)."""
    try:
        manifest = json.loads((prepared / MANIFEST_FILE).read_text())
        return manifest["fingerprint"] == fingerprint() and all(
            sha256(prepared / name) == expected for name, expected in manifest["files"].items()
        )
    except (OSError, ValueError, KeyError):
        return False


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
