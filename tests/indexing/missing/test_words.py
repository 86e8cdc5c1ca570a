import io

import pytest

from indexing.missing.words import Unreadable, WordIndex, identifiers, parts, weighted

TEXTS = {"a": "parse(price)", "b": "price price price", "c": "total = price + tax"}


@pytest.fixture
def index() -> WordIndex:
    built = WordIndex()
    for blob, text in TEXTS.items():
        built.add(blob, text)
    return built


def test_identifiers_are_counted_without_keywords_and_short_names():
    assert identifiers("def price(x): return price + $scope.rate2") == {
        "price": 2,
        "$scope": 1,
        "rate2": 1,
    }


def test_only_contents_that_are_new_are_to_be_read_and_each_once(index):
    assert index.unknown(["a", "d", "d", "b"]) == ["d"]


def test_a_file_that_holds_the_rarer_word_scores_higher(index):
    tree = index.tree([("a.py", "a"), ("b.py", "b"), ("c.py", "c")])
    scores = index.scores({"parse": 1.0, "price": 1.0}, tree)
    assert scores[0] > scores[1] > 0


def test_words_that_nobody_holds_score_nothing(index):
    tree = index.tree([("a.py", "a")])
    assert list(index.scores({"elsewhere": 1.0}, tree)) == [0.0]
    assert list(index.scores({}, tree)) == [0.0]


def test_what_a_commit_does_not_show_counts_for_nothing(index):
    both = index.tree([("a.py", "a"), ("b.py", "b"), ("c.py", "c"), ("d.py", "a")])
    alone = index.tree([("a.py", "a"), ("b.py", "b")])
    assert index.scores({"tax": 1.0}, alone).sum() == 0
    # The same content at two paths counts at both.
    scores = index.scores({"parse": 1.0}, both)
    assert scores[0] == scores[3] > 0


def test_a_file_without_content_has_no_words(index):
    tree = index.tree([("new.py", "unread"), ("a.py", "a")])
    assert index.scores({"parse": 1.0}, tree)[0] == 0
    assert index.words_of(0, ["parse"], tree) == []


def test_held_words_are_told_the_rarest_first(index):
    tree = index.tree([("a.py", "a"), ("b.py", "b"), ("c.py", "c")])
    assert index.words_of(2, ["price", "tax", "parse"], tree) == [("tax", 1), ("price", 3)]


def test_many_mentions_say_little_more_than_one():
    assert weighted({"price": 1, "tax": 10}, ["price", "tax"])["price"] == 1
    assert weighted({"tax": 10}, ["tax"])["tax"] < 4


def test_a_kept_index_answers_like_the_one_that_was_kept_and_goes_on_learning(index):
    kept = WordIndex.kept(written(index))
    for one in (index, kept):
        one.add("d", "tax + tax and parse_all")
    files = [("a.py", "a"), ("b.py", "b"), ("c.py", "c"), ("d.py", "d"), ("new.py", "unread")]
    words = {"tax": 1.0, "price": 2.0, "parse_all": 1.0}
    again = WordIndex.kept(written(kept))
    expected = index.scores(words, index.tree(files))
    for one in (kept, again):
        assert one.unknown(["a", "d", "e"]) == ["e"]
        assert list(one.scores(words, one.tree(files))) == list(expected)
    assert expected.min() == 0 < expected[3]


def test_an_empty_index_can_be_kept():
    assert len(WordIndex.kept(written(WordIndex()))) == 0


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"\x93NUMPY\x01\x00"])
def test_what_is_no_index_is_refused(content):
    with pytest.raises(Unreadable):
        WordIndex.kept(io.BytesIO(content))


def written(index: WordIndex) -> io.BytesIO:
    file = io.BytesIO()
    index.keep(file)
    file.seek(0)
    return file


def test_identifiers_have_parts_in_common_and_keywords_are_none():
    assert parts({"get_user": 1, "UserName": 2, "HTTPServer": 1, "selfIsNew": 1}) == {
        "get": 1,
        "user": 3,
        "name": 2,
        "http": 1,
        "server": 1,
    }


def test_a_file_is_found_by_a_part_of_its_identifiers(index):
    index.add("d", "parsePrices")
    tree = index.tree([("a.py", "a"), ("d.py", "d"), ("c.py", "c")])
    parse, tax = index.scores_of_parts([{"parse": 1.0}, {"tax": 1.0}], tree)
    assert parse[1] > 0 == tax[1]
    assert tax[2] > 0 == parse[2]
    assert index.holders(["price", "none"], tree) == {"price": 2, "none": 0}
