"""Machine code: what it says is what the sources say, and that of other sources is not found."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from indexing import native
from indexing.native import __main__ as making

ROOT = Path(__file__).resolve().parents[2]
# Prints what the samples resolve to, as machine code unless told otherwise; with the way it ran.
RESOLVED = """
import hashlib, pathlib, sys
import indexing
from indexing import native
if sys.argv[1] == "as-python":
    sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, native.Finder)]
from indexing.languages import language_of
from indexing.parsing import extract
from indexing.resolution import edges, is_manifest, resolve_files
facts, manifests = {}, {}
for folder in sys.argv[2:]:
    for file in sorted(pathlib.Path(folder).rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            if is_manifest(str(file)):
                manifests[str(file)] = file.read_bytes()
            if language := language_of(str(file)):
                facts[str(file)] = extract(language, file.read_bytes())
digest = hashlib.sha256()
for found in resolve_files(facts, manifests):
    said = (found.symbols, found.edges, found.entities, sorted(found.consulted))
    said += (sorted(found.offered), sorted(found.derived.items()))
    digest.update(repr(said).encode(errors="surrogatepass"))
print(pathlib.Path(edges.__file__).suffix, len(facts), digest.hexdigest())
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a copy of the sources that machine code follows from."""
    for package in ("graph", "indexing"):
        shutil.copytree(ROOT / package, tmp_path / package)
    monkeypatch.setattr(native, "CHECKOUT", tmp_path)
    return tmp_path


@pytest.fixture
def finders(monkeypatch):
    """Return this process's finders without those of machine code; all is as before afterwards."""
    others = [one for one in sys.meta_path if not isinstance(one, native.Finder)]
    monkeypatch.setattr(sys, "meta_path", others)
    return others


def resolved(how: str) -> list[str]:
    # Samples of all languages, and programs of some size: ourselves.
    folders = ("tests/samples", "tests/indexing", "indexing", "graph", "codemem/client")
    done = subprocess.run(
        [sys.executable, "-c", RESOLVED, how, *folders],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.slow
def test_machine_code_resolves_what_the_sources_resolve():
    made = subprocess.run(
        [sys.executable, "-m", "indexing.native"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    suffix, *as_python = resolved("as-python")
    assert suffix == ".py"
    suffix, *as_made = resolved("as-made")
    assert as_made == as_python
    # Where it cannot be made, the sources themselves run, and that is said.
    assert (suffix == ".so") is ("runs as machine code" in made.stdout)


@pytest.mark.parametrize(
    "source", ["indexing/resolution/edges.py", "indexing/facts.py", "graph/values.py"]
)
def test_machine_code_of_other_sources_is_not_found(checkout, source):
    before = native.folder()
    with (checkout / source).open("a") as file:
        file.write("\n")
    assert native.folder() != before


def test_machine_code_for_another_python_is_not_found(monkeypatch):
    before = native.folder()
    monkeypatch.setattr(sys, "version", "3.99")
    assert native.folder() != before


def test_without_machine_code_nothing_is_asked_for_it(tmp_path, finders):
    native.use(tmp_path / "nothing")
    assert len(finders) == len(sys.meta_path)
    assert not native.is_used()


def test_only_what_was_made_is_found(tmp_path, finders):
    suffix = native.SUFFIX
    (tmp_path / "indexing/resolution").mkdir(parents=True)
    (tmp_path / f"indexing/resolution/edges{suffix}").touch()
    (tmp_path / f"abc__mypyc{suffix}").touch()
    native.use(tmp_path)
    assert native.is_used()
    found = finders[0].find_spec("indexing.resolution.edges", None)
    assert found.origin == str(tmp_path / f"indexing/resolution/edges{suffix}")
    assert finders[0].find_spec("abc__mypyc", None).origin == str(tmp_path / f"abc__mypyc{suffix}")
    assert finders[0].find_spec("indexing.resolution.calls", None) is None


def test_without_a_compiler_nothing_is_made(checkout, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", ["native"])
    making.main()
    assert "runs as Python: there is no C compiler" in capsys.readouterr().out
    assert not native.folder().exists()
