import pytest

from indexing.scip.symbols import MAX_SYMBOL_LENGTH, parsed


@pytest.mark.parametrize(
    ("symbol", "manager", "owner", "name", "is_nameable"),
    [
        ("scip-python python flask 3.2 `flask.app`/Flask#run().", "python", "flask", "run", True),
        ("scip-python python app 1 `click.core`/Command#", "python", "click", "Command", True),
        ("scip-python python app 1 `my_lib.core`/f().", "python", "my-lib", "f", True),
        ("scip-python python app 1 `a.b`/C#__init__().", "python", "a", "C", True),
        ("scip-typescript npm @v/c 1 src/`a.ts`/B#`<get>size`().", "npm", "@v/c", "size", True),
        ("scip-typescript npm p 1 `a.ts`/B#`<constructor>`().", "npm", "p", "B", True),
        (
            "scip-go gomod github.com/a/b v1 `github.com/a/b`/T#M().",
            "gomod",
            "github.com/a/b",
            "M",
            True,
        ),
        ("rust-analyzer cargo grep 1 impl#[`Foo<T>`]bar().", "cargo", "grep", "bar", True),
        ("semanticdb maven jdk 17 java/util/List#add(+1).", "maven", "jdk", "add", True),
        ("semanticdb maven . . a/B#c().(x)", "maven", "", "x", False),
        ("scip-python python app 1 `a.b`/__init__:", "python", "a", "__init__", False),
        ("s m p v a/", "m", "p", "a", False),
        ("s m two  words v `a``b`.", "m", "two words", "a`b", True),
    ],
)
def test_symbols_are_taken_apart(
    symbol: str, manager: str, owner: str, name: str, is_nameable: bool
) -> None:
    found = parsed(symbol)
    assert found
    assert (found.manager, found.owner, found.name) == (manager, owner, name)
    assert found.is_nameable is is_nameable


def test_the_version_is_no_part_of_the_key() -> None:
    one, other = (parsed(f"scip-typescript npm vue {v} `a.ts`/f().") for v in ("3.4", "3.5"))
    assert one
    assert other
    assert one.key == other.key == "ext:npm:vue:`a.ts`/f()."
    assert one.package_key == "pkg:npm:vue"


@pytest.mark.parametrize(
    "symbol",
    ["local 4", "", "a b c", "s m p v ", "s m p v not a descriptor", "s m p v a." + "b." * 4000],
)
def test_what_is_no_global_symbol_is_none(symbol: str) -> None:
    assert parsed(symbol) is None
    assert MAX_SYMBOL_LENGTH < 8000


def test_standard_libraries_are_known() -> None:
    for symbol in (
        "scip-python python python-stdlib 3.11 os/path.",
        "scip-go gomod github.com/golang/go/src go1.25 fmt/Println().",
        "rust-analyzer cargo std https://x option/Option#",
    ):
        found = parsed(symbol)
        assert found
        assert found.is_of_standard_library
