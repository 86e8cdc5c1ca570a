"""What a commit did to symbols, told from its files before and after."""

from collections.abc import Mapping

from graph.events import Happening, SymbolEvent
from indexing.history.comparison import Pair, Version, events_of
from indexing.history.outline import Text, outline
from indexing.languages import language_named
from indexing.parsing import extract

TOTAL = """\
def total(items):
    amount = 0
    for item in items:
        amount += item.price * item.count
    return amount
"""
RENAMED = TOTAL.replace("def total", "def sum_of")


def version(path: str, source: str) -> Version:
    facts = extract(language_named("python"), source.encode())
    return Version(path, "python", outline(facts.definitions), Text.of(source.encode()))


def changed(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> list[Pair]:
    return [
        Pair(
            before=(version(path, old) if (old := before.get(path)) is not None else None,),
            after=version(path, new) if (new := after.get(path)) is not None else None,
        )
        for path in {**before, **after}
    ]


def told(events: list[SymbolEvent]) -> set[tuple[str, str]]:
    return {(event.happening.value, event.symbol.id) for event in events}


def test_a_new_file_adds_its_symbols_and_a_lost_one_removes_them():
    assert told(events_of(changed({}, {"a.py": TOTAL}))) == {("added", "sym:a.py#total")}
    assert told(events_of(changed({"a.py": TOTAL}, {}))) == {("removed", "sym:a.py#total")}


def test_only_what_differs_is_modified():
    old = {"a.py": TOTAL + "\ndef other():\n    return 1\n"}
    new = {"a.py": "import os\n\n\n" + TOTAL + "\ndef other():\n    return 2\n"}
    (event,) = events_of(changed(old, new))
    assert (event.happening, event.symbol.id) == (Happening.MODIFIED, "sym:a.py#other")
    assert not event.is_formatting


def test_a_changed_method_is_no_changed_class():
    old = {"a.py": "class A:\n    size = 1\n\n    def m(self):\n        return 1\n"}
    new = {"a.py": "class A:\n    size = 1\n\n    def m(self):\n        return 2\n"}
    assert told(events_of(changed(old, new))) == {("modified", "sym:a.py#A.m")}


def test_white_space_alone_is_formatting():
    wrapped = TOTAL.replace(
        "amount += item.price * item.count",
        "amount += (\n            item.price * item.count\n        )",
    )
    (event,) = events_of(changed({"a.py": TOTAL}, {"a.py": wrapped.replace("(", "(", 1)}))
    assert not event.is_formatting  # parentheses are more than white space
    spaced = TOTAL.replace("price * item", "price*item")
    (event,) = events_of(changed({"a.py": TOTAL}, {"a.py": spaced}))
    assert event.is_formatting
    deeper = TOTAL.replace("amount += ", " amount += ")
    (event,) = events_of(changed({"a.py": TOTAL}, {"a.py": deeper}))
    assert event.is_formatting


def test_a_function_that_moves_to_another_file_is_followed():
    events = events_of(
        changed({"a.py": TOTAL, "b.py": "x = 1\n"}, {"a.py": "", "b.py": "x = 1\n" + TOTAL})
    )
    assert told(events) == {("moved", "sym:b.py#total"), ("left", "sym:a.py#total")}
    moved = next(event for event in events if event.happening is Happening.MOVED)
    assert moved.other is not None
    assert moved.other.id == "sym:a.py#total"
    assert not moved.is_changed


def test_a_function_that_gets_another_name_is_followed():
    events = events_of(changed({"a.py": TOTAL}, {"a.py": RENAMED}))
    assert told(events) == {("moved", "sym:a.py#sum_of"), ("left", "sym:a.py#total")}
    assert not any(event.is_changed for event in events)


def test_a_renamed_function_may_change_a_little():
    little = RENAMED.replace("amount = 0", "amount = Decimal(0)")
    events = events_of(changed({"a.py": TOTAL}, {"a.py": little}))
    assert told(events) == {("moved", "sym:a.py#sum_of"), ("left", "sym:a.py#total")}
    assert all(event.is_changed for event in events)


def test_two_small_functions_that_look_alike_are_not_one():
    old = {"a.py": "def one():\n    pass\n"}
    new = {"a.py": "def two():\n    pass\n"}
    assert told(events_of(changed(old, new))) == {
        ("removed", "sym:a.py#one"),
        ("added", "sym:a.py#two"),
    }


def test_symbols_move_with_their_file():
    pair = Pair((version("old.py", TOTAL),), version("new.py", TOTAL))
    assert told(events_of([pair])) == {("moved", "sym:new.py#total"), ("left", "sym:old.py#total")}


def test_a_merge_did_only_what_no_parent_had():
    ours = TOTAL + "\ndef other():\n    return 1\n"
    theirs = TOTAL.replace("amount = 0", "amount = 1") + "\ndef other():\n    return 2\n"
    merged = TOTAL.replace("amount = 0", "amount = 1") + "\ndef other():\n    return 3\n"
    pair = Pair((version("a.py", ours), version("a.py", theirs)), version("a.py", merged))
    assert told(events_of([pair])) == {("modified", "sym:a.py#other")}


def test_a_merge_that_changes_what_one_parent_brought_did_that():
    other = "def other():\n    return 1\n"
    ours, theirs = version("a.py", other), version("a.py", TOTAL + other)
    merged = version("a.py", TOTAL.replace("amount = 0", "amount = 1") + other)
    assert told(events_of([Pair((ours, theirs), merged)])) == {("modified", "sym:a.py#total")}
    assert told(events_of([Pair((None, theirs), merged)])) == {("modified", "sym:a.py#total")}


def test_a_function_whose_name_another_takes_over_is_followed():
    other = "def total(cart):\n    with cart.lock:\n        return cart.service.ask()\n"
    events = events_of(changed({"a.py": TOTAL}, {"a.py": RENAMED + "\n\n" + other}))
    assert told(events) == {
        ("moved", "sym:a.py#sum_of"),
        ("left", "sym:a.py#total"),
        ("added", "sym:a.py#total"),
    }


def test_a_copy_under_another_name_takes_nothing_from_its_model():
    little = TOTAL.replace("amount = 0", "amount = 1")
    events = events_of(changed({"a.py": TOTAL}, {"a.py": RENAMED + "\n\n" + little}))
    assert told(events) == {("added", "sym:a.py#sum_of"), ("modified", "sym:a.py#total")}


def test_a_renamed_function_is_known_by_the_lines_that_do_not_name_it():
    old = "def first(app):\n    app.config.load(__file__)\n    app.config.check()\n    done(app)\n"
    new = old.replace("first", "second").replace("load(__file__)", "load(path)")
    events = events_of(changed({"a.py": old}, {"a.py": new}))
    assert told(events) == {("moved", "sym:a.py#second"), ("left", "sym:a.py#first")}


OVERLOADED = """\
@overload
def total(items: list[int]) -> int: ...
@overload
def total(items: list[str]) -> str: ...
"""


def test_a_function_is_followed_behind_others_of_its_name():
    events = events_of(changed({"a.py": TOTAL}, {"a.py": OVERLOADED + TOTAL}))
    assert told(events) == {
        ("moved", "sym:a.py#total~2"),
        ("left", "sym:a.py#total"),
        ("added", "sym:a.py#total"),
        ("added", "sym:a.py#total~1"),
    }
    assert not any(event.is_changed for event in events if event.happening is Happening.MOVED)


def test_a_function_that_changes_as_others_of_its_name_come_is_followed():
    little = TOTAL.replace("amount = 0", "amount = Decimal(0)")
    events = events_of(changed({"a.py": OVERLOADED + TOTAL}, {"a.py": little}))
    assert told(events) == {
        ("moved", "sym:a.py#total"),
        ("left", "sym:a.py#total~2"),
        ("removed", "sym:a.py#total"),
        ("removed", "sym:a.py#total~1"),
    }


def test_of_two_functions_of_one_name_only_the_changed_one_is_told():
    other = OVERLOADED.replace("-> str", "-> bytes")
    events = events_of(changed({"a.py": OVERLOADED + TOTAL}, {"a.py": other + TOTAL}))
    assert told(events) == {("modified", "sym:a.py#total~1")}
