"""Make machine code of `indexing.native.MODULES`, half a minute's work, unless it is there.

    python -m indexing.native [--status]

Without mypyc or a C compiler nothing is made, which is no error: the modules run as they are.
--status makes nothing and says how they run.
"""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from indexing.native import CHECKOUT, MODULES, SUFFIX, folder

_CONFIGURATION: Final = """
[mypy]
strict = True
ignore_missing_imports = True
follow_imports = silent
explicit_package_bases = True
"""


def main() -> None:
    """Make what is not there, and say what the modules run as."""
    made = folder()
    if made.is_dir():
        _say("runs as machine code")
    elif sys.argv[1:] == ["--status"]:
        _say("runs as Python")
    elif missing := _missing():
        _say(f"runs as Python: there is no {missing}")
    else:
        _make(made)
        _say("runs as machine code, made just now")


def _say(sentence: str) -> None:
    print(f"indexing: {sentence}")  # noqa: T201


def _missing() -> str:
    """Return what is lacking to compile anything; empty if nothing is."""
    if find_spec("mypyc") is None or find_spec("setuptools") is None:
        return "mypyc, which the server does not need"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"C compiler ({compiler})"
    headers = Path(sysconfig.get_path("include"))
    return "" if (headers / "Python.h").exists() else f"Python.h in {headers}"


def _make(made: Path) -> None:
    made.parent.mkdir(parents=True, exist_ok=True)
    # Beside its place and moved there whole: who looks finds all of it or nothing.
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
        tree, result = Path(scratch) / "tree", Path(scratch) / "result"
        _copy_sources(tree)
        _compile(tree)
        for library in tree.rglob(f"*{SUFFIX}"):
            place = result / library.relative_to(tree)
            if "build" not in place.parts:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(library, place)
        _try(result)
        for older in made.parent.iterdir():
            if older != Path(scratch):
                shutil.rmtree(older)
        result.rename(made)


def _copy_sources(tree: Path) -> None:
    for package in ("graph", "indexing"):
        shutil.copytree(CHECKOUT / package, tree / package, ignore=_not_python)
    (tree / "mypy.ini").write_text(_CONFIGURATION)


def _not_python(directory: str, names: list[str]) -> list[str]:
    return [
        name for name in names if not name.endswith(".py") and not (Path(directory) / name).is_dir()
    ]


def _compile(tree: Path) -> None:
    files = [f"indexing/resolution/{module}.py" for module in MODULES]
    # -O1 compiles in two thirds of the time, and runs as fast: most of that is Python's own code.
    settings = ("env", "MYPYC_OPT_LEVEL=1", "MYPYC_DEBUG_LEVEL=0")
    done = subprocess.run(
        [*settings, sys.executable, "-m", "mypyc", "--config-file", "mypy.ini", *files],
        cwd=tree,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"mypyc failed:\n{done.stdout[-4000:]}")


def _try(result: Path) -> None:
    """Import everything from where it was made; what cannot be imported is not kept."""
    program = (
        "import importlib, pathlib, sys, indexing.native as native;"
        " native.use(pathlib.Path(sys.argv[1]));"
        " names = ['indexing.resolution.' + name for name in native.MODULES];"
        " files = [str(importlib.import_module(name).__file__) for name in names];"
        " assert all(file.startswith(sys.argv[1]) for file in files), files"
    )
    subprocess.run([sys.executable, "-c", program, str(result)], cwd=CHECKOUT, check=True)


if __name__ == "__main__":
    main()
