"""A repository in memory: files are extracted for real, imports are resolved by their paths."""

import posixpath
from collections.abc import Mapping

from indexing.crossing.composition import Composition, Place
from indexing.crossing.reading import read_traffic
from indexing.crossing.reading.source import constants_of
from indexing.crossing.traffic import FileTraffic, NameFact
from indexing.facts import BlobFacts
from indexing.languages import language_of
from indexing.parsing import extract


class Repository:
    """Answers `composition.Surroundings` from the paths of its own files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.facts = {path: _facts(path, text) for path, text in files.items()}
        # As they are kept and read again.
        self.traffic = {
            path: FileTraffic.from_json(traffic.to_json())
            for path, facts in self.facts.items()
            if (traffic := read_traffic(facts))
        }

    def composed(self) -> Composition:
        return Composition(self.traffic, self)

    def target(self, path: str, name: NameFact, below: str) -> Place | None:
        folder = posixpath.dirname(path)
        if name.module.startswith("."):
            rest = name.module.lstrip(".") if path.endswith(".py") else name.module
            stem = posixpath.normpath(posixpath.join(folder, rest.replace(".", "/", 0)))
        else:
            stem = name.module.replace(".", "/")
        whole = self._file(f"{stem}/{name.name}")
        if whole:
            return Place(whole, "")
        file = self._file(stem)
        return Place(file, name.name) if file else None

    def file_of_module(self, path: str, module: str) -> str | None:
        if module.startswith("."):
            return self._file(posixpath.normpath(posixpath.join(posixpath.dirname(path), module)))
        return self._file(module.replace(".", "/"))

    def constant(self, place: Place) -> str | None:
        definitions = self.facts[place.path].definitions
        found = {
            constant.name: constant.text
            for one in definitions
            if one.kind in ("variable", "field")
            for constant in constants_of(one.local_name, one.source_text)
        }
        return found.get(place.local_name)

    def task_name(self, place: Place) -> str:
        return f"{posixpath.splitext(place.path)[0].replace('/', '.')}.{place.local_name}"

    def _file(self, stem: str) -> str | None:
        ends = ("", ".py", "/__init__.py", ".ts", ".js", "/index.ts", "/index.js")
        return next((stem + end for end in ends if stem + end in self.facts), None)


def endpoints(files: Mapping[str, str]) -> set[str]:
    """Return the endpoints that some files declare together: `GET /users/{id} handler`."""
    return {
        f"{one.method} {one.route} {_handler(one.handler, one.symbol)}".strip()
        for one in Repository(files).composed().endpoints()
    }


def requests(files: Mapping[str, str]) -> set[str]:
    return {
        f"{one.method} {one.host}{one.template}" for one in Repository(files).composed().requests()
    }


def messages(files: Mapping[str, str]) -> set[str]:
    return {
        f"{one.bus} {'publish' if one.is_publishing else 'subscribe'} {one.topic}".strip()
        for one in Repository(files).composed().messages()
    }


def _handler(handler: Place | None, symbol: str) -> str:
    return handler.local_name if handler and handler.local_name else symbol.partition("~")[0]


def _facts(path: str, text: str) -> BlobFacts:
    language = language_of(path)
    assert language is not None, path
    return extract(language, text.encode())
