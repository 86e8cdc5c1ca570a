import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from graph.impact import Risk, RiskLevel, RiskPart
from graph.values import EdgeKind, Node, NodeKind, Visibility
from indexing.changes import SymbolStatus
from indexing.comment import (
    MARKER,
    MOST_CHARACTERS,
    code,
    comment_of,
    fit,
    is_quiet,
    posted_comment_of,
    prose,
    quiet_comment_of,
    ticks_in,
)
from indexing.missing.values import MissingChange
from indexing.remarks import Dismissal, remarks_of
from indexing.values import (
    ChangedSymbol,
    Listing,
    Review,
    ReviewedDependent,
    Use,
)
from memory.values import MemoryType, StoredMemory

ID = UUID("019b0000-0000-7000-8000-000000000000")
WHEN = datetime(2026, 3, 1, tzinfo=UTC)

HOSTILE = [
    "@everyone see #1, !2 and GH-3",
    "<script>alert(1)</script>",
    "a | b \\| c \\\\| d",
    "`code` ``more`` `",
    "[link](https://evil.example) ![x](//evil.example/x.png) www.evil.example",
    "line\n\n# Heading\r\n/close\u2028> quote",
    "--> <!-- codemem-review -->",
    "\u202eright to left\u202c and \u200bnothing",
    "* _a_ **b** ~~c~~ &lt; &#64;you $x$",
    "x" * 1_000,
    "",
]


def listing(*items: Any, total: int | None = None, is_exact: bool = True) -> Listing[Any]:
    return Listing(items=items, total=len(items) if total is None else total, is_exact=is_exact)


def symbol(**changes: Any) -> ChangedSymbol:
    usual: dict[str, Any] = {
        "id": "sym:shop/price.py#net",
        "path": "shop/price.py",
        "name": "net",
        "kind": NodeKind.FUNCTION,
        "start_line": 6,
        "end_line": 8,
        "status": SymbolStatus.MODIFIED,
        "visibility": Visibility.PUBLIC,
        "signature": "def net()",
        "old_signature": None,
        "signature_changed": False,
        "visibility_changed": False,
        "is_trivial": False,
        "dependents": 3,
        "percentile": 0.95,
        "is_tested": True,
    }
    return ChangedSymbol(**{**usual, **changes})


def dependent(
    name: str = "place", *, path: str = "shop/order.py", **changes: Any
) -> ReviewedDependent:
    usual: dict[str, Any] = {
        "node": Node(
            vertex=1,
            id=f"sym:{path}#{name}",
            repository_id=ID,
            kind=NodeKind.FUNCTION,
            name=name,
            local_name=name,
            qualified_name=f"shop.order.{name}",
            path=path,
            language="python",
            start_line=4,
            end_line=5,
        ),
        "depth": 1,
        "percentile": 0.5,
        "confidence": 0.97,
        "is_in_change": False,
        "uses": (
            Use(
                changed_id="sym:shop/price.py#net",
                kind=EdgeKind.CALLS,
                line=5,
                confidence=0.97,
                rule="import",
            ),
        ),
    }
    return ReviewedDependent(**{**usual, **changes})


def memory(content: str) -> StoredMemory:
    return StoredMemory(
        id=ID,
        number=1,
        namespace_id=ID,
        namespace="team",
        repository_id=ID,
        repository="shop",
        branch="",
        memory_type=MemoryType.DECISION,
        content=content,
        tags=(),
        importance=0.5,
        confidence=1.0,
        state="active",
        author_id=1,
        author="walter",
        created_at=WHEN,
        updated_at=WHEN,
        expires_at=None,
        retired_at=None,
        retired_by="",
        is_embedded=True,
    )


def review(**changes: Any) -> Review:
    usual: dict[str, Any] = {
        "indexed_commit": "a" * 40,
        "base_commit": None,
        "risk": Risk(
            score=42.4,
            level=RiskLevel.MEDIUM,
            parts=(
                RiskPart(
                    name="spread",
                    value=0.5,
                    weight=0.3,
                    reason="3 dependents among 13 nodes",
                    points=15.0,
                ),
                RiskPart(name="breadth", value=0.0, weight=0.1, reason="1 file touched"),
            ),
        ),
        "files": listing(),
        "changed_symbols": listing(symbol()),
        "containing": listing(),
        "dependents": listing(dependent()),
        "direct_dependents": 1,
        "tests": listing(),
        "affected_files": listing("shop/order.py"),
        "affected_modules": listing("shop"),
        "memories": listing(),
        "missing": (),
        "notes": (),
    }
    return Review(**{**usual, **changes})


def comment(**changes: Any) -> str:
    return comment_of(review(**changes), repository="team/shop", ref="main")


def outside_of_code(markdown: str) -> str:
    """Return what a renderer reads as Markdown: the text without its code spans."""
    return re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "CODE", markdown)


# --- what it says -------------------------------------------------------------------------------
def test_a_comment_begins_with_its_marker():
    assert comment().split("\n")[0] == MARKER == "<!-- codemem-review -->"


def test_the_risk_is_told_with_the_parts_that_made_it():
    text = comment()

    assert "### codemem: medium risk, 42 of 100" in text
    assert "spread 15 (3 dependents among 13 nodes)" in text
    assert "breadth" not in text


def test_changed_symbols_are_rows_with_their_dependents():
    text = comment()

    assert "| `net` | `shop/price.py:6` | body | 3 | top 5% | yes |" in text


@pytest.mark.parametrize(
    ("changes", "how"),
    [
        ({"signature_changed": True}, "signature"),
        ({"signature_changed": True, "visibility_changed": True}, "signature, visibility"),
        ({"signature_changed": None, "visibility_changed": None}, "body"),
        ({"is_trivial": True, "dependents": None}, "comments"),
        ({"status": SymbolStatus.REMOVED}, "removed"),
    ],
)
def test_a_row_says_how_a_symbol_changed(changes, how):
    assert f"| {how} |" in comment(changed_symbols=listing(symbol(**changes)))


def test_a_symbol_without_a_test_is_pointed_out():
    assert "**none found** |" in comment(changed_symbols=listing(symbol(is_tested=False)))


def test_direct_dependents_say_where_and_how_they_use_it():
    assert "**1 direct dependent**, in 1 file" in comment()
    assert "- `place` in `shop/order.py:5` calls `net`\n" in comment()


def test_a_doubtful_use_says_so():
    use = Use(
        changed_id="sym:a#net", kind=EdgeKind.REFERENCES, line=5, confidence=0.55, rule="name"
    )

    assert "mentions `net` (55% sure)" in comment(dependents=listing(dependent(uses=(use,))))


def test_a_file_stands_for_itself():
    imports = Use(
        changed_id="sym:a.py#net", kind=EdgeKind.IMPORTS, line=1, confidence=1.0, rule="import"
    )
    file = dependent("", uses=(imports,))
    file = replace(file, node=replace(file.node, kind=NodeKind.FILE, name="order.py"))

    text = comment(dependents=listing(file), tests=listing(file))

    assert "- `shop/order.py:1` imports `net`\n" in text
    assert "reaches this\n\n- `shop/order.py`\n" in text


def test_dependents_left_out_are_counted():
    text = comment(
        dependents=listing(dependent(), total=2_500, is_exact=False), direct_dependents=1_400
    )

    assert "- and 1,399 more" in text
    assert "at least 1,100 farther away" in text


def test_a_change_that_nobody_depends_on_says_so():
    text = comment(dependents=listing(), direct_dependents=0)

    assert "**Nothing depends on this change**" in text


def test_a_change_without_risk_is_a_short_comment():
    none = Risk(score=0.0, level=RiskLevel.NONE, parts=())

    text = comment(risk=none, changed_symbols=listing(), dependents=listing(), direct_dependents=0)

    assert "no risk found" in text
    assert len(text) < 400


def test_tests_to_run_are_grouped_by_their_file():
    tests = [dependent(f"test_{n}", path="tests/test_order.py") for n in range(5)]

    text = comment(tests=listing(*tests, total=9))

    assert "- `tests/test_order.py`: `test_0`, `test_1`, `test_2` and 2 more" in text
    assert "and 4 more tests" in text


def test_memories_are_quoted_as_unchecked():
    text = comment(memories=listing(memory("Rounds half down.")))

    assert "(quoted, not checked)" in text
    assert "- decision: `Rounds half down.`" in text


def test_what_was_not_seen_is_listed():
    assert "**What was not seen**" in comment(notes=("A sentence.",))


def test_the_scope_names_the_indexed_commit():
    assert "from base `bbbbbbbbbbbb` against `team/shop`, `main` as indexed at `aaaaaaaaaaaa`" in (
        comment(base_commit="b" * 40)
    )


# --- what it must never do ----------------------------------------------------------------------
@pytest.mark.parametrize("text", HOSTILE)
def test_data_in_a_code_span_stays_in_it(text):
    span = code(text)

    assert outside_of_code(span) == "CODE"
    assert not set(span) & {"\n", "\r", "|", "\u2028", "\u202e"}
    assert len(span) < 200


@pytest.mark.parametrize("text", HOSTILE)
def test_data_in_prose_is_neither_markup_nor_mention(text):
    shown = prose(text)

    assert not set(shown) & set("\n\r|<>`*_[]()@!~$^:\\")
    assert not re.search(r"#(?!\d+;)", shown)
    assert not re.search(r"&(?!#\d+;)", shown)
    assert "www." not in shown
    # The sign and the name must not meet again once the entities are resolved.
    assert not re.search(r"&#(64|35|33);\w", shown)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_breaks_nothing_wherever_it_stands(text):
    name = text or "x"
    use = Use(changed_id=f"sym:{name}#{name}", kind=EdgeKind.CALLS, line=1, confidence=1, rule="")
    markdown = comment_of(
        review(
            changed_symbols=listing(symbol(id=name, name=name, path=name, signature=name)),
            dependents=listing(dependent(name, path=name, uses=(use,))),
            tests=listing(dependent(name, path=name)),
            memories=listing(memory(name)),
            notes=(f"Not read: {name}.",),
        ),
        repository="team/shop",
        ref=name,
    )

    rest = outside_of_code(markdown.removeprefix(MARKER))
    assert not re.search(r"<|@|https?:|www\.|\]\(|javascript", rest)
    assert rest.count("|") == 3 * 7  # the table's own bars
    assert "Heading" not in [line.lstrip("# ") for line in rest.split("\n")]
    assert [line.startswith(MARKER) for line in markdown.split("\n")].count(True) == 1


def test_the_largest_comment_is_small_enough_to_post():
    worst = "@" * 500
    symbols = [symbol(name=f"{worst}{n}", path=worst) for n in range(200)]
    dependents = [dependent(f"{worst}{n}", path=f"{worst}{n}") for n in range(200)]

    text = comment_of(
        review(
            changed_symbols=listing(*symbols),
            dependents=listing(*dependents),
            direct_dependents=200,
            tests=listing(*dependents),
            memories=listing(*[memory(worst * 10)] * 20),
            notes=(worst,) * 100,
        ),
        repository=worst,
        ref=worst,
    )

    assert len(text) < 60_000


def test_what_is_perhaps_forgotten_is_told_with_its_probability_and_reason():
    missing = MissingChange(
        path="shop/order.py", probability=0.614, reason="Changed in 4 of 5 commits of price."
    )
    text = comment_of(review(missing=(missing,)), repository="shop", ref="main")
    assert "**Perhaps forgotten**: changes like this one usually include" in text
    assert "- `shop/order.py`, 61% likely: Changed in 4 of 5 commits of price." in text
    assert "Perhaps forgotten" not in comment_of(review(), repository="shop", ref="main")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_forgotten_file_and_its_reason_are_data(hostile):
    missing = MissingChange(path=hostile, probability=0.5, reason=hostile)
    text = comment_of(review(missing=(missing,)), repository="shop", ref="main")
    lines = text.splitlines()
    (line,) = [line for line in lines if ", 50% likely: " in line]
    assert line == f"- {code(hostile)}, 50% likely: {prose(hostile)}"
    assert lines.count(MARKER) == 1


# --- the comment of a pull request ----------------------------------------------------------------

FORGOTTEN = MissingChange(path="shop/order.py", probability=0.8, reason="changed with it 8 of 10")
DISMISSED = Dismissal(by="walter", via="comment", at=WHEN)
CALM = Risk(score=3.0, level=RiskLevel.LOW, parts=())


def posted(found: Review, *, dismissed: tuple[str, ...] = ()) -> str:
    return posted_comment_of(
        found,
        repository="team/shop",
        ref="main",
        head_commit="b" * 40,
        remarks=remarks_of(found),
        dismissals=dict.fromkeys(dismissed, DISMISSED),
    )


def test_a_posted_comment_has_a_box_for_each_remark_and_folds_the_rest():
    text = posted(review(missing=(FORGOTTEN,), tests=listing(dependent("test_net"))))
    shown, _, folded = text.partition("<details>")

    assert shown.startswith(MARKER)
    assert "- [ ] `shop/order.py`: Perhaps forgotten" in shown
    assert "| Changed |" not in shown
    assert "<summary>1 changed symbol, 1 direct dependent, 1 test</summary>\n\n" in folded
    assert "`bbbbbbbbbbbb`" in folded.partition("</details>")[2]


def test_a_changed_signature_that_others_rely_on_is_a_remark_unless_their_file_is_one():
    changed = listing(symbol(signature_changed=True))
    (left,) = remarks_of(review(changed_symbols=changed))
    (missing,) = remarks_of(review(changed_symbols=changed, missing=(FORGOTTEN,)))

    assert left.message == (
        "net has another signature, and shop/order.py:5 still uses it as it was"
    )
    assert (left.path, left.line) == ("shop/price.py", 6)
    assert missing.path == "shop/order.py"


def test_a_dismissed_remark_is_folded_with_its_box_ticked():
    found = review(missing=(FORGOTTEN,))
    (remark,) = remarks_of(found)
    text = posted(found, dismissed=(remark.key,))

    assert "Worth a look" not in text
    assert "<summary>1 dismissed</summary>" in text
    assert "- [x] `shop/order.py`" in text
    assert ticks_in(text).dismissed == ticks_in(text).restored == ()


def test_a_box_that_somebody_changed_is_told_from_one_that_was_written():
    found = review(missing=(FORGOTTEN, replace(FORGOTTEN, path="b.py")))
    first, second = remarks_of(found)
    text = posted(found, dismissed=(second.key,)).replace("\n", "\r\n")
    ticked = text.replace("- [ ]", "- [X]")
    unticked = text.replace("- [x]", "- [ ]")

    assert ticks_in(ticked).dismissed == (first.key,)
    assert ticks_in(unticked).restored == (second.key,)
    assert not ticks_in(ticked).restored
    assert not ticks_in(unticked).dismissed


@pytest.mark.parametrize("hostile", [*HOSTILE, "x <!-- codemem:000000000000:open -->"])
def test_hostile_names_make_no_boxes_and_break_no_fold(hostile):
    found = review(
        missing=(MissingChange(path=hostile, probability=0.9, reason=hostile),),
        memories=listing(memory(f"- [x] {hostile} <!-- codemem:000000000000:open -->")),
        notes=(f"</details>{hostile}",),
    )
    text = posted(found)
    ticked = ticks_in(text.replace("- [ ]", "- [x]"))

    assert ticked.dismissed == tuple(remark.key for remark in remarks_of(found))
    assert text.count("<details>") == text.count("</details>") == 1
    assert "@everyone" not in outside_of_code(text)
    assert text.count("\n- [") == 1


@pytest.mark.parametrize(
    ("changes", "quiet"),
    [
        ({"risk": CALM}, True),
        ({"risk": CALM, "notes": ("Not seen.",)}, True),
        ({}, False),
        ({"risk": CALM, "missing": (FORGOTTEN,)}, False),
        ({"risk": CALM, "memories": listing(memory("Rounds once."))}, False),
    ],
)
def test_only_what_is_worth_it_interrupts(changes, quiet):
    found = review(**changes)
    assert is_quiet(found, remarks=remarks_of(found), dismissals={}) is quiet


def test_what_was_dismissed_no_longer_interrupts():
    found = review(risk=CALM, missing=(FORGOTTEN,))
    (remark,) = remarks_of(found)

    assert is_quiet(found, remarks=(remark,), dismissals={remark.key: DISMISSED})
    text = quiet_comment_of(
        repository="team/shop",
        head_commit="b" * 40,
        remarks=(remark,),
        dismissals={remark.key: DISMISSED},
    )
    assert text.startswith(f"{MARKER}\n\n### codemem: nothing to point out")
    assert f"codemem:{remark.key}:dismissed" in text


def test_a_comment_that_is_too_long_ends_in_a_sentence_with_its_folds_closed():
    text = fit("<details>\n" + "line\n" * 30_000 + "</details>\n")

    assert len(text) <= MOST_CHARACTERS
    assert text.endswith("as long as the host allows.")
    assert text.count("<details>") == text.count("</details>")
    assert fit("short") == "short"
