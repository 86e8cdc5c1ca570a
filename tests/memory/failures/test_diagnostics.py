import pytest

from memory.failures.diagnostics import diagnostics_of, is_noise, shown

PYTEST = """
=================================== FAILURES ===================================
__________________________________ test_total __________________________________

    def test_total():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_money.py:6: AssertionError
=========================== short test summary info ============================
FAILED tests/test_money.py::test_total - assert 3 == 4
1 failed, 4 passed in 0.12s
"""
TRACEBACK = """
Traceback (most recent call last):
  File "/srv/app/manage.py", line 22, in <module>
    main()
  File "/srv/app/shop/orders.py", line 41, in close_order
    order.customer.notify()
  File "/srv/venv/lib/python3.11/site-packages/django/db/models/base.py", line 10, in save
    raise
AttributeError: 'NoneType' object has no attribute 'notify'
"""
UNITTEST = """
ERROR: test_parse (tests.test_parser.ParserTest.test_parse)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "tests/test_parser.py", line 9, in test_parse
    parse("x")
  File "app/parser.py", line 3, in parse
    raise ValueError("no rule for x")
ValueError: no rule for x
"""
JEST = """
 FAIL  src/cart.test.ts
  ● cart \u203a adds up the prices

    expect(received).toBe(expected) // Object.is equality

    Expected: 30
    Received: "1020"

      at Object.<anonymous> (src/cart.test.ts:12:24)
      at addUp (src/cart.ts:7:3)
"""
VITEST = """
 FAIL  src/cart.test.ts > cart > adds up the prices
TypeError: Cannot read properties of undefined (reading 'price')
 \u276f addUp src/cart.ts:7:15
 \u276f src/cart.test.ts:12:24
"""
GO = """
--- FAIL: TestClose (0.00s)
    order_test.go:17: Close() = pending, want closed
FAIL
FAIL	example.com/shop/order	0.004s
"""
GO_BUILD = "# example.com/shop\n./order.go:12:3: undefined: Notify\n"
CARGO = """
error[E0382]: borrow of moved value: `order`
  --> src/order.rs:14:20
error: could not compile `shop` (bin "shop") due to 1 previous error
"""
PANIC = """
thread 'tests::closes' panicked at src/order.rs:33:9:
assertion `left == right` failed
"""
TSC = "src/cart.ts(10,5): error TS2345: Argument of type 'string' is not assignable to 'number'.\n"
GCC = "src/list.c:44:9: error: use of undeclared identifier 'head'\n"
MYPY = 'shop/orders.py:12: error: "Order" has no attribute "close"  [attr-defined]\n'
RUFF = "shop/orders.py:1:8: F401 [*] `os` imported but unused\n"
ESLINT = "/srv/app/src/cart.js\n  10:5  error  'total' is not defined  no-undef\n"
NODE = """
/srv/app/src/server.js:8
TypeError: db.connect is not a function
    at start (/srv/app/src/server.js:8:6)
    at node:internal/main/run_main_module:23:47
"""


@pytest.mark.parametrize(
    ("output", "path", "symbol", "said"),
    [
        (PYTEST, "tests/test_money.py", "test_total", "assert 3 == 4"),
        (TRACEBACK, "/srv/app/shop/orders.py", "close_order", "AttributeError: 'NoneType'"),
        (UNITTEST, "app/parser.py", "test_parse", "ValueError: no rule for x"),
        (JEST, "src/cart.test.ts", "adds up the prices", "Expected: 30"),
        (VITEST, "src/cart.test.ts", "adds up the prices", "TypeError: Cannot read"),
        (GO, "order_test.go", "TestClose", "Close() = pending"),
        (GO_BUILD, "order.go", "", "undefined: Notify"),
        (CARGO, "src/order.rs", "", "error[E0382]: borrow"),
        (PANIC, "src/order.rs", "closes", "left == right"),
        (TSC, "src/cart.ts", "", "error TS2345"),
        (GCC, "src/list.c", "", "undeclared identifier"),
        (MYPY, "shop/orders.py", "", "has no attribute"),
        (RUFF, "shop/orders.py", "", "F401"),
        (ESLINT, "/srv/app/src/cart.js", "", "no-undef"),
        (NODE, "/srv/app/src/server.js", "start", "TypeError: db.connect"),
        ("bash: pnpm: command not found", "", "", "command not found"),
    ],
)
def test_outputs_are_read_in_the_form_of_their_tool(output, path, symbol, said):
    (first, *_) = diagnostics_of(output)
    assert (first.path, first.symbol) == (path, symbol)
    assert said in first.message
    assert first.signature


def test_the_files_on_the_way_are_told_too():
    (jest,) = diagnostics_of(JEST)
    (vitest,) = diagnostics_of(VITEST)
    assert jest.paths == vitest.paths == ("src/cart.ts",)


@pytest.mark.parametrize(
    "text",
    [
        "String to replace not found in file.",
        "Error: The user doesn't want to proceed with this tool use.",
        "fatal: not a git repository",
        "KeyboardInterrupt",
    ],
)
def test_noise_is_no_lesson(text):
    assert is_noise(text)
    assert diagnostics_of(text) == []


def test_what_says_nothing_of_errors_gives_none():
    assert diagnostics_of("12 passed in 0.3s\nAll good.") == []
    assert diagnostics_of("") == []


def test_a_signature_is_the_same_on_another_day_and_machine():
    other = TRACEBACK.replace("/srv/app", "/home/jane/work").replace("line 41", "line 57")
    assert diagnostics_of(other)[0].signature == diagnostics_of(TRACEBACK)[0].signature


def test_values_that_are_no_names_are_not_shown():
    said = shown("KeyError: 'jane@example.com' in 'user_id' of 81234567 at /home/jane/app/a.py")
    assert said == "KeyError: '…' in 'user_id' of … at a.py"


def test_a_large_output_is_read_in_time():
    lines = "\n".join(f"src/a{number}.py:1: error: something else" for number in range(50_000))
    assert len(diagnostics_of(lines)) == 20
    assert diagnostics_of("(" * 200_000) == []
