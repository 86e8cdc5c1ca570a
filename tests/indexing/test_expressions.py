import pytest

from indexing.expressions import chain_of, names_in_type, names_of_value, steps_of


@pytest.mark.parametrize(
    ("text", "chain"),
    [
        ("self.x", "self.x"),
        ("Foo(a, ')').b[0]?.c", "Foo().b[].c"),
        ("(await load(1)).y", "load().y"),
        ("new Foo(1)", "Foo()"),
        ("(&Server{port: 1})", "Server()"),
        ("query\n  .filter(a)\n  .all()", "query.filter().all()"),
        ("this.x!.y", "this.x.y"),
        ("make<T>(x)", "make()"),
        ("hook?.()", "hook()"),
        ("a.#secret", "a.#secret"),
    ],
)
def test_a_chain_forgets_arguments(text, chain):
    assert chain_of(text) == chain


@pytest.mark.parametrize("text", ["'text'", "a + b", "(a or b)", "[1, 2]", "{}", "", "1", "a <b"])
def test_what_is_no_chain_becomes_empty(text):
    assert chain_of(text) == ""


def test_an_unclosed_bracket_ends_with_the_text():
    assert chain_of("f((((") == "f()"


def test_a_chain_splits_into_names_calls_and_indexes():
    assert steps_of("a.b()[].c") == ("a", "b", "()", "[]", "c")


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        ("Optional[Foo]", ("Foo",)),
        ("Foo | Bar", ("Foo", "Bar")),
        ("'Foo'", ("Foo",)),
        ("Promise<api.User<T>>", ("api.User",)),
        ("*gin.Engine", ("gin.Engine",)),
        ("type[Foo]", ("Foo",)),
        ("Foo[T]", ("Foo",)),
        ("list[Foo]", ("list",)),
        ("[]Foo", ()),
        ("Foo[]", ()),
        ("map[string]Foo", ()),
        ("{ a: Foo }", ()),
        ("(x: Foo) => Bar", ()),
    ],
)
def test_a_value_has_the_types_of_its_annotation_but_not_of_its_elements(annotation, names):
    assert names_of_value(annotation) == names


def test_all_names_of_a_type_are_mentioned():
    assert names_in_type("Dict[str, a.B | list['C']]") == ["Dict", "str", "a.B", "list", "C"]
