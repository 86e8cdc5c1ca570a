import pytest

from indexing.languages import language_named
from indexing.parsing import extract

PYTHON, TYPESCRIPT, GO = map(language_named, ("python", "typescript", "go"))


def measured(language, source):
    """Return the cyclomatic and the cognitive complexity of the first definition."""
    first = extract(language, source.encode()).definitions[0]
    return first.cyclomatic, first.cognitive


@pytest.mark.parametrize(
    ("body", "cyclomatic", "cognitive"),
    [
        ("pass", 1, 0),
        ("if a: pass", 2, 1),
        ("if a: pass\n elif b: pass\n else: pass", 3, 3),
        ("for x in y:\n  if x: pass", 3, 3),
        ("return a and b and c", 3, 1),
        ("return a and b or c", 3, 2),
        ("return a and b or c and d", 4, 3),
        ("try: pass\n except A: pass\n except B:\n  if b: pass", 4, 4),
        ("return x if a else b", 2, 1),
        ("return [x for x in y if x if a]", 4, 0),
        ("match a:\n  case 1: pass\n  case 2:\n   if b: pass", 4, 3),
        ("while a:\n  while b:\n   while c: pass", 4, 6),
        ("if a:\n  pass\n else:\n  if b: pass\n  elif c: pass", 4, 5),
    ],
)
def test_python_counts_paths_and_what_is_hard_to_follow(body, cyclomatic, cognitive):
    assert measured(PYTHON, f"def f():\n {body}\n") == (cyclomatic, cognitive)


@pytest.mark.parametrize(
    ("body", "cyclomatic", "cognitive"),
    [
        ("if (a) {} else if (b) {} else {}", 3, 3),
        ("if (a) { if (b) {} } else if (c) { for (;;) {} }", 5, 6),
        ("switch (a) { case 1: break; case 2: if (b) {} ; default: }", 4, 3),
        ("return a ? b : c ? d : e", 3, 3),
        ("try {} catch (e) { if (a && b || c) {} }", 5, 5),
        ("return xs.map(x => x ? 1 : 2)", 2, 2),
        ("l: for (;;) { for (;;) { continue l } }", 3, 4),
        ("return a ?? b", 2, 1),
    ],
)
def test_typescript_counts_cases_catches_and_callbacks(body, cyclomatic, cognitive):
    assert measured(TYPESCRIPT, f"function f() {{ {body} }}") == (cyclomatic, cognitive)


@pytest.mark.parametrize(
    ("body", "cyclomatic", "cognitive"),
    [
        ("if a {\n} else if b {\n} else {\n}", 3, 3),
        ("for _, x := range y { if x && z { } }", 4, 4),
        ("switch a { case 1: case 2: default: }", 3, 1),
        ("go func() { if a { } }()", 2, 2),
    ],
)
def test_go_counts_the_same_way(body, cyclomatic, cognitive):
    assert measured(GO, f"package p\nfunc f() {{ {body} }}\n") == (cyclomatic, cognitive)


def test_a_nested_function_is_measured_by_itself():
    facts = extract(PYTHON, b"def f():\n    if a: pass\n    def g():\n        if b: pass\n")
    assert [(d.cyclomatic, d.cognitive) for d in facts.definitions] == [(2, 1), (2, 1)]


def test_what_cannot_be_called_has_no_complexity():
    facts = extract(PYTHON, b"class A:\n    x = 1 if a else 2\n")
    assert {(d.cyclomatic, d.cognitive) for d in facts.definitions} == {(0, 0)}
