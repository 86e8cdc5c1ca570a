import pytest

from indexing.facts import Argument, BlobFacts, ReferenceKind
from indexing.languages import language_named
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
        ("python", "run(c, shell=True)", [("", "c", False), ("shell", "True", True)]),
        (
            "python",
            "r('''x''', m=['A', 'B'])",
            [("", "x", True), ("m", "A", True), ("m", "B", True)],
        ),
        ("javascript", "get(`${b}/a`)", [("", "{}/a", True)]),
        (
            "javascript",
            "post('/a', {method: 'PUT', n})",
            [("", "/a", True), ("", "", False), ("method", "PUT", True)],
        ),
        ("go", 'package p\nvar _ = get("/a", h.X)', [("", "/a", True), ("", "h.X", False)]),
        ("go", "package p\nvar _ = get(`/a`)", [("", "/a", True)]),
    ],
)
def test_arguments_are_literals_names_or_neither(language, source, expected):
    assert arguments(language, source) == expected


def test_a_call_without_a_literal_is_kept_only_for_its_name():
    assert sites("python", "f(x, y)\ng(h('a'))\n")[0].name == "h"
    assert [site.name for site in sites("python", "eval(x)\nf(x)\nf('a')")] == ["eval", "f"]


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
