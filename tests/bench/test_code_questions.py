"""What counts as a question of the code benchmark, and as its answer."""

from pathlib import Path

import pytest

from tests.bench.code_memory import place
from tests.bench.code_questions import Git, Question, lessons, plan, spans
from tests.indexing.checkout import Checkout

CART = """\
class Cart:
    def add(self, item):
        self.items.append(item)


def total():
    return 0
"""


@pytest.fixture
def source(tmp_path: Path) -> Checkout:
    source = Checkout(tmp_path / "source")
    source.commit(
        {"cart.py": CART, "notes.md": "Notes\n"}, subject="Begin the whole shop with carts"
    )
    return source


def test_gold_is_what_the_commit_changed_by_its_innermost_symbols(source: Checkout):
    sha = source.commit(
        {"cart.py": CART.replace("append(item)", "append(item.copy())"), "new.py": "x = 1\n"},
        subject="Keep carts apart from their items (#12)",
    )
    source.commit({"cart.py": CART}, subject="Bump everything to version two")
    ((freeze, [question]),) = plan(Git(source.path, [".py"]), 1, 1)
    assert freeze == source.git("rev-parse", f"{sha}^").strip()
    assert question.sha == sha
    assert question.text == "Keep carts apart from their items"
    assert question.files == {"cart.py"}
    assert question.symbols == {("cart.py", "add")}
    assert not question.is_leaky


def test_lessons_are_what_was_known_at_the_freeze(source: Checkout):
    first = source.commit({"cart.py": CART.replace("0", "1")}, subject="Let totals begin at one")
    source.commit({"cart.py": CART}, subject="Let totals begin at zero again")
    (lesson,) = lessons(Git(source.path, [".py"]), after=None, freeze=first, most=5)
    assert lesson.text == "Let totals begin at one"
    assert lesson.files == ("cart.py",)
    assert lesson.symbols == (("cart.py", "total"),)


def test_spans_are_named_within_their_file():
    assert [(span.local_name, span.first, span.last) for span in spans("cart.py", CART)] == [
        ("Cart", 1, 3),
        ("total", 6, 7),
        ("Cart.add", 2, 3),
    ]
    (go,) = spans("cart.go", "package cart\n\nfunc Total() int {\n\treturn 0\n}\n")
    assert (go.name, go.first, go.last) == ("Total", 3, 5)
    assert spans("broken.py", "def (") == []


def test_the_place_of_the_first_right_answer_counts():
    question = Question(sha="a", text="", files=frozenset({"b", "c"}), symbols=frozenset())
    found = place("mine", question, question.files, ["x", "x", "b", *"defgh", "c"])
    assert (found.reciprocal, found.recall_at_5, found.recall_at_10) == (0.5, 0.5, 1.0)
    assert place("mine", question, question.files, []).reciprocal == 0.0
