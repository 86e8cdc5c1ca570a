"""Hand-made cases: small trees of sources with the calls that are in them, listed beside them.

A case is one file, `cases/<language>/<name>.case`: a sentence, the sources below `=== path`, and
below `=== calls` every call between definitions of the case, `path#caller -> path#callee`. A line
that begins with `?` is a call too, which the rules of the syntax layer are known not to find.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from graph.values import LEAST_CONFIDENCE_OF_A_CALL, EdgeKind
from indexing.languages import language_of
from indexing.parsing import extract
from indexing.resolution import is_manifest, resolve

CASES = Path(__file__).parent / "cases"
LANGUAGES = tuple(sorted(folder.name for folder in CASES.iterdir() if folder.is_dir()))

Call = tuple[str, str]

_SECTION = re.compile(r"^=== ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case; `missed` are those of its calls that are known not to be found."""

    language: str
    name: str
    about: str
    sources: Mapping[str, str]
    calls: frozenset[Call]
    missed: frozenset[Call]


def read_cases(language: str) -> Iterator[Case]:
    """Yield the cases of a language, by name."""
    for path in sorted((CASES / language).glob("*.case")):
        yield _read(language, path)


def calls_found(case: Case) -> frozenset[Call]:
    """Return the calls that the syntax layer finds in a case and believes to be facts."""
    files = {}
    for path, source in case.sources.items():
        language = language_of(path)
        if language:
            files[path] = extract(language, source.encode())
    manifests = {path: text.encode() for path, text in case.sources.items() if is_manifest(path)}
    return frozenset(
        (edge.source.removeprefix("sym:"), edge.target.removeprefix("sym:"))
        for edge in resolve(files, manifests).edges
        if edge.kind is EdgeKind.CALLS and edge.confidence >= LEAST_CONFIDENCE_OF_A_CALL
    )


def _read(language: str, path: Path) -> Case:
    about, *sections = _SECTION.split(path.read_text(encoding="utf-8"))
    sources = dict(section.partition("\n")[::2] for section in sections)
    listed = sources.pop("calls").splitlines()
    missed = frozenset(_call(line[1:]) for line in listed if line.startswith("?"))
    return Case(
        language=language,
        name=path.stem,
        about=about.strip(),
        sources=sources,
        calls=missed | {_call(line) for line in listed if not line.startswith("?")},
        missed=missed,
    )


def _call(line: str) -> Call:
    caller, _, callee = line.partition(" -> ")
    return caller.strip(), callee.strip()
