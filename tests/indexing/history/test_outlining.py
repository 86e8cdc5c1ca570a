"""Outlines read on their own are those of whole facts, whatever was read before."""

import random
from pathlib import Path

import pytest

from indexing.extraction import Job, Skipped, extract_all
from indexing.facts import FactsMalformed
from indexing.history.mapping import _OUTLINING_CHILD
from indexing.history.outline import outline, packed, unpacked
from indexing.history.outlining import Outliner
from indexing.languages import language_named
from indexing.parsing import extract

PYTHON = Path(__file__).parents[3] / "indexing" / "history" / "past.py"

TYPESCRIPT = """\
import { ref } from 'vue'

export class Cart<T> {
  private items: T[] = []
  constructor(readonly owner: string) {}
  @logged()
  add(item: T): void {
    this.items.push(item)
  }
  get size() { return this.items.length }
}

export const total = (items: number[]) => items.reduce((a, b) => a + b, 0)

describe('cart', () => {
  it('adds', () => {
    const cart = new Cart<number>('me')
    function helper() { return 1 }
    cart.add(helper())
  })
})

app.config.handler = function (error) { report(error) }
"""


def revisions(text: str, *, seed: int, count: int) -> list[str]:
    """Return versions of a text, each the one before with some of its lines changed."""
    rng = random.Random(seed)
    found = [text]
    for _ in range(count):
        lines = found[-1].splitlines(keepends=True)
        for _ in range(rng.randrange(1, 4)):
            at, size = rng.randrange(len(lines)), rng.randrange(1, 4)
            action = rng.randrange(4)
            if action == 0:
                del lines[at : at + size]
            elif action == 1:
                lines[at:at] = lines[rng.randrange(len(lines)) :][:size]
            elif action == 2:
                lines[at] = lines[at].replace("e", "ee", 1)
            else:
                lines[at:at] = ["\n", "# or // a comment\n"]
        found.append("".join(lines) if len(lines) > 5 else text)
    return found


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("name", "text"), [("typescript", TYPESCRIPT * 3), ("python", PYTHON.read_text())]
)
def test_one_version_after_the_other_has_the_outline_of_its_facts(name, text, seed):
    language, outliner = language_named(name), Outliner()
    for version in revisions(text, seed=seed, count=12):
        source = version.encode()
        assert outline(outliner.rows(language, source)) == outline(
            extract(language, source).definitions
        )


def test_the_child_answers_with_outlines():
    language = language_named("typescript")
    jobs = [Job("one", language, TYPESCRIPT.encode()), Job("two", language, b"a\0b")]
    told = dict(extract_all(jobs, processes=1, command=_OUTLINING_CHILD, unpack=unpacked))
    assert told["one"] == outline(extract(language, TYPESCRIPT.encode()).definitions)
    assert told["two"] == Skipped("binary")


def test_an_outline_survives_being_packed():
    rows = Outliner().rows(language_named("typescript"), TYPESCRIPT.encode())
    assert unpacked(packed(rows)) == outline(rows)


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b'[["x"]]', b'[["nothing","a",0,1,2,""]]'])
def test_what_is_no_outline_is_refused(text):
    with pytest.raises(FactsMalformed):
        unpacked(text)
