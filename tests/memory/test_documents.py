"""Documents as blocks: what stands where, in Markdown and reStructuredText as people write them."""

import pytest

from memory.documents import BlockKind, blocks_of, title_of

MARKDOWN = """\
---
title: Front matter
---
# The tool

<!-- hidden
lines -->
[![badge](x.svg)](x)

It reads [files](https://x.example/a_(b)) and
writes **others**.

## Testing

* Run `make test` first.
  It takes a minute.
- [ ] Then lint.

1. One
| a | b |

```sh
make test
```

### Deeper
Never here.
"""

RST = """\
=======
The tool
=======

It reads :class:`~pkg.File` and `others <x.html>`_.

Testing
-------

.. note:: Hidden
   as well.

Run it::

    $ make test

Then ``lint``.

.. code-block:: python

    import x

The end.
"""


def test_blocks_stand_below_their_headings_with_their_lines() -> None:
    found = [(one.kind.value, one.text, one.heading, one.first_line) for one in blocks_of(MARKDOWN)]
    assert found == [
        ("paragraph", "It reads files and writes others.", "The tool", 10),
        ("item", "Run `make test` first. It takes a minute.", "Testing", 15),
        ("item", "Then lint.", "Testing", 17),
        ("item", "One", "Testing", 19),
        ("code", "make test", "Testing", 22),
        ("paragraph", "Never here.", "Deeper", 27),
    ]
    assert blocks_of(MARKDOWN)[1].last_line == 16
    assert blocks_of(MARKDOWN)[-1].headings == ("The tool", "Testing", "Deeper")
    assert title_of(MARKDOWN) == "The tool"


def test_restructured_text_is_read_alike() -> None:
    found = [(one.kind.value, one.text, one.heading) for one in blocks_of(RST, is_rst=True)]
    assert ("paragraph", "It reads `pkg.File` and others.", "The tool") in found
    assert ("code", "$ make test", "Testing") in found
    assert ("paragraph", "Then `lint`.", "Testing") in found
    assert not any("Hidden" in text for _, text, _ in found)
    assert title_of(RST, is_rst=True) == "The tool"


@pytest.mark.parametrize(
    "text",
    ["", "\n\n", "```", "```sh\nunclosed", "---\nnever closed", "#", "# ", "- ", "<!-- open", "::"],
)
@pytest.mark.parametrize("is_rst", [True, False])
def test_what_is_broken_off_is_no_error(text: str, is_rst: bool) -> None:
    assert all(one.first_line <= one.last_line for one in blocks_of(text, is_rst=is_rst))


def test_code_that_is_never_closed_is_code_to_the_end() -> None:
    (code,) = blocks_of("```sh\none\n# two")
    assert (code.kind, code.text) == (BlockKind.CODE, "one\n# two")


def test_a_large_document_takes_no_time() -> None:
    assert len(blocks_of("- [a](b) **c** `d`\n" * 20_000)) == 20_000
    for text in ("[" * 200_000, "**" * 100_000 + "x", "# " + " #" * 100_000 + "x"):
        assert blocks_of(text) is not None
    assert blocks_of("<!-- " * 50_000) is not None
    assert blocks_of("::\n\n" * 20_000, is_rst=True) is not None
