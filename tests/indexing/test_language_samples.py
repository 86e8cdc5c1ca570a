# ruff: noqa: ISC004, E501 - sources are read most easily as they are
"""What each language's row and query file make of a few lines."""

import dataclasses
import time

import pytest

from indexing import languages
from indexing.facts import ImportKind, ReferenceKind
from indexing.languages import LANGUAGES, language_named
from indexing.parsing import extract
from tests.indexing.resolved import resolved

NEW = [row for row in LANGUAGES if row.family not in ("python", "ecmascript", "go")]

SAMPLES = {
    "rust": (
        "use a::{b, c as d};\n/// Doc.\n#[derive(Debug)]\npub struct S { pub x: u8 }\n"
        "impl S { pub fn m(&self, n: u8) { if n > 1 { self.m(2) } } }\n"
        "#[cfg(test)]\nmod tests { #[test]\n fn t() {} }\n",
        ["S", "S.x", "S.m", "tests", "tests.t"],
        ["tests", "tests.t"],
    ),
    "java": (
        "package a.b;\nimport c.D;\nclass S { int x; int m(int n) { return n > 1 ? m(2) : 0; }\n"
        "@Test void t() {} }\n",
        ["S", "S.x", "S.m", "S.t"],
        ["S.t"],
    ),
    "kotlin": (
        "package a.b\n\nimport c.D\n\nclass S(val x: Int) {\n  fun m(n: Int) {\n    if (n > 1) m(2)\n"
        "  }\n\n  @Test\n  fun t() {\n  }\n}\n",
        ["S", "S.x", "S.m", "S.t"],
        ["S.t"],
    ),
    "scala": (
        "package a.b\nimport c.D\nclass S(val x: Int) extends AnyFunSuite {\n"
        "  def m(n: Int): Unit = if (n > 1) m(2)\n}\n",
        ["S", "S.x", "S.m"],
        ["S", "S.x", "S.m"],
    ),
    "csharp": (
        "using C.D;\nnamespace A.B;\nclass S { int x; void M(int n) { if (n > 1) M(2); }\n"
        "[Fact] void T() {} }\n",
        ["S", "S.x", "S.M", "S.T"],
        ["S.T"],
    ),
    "c": (
        '#include "c.h"\nstruct s { int x; };\nint m(int n) { if (n > 1) return m(2); return 0; }\n',
        ["s", "s.x", "m"],
        [],
    ),
    "cpp": (
        '#include "c.h"\nnamespace a { struct S { int x; void m(int n); }; }\n'
        "void a::S::m(int n) { if (n > 1) m(2); }\nTEST(A, B) {}\n",
        ["a", "a.S", "a.S.x", "a.S.m", "S.m", "TEST"],
        ["TEST"],
    ),
    "ruby": (
        "require 'c'\nmodule A\n  class S\n    attr_reader :x\n    def m(n)\n      m(2) if n > 1\n    end\n"
        "  end\nend\nclass T < Minitest::Test\nend\n",
        ["A", "A.S", "A.S.x", "A.S.m", "T"],
        ["T"],
    ),
    "php": (
        "<?php\nnamespace A\\B;\nuse C\\D;\nclass S { private $x; function m($n) { if ($n) $this->m(2); } }\n"
        "class T extends TestCase { }\n",
        ["S", "S.x", "S.m", "T"],
        ["T"],
    ),
    "swift": (
        "import C\nstruct S { var x: Int\n  func m(n: Int) { if n > 1 { m(n: 2) } } }\n"
        "extension S { func e() {} }\nclass T: XCTestCase {}\n",
        ["S", "S.x", "S.m", "S.e", "T"],
        ["T"],
    ),
    "hcl": (
        'resource "a_b" "c" {\n  x = 1\n}\nvariable "v" {}\n',
        ["a_b.c", "a_b.c.x", "variable.v"],
        [],
    ),
    "markdown": ("# One\n\ntext\n\n## Two\n\nmore\n", ["One", "One.Two"], []),
    "yaml": ('a: 1\n"b":\n  c: 2\n', ["a", "b"], []),
}


@pytest.mark.parametrize("language", NEW, ids=lambda row: row.name)
def test_every_language_tells_definitions_and_tests(language):
    source, names, tests = SAMPLES[language.name]
    facts = extract(language, source.encode())
    assert not facts.has_error
    named = [found for found in facts.definitions if found.kind]
    assert [found.local_name for found in named] == names
    assert [found.local_name for found in named if found.is_test] == tests


PROGRAMS = [row for row in NEW if row.name not in ("hcl", "markdown", "yaml")]


@pytest.mark.parametrize("language", PROGRAMS, ids=lambda row: row.name)
def test_every_programming_language_tells_calls_imports_parameters_and_complexity(language):
    facts = extract(language, SAMPLES[language.name][0].encode())
    (called,) = [d for d in facts.definitions if d.name in ("m", "M") and d.cyclomatic > 1]
    assert (called.cyclomatic, called.cognitive) == (2, 1)
    assert any("n" in parameter for parameter in called.parameters)
    assert any(r.kind is ReferenceKind.CALL and r.name == called.name for r in facts.references)
    assert facts.imports


def test_an_import_of_several_names_is_taken_apart():
    facts = extract(language_named("rust"), b"use a::{b::{self, c}, d as e, f::*};\n")
    assert [(i.kind, i.module, i.name, i.alias) for i in facts.imports] == [
        (ImportKind.NAME, "a", "b", "b"),
        (ImportKind.NAME, "a.b", "c", "c"),
        (ImportKind.NAME, "a", "d", "e"),
        (ImportKind.STAR, "a.f", "", "*"),
    ]


def test_a_language_is_one_row_and_one_query_file(monkeypatch, tmp_path):
    """Nothing but data is needed to read a language that nobody has heard of."""
    (tmp_path / "toy.scm").write_text(
        "(block . (identifier) @receiver . (string_lit (template_literal) @name)) @definition.class\n"
        "(function_call . (identifier) @call)\n"
    )
    monkeypatch.setattr(languages, "QUERIES", tmp_path)
    toy = dataclasses.replace(
        language_named("hcl"), name="toy", family="toy", queries=("toy",), extensions=(".toy",)
    )
    monkeypatch.setitem(languages._BY_NAME, "toy", toy)
    monkeypatch.setitem(languages._BY_EXTENSION, ".toy", toy)
    tree = resolved({"a.toy": 'thing "one" {\n  x = f(1)\n}\n'})
    assert [symbol.qualified_name for symbol in tree.resolution.symbols] == ["a.toy.thing.one"]
    assert languages.language_of("b/a.toy") is toy


HOSTILE = {
    "unclosed brackets": b"f(" * 10_000,
    "unclosed types": b"a<" * 4000,
    "unclosed classes": b"class A {\n" * 1000,
    "garbage": b"\"'<{[(;:=>)]}@#$&*!?\n" * 2000,
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize("language", NEW, ids=lambda row: row.name)
def test_broken_text_costs_little(language, source):
    start = time.process_time()
    extract(language, source)
    assert time.process_time() - start < 10


def test_names_bound_to_each_other_have_no_type():
    tree = resolved({"a.c": "void f(a *b, b *a) { a->x(); b->y(); }\n"})
    assert [symbol.name for symbol in tree.resolution.symbols] == ["f"]


QUALIFIED = [
    ({"Cargo.toml": '[package]\nname = "my-app"\n', "src/a/mod.rs": "fn f() {}"}, "my_app.a.f"),
    ({"src/S.java": "package a.b;\nclass S {}\n"}, "a.b.S"),
    ({"src/S.php": "<?php\nnamespace A\\B;\nclass S {}\n"}, "A.B.S"),
    ({"lib/a/s.rb": "class S\nend\n"}, "lib/a/s.S"),
    ({"src/s.c": "int f(void) { return 1; }\n"}, "src/s.f"),
    ({"Sources/Kit/a/S.swift": "struct S {}\n"}, "Kit.a.S.S"),
    ({"docs/a.md": "# One\n"}, "docs/a.md.One"),
]


@pytest.mark.parametrize(("sources", "name"), QUALIFIED)
def test_qualified_names_contain_the_module(sources, name):
    assert [symbol.qualified_name for symbol in resolved(sources).resolution.symbols] == [name]
