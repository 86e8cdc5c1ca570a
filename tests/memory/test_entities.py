"""What texts name: paths, symbols, errors, packages, each in one spelling."""

import pytest

from memory.entities import Entity, EntityKind, entities_of, error_class, of_kind, signature


@pytest.mark.parametrize(
    ("text", "kind", "keys"),
    [
        ("See ./App/Billing.py.", EntityKind.PATH, ["app/billing.py", "billing.py"]),
        ("`Invoice.total` rounds", EntityKind.SYMBOL, ["invoice.total", "total"]),
        ("graph::queries::find_node", EntityKind.SYMBOL, ["graph.queries.find_node", "find_node"]),
        ("pip install django==5.2 celery, and go on", EntityKind.PACKAGE, ["django", "celery"]),
        ("npm i @types/node@20.1.0", EntityKind.PACKAGE, ["@types/node"]),
        ("import numpy as np", EntityKind.PACKAGE, ["numpy"]),
        ("const f = require('lodash/fp')", EntityKind.PACKAGE, ["lodash/fp"]),
        ("it needs pkg:pypi:pgvector", EntityKind.PACKAGE, ["pgvector"]),
        ("They import the goods.", EntityKind.PACKAGE, []),
    ],
)
def test_names_are_found_in_one_spelling(text: str, kind: EntityKind, keys: list[str]):
    assert of_kind(entities_of(text), kind) == keys


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'id' in /srv/a/x.py line 33", "KeyError: 'name' in /home/b/x.py line 7"),
        (
            "open /a/b/c.json: no such file or directory",
            "open /x/y.json: no such file or directory",
        ),
        ("ValueError: invalid literal: 'a1'", 'ValueError:  invalid literal: "b2".'),
        (
            "panic: index out of range [5] with length 3",
            "panic: index out of range [9] with length 8",
        ),
    ],
)
def test_an_error_that_comes_again_has_the_same_signature(one: str, other: str):
    assert signature(one) == signature(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("error TS2345: not assignable", "error TS2339: not assignable"),
        ("exited with code 1", "exited with code 137"),
        ("KeyError: 'id'", "TypeError: 'id'"),
    ],
)
def test_other_errors_have_other_signatures(one: str, other: str):
    assert signature(one) != signature(other)


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("IndexError: list index out of range", "index"),
        ("NameError: name 'x' is not defined", "undefined"),
        ("TypeError: unsupported operand", "type"),
        ("SyntaxError: invalid syntax", "syntax"),
        ("ENOENT: no such file or directory", "missing file"),
        ("EACCES: permission denied", "permission"),
        ("the process exited with code 3", "exit code"),
        ("ConnectionResetError: reset by peer", "other"),
    ],
)
def test_errors_have_a_class(message: str, name: str):
    assert error_class(message) == name


def test_prose_about_errors_is_no_error():
    assert of_kind(entities_of("We decided how error handling is done."), EntityKind.ERROR) == []


def test_there_is_an_end_to_what_is_taken_and_each_is_taken_once():
    many = " ".join(f"`name_{number}`" for number in range(500))
    assert len(entities_of(many)) == 60
    assert entities_of("`a_b` `a_b`", "`A_B`") == (Entity(EntityKind.SYMBOL, "a_b"),)


@pytest.mark.timeout(5)
@pytest.mark.parametrize("text", ["a/" * 10_000, "'" * 20_000, "error: " * 2_500, "1." * 10_000])
def test_no_text_takes_long(text: str):
    entities_of(text)
