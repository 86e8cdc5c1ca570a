"""What is counted of a file's words."""

from codemem.words import code_tokens
from graph.file_words import FileWords, WrittenSymbol
from graph.values import NodeKind


def written(key: int) -> WrittenSymbol:
    return WrittenSymbol(key=key, kind=NodeKind.FUNCTION, is_test=False, lines=2)


def test_words_are_counted_in_each_symbol_and_in_the_path():
    words = FileWords()
    assert not words.is_read
    words.read(
        "shop/cart.py", [(written(7), "cart.add(item)"), (written(9), "empty the cart, cart")]
    )
    assert words.is_read
    assert list(words.places("cart")) == [(0, 1), (1, 2)]
    assert [words.symbols[place].key for place, _ in words.places("item")] == [7]
    # Three times for the path.
    assert words.count("cart") == 6
    assert words.count("shop") == 3
    assert words.count("unknown") == 0
    assert words.length == sum(words.lengths) + 3 * len(code_tokens("shop/cart.py"))


def test_a_very_long_file_is_read_up_to_its_limit():
    words = FileWords()
    words.read("a.py", [(written(1), "alpha " * 199_999), (written(2), "beta gamma delta")])
    assert words.lengths == [199_999, 1]
    # What is counted is held by two bytes.
    assert words.count("alpha") == 65_535
    assert words.count("gamma") == 0
