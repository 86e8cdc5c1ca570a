import re

import pytest

from codemem.client.plain import plain_of
from tests.indexing.test_comment import (
    HOSTILE,
    dependent,
    listing,
    memory,
    posted,
    review,
    symbol,
)

MARKDOWN = """\
<!-- codemem-review -->

### codemem: low risk, 3 of 100

3% likely that a fix follows: size 1 &#40;\N{ZERO WIDTH SPACE}1 line&#41;\N{ZERO WIDTH SPACE}

**Worth a look** (tick what does not matter)

- [ ] `a.py`: a&#95;\N{ZERO WIDTH SPACE}b <!-- codemem:0123456789ab:open -->

<details><summary>1 changed symbol</summary>

| Changed | How |
| --- | --- |
| `net` | body |
| `Cart.total` | **signature** |

</details>

Reviewed `` `x` ``.
"""


def test_a_review_reads_as_plain_text():
    assert plain_of(MARKDOWN) == (
        "codemem: low risk, 3 of 100\n\n"
        "3% likely that a fix follows: size 1 (1 line)\n\n"
        "Worth a look (tick what does not matter)\n\n"
        "- a.py: a_b\n\n"
        "1 changed symbol\n\n"
        "Changed     How\n"
        "net         body\n"
        "Cart.total  signature\n\n"
        "Reviewed `x`."
    )


def test_headings_stand_out_where_there_are_colors(monkeypatch):
    monkeypatch.setattr("codemem.client.terminal._wants_color", lambda _: True)

    assert "\x1b[1mcodemem: low risk, 3 of 100\x1b[0m" in plain_of(MARKDOWN)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_somebody_wrote_is_shown_and_moves_no_cursor(hostile):
    text = plain_of(posted(review(memories=listing(memory(f"{hostile}\x1b[2J")))))
    shown = " ".join(re.sub(r"[\u200b\u202a-\u202e]", " ", hostile).split())[:40]

    assert shown.replace("|", "\N{BROKEN BAR}") in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]", text)


def test_every_word_of_the_comment_is_there():
    found = review(
        changed_symbols=listing(symbol(name="a_name"), symbol(name="other", id="x")),
        tests=listing(dependent("test_it", path="tests/test_it.py")),
        notes=("A note.",),
    )
    text = plain_of(posted(found))

    for word in (
        "medium risk",
        "a_name",
        "top 5%",
        "place in shop/order.py:5",
        "test_it",
        "A note",
    ):
        assert word in text
    for mark in ("**", "<details>", "<!--", "&#", "| ", "### "):
        assert mark not in text


@pytest.mark.parametrize(
    "markdown", ["", "\n\n", "| lonely |", "`", "``` ` ```", "|", "&#x110000;"]
)
def test_odd_markdown_is_still_some_text(markdown):
    assert isinstance(plain_of(markdown), str)
