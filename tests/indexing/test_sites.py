import hashlib

import pytest

from indexing.arguments import _KEPT_BARE
from indexing.facts import EXTRACTOR_VERSION, Argument, BlobFacts, ReferenceKind
from indexing.languages import LANGUAGES, language_named
from indexing.libraries.rules import names_called
from indexing.parsing import extract


def sites(language, source):
    facts = extract(language_named(language), source.encode())
    assert BlobFacts.from_bytes(facts.to_bytes()).sites == facts.sites
    return facts.sites


def arguments(language, source):
    (site,) = sites(language, source)
    return [tuple(argument) for argument in site.arguments]


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        (
            "python",
            "get('/a', x.y, 1 + z)",
            [("", "/a", True), ("", "x.y", False), ("", "", False)],
        ),
        ("python", "get(f'/a/{b}/c')", [("", "/a/{}/c", True)]),
        ("python", "get(BASE + '/a')", [("", "{}/a", True)]),
        ("python", "get('/a' '/b')", [("", "/a/b", True)]),
        ("python", "send(c, shell=True)", [("", "c", False), ("shell", "True", True)]),
        (
            "python",
            "path('''x''', m=['A', 'B'])",
            [("", "x", True), ("m", "A", True), ("m", "B", True)],
        ),
        ("javascript", "get(`${b}/a`)", [("", "{}/a", True)]),
        (
            "javascript",
            "post('/a', {method: 'PUT', n})",
            [("", "/a", True), ("", "", False), ("method", "PUT", True)],
        ),
        ("go", 'package p\nvar _ = Get("/a", h.X)', [("", "/a", True), ("", "h.X", False)]),
        ("go", "package p\nvar _ = Get(`/a`)", [("", "/a", True)]),
    ],
)
def test_arguments_are_literals_names_or_neither(language, source, expected):
    assert arguments(language, source) == expected


def test_a_call_without_a_literal_is_kept_only_for_its_name():
    assert sites("python", "get(x, y)\ng(get('a'))\n")[0].line == 2
    found = sites("python", "send(x)\nget(x)\nget('a')")
    assert [(site.name, site.line) for site in found] == [("send", 1), ("get", 3)]


def test_only_calls_that_a_rule_may_ask_for_are_kept():
    assert [site.name for site in sites("python", "assertEqual(x, 'a')\nget('/a')")] == ["get"]
    assert sites("go", 'package p\nvar _ = get("/a")\n') == ()
    # Not a plain name: it may end like one that is asked for.
    assert [site.name for site in sites("javascript", "$any('/a')\nany('/a')")] == ["$any"]


def test_names_kept_without_a_literal_are_names_that_rules_ask_for():
    asked_for = frozenset[str]().union(*(names_called(row.name) for row in LANGUAGES))
    assert asked_for >= _KEPT_BARE


def test_asking_for_other_calls_makes_the_facts_kept_until_now_stale():
    # Differs? Facts that are kept lack the calls that are asked for now: raise EXTRACTOR_VERSION.
    names = [(row.name, sorted(names_called(row.name))) for row in LANGUAGES]
    digest = hashlib.sha256(repr(names).encode()).hexdigest()[:12]
    assert (EXTRACTOR_VERSION, digest) == (6, "1af0ed08cac2")


def test_a_decorator_is_kept_with_what_it_decorates():
    site = sites("python", "class A:\n    @app.route('/x')\n    def f(self): ...\n")[0]
    assert (site.kind, site.receiver, site.name) == (ReferenceKind.DECORATOR, "app", "route")
    assert (site.scope, site.line) == (1, 2)
    assert site.arguments == (Argument("", "/x", is_literal=True),)
    assert sites("python", "@cached\ndef f(): ...\n")[0].arguments == ()


def test_a_decorator_on_a_method_or_class_belongs_to_it_in_typescript():
    found = sites(
        "typescript", "@Controller('cats')\nexport class C {\n  @Get(':id')\n  f() {}\n}\n"
    )
    assert [(site.name, site.scope) for site in found] == [("Controller", 0), ("Get", 1)]


def test_the_scope_of_a_call_is_the_function_it_stands_in():
    (site,) = sites("python", "def f():\n    get('/a')\n")
    assert (site.scope, site.line, site.kind) == (0, 2, ReferenceKind.CALL)
