"""Indexes of the samples, as the real indexers made them, bound to what parsing finds there."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from graph.values import LEAST_CONFIDENCE_OF_A_CALL, EdgeKind
from indexing.answers import Answers, Place
from indexing.languages import language_of
from indexing.parsing import extract
from indexing.resolution import is_manifest, resolve
from indexing.scip import binding
from indexing.scip.binding import SourceFile, bind
from indexing.scip.index import IndexFile, message_class
from tests.samples.indexing import LANGUAGES, SAMPLES, parsed, sources_of

TARGETS: Mapping[str, Mapping[tuple[str, int, str], str]] = {
    # (file, line, name) -> what it means there; each needs types that no rule has
    "python": {
        ("src/shop/basket.py", 16, "net"): "src/shop/price.py#Price.net",
        ("src/shop/basket.py", 21, "net"): "src/shop/price.py#Price.net",
        ("src/shop/basket.py", 26, "net"): "src/shop/price.py#Price.net",
        ("src/shop/basket.py", 26, "Reduced"): "src/shop/price.py#Reduced",
        ("tests/test_basket.py", 7, "total"): "src/shop/basket.py#Basket.total",
    },
    "typescript": {
        ("src/basket.ts", 7, "parse"): "src/price.ts#parse~2",
        ("src/basket.ts", 13, "net"): "src/price.ts#Price.net",
        ("src/main.ts", 4, "total"): "src/basket.ts#Basket.total",
    },
    "go": {
        ("main.go", 7, "Total"): "store/store.go#Total",
        ("store/store.go", 16, "Net"): "store/store.go#Plain.Net",
        ("store/store.go", 21, "Net"): "store/store.go#Price.Net",
    },
    "rust": {
        ("src/lib.rs", 6, "net"): "src/price.rs#Reduced.net",
        ("src/lib.rs", 10, "new"): "src/price.rs#Reduced.new",
    },
    "java": {
        ("shop/Basket.java", 10, "Reduced"): "shop/Reduced.java#Reduced",
        ("shop/Basket.java", 14, "net"): "shop/Price.java#Price.net",
        ("shop/Basket.java", 18, "Basket"): "shop/Basket.java#Basket",
    },
}
RELATIONS = {
    "python": {
        ("IMPLEMENTS", "src/shop/price.py#Reduced", "src/shop/price.py#Price"),
        ("OVERRIDES", "src/shop/price.py#Reduced.net", "src/shop/price.py#Price.net"),
    },
    "typescript": {
        ("IMPLEMENTS", "src/price.ts#Reduced", "src/price.ts#Price"),
        ("OVERRIDES", "src/price.ts#Reduced.net", "src/price.ts#Price.net"),
    },
    "go": {
        ("IMPLEMENTS", "store/store.go#Plain", "store/store.go#Price"),
        ("IMPLEMENTS", "store/store.go#Reduced", "store/store.go#Price"),
        ("OVERRIDES", "store/store.go#Plain.Net", "store/store.go#Price.Net"),
        ("OVERRIDES", "store/store.go#Reduced.Net", "store/store.go#Price.Net"),
    },
    "rust": set(),
    "java": {
        ("IMPLEMENTS", "shop/Reduced.java#Reduced", "shop/Price.java#Price"),
        ("OVERRIDES", "shop/Reduced.java#Reduced.net", "shop/Price.java#Price.net"),
    },
}


def bound(language: str, index: Path | None = None) -> dict[str, Answers]:
    file = IndexFile(index or SAMPLES / language / "index.scip", max_bytes=1 << 24)
    return bind(file, parsed(sources_of(language))).answers


def named(language: str, answers: Mapping[str, Answers]) -> dict[tuple[str, int, str], set[str]]:
    """Return targets by file, line and the text that stands there."""
    found: dict[tuple[str, int, str], set[str]] = {}
    sources = sources_of(language)
    for path, said in answers.items():
        lines = sources[path].split(b"\n")
        for place, target in said.targets.items():
            rest = lines[place.line - 1][place.column :].decode()
            name = next((rest[:i] for i, c in enumerate(rest) if not c.isidentifier()), rest)
            found.setdefault((path, place.line, name), set()).add(target.removeprefix("sym:"))
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_mean_what_the_compiler_says(language: str) -> None:
    found = named(language, bound(language))
    for place, target in TARGETS[language].items():
        assert target in found.get(place, set()), place


@pytest.mark.parametrize("language", LANGUAGES)
def test_relations_point_from_the_one_that_implements(language: str) -> None:
    relations = {
        (r.kind, r.source.removeprefix("sym:"), r.target.removeprefix("sym:"))
        for said in bound(language).values()
        for r in said.relations
    }
    assert relations == RELATIONS[language]


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_gets_worse_with_answers(language: str) -> None:
    sources = sources_of(language)
    files = {
        path: extract(known, text) for path, text in sources.items() if (known := language_of(path))
    }
    manifests = {path: text for path, text in sources.items() if is_manifest(path)}
    without = resolve(files, manifests)
    with_answers = resolve(files, manifests, bound(language))

    assert [s.id for s in with_answers.symbols] == [s.id for s in without.symbols]
    for before, after in zip(without.symbols, with_answers.symbols, strict=True):
        assert after.signature == before.signature or not before.signature
        assert after.doc == before.doc or not before.doc
        assert (after.start_line, after.end_line) == (before.start_line, before.end_line)
    sure = {
        (edge.kind, edge.source, edge.target): edge.confidence
        for edge in with_answers.edges
        if edge.confidence >= LEAST_CONFIDENCE_OF_A_CALL
    }
    for edge in without.edges:
        if edge.confidence >= LEAST_CONFIDENCE_OF_A_CALL:
            assert sure.get(edge[:3], 0) >= edge.confidence, edge
    calls = [key for key in sure if key[0] is EdgeKind.CALLS]
    assert len(calls) > sum(e.kind is EdgeKind.CALLS and e.confidence > 0.5 for e in without.edges)


def test_what_the_tree_defines_without_a_node_is_not_external() -> None:
    assert not any(said.externals for said in bound("python").values())


# --- Indexes that are wrong -----------------------------------------------------------------------

SOURCE = b"def f():\n    pass\n\n\ndef g():\n    f(); s = '\xc3\xa9'; f()\n"
F = "s python p 1 `a`/f()."


def bound_by_hand(
    tmp_path: Path, *occurrences: tuple[list[int], str, int], encoding: int = 0, path: str = "a.py"
) -> binding.Bound:
    index = message_class("Index")()
    document = index.documents.add(relative_path=path, position_encoding=encoding)
    for place, symbol, roles in occurrences:
        document.occurrences.add(range=place, symbol=symbol, symbol_roles=roles)
    (tmp_path / "i").write_bytes(index.SerializeToString())
    language = language_of("a.py")
    assert language
    files = {"a.py": SourceFile(extract(language, SOURCE), lambda: SOURCE)}
    return bind(IndexFile(tmp_path / "i", max_bytes=1 << 20), files)


DEFINITION = ([0, 4, 5], F, 1)


@pytest.mark.parametrize(
    ("encoding", "column"),
    [(0, 18), (1, 19), (2, 18), (3, 18)],
    ids=["unset", "utf-8", "utf-16", "utf-32"],
)
def test_columns_are_counted_as_the_document_says(
    tmp_path: Path, encoding: int, column: int
) -> None:
    found = bound_by_hand(tmp_path, DEFINITION, ([5, column, column + 1], F, 0), encoding=encoding)
    assert found.answers["a.py"].targets == {Place(6, 19): "sym:a.py#f"}


def test_a_name_that_the_symbol_does_not_have_is_not_believed(tmp_path: Path) -> None:
    found = bound_by_hand(tmp_path, DEFINITION, ([5, 9, 10], F, 0))
    assert found.answers["a.py"].targets == {}
    assert found.counts["other_name"] == 1


@pytest.mark.parametrize("place", [[99, 0, 1], [5, 400, 401], [5, 6, 5], [5, 5, 5]])
def test_places_outside_the_text_are_dropped(tmp_path: Path, place: list[int]) -> None:
    assert bound_by_hand(tmp_path, DEFINITION, (place, F, 0)).answers["a.py"].targets == {}


@pytest.mark.parametrize("path", ["/etc/passwd", "../a.py", "b.py", ""])
def test_documents_outside_the_tree_are_dropped(tmp_path: Path, path: str) -> None:
    found = bound_by_hand(tmp_path, DEFINITION, path=path)
    assert found.answers == {}
    assert found.counts["foreign_documents"] == 1


def test_too_many_references_to_one_symbol_are_truncated_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding, "MAX_REFERENCES_TO_ONE_TARGET", 1)
    found = bound_by_hand(tmp_path, DEFINITION, ([5, 4, 5], F, 0), ([5, 18, 19], F, 0))
    assert list(found.answers["a.py"].targets) == [Place(6, 4)]
    assert (found.answers["a.py"].truncated, found.counts["truncated"]) == (1, 1)


def test_answers_survive_being_kept() -> None:
    for said in bound("typescript").values():
        assert Answers.from_bytes(said.to_bytes()) == said
