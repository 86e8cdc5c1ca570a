"""What compilers add to the rules: targets, relations, hover texts; nothing where they say none."""

from collections.abc import Mapping

import pytest

from graph.values import EdgeFact, EdgeKind, EdgeSource, VertexLabel
from indexing.answers import OUTSIDE, Answers, ExternalSymbol, Hover, Place, Relation
from indexing.facts import BlobFacts
from indexing.languages import language_named
from indexing.parsing import extract
from indexing.resolution import Resolution, resolve
from tests.indexing.replaying import ResolvedTree

CALLER = "sym:app.py#use"
USE = """from shop import Shop, unknown

def use(shop, other):
    shop.sell()
    unknown(other)
"""
SHOP = """class Shop:
    def sell(self):
        pass

class Stall:
    def sell(self):
        pass
"""
SELL = Place(4, 9)


def facts_of(sources: Mapping[str, str]) -> dict[str, BlobFacts]:
    python = language_named("python")
    return {path: extract(python, text.encode()) for path, text in sources.items()}


def resolved(answers: Answers | None, sources: Mapping[str, str] | None = None) -> Resolution:
    files = facts_of(sources or {"app.py": USE, "shop.py": SHOP})
    return resolve(files, {}, {"app.py": answers} if answers else {})


def edges_from(resolution: Resolution, source: str, kind: EdgeKind) -> dict[str, EdgeFact]:
    return {e.target: e for e in resolution.edges if (e.source, e.kind) == (source, kind)}


def test_the_compiler_finds_what_no_rule_does() -> None:
    sources = {
        "app.py": "def use(a):\n    a.run()\n",
        "job.py": "class Job:\n    def run(self): ...\n",
    }
    answers = Answers(targets={Place(2, 6): "sym:job.py#Job.run"})
    assert edges_from(resolved(None, sources), CALLER, EdgeKind.CALLS) == {}
    edge = edges_from(resolved(answers, sources), CALLER, EdgeKind.CALLS)["sym:job.py#Job.run"]
    assert (edge.confidence, edge.rule, edge.sources) == (0.95, "scip", EdgeSource.SCIP)


def test_a_target_that_both_name_is_nearly_certain_and_keeps_its_rule() -> None:
    sources = {"app.py": "def f():\n    pass\n\ndef g():\n    f()\n"}
    answers = Answers(targets={Place(5, 4): "sym:app.py#f"})
    edge = edges_from(resolved(answers, sources), "sym:app.py#g", EdgeKind.CALLS)["sym:app.py#f"]
    assert edge.confidence == pytest.approx(0.99)
    assert (edge.rule, edge.sources) == ("file", EdgeSource.SYNTAX | EdgeSource.SCIP)


def test_a_rule_that_the_compiler_contradicts_becomes_a_candidate() -> None:
    sources = {"app.py": "def f():\n    pass\n\ndef h():\n    pass\n\ndef g():\n    f()\n"}
    answers = Answers(targets={Place(8, 4): "sym:app.py#h"})
    calls = edges_from(resolved(answers, sources), "sym:app.py#g", EdgeKind.CALLS)
    assert calls["sym:app.py#f"].confidence == pytest.approx(0.97 * 0.3)
    assert calls["sym:app.py#h"].confidence == pytest.approx(0.95)


def test_a_definition_that_is_gone_counts_for_nothing() -> None:
    answers = Answers(targets={SELL: "sym:shop.py#Market.sell", Place(5, 4): "sym:gone.py#f"})
    assert resolved(answers).edges == resolved(None).edges


def test_an_external_symbol_becomes_an_entity_of_its_package() -> None:
    key = "ext:pypi:rich:`rich.console`/Console#print()."
    answers = Answers(
        targets={SELL: key},
        externals={key: ExternalSymbol("print", "pkg:pypi:rich", "Print to the console.")},
    )
    resolution = resolved(answers)
    assert key in edges_from(resolution, CALLER, EdgeKind.CALLS)
    assert [(e.label, e.key, e.name) for e in resolution.entities] == [
        (VertexLabel.EXTERNAL, key, "print"),
        (VertexLabel.PACKAGE, "pkg:pypi:rich", "rich"),
    ]
    assert resolution.entities[0].data["documentation"] == "Print to the console."


def test_a_name_from_outside_makes_a_rule_doubtful_and_no_node() -> None:
    sources = {"app.py": "def f():\n    pass\n\ndef g():\n    f()\n"}
    resolution = resolved(Answers(targets={Place(5, 4): OUTSIDE}), sources)
    calls = edges_from(resolution, "sym:app.py#g", EdgeKind.CALLS)
    assert {target: edge.confidence for target, edge in calls.items()} == {
        "sym:app.py#f": pytest.approx(0.97 * 0.3)
    }
    assert resolution.entities == []


def test_a_use_that_the_syntax_does_not_see_becomes_a_reference() -> None:
    answers = Answers(targets={Place(5, 12): "sym:shop.py#Stall"})
    references = edges_from(resolved(answers), CALLER, EdgeKind.REFERENCES)
    assert references["sym:shop.py#Stall"].sources == EdgeSource.SCIP


def test_an_import_is_not_also_a_reference() -> None:
    answers = Answers(targets={Place(1, 17): "sym:shop.py#Shop"})
    assert edges_from(resolved(answers), "file:app.py", EdgeKind.REFERENCES) == {}


def test_relations_become_edges_and_repeat_no_inheritance() -> None:
    sources = {
        "app.py": "from shop import Shop\n\nclass Big(Shop):\n    def sell(self):\n        pass\n",
        "shop.py": SHOP,
    }
    big, sell = "sym:app.py#Big", "sym:app.py#Big.sell"
    answers = Answers(
        relations=(
            Relation("IMPLEMENTS", big, "sym:shop.py#Shop", 3),
            Relation("OVERRIDES", sell, "sym:shop.py#Shop.sell", 4),
        )
    )
    resolution = resolved(answers, sources)
    assert edges_from(resolution, big, EdgeKind.IMPLEMENTS) == {}
    both = EdgeSource.SYNTAX | EdgeSource.SCIP
    assert edges_from(resolution, big, EdgeKind.INHERITS)["sym:shop.py#Shop"].sources == both
    assert "sym:shop.py#Shop.sell" in edges_from(resolution, sell, EdgeKind.OVERRIDES)


def test_hover_texts_fill_what_the_syntax_leaves_open() -> None:
    hover = Hover("(shop, other) -> None", "Sell everything.")
    with_hover = resolved(Answers(hovers={CALLER: hover})).symbols
    use = next(symbol for symbol in with_hover if symbol.id == CALLER)
    assert (use.signature, use.doc) == ("def use(shop, other)", "Sell everything.")


def test_an_incremental_resolution_with_answers_equals_a_full_one() -> None:
    said = {"app.py": Answers(targets={SELL: "sym:shop.py#Stall.sell"})}
    before = facts_of({"app.py": USE, "shop.py": SHOP})
    tree = ResolvedTree.of(before, {}, said)
    for shop in (SHOP.replace("Stall", "Booth"), SHOP, None, SHOP):
        sources = {"app.py": USE} | ({"shop.py": shop} if shop else {})
        after = {**facts_of(sources), "app.py": before["app.py"]}
        tree.advance(after, said)
        assert tree.differences(ResolvedTree.of(after, {}, said)) == []
