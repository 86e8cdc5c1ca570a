"""Resolving what a change concerns gives what resolving everything gives."""

import random

import pytest

from indexing.languages import language_of
from indexing.parsing import extract
from indexing.resolution import is_manifest
from tests.indexing.replaying import ResolvedTree

PYTHON = {
    "app/__init__.py": "from .models import User, Base\nfrom .tools import *\n",
    "app/models.py": (
        "from .base import Base\nfrom .tools import make\n\n"
        "class User(Base):\n"
        "    manager = make()\n\n"
        "    def __init__(self):\n        self.base = Base()\n\n"
        "    def save(self):\n        self.base.store()\n        return self.hook()\n\n"
        "    def load(self):\n        return make().run()\n"
    ),
    "app/base.py": (
        "import app.tools\n\n"
        "class Base:\n    def store(self):\n        return app.tools.make()\n\n"
        "    def save(self):\n        return self.hook()\n"
    ),
    "app/tools.py": (
        "class Runner:\n    def run(self):\n        pass\n\n"
        "def make() -> Runner:\n    return Runner()\n\ndef unused():\n    pass\n"
    ),
    "app/child.py": (
        "import app\nfrom app import User as Person\n\n"
        "class Child(Person):\n    def hook(self):\n        return self.load().run()\n\n"
        "def start(person: Person):\n    person.save()\n    app.make().run()\n    person.other()\n"
    ),
    "app/loops.py": (
        "class A:\n    x = None\n    def m(self):\n        self.x = B().y\n        self.x.go()\n\n"
        "class B:\n    y = None\n    def m(self):\n        self.y = A().x\n        self.y.go()\n\n"
        "def f():\n    return g()\n\ndef g():\n    return f()\n\nf().go()\n"
    ),
    "tests/conftest.py": (
        "import pytest\nfrom app import User\n\n@pytest.fixture\ndef user():\n    return User()\n"
    ),
    "tests/test_app.py": "def test_user(user):\n    user.save()\n    user.rarely_named()\n",
    "src/lone.py": "from app.child import *\n\nstart(Child())\n",
}
TYPESCRIPT = {
    "package.json": '{"name": "root"}',
    "src/index.ts": "export * from './shapes'\nexport { draw as paint } from './draw'\n",
    "src/shapes.ts": (
        "import { Pen } from './pen'\n"
        "export interface Shape { area(): number }\n"
        "export class Square implements Shape {\n"
        "  pen = new Pen()\n  area() { return this.pen.stroke() }\n"
        "  twice() { return this.area() + this.extra() }\n}\n"
    ),
    "src/pen.ts": (
        "export class Pen { stroke() { return measure() } }\nfunction measure() { return 1 }\n"
    ),
    "src/draw.ts": (
        "import { Square } from './index'\n"
        "export function draw(square: Square) {\n  square.area()\n  square.pen.stroke()\n"
        "  helper(() => square.twice())\n}\nfunction helper(f: () => void) { f() }\n"
    ),
    "src/round.ts": (
        "import { Square } from './shapes'\nimport * as all from '.'\n"
        "export class Round extends Square { extra() { return 2 } }\nall.paint(new Round())\n"
    ),
}
GO = {
    "go.mod": "module example.com/shop\n",
    "main.go": (
        'package main\n\nimport "example.com/shop/store"\n\n'
        "func main() {\n\ts := store.Open()\n\ts.Sell()\n\ts.Count()\n}\n"
    ),
    "store/store.go": (
        "package store\n\ntype Store struct {\n\tstock *Stock\n}\n\n"
        "func Open() *Store { return &Store{} }\n"
    ),
    "store/sell.go": (
        "package store\n\nfunc (s *Store) Sell() { s.stock.Take() }\n\n"
        "func (s *Store) Count() int { return helper() }\n"
    ),
    "store/stock.go": (
        "package store\n\ntype Stock struct{}\n\nfunc (s *Stock) Take() {}\n\n"
        "func helper() int { return 1 }\n"
    ),
}
TREES = {"python": PYTHON, "typescript": TYPESCRIPT, "go": GO}


class Author:
    """Edits a tree at random: lines moved between files, names changed, files come and gone."""

    def __init__(self, sources: dict[str, str], seed: int) -> None:
        self.random = random.Random(seed)
        self.sources = dict(sources)
        self.original = dict(sources)
        self.words = sorted(
            {word for text in sources.values() for word in text.split() if word.isidentifier()}
        )
        self._facts: dict[tuple[str, str], object] = {}

    def edit(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.random.choice(
                [self.drop_line, self.copy_line, self.rename, self.restore, self.move, self.delete]
            )()

    def files(self):
        found = {}
        for path, text in self.sources.items():
            language = language_of(path)
            if language is not None and (path, text) not in self._facts:
                self._facts[path, text] = extract(language, text.encode())
            if language is not None:
                found[path] = self._facts[path, text]
        return found

    def some_path(self) -> str:
        paths = [path for path in self.sources if not is_manifest(path)]
        return self.random.choice(sorted(paths) or [self.restore()])

    def drop_line(self) -> None:
        path = self.some_path()
        lines = self.sources[path].splitlines(keepends=True)
        if lines:
            del lines[self.random.randrange(len(lines))]
        self.sources[path] = "".join(lines)

    def copy_line(self) -> None:
        source, target = self.some_path(), self.some_path()
        lines = self.sources[target].splitlines(keepends=True)
        copied = self.sources[source].splitlines(keepends=True) or ["\n"]
        lines.insert(self.random.randint(0, len(lines)), self.random.choice(copied))
        self.sources[target] = "".join(lines)

    def rename(self) -> None:
        path = self.some_path()
        old, new = self.random.choice(self.words), self.random.choice(self.words)
        self.sources[path] = self.sources[path].replace(old, new, 1)

    def restore(self) -> str:
        path = self.random.choice(sorted(self.original))
        self.sources[path] = self.original[path]
        return path

    def move(self) -> None:
        path = self.some_path()
        folder, _, name = path.rpartition("/")
        suffix = "." + name.rpartition(".")[2]
        other = self.random.choice(["moved", "__init__", "index", name.rpartition(".")[0]])
        place = self.random.choice([folder, "app", "lib", "store", "src"])
        self.sources[f"{place}/{other}{suffix}".lstrip("/")] = self.sources.pop(path)

    def delete(self) -> None:
        del self.sources[self.some_path()]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("language", TREES)
def test_any_change_resolves_as_everything_would(language, seed):
    author = Author(TREES[language], seed)
    manifests = {p: t.encode() for p, t in TREES[language].items() if is_manifest(p)}
    kept = ResolvedTree.of(author.files(), manifests)

    for _ in range(60):
        author.edit()
        kept.advance(author.files())

        assert kept.differences(ResolvedTree.of(author.files(), manifests)) == []


def changed(sources, *edits):
    """Return the files that are resolved when the texts of some are changed."""
    author = Author(sources, 0)
    kept = ResolvedTree.of(author.files(), {})
    for path, old, new in edits:
        assert old in author.sources[path]
        author.sources[path] = author.sources[path].replace(old, new)
    kept.advance(author.files())
    assert kept.differences(ResolvedTree.of(author.files(), {})) == []
    return kept.resolved


def test_an_edit_inside_a_function_concerns_its_file_alone():
    assert changed(
        PYTHON, ("app/tools.py", "pass\n\ndef make", "print()\n        pass\n\ndef make")
    ) == ["app/tools.py"]


def test_another_result_concerns_those_who_used_the_result():
    edited = changed(PYTHON, ("app/tools.py", "-> Runner:", "-> int:"))

    assert {"app/child.py", "app/models.py"} < set(edited)
    assert "tests/conftest.py" not in edited


def test_a_new_method_concerns_those_who_missed_it():
    method = ("app/base.py", "    def save", "    def other(self):\n        pass\n\n    def save")

    assert "app/child.py" in changed(PYTHON, method)


def test_a_new_subclass_concerns_who_calls_what_only_subclasses_have():
    subclass = ("src/lone.py", "start(", "class Late(Child):\n    def hook(self): pass\n\nstart(")

    assert "app/models.py" not in changed(PYTHON, subclass)
    second = ("app/child.py", "def start", "class Later(Person):\n    pass\n\ndef start")
    assert "app/models.py" in changed(PYTHON, second)
    direct = subclass[2].replace("Child)", "app.User)").replace("class", "import app\nclass")
    assert "app/models.py" in changed(PYTHON, (subclass[0], subclass[1], direct))
