import time

import pytest

from graph.values import NodeKind, Visibility
from indexing import parsing
from indexing.facts import (
    BindingSource,
    BindingTarget,
    BlobFacts,
    FactsMalformed,
    ImportKind,
    ReferenceKind,
)
from indexing.languages import language_named
from indexing.parsing import MAX_DEPTH, MAX_SOURCE_BYTES, extract, skip_reason

PYTHON, JAVASCRIPT = language_named("python"), language_named("javascript")
TYPESCRIPT, GO = language_named("typescript"), language_named("go")


def names(facts):
    return [found.local_name for found in facts.definitions if found.kind]


def definition(facts, local_name):
    return next(found for found in facts.definitions if found.local_name == local_name)


def test_definitions_know_their_parents_and_lines():
    facts = extract(PYTHON, b"class A:\n    x = 1\n    def f(self):\n        def g(): pass\n")
    assert names(facts) == ["A", "A.x", "A.f", "A.f.g"]
    assert [found.parent for found in facts.definitions] == [-1, 0, 0, 2]
    assert [found.kind for found in facts.definitions] == [
        NodeKind.CLASS,
        NodeKind.FIELD,
        NodeKind.METHOD,
        NodeKind.FUNCTION,
    ]
    assert [(found.start_line, found.end_line) for found in facts.definitions] == [
        (1, 4),
        (2, 2),
        (3, 4),
        (4, 4),
    ]


def test_references_know_receiver_position_and_scope():
    facts = extract(PYTHON, b"def f(x):\n    helper(1)\n    self.pool(2)[0].run()\n")
    calls = [ref for ref in facts.references if ref.kind is ReferenceKind.CALL]
    assert [(ref.name, ref.receiver, ref.scope) for ref in calls] == [
        ("helper", None, 0),
        ("pool", "self", 0),
        ("run", "self.pool()[]", 0),
    ]
    assert [(ref.line, ref.column) for ref in calls] == [(2, 4), (3, 9), (3, 20)]


def test_a_local_of_unknown_type_shadows():
    facts = extract(PYTHON, b"def f(x, y: A):\n    x.a()\n    y.b()\n    z.c()\n    x()\n")
    assert {(ref.receiver, ref.name): ref.is_shadowed for ref in facts.references} == {
        ("x", "a"): True,
        ("y", "b"): False,
        ("z", "c"): False,
        (None, "x"): True,
    }


def test_imports_of_every_kind_are_told_apart():
    facts = extract(
        TYPESCRIPT,
        b"import 'a'; import b, {c as d} from 'e'; import * as f from 'g';"
        b"export * from 'h'; export {i as j} from 'k'; export * as l from 'm';",
    )
    assert [(i.kind, i.module, i.name, i.alias) for i in facts.imports] == [
        (ImportKind.MODULE, "a", "", ""),
        (ImportKind.DEFAULT, "e", "b", "b"),
        (ImportKind.NAME, "e", "c", "d"),
        (ImportKind.NAMESPACE, "g", "f", "f"),
        (ImportKind.EXPORT_STAR, "h", "", ""),
        (ImportKind.EXPORT_NAME, "k", "i", "j"),
        (ImportKind.EXPORT_NAMESPACE, "m", "l", "l"),
    ]


def test_bindings_hint_at_types():
    facts = extract(PYTHON, b"def f(self, a: A) -> B:\n    x = C(1)\n    self.y = a\n")
    assert {(b.target, b.name, b.source, b.text) for b in facts.bindings} == {
        (BindingTarget.NAME, "a", BindingSource.TYPE, "A"),
        (BindingTarget.RETURN, "", BindingSource.TYPE, "B"),
        (BindingTarget.NAME, "x", BindingSource.CALL, "C"),
        (BindingTarget.FIELD, "y", BindingSource.VALUE, "a"),
    }


def test_a_package_clause_is_kept():
    assert extract(GO, b"package shop\n").package == "shop"


def body_hash(language, source, name):
    return definition(extract(language, source), name).body_hash


def test_a_body_hash_ignores_where_and_how_deep_a_function_stands():
    plain = b"def f():\n    if a:\n        b()\n"
    nested = b"# moved\n\nclass A:\n    def f():\n        if a:\n            b()\n"
    assert body_hash(PYTHON, plain, "f") == body_hash(PYTHON, nested, "A.f")
    assert body_hash(PYTHON, plain, "f") == body_hash(PYTHON, plain.replace(b"\n", b"\r\n"), "f")


def test_a_body_hash_sees_indentation_inside_the_function():
    before = b"def f():\n    if a:\n        b()\n        c()\n"
    after = b"def f():\n    if a:\n        b()\n    c()\n"
    assert body_hash(PYTHON, before, "f") != body_hash(PYTHON, after, "f")


def test_a_class_changes_with_its_header_and_fields_but_not_with_its_methods():
    source = b"class A(B):\n    x = 1\n\n    def f(self):\n        return 1\n"
    same = source.replace(b"return 1", b"return 2\n        # more")
    assert body_hash(PYTHON, source, "A") == body_hash(PYTHON, same, "A")
    assert body_hash(PYTHON, source, "A") != body_hash(PYTHON, source.replace(b"(B)", b""), "A")
    assert body_hash(PYTHON, source, "A") != body_hash(PYTHON, source.replace(b"x =", b"y ="), "A")


def test_docs_are_docstrings_or_the_comment_right_above():
    facts = extract(
        JAVASCRIPT,
        b"// far\n\n// near\n// nearer\nfunction a() {}\n/**\n * Block.\n */\nfunction b() {}\n"
        b"x(); // trailing\nfunction c() {}\n",
    )
    assert definition(facts, "a").doc == "near\nnearer"
    assert definition(facts, "b").doc == "Block."
    assert definition(facts, "c").doc == ""
    assert definition(extract(PYTHON, b"def f():\n    r'''Raw.'''\n"), "f").doc == "Raw."


@pytest.mark.parametrize(
    ("source", "visibility"),
    [
        (b"def f(): ...", Visibility.PUBLIC),
        (b"def _f(): ...", Visibility.PRIVATE),
        (b"class A:\n def _f(self): ...", Visibility.PROTECTED),
        (b"class A:\n def __f(self): ...", Visibility.PRIVATE),
        (b"class A:\n def __call__(self): ...", Visibility.PUBLIC),
    ],
)
def test_underscores_say_who_may_use_a_python_name(source, visibility):
    assert extract(PYTHON, source).definitions[-1].visibility is visibility


def test_functions_that_nothing_names_are_scopes_without_a_node():
    facts = extract(JAVASCRIPT, b"use({ run() { deep(); } }, () => { deep(); });")
    assert names(facts) == []
    assert [found.kind for found in facts.definitions] == [None, None]


def test_facts_survive_their_bytes():
    facts = extract(PYTHON, "class Ä:\n    def f(self, x: int): g(x)\nimport a\n".encode())
    assert BlobFacts.from_bytes(facts.to_bytes()) == facts


@pytest.mark.parametrize("data", [b"", b"x", b"\x80\x04N.", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_other_bytes_are_not_facts(data):
    with pytest.raises(FactsMalformed):
        BlobFacts.from_bytes(data)


@pytest.mark.parametrize(
    ("path", "source", "reason"),
    [
        ("a.py", b"x = 1\n", None),
        ("a.py", b"", None),
        ("a.py", b"x\0y", "binary"),
        ("a.py", "x = 1".encode("utf-16"), "binary"),
        ("a.js", b"x" * (MAX_SOURCE_BYTES + 1), "too-large"),
        ("a.js", MAX_SOURCE_BYTES + 1, "too-large"),
        ("a.js", 10, None),
        ("a.js", b"var a=1;" * 4000, "minified"),
        ("a.min.js", b"x", "minified"),
        ("a.js", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "lfs"),
        ("web/node_modules/a/b.js", b"x", "vendored"),
        ("vendor/a.go", 3, "vendored"),
        ("src/vendors.py", b"x", None),
    ],
)
def test_files_not_worth_reading_are_told(path, source, reason):
    assert skip_reason(path, source) == reason


def test_generated_code_keeps_its_definitions_only():
    facts = extract(
        GO, b'// Code generated by x. DO NOT EDIT.\npackage p\nfunc F() { g() }\nimport "a"\n'
    )
    assert names(facts) == ["F"]
    assert (facts.references, facts.imports, facts.gave_up) == ((), (), "generated")


@pytest.mark.parametrize(
    "source",
    [
        b"\xef\xbb\xbfdef f():\n    g()\n",
        b"def f():\r\n    g()\r\n",
        b"def f():\n    g('\xff\xfe')\n",
        b"def f():\n    g()",
    ],
    ids=["byte order mark", "carriage returns", "invalid utf-8", "no last newline"],
)
def test_odd_encodings_still_parse(source):
    facts = extract(PYTHON, source)
    assert names(facts) == ["f"]
    assert facts.definitions[0].signature == "def f()"
    assert (facts.definitions[0].start_line, facts.definitions[0].end_line) == (1, 2)
    assert [ref.name for ref in facts.references] == ["g"]


def test_names_that_are_not_utf8_are_replaced_and_serialized():
    facts = extract(PYTHON, b"def f():\n    '''\xff'''\n")
    assert BlobFacts.from_bytes(facts.to_bytes()) == facts


@pytest.mark.parametrize("source", [b"", b"\n", b"\0", b"\r", b"(((", b"def", b"\xef\xbb\xbf"])
def test_scraps_have_no_definitions(source):
    for language in (PYTHON, JAVASCRIPT, TYPESCRIPT, GO):
        assert extract(language, source).definitions == ()


def test_broken_code_still_gives_what_is_whole():
    facts = extract(PYTHON, b"def f(:\n\ndef g():\n    return 1\n\nclass A(\n")
    assert facts.has_error
    assert "g" in names(facts)


def timed(function):
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


@pytest.mark.parametrize("language", [PYTHON, JAVASCRIPT, TYPESCRIPT, GO])
def test_unclosed_brackets_do_not_take_quadratic_time(language):
    facts, seconds = timed(lambda: extract(language, b"f(" * 100_000))
    assert seconds < 10
    assert facts.has_error


def test_deep_nesting_is_cut_off():
    source = b"".join(b"function f%d(){" % n for n in range(3000)) + b"}" * 3000
    facts, seconds = timed(lambda: extract(JAVASCRIPT, source))
    assert len(facts.definitions) == MAX_DEPTH
    assert seconds < 5


def test_a_chain_of_thousands_of_calls_keeps_short_receivers():
    facts, seconds = timed(lambda: extract(JAVASCRIPT, b"a" + b".b(1)" * 5000 + b";"))
    assert max(len(ref.receiver) for ref in facts.references) <= 160
    assert seconds < 5


def test_definitions_are_capped(monkeypatch):
    monkeypatch.setattr(parsing, "MAX_DEFINITIONS", 10)
    facts = extract(PYTHON, b"".join(b"def f%d(): g()\n" % n for n in range(50)))
    assert len(facts.definitions) == 10
    assert facts.gave_up == "definitions"


def test_parsing_stops_at_its_deadline_and_the_parser_stays_usable(monkeypatch):
    monkeypatch.setattr(parsing, "PARSE_SECONDS", -1.0)
    source = b"x = [" + b"1, " * 100_000 + b"]\n"
    assert extract(PYTHON, source).gave_up == "parse-time"
    monkeypatch.undo()
    assert names(extract(PYTHON, b"def f(): ...\n")) == ["f"]


def test_parameters_are_kept_as_written():
    facts = extract(PYTHON, b"def f(self, a: int = 3, *b, c=None, **d): ...\n")
    assert facts.definitions[0].parameters == ("self", "a: int = 3", "*b", "c=None", "**d")
    facts = extract(TYPESCRIPT, b"class A { f(a: B, c = 1) {} }\nconst g = (x?: number) => x\n")
    assert definition(facts, "A.f").parameters == ("a: B", "c = 1")
    assert definition(facts, "g").parameters == ("x?: number",)
    facts = extract(GO, b"package p\nfunc F(a, b int, c ...string) {}\n")
    assert facts.definitions[0].parameters == ("a, b int", "c ...string")


def test_decorators_are_the_definitions_own():
    facts = extract(PYTHON, b"@a\n@b.c(1)\nclass D:\n    @e\n    def f(self): ...\n")
    assert definition(facts, "D").decorators == ("a", "b.c")
    assert definition(facts, "D.f").decorators == ("e",)
    facts = extract(TYPESCRIPT, b"@A()\nexport class B {\n  @C() d(@E() f: G) {}\n}\n")
    assert definition(facts, "B").decorators == ("A",)
    assert definition(facts, "B.d").decorators == ("C",)


def test_code_says_itself_that_it_is_a_test():
    facts = extract(
        PYTHON, b"class A(unittest.TestCase):\n    def test_b(self): ...\ndef c(): ...\n"
    )
    assert [found.is_test for found in facts.definitions] == [True, True, False]
    facts = extract(JAVASCRIPT, b"function a() {}\ndescribe('b', () => { it('c', () => {}) })\n")
    assert definition(facts, "a").is_test
