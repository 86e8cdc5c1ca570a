import pytest

from graph.values import EdgeKind, NodeKind, Visibility
from tests.indexing.resolved import resolved

CALLS, REFERENCES, IMPORTS = EdgeKind.CALLS, EdgeKind.REFERENCES, EdgeKind.IMPORTS
INHERITS, CONTAINS = EdgeKind.INHERITS, EdgeKind.CONTAINS

SOURCES = {
    "pyproject.toml": '[project]\nname = "shop"\n',
    "src/shop/__init__.py": "from .orders import Order\nfrom .prices import *\n",
    "src/shop/prices.py": '''"""Prices."""
TAX = 0.2


def total(lines):
    """Add up the lines.

    With tax.
    """
    def with_tax(amount):
        return amount * (1 + TAX)

    return with_tax(sum(lines))


def _rounded(value):
    return round(value)
''',
    "src/shop/base.py": """class Model:
    def save(self):
        self.validate()
        return self

    def validate(self):
        pass


def logged(function):
    return function
""",
    "src/shop/orders.py": """from __future__ import annotations

from dataclasses import dataclass

import shop.prices
from . import base, prices as money
from .base import Model, logged
from .store import Store, open_store


@dataclass
class Line:
    store: Store
    amount: int = 0

    def stored(self):
        self.store.put(self)


class Order(Model):
    default_store = Store

    def __init__(self, store: Store | None = None):
        self.store = store or Store()
        self.backup = Store()
        self.lines = []

    @logged
    def validate(self):
        super().validate()
        self.backup.put(self)
        return money.total(self.lines)

    @property
    def current(self) -> Store:
        return self.store

    def refresh(self):
        self.current.put(1)
        self.default_store().put(2)
        shop.prices.total([])

    @classmethod
    def create(cls):
        return cls().save()


def handle(payload, total, save):
    order = Order()
    order.save().validate()
    total(payload)
    save.unknown_method()
    payload.put(1)
    with open_store() as opened:
        opened.put(payload)
    return [line.stored() for line in payload]


def schedule(queue):
    queue.submit(handle)
    local = Order.create
    local()


handle(None, None, None)
""",
    "src/shop/store.py": """class Store:
    def put(self, item):
        return self

    async def fetch(self) -> "Store":
        return self


def open_store():
    return Store()


async def read():
    store = await open_store().fetch()
    store.put(1)
""",
    "tests/test_orders.py": """import shop
from shop import Order as Bestellung, total


def test_order_total():
    assert total([1])
    Bestellung().validate()
    shop.Order.create()


class TestStore:
    def test_put(self):
        self.check()

    def check(self):
        pass
""",
}

ORDERS = "sym:src/shop/orders.py#"
STORE = "sym:src/shop/store.py#"
BASE = "sym:src/shop/base.py#"
PRICES = "sym:src/shop/prices.py#"
TESTS = "sym:tests/test_orders.py#"


@pytest.fixture(scope="module")
def tree():
    return resolved(SOURCES)


@pytest.mark.parametrize(
    ("source", "target", "rule"),
    [
        (f"{PRICES}total", f"{PRICES}total.with_tax", "local"),
        (f"{BASE}Model.save", f"{BASE}Model.validate", "self"),
        (f"{ORDERS}Order.validate", f"{BASE}Model.validate", "super"),
        (f"{ORDERS}Order.validate", f"{STORE}Store.put", "typed"),
        (f"{ORDERS}Order.validate", f"{PRICES}total", "module"),
        (f"{ORDERS}Order.refresh", f"{STORE}Store.put", "typed"),
        (f"{ORDERS}Order.refresh", f"{PRICES}total", "module"),
        (f"{ORDERS}Order.create", f"{BASE}Model.save", "typed"),
        (f"{ORDERS}Order.__init__", f"{STORE}Store", "import"),
        (f"{ORDERS}Line.stored", f"{STORE}Store.put", "typed"),
        (f"{ORDERS}handle", f"{ORDERS}Order", "file"),
        (f"{ORDERS}handle", f"{BASE}Model.save", "typed"),
        (f"{ORDERS}handle", f"{ORDERS}Order.validate", "typed"),
        (f"{ORDERS}handle", f"{STORE}Store.put", "typed"),
        (f"{ORDERS}schedule", f"{ORDERS}Order.create", "typed"),
        ("file:src/shop/orders.py", f"{ORDERS}handle", "file"),
        (f"{STORE}read", f"{STORE}Store.fetch", "typed"),
        (f"{STORE}read", f"{STORE}Store.put", "typed"),
        (f"{TESTS}test_order_total", f"{PRICES}total", "import"),
        (f"{TESTS}test_order_total", f"{ORDERS}Order", "import"),
        (f"{TESTS}test_order_total", f"{ORDERS}Order.create", "typed"),
        (f"{TESTS}TestStore.test_put", f"{TESTS}TestStore.check", "self"),
    ],
)
def test_a_call_finds_its_definition(tree, source, target, rule):
    assert tree.rule(CALLS, source, target) == rule


def test_a_parameter_hides_the_function_of_the_same_name(tree):
    assert tree.edge(CALLS, f"{ORDERS}handle", f"{PRICES}total") is None


def test_a_unique_method_name_is_only_a_weak_guess(tree):
    edge = tree.edge(CALLS, f"{ORDERS}handle", f"{ORDERS}Line.stored")
    assert edge
    assert (edge.rule, edge.confidence) == ("unique", 0.45)


def test_a_common_method_name_on_an_unknown_receiver_is_dropped():
    tree = resolved({"a.py": "class A:\n    def get(self): ...\n\ndef f(x):\n    x.get()\n"})
    assert tree.targets(CALLS, "sym:a.py#f", at_least=0) == set()


def test_two_or_three_candidates_are_kept_with_low_confidence():
    tree = resolved(
        {
            "a.py": "class A:\n    def spin(self): ...\n\nclass B:\n    def spin(self): ...\n",
            "b.py": "def f(x):\n    x.spin()\n",
        }
    )
    edge = tree.edge(CALLS, "sym:b.py#f", "sym:a.py#A.spin")
    assert edge
    assert (edge.rule, edge.confidence) == ("candidate", 0.12)
    assert tree.edge(CALLS, "sym:b.py#f", "sym:a.py#B.spin")


def test_code_does_not_guess_at_methods_of_tests():
    tree = resolved(
        {
            "tests/test_a.py": "class A:\n    def spin(self): ...\n",
            "b.py": "def f(x):\n    x.spin()\n",
        }
    )
    assert tree.targets(CALLS, "sym:b.py#f", at_least=0) == set()


def test_a_value_of_a_foreign_type_is_not_guessed_at():
    tree = resolved(
        {
            "a.py": "class A:\n    def spin(self): ...\n",
            "b.py": "import numpy as np\n\ndef f(x: str):\n    x.spin()\n    np.zeros().spin()\n",
        }
    )
    assert tree.targets(CALLS, "sym:b.py#f", at_least=0) == set()


def test_a_subclass_may_provide_the_method_of_self():
    tree = resolved(
        {
            "a.py": "class A:\n    def run(self):\n        self.step()\n\n"
            "class B(A):\n    def step(self): ...\n"
        }
    )
    assert tree.rule(CALLS, "sym:a.py#A.run", "sym:a.py#B.step") == "subclass"


def test_recursion_through_types_ends():
    tree = resolved(
        {
            "a.py": "class A(A):\n    def f(self):\n        x = x.y\n        x.f()\n"
            "def g():\n    return g()\n\nv = v.w()\nv.f()\nfrom a import z\nz()\n"
        }
    )
    assert tree.rule(CALLS, "sym:a.py#g", "sym:a.py#g") == "file"


def test_bases_and_decorators_and_values_and_annotations_are_edges(tree):
    assert tree.rule(INHERITS, f"{ORDERS}Order", f"{BASE}Model") == "import"
    assert tree.rule(REFERENCES, f"{ORDERS}Order.validate", f"{BASE}logged") == "import"
    assert tree.rule(REFERENCES, f"{ORDERS}schedule", f"{ORDERS}handle") == "file"
    assert tree.rule(REFERENCES, f"{ORDERS}Order.current", f"{STORE}Store") == "import"
    assert tree.rule(REFERENCES, f"{ORDERS}Line", f"{STORE}Store") == "import"


def test_imports_reach_files_and_names_through_re_exports(tree):
    assert tree.rule(IMPORTS, "file:src/shop/orders.py", "file:src/shop/prices.py") == "import"
    assert tree.rule(IMPORTS, "file:src/shop/orders.py", f"{BASE}Model") == "import"
    assert tree.edge(IMPORTS, "file:tests/test_orders.py", "file:src/shop/__init__.py")
    assert tree.edge(IMPORTS, "file:tests/test_orders.py", f"{ORDERS}Order")
    assert tree.edge(IMPORTS, "file:tests/test_orders.py", f"{PRICES}total")
    assert tree.edge(IMPORTS, "file:src/shop/__init__.py", "file:src/shop/prices.py")


def test_containment_goes_from_the_file_down(tree):
    assert tree.edge(CONTAINS, "file:src/shop/prices.py", f"{PRICES}total")
    assert tree.edge(CONTAINS, f"{PRICES}total", f"{PRICES}total.with_tax")
    assert tree.edge(CONTAINS, f"{ORDERS}Order", f"{ORDERS}Order.validate")


def test_a_symbol_says_where_and_what_it_is(tree):
    total = tree.symbol(f"{PRICES}total")
    assert total.qualified_name == "shop.prices.total"
    assert (total.start_line, total.end_line) == (5, 13)
    assert total.signature == "def total(lines)"
    assert total.doc == "Add up the lines.\n\nWith tax."
    assert (total.kind, total.visibility) == (NodeKind.FUNCTION, Visibility.PUBLIC)
    assert total.parent is None
    assert not total.is_test
    assert tree.symbol(f"{PRICES}_rounded").visibility is Visibility.PRIVATE


def test_a_decorated_definition_includes_its_decorators(tree):
    validate = tree.symbol(f"{ORDERS}Order.validate")
    assert validate.source_text.lstrip().startswith("@logged")
    assert validate.signature == "def validate(self)"
    assert validate.parent == f"{ORDERS}Order"


def test_test_code_is_recognized(tree):
    assert tree.symbol(f"{TESTS}test_order_total").is_test
    assert tree.symbol(f"{TESTS}TestStore.check").is_test


def test_the_nth_definition_of_a_name_is_numbered():
    tree = resolved({"a.py": "if x:\n    def f(): ...\nelse:\n    def f(): ...\n"})
    assert [symbol.id for symbol in tree.resolution.symbols] == ["sym:a.py#f", "sym:a.py#f~1"]


@pytest.mark.parametrize(
    ("sources", "symbol", "qualified_name"),
    [
        ({"src/pkg/__init__.py": "def f(): ..."}, "sym:src/pkg/__init__.py#f", "pkg.f"),
        ({"pkg/a.py": "def f(): ..."}, "sym:pkg/a.py#f", "pkg.a.f"),
        ({"src/__init__.py": "", "src/a.py": "def f(): ..."}, "sym:src/a.py#f", "src.a.f"),
        (
            {"api/pyproject.toml": "", "api/app/a.py": "def f(): ..."},
            "sym:api/app/a.py#f",
            "app.a.f",
        ),
        (
            {
                "pyproject.toml": '[tool.setuptools.packages.find]\nwhere = ["code"]',
                "code/app/a.py": "def f(): ...",
            },
            "sym:code/app/a.py#f",
            "app.a.f",
        ),
    ],
)
def test_a_qualified_name_begins_at_the_source_root(sources, symbol, qualified_name):
    assert resolved(sources).qualified_name(symbol) == qualified_name


def test_the_nearest_of_several_modules_of_one_name_is_meant():
    tree = resolved(
        {
            "a/helpers.py": "def f(): ...",
            "b/helpers.py": "def f(): ...",
            "b/main.py": "import helpers\nhelpers.f()\n",
        }
    )
    assert tree.targets(CALLS, "file:b/main.py") == {"sym:b/helpers.py#f"}


def test_a_package_without_init_is_imported_from():
    tree = resolved({"pkg/a.py": "def f(): ...", "main.py": "from pkg import a\na.f()\n"})
    assert tree.rule(CALLS, "file:main.py", "sym:pkg/a.py#f") == "module"
    assert tree.edge(IMPORTS, "file:main.py", "file:pkg/a.py")


def test_a_fixture_types_the_parameter_of_a_test():
    tree = resolved(
        {
            "app.py": "class App:\n    def client(self):\n        return Client()\n\n"
            "class Client:\n    def fetch(self): ...\n",
            "tests/conftest.py": "import pytest\nfrom app import App\n\n@pytest.fixture\n"
            "def app():\n    app = App()\n    with app:\n        yield app\n\n"
            "@pytest.fixture()\ndef client(app):\n    return app.client()\n",
            "tests/unit/test_app.py": "def test_it(client, other):\n    client.fetch()\n"
            "    other.fetch()\n\ndef test_app(app):\n    app.client().fetch()\n",
            "main.py": "def run(client):\n    client.fetch()\n",
        }
    )
    fetch = "sym:app.py#Client.fetch"
    assert tree.rule(CALLS, "sym:tests/unit/test_app.py#test_it", fetch) == "typed"
    assert tree.rule(CALLS, "sym:tests/unit/test_app.py#test_app", fetch) == "typed"
    assert tree.rule(CALLS, "sym:tests/conftest.py#client", "sym:app.py#App.client") == "typed"
    assert tree.rule(CALLS, "sym:main.py#run", fetch) == "unique"
