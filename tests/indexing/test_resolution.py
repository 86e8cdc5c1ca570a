import pytest

from graph.values import EdgeKind
from indexing.resolution import is_manifest, resolve
from tests.indexing import test_resolution_go, test_resolution_python, test_resolution_typescript
from tests.indexing.resolved import resolved

TREES = {
    "python": test_resolution_python.SOURCES,
    "typescript": test_resolution_typescript.SOURCES,
    "go": test_resolution_go.SOURCES,
}


def test_an_empty_tree_has_an_empty_graph():
    resolution = resolve({}, {})
    assert (resolution.symbols, resolution.edges) == ([], [])


@pytest.mark.parametrize("sources", TREES.values(), ids=TREES)
def test_every_end_of_an_edge_exists_and_every_id_is_used_once(sources):
    resolution = resolved(sources).resolution
    ids = [symbol.id for symbol in resolution.symbols]
    nodes = {*ids, *(f"file:{path}" for path in sources)}
    assert len(set(ids)) == len(ids)
    assert {edge.source for edge in resolution.edges} <= nodes
    assert {edge.target for edge in resolution.edges} <= nodes
    assert {symbol.parent for symbol in resolution.symbols} <= {*ids, None}


@pytest.mark.parametrize("sources", TREES.values(), ids=TREES)
def test_the_order_of_the_files_does_not_matter(sources):
    backwards = dict(reversed(sources.items()))
    assert resolved(sources).resolution == resolved(backwards).resolution


@pytest.mark.parametrize("sources", TREES.values(), ids=TREES)
def test_an_edge_is_unique_and_certain_to_a_degree(sources):
    edges = resolved(sources).resolution.edges
    assert len({edge[:3] for edge in edges}) == len(edges)
    assert all(0 < edge.confidence <= 1 and edge.line >= 1 for edge in edges)


def test_the_surest_rule_and_the_first_line_are_kept():
    source = "def f(): ...\n\ndef g(x):\n    x()\n    f()\n    f()\n"
    edge = resolved({"a.py": source}).edge(EdgeKind.CALLS, "sym:a.py#g", "sym:a.py#f")
    assert edge
    assert (edge.line, edge.confidence) == (5, 0.97)


def test_names_do_not_cross_languages():
    tree = resolved({"a.py": "class A:\n    def spin(self): ...\n", "b.ts": "x.spin(); spin();"})
    assert tree.targets(EdgeKind.CALLS, "file:b.ts", at_least=0) == set()


@pytest.mark.parametrize("path", ["package.json", "a/go.mod", "a/b/tsconfig.json", "setup.cfg"])
def test_project_files_are_manifests(path):
    assert is_manifest(path)


def test_other_files_are_not_manifests():
    assert not is_manifest("a/package.json/x")
