from indexing.changes import FileChange, SymbolStatus
from indexing.moves import pair_moves
from tests.indexing.test_changes import change

TOTAL = """\
def total(prices: list[float], rate: float = 0.2) -> float:
    result = 0.0
    for price in prices:
        result += price * (1 + rate)
    return round(result, 2)
"""
CART = """\
class Cart:
    size = 0

    def add(self, number: int) -> None:
        self.size += number * self.factor()

    def factor(self) -> int:
        return 1 if self.size else 2
"""
KEPT = "def kept() -> int:\n    return 1\n"


def moved(*changes: FileChange) -> dict[str, tuple[SymbolStatus, str | None]]:
    """Return what became of each symbol, by where it is now (or was), with its old id."""
    symbols = (symbol for one in pair_moves(changes) for symbol in one.symbols)
    return {str(one.new_id or one.old_id): (one.status, one.old_id) for one in symbols}


def test_a_function_that_moves_to_another_file_is_one_change():
    assert moved(
        change(f"{KEPT}\n\n{TOTAL}", KEPT, path="a.py"),
        change(KEPT, f"{KEPT}\n\n{TOTAL}", path="b.py"),
    ) == {"sym:b.py#total": (SymbolStatus.MOVED, "sym:a.py#total")}


def test_a_function_that_is_called_otherwise_is_renamed():
    renamed = TOTAL.replace("def total", "def sum_of_prices")

    assert moved(change(TOTAL, renamed, path="a.py")) == {
        "sym:a.py#sum_of_prices": (SymbolStatus.RENAMED, "sym:a.py#total")
    }


def test_what_is_moved_and_changed_a_little_is_still_moved():
    changed = TOTAL.replace("round(result, 2)", "round(result, 4)").replace("0.2", "0.3")

    (symbol,) = (
        one
        for file in pair_moves(
            [change(f"{KEPT}\n\n{TOTAL}", KEPT, path="a.py"), change("", changed, path="b.py")]
        )
        for one in file.symbols
    )

    assert (symbol.status, symbol.signature_changed) == (SymbolStatus.MOVED, True)
    assert symbol.is_interface_change


def test_members_move_with_their_class():
    found = moved(change(f"{KEPT}\n\n{CART}", KEPT, path="a.py"), change("", CART, path="b.py"))

    assert found == {
        "sym:b.py#Cart": (SymbolStatus.MOVED, "sym:a.py#Cart"),
        "sym:b.py#Cart.size": (SymbolStatus.MOVED, "sym:a.py#Cart.size"),
        "sym:b.py#Cart.add": (SymbolStatus.MOVED, "sym:a.py#Cart.add"),
        "sym:b.py#Cart.factor": (SymbolStatus.MOVED, "sym:a.py#Cart.factor"),
    }


def test_a_member_that_a_moved_class_lacks_is_gone():
    without = CART[: CART.index("    def factor")].replace("self.factor()", "2")

    found = moved(change(f"{KEPT}\n\n{CART}", KEPT, path="a.py"), change("", without, path="b.py"))

    assert found["sym:b.py#Cart.add"][0] is SymbolStatus.MOVED
    assert found["sym:a.py#Cart.factor"] == (SymbolStatus.REMOVED, "sym:a.py#Cart.factor")


def test_what_is_gone_and_what_is_new_stay_apart_when_they_are_not_alike():
    other = "def load(path: str) -> bytes:\n    with open(path) as it:\n        return it.read()\n"

    assert moved(change(TOTAL, other, path="a.py")) == {
        "sym:a.py#load": (SymbolStatus.ADDED, None),
        "sym:a.py#total": (SymbolStatus.REMOVED, "sym:a.py#total"),
    }


def test_tiny_functions_are_alike_by_chance():
    assert moved(change("def a():\n    return 1\n", "def b():\n    return 1\n", path="a.py")) == {
        "sym:a.py#b": (SymbolStatus.ADDED, None),
        "sym:a.py#a": (SymbolStatus.REMOVED, "sym:a.py#a"),
    }


def test_another_default_is_told_from_another_parameter():
    def defaults_changed(new: str) -> bool | None:
        (symbol,) = change(TOTAL, TOTAL.replace("rate: float = 0.2", new), path="a.py").symbols
        assert symbol.signature_changed
        return symbol.defaults_changed

    assert defaults_changed("rate: float = 0.25")
    assert defaults_changed("rate: float")
    assert not defaults_changed("rate: int = 0.2")
    assert not defaults_changed("rate: float = 0.2, digits: int = 2")
