import difflib

import pytest

from graph.values import Visibility
from indexing.changes import FileChange, SymbolStatus, compare
from indexing.diffs import parse
from indexing.languages import language_of
from indexing.parsing import extract

SHOP = '''\
"""Prices."""

import os
from decimal import Decimal

RATE = 0.2


def net(amount: float) -> float:
    """Return the net price."""
    rate = RATE  # the usual one
    return amount / (1 + rate)


def _round(amount):
    return Decimal(amount)


class Cart:
    """What a customer buys."""

    size = 0

    def total(self) -> float:
        return net(self.size)

    def clear(self) -> None:
        self.size = 0
'''


def change(
    old: str, new: str, *, path: str = "shop/price.py", has_new_side: bool = True
) -> FileChange:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True),
        new.splitlines(keepends=True),
        f"a/{path}" if old else "/dev/null",
        f"b/{path}" if new else "/dev/null",
    )
    (file,) = parse("".join(lines), max_bytes=100_000).files
    language = language_of(path)
    assert language is not None
    return compare(
        file,
        language=language,
        old=extract(language, old.encode()) if old else None,
        new=extract(language, new.encode()) if new and has_new_side else None,
    )


def statuses(found: FileChange) -> dict[str, str]:
    return {one.definition.local_name: one.status.value for one in found.symbols}


def edited(old: str, new: str, **options) -> FileChange:
    assert old in SHOP
    return change(SHOP, SHOP.replace(old, new, 1), **options)


# --- both sides ---------------------------------------------------------------------------------
def test_a_changed_body_changes_its_function_alone():
    found = edited("(1 + rate)", "(2 + rate)")

    (symbol,) = found.symbols
    assert (symbol.old_id, symbol.new_id) == ("sym:shop/price.py#net",) * 2
    assert symbol.status is SymbolStatus.MODIFIED
    assert (symbol.signature_changed, symbol.is_trivial) == (False, False)
    assert not symbol.is_interface_change
    assert not found.changes_module


def test_a_changed_parameter_changes_the_interface():
    (symbol,) = edited("amount: float)", "amount: float, rate: float)").symbols

    assert symbol.signature_changed
    assert symbol.is_interface_change


def test_a_private_function_has_no_interface_to_change():
    (symbol,) = edited("_round(amount)", "_round(amount, places)").symbols

    assert symbol.signature_changed
    assert not symbol.is_interface_change


def test_a_reformatted_signature_is_the_same():
    (symbol,) = edited("net(amount: float)", "net(\n    amount: float\n)").symbols

    assert symbol.old is not None
    assert symbol.status is SymbolStatus.MODIFIED


def test_a_method_changes_without_its_class():
    found = edited("net(self.size)", "net(self.size) + 1")

    assert statuses(found) == {"Cart.total": "modified"}
    assert found.containing == ("sym:shop/price.py#Cart",)


def test_a_new_method_leaves_its_class_as_it_was():
    found = edited(
        "    def clear(self)",
        "    def add(self) -> None:\n        self.size += 1\n\n    def clear(self)",
    )

    assert statuses(found) == {"Cart.add": "added"}
    assert found.containing == ("sym:shop/price.py#Cart",)


def test_moved_methods_leave_their_class_as_it_was():
    total = "    def total(self) -> float:\n        return net(self.size)\n\n"
    found = change(SHOP, SHOP.replace(total, "") + "\n" + total.rstrip() + "\n")

    assert statuses(found) == {}


def test_a_changed_base_changes_the_class():
    assert statuses(edited("class Cart:", "class Cart(list):")) == {"Cart": "modified"}


def test_a_removed_class_takes_its_members_along():
    found = change(SHOP, SHOP[: SHOP.index("class Cart")])

    assert statuses(found) == {
        "Cart": "removed",
        "Cart.size": "removed",
        "Cart.total": "removed",
        "Cart.clear": "removed",
    }
    assert all(one.is_interface_change for one in found.symbols)


def test_a_new_class_stands_for_its_members():
    found = change(SHOP, SHOP + "\n\nclass Bill:\n    def pay(self):\n        pass\n")

    assert statuses(found) == {"Bill": "added"}


def test_a_new_name_is_one_gone_and_one_added():
    found = edited("def net(", "def netto(")

    assert statuses(found) == {"netto": "added", "net": "removed"}


def test_a_function_stands_for_what_is_inside_it():
    old = "def outer():\n    def inner():\n        return 1\n    return inner\n"

    assert statuses(change(old, old.replace("1", "2"))) == {"outer": "modified"}


def test_the_second_definition_of_a_name_is_its_own_symbol():
    old = "def f():\n    return 1\n\n\ndef f():\n    return 2\n"

    (symbol,) = change(old, old.replace("2", "3")).symbols

    assert symbol.old_id == "sym:shop/price.py#f~1"


def test_a_symbol_that_becomes_private_changes_the_interface():
    old = "class A {\n  size() { return 1 }\n}\nexport { A }\n"
    new = old.replace("size()", "private size()")

    (symbol,) = change(old, new, path="src/a.ts").symbols

    assert symbol.visibility_changed
    assert symbol.definition.visibility is Visibility.PRIVATE
    assert symbol.is_interface_change


def test_an_unchanged_file_changes_nothing():
    (file,) = parse(
        "diff --git a/x.py b/y.py\nsimilarity index 100%\nrename from x.py\nrename to y.py\n",
        max_bytes=1_000,
    ).files
    language = language_of("x.py")
    assert language is not None
    facts = extract(language, SHOP.encode())

    found = compare(file, language=language, old=facts, new=facts)

    assert (found.symbols, found.changes_module, found.is_moved) == ((), False, True)


# --- what is trivial ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Return the net price.", "Return the price without tax."),
        (
            '    """Return the net price."""\n',
            '    """Return the net price.\n\n    Never fails.\n    """\n',
        ),
        ("    rate = RATE", "    # by law\n    rate = RATE"),
        ("    rate = RATE", "\n    rate = RATE"),
    ],
)
def test_a_change_of_comments_or_documentation_is_trivial(old, new):
    changes = edited(old, new).symbols

    assert all(one.is_trivial for one in changes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rate = RATE  # the usual one", "rate = RATE"),  # the same line has code
        ("    rate = RATE", "    # type: ignore\n    rate = RATE"),
        ("Return the net price.", 'Return the price."""\n    amount += 1\n    """x'),
    ],
)
def test_a_change_that_touches_code_is_not_trivial(old, new):
    assert not all(one.is_trivial for one in edited(old, new).symbols)


# --- outside of symbols -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import os\n", ""),
        ("import os\n", "import os\nimport sys\n"),
        ("import os\n", "import os\nfrom typing import (\n    Any,\n    Final,\n)\n"),
        ("RATE = 0.2\n", "# by law\nRATE = 0.2\n"),
        ("RATE = 0.2\n", "\n\nRATE = 0.2\n"),
    ],
)
def test_imports_comments_and_blanks_change_no_module(old, new):
    assert not edited(old, new).changes_module


def test_code_outside_of_symbols_changes_the_module():
    found = edited("import os\n", "import os\n\nos.umask(0)\n")

    assert found.changes_module
    assert found.symbols == ()


def test_a_constant_is_a_symbol():
    assert statuses(edited("RATE = 0.2", "RATE = 0.19")) == {"RATE": "modified"}


def test_a_name_that_a_package_no_longer_offers_changes_the_module():
    found = change(
        "from shop.price import net\nfrom shop.price import Cart\n",
        "from shop.price import Cart\n",
        path="shop/__init__.py",
    )

    assert found.changes_module


def test_a_reexport_that_is_gone_changes_the_module():
    found = change(
        'export { a } from "./a";\nexport { b } from "./b";\n',
        'export { b } from "./b";\n',
        path="src/x.ts",
    )

    assert found.changes_module


# --- the old side alone -------------------------------------------------------------------------
def test_without_a_new_side_the_lines_say_what_is_touched():
    found = edited("(1 + rate)", "(2 + rate)", has_new_side=False)

    (symbol,) = found.symbols
    assert symbol.status is SymbolStatus.MODIFIED
    assert (symbol.signature_changed, symbol.new_id) == (None, None)


def test_without_a_new_side_a_method_is_touched_without_its_class():
    found = edited("net(self.size)", "net(self.size) + 1", has_new_side=False)

    assert statuses(found) == {"Cart.total": "modified"}


def test_without_a_new_side_a_symbol_whose_lines_are_all_gone_is_gone():
    start, end = SHOP.index("def _round"), SHOP.index("class Cart")
    found = change(SHOP, SHOP[:start] + SHOP[end:], has_new_side=False)

    assert statuses(found) == {"_round": "removed"}


def test_a_deleted_file_removes_its_symbols():
    found = change(SHOP, "")

    assert found.is_gone
    assert set(statuses(found).values()) == {"removed"}
    assert "net" in statuses(found)


def test_a_new_file_adds_its_symbols():
    found = change("", SHOP)

    assert statuses(found) == dict.fromkeys(("RATE", "net", "_round", "Cart"), "added")
    assert found.old_id is None


def test_a_file_of_unknown_content_changes_no_known_symbol():
    (file,) = parse("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n", max_bytes=1_000).files
    language = language_of("x.py")
    assert language is not None

    found = compare(file, language=language, old=None, new=None)

    assert (found.symbols, found.changes_module) == ((), False)
