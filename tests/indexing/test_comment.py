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
from indexing.crossing.values import AffectedRepository, AffectedService, Elsewhere
from indexing.diffs import ChangeStatus
from indexing.missing.values import LikelySymbol, MissingChange
from indexing.owners import Owner
from indexing.remarks import Dismissal, Level, RemarkKind, remarks_of
from indexing.values import (
    AffectedPath,
    BrokenAnchor,
    ChangedSymbol,
    Listing,
    Review,
    ReviewedDependent,
    ReviewedFile,
    ReviewedMemory,
    Role,
    Use,
)
from memory.anchors import AnchorState
from memory.values import MemoryType

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


def memory(content: str = "Rounds half down.", **changes: Any) -> ReviewedMemory:
    usual: dict[str, Any] = {
        "id": ID,
        "memory_type": MemoryType.DECISION,
        "content": content,
        "importance": 0.5,
        "author": "walter",
        "state": "active",
        "role": Role.DECISION,
        "contradiction": "",
        "broken": (),
    }
    return ReviewedMemory(**{**usual, **changes})


def broken(state: AnchorState = AnchorState.DRIFTED, **changes: Any) -> BrokenAnchor:
    usual: dict[str, Any] = {
        "path": "shop/price.py",
        "cites": "shop/price.py#net",
        "state": state,
        "detail": "shop/price.py#net says something else.",
    }
    return BrokenAnchor(**{**usual, **changes})


def elsewhere(**changes: Any) -> Elsewhere:
    usual: dict[str, Any] = {
        "repository": "web",
        "id": "sym:src/api.ts#order",
        "target": "sym:shop/price.py#net",
        "verb": "calls",
        "path": "src/api.ts",
        "line": 6,
        "confidence": 0.9,
    }
    return Elsewhere(**{**usual, **changes})


def service(**changes: Any) -> AffectedService:
    usual: dict[str, Any] = {
        "id": "endpoint:shop:GET /orders/{}",
        "verb": "handles",
        "by": "sym:shop/routes.py#show",
        "path": "shop/routes.py",
        "line": 11,
        "others": (elsewhere(target="endpoint:shop:GET /orders/{}"),),
    }
    return AffectedService(**{**usual, **changes})


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
        "affected_files": listing(AffectedPath(path="shop/order.py", dependents=1)),
        "affected_modules": listing(AffectedPath(path="shop", dependents=1)),
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
    assert "that a fix follows" not in text


@pytest.mark.parametrize(
    ("probability", "said"), [(0.424, "42% likely"), (0.004, "Less than 1% likely")]
)
def test_the_probability_of_a_fix_is_said_in_words(probability, said):
    risk = replace(review().risk, probability=probability)

    assert f"\n\n{said} that a fix follows: spread 15 (" in comment(risk=risk)


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


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "- decision: `Rounds half down.`"),
        (
            {"contradiction": "The diff brings in decimal."},
            (
                "- **decision that this may contradict**: `Rounds half down.` The diff brings in"
                " decimal."
            ),
        ),
        (
            {"memory_type": MemoryType.FAILURE, "role": Role.FAILURE},
            "- **failure known here**: `Rounds half down.`",
        ),
        (
            {"memory_type": MemoryType.FAILURE, "role": Role.FAILURE, "state": "resolved"},
            "- failure solved here before: `Rounds half down.`",
        ),
        (
            {"memory_type": MemoryType.RULE, "role": Role.RULE},
            "- rule that applies: `Rounds half down.`",
        ),
        (
            {"memory_type": MemoryType.STYLE, "role": Role.RULE},
            "- rule that applies (style): `Rounds half down.`",
        ),
        (
            {"memory_type": MemoryType.INSIGHT, "role": Role.NOTE},
            "- insight: `Rounds half down.`",
        ),
    ],
)
def test_a_memory_is_quoted_with_what_it_is_to_the_change(changes, said):
    assert f"{said}\n" in comment(memories=listing(memory(**changes)))


def test_anchors_that_the_diff_breaks_are_said_and_those_that_only_move():
    lost = broken(AnchorState.MISSING, detail="net is gone.")
    moved = broken(AnchorState.OK, detail="net is now gross.")
    text = comment(memories=listing(memory(broken=(lost, moved, lost, lost))))

    assert "`Rounds half down.` The diff breaks what it cites" in text
    assert "net is gone. net is now gross. And 2 more.\n" in text


def test_what_a_contradiction_says_of_an_anchor_is_not_said_twice():
    lost = broken()
    said = f"The diff changes what this decision cites: {lost.detail}"
    text = comment(memories=listing(memory(contradiction=said, broken=(lost,))))

    assert text.count("says something else") == 1


def test_owners_of_what_is_touched_are_named_and_never_mentioned():
    owners = [
        Owner(name="@team/prices", source="CODEOWNERS", files=3),
        Owner(name="Walter", source="history", files=1, share=0.41),
        *(Owner(name=f"@o{number}", source="CODEOWNERS", files=1) for number in range(5)),
    ]
    text = comment(owners=listing(*owners, total=9))

    assert (
        "**Owners of what is touched**: `@team/prices` (3 files), `Walter` (wrote 41% of 1 file),"
        " `@o0` (1 file), `@o1` (1 file), `@o2` (1 file) and 4 more\n"
    ) in text
    assert "@" not in outside_of_code(text)


def test_other_repositories_are_named_with_where_they_use_it():
    uses = (
        elsewhere(),
        elsewhere(path="src/b.ts", line=0, verb="publishes to", target="topic:kafka:orders"),
    )
    others = [
        AffectedRepository(name="web", uses=uses, total=12),
        *(AffectedRepository(name=f"r{n}", uses=(elsewhere(),), total=1) for n in range(6)),
    ]
    text = comment(repositories=listing(*others, total=7, is_exact=False))

    assert "**Other repositories that use what changes**\n\n" in text
    assert "- `web`: `src/api.ts:6` calls `net`, `src/b.ts` publishes to `kafka:orders` and" in text
    assert " and 10 more\n" in text
    assert "- `r3`: `src/api.ts:6` calls `net`\n- and at least 2 more repositories\n" in text


def test_services_are_named_with_who_is_at_the_other_end():
    again = elsewhere(path="src/other.ts")
    text = comment(services=listing(service(others=(elsewhere(), again)), service(others=())))
    line = "- `shop/routes.py:11` handles `shop:GET /orders/{}`"

    assert f"{line}; `web` calls it\n{line}\n" in text


def test_where_it_is_felt_is_told_where_that_is_more_than_one_place():
    places = [AffectedPath(path=f"part{number}", dependents=9 - number) for number in range(7)]

    assert "**Felt in** `part0` (9), `part1` (8), `part2` (7), `part3` (6), `part4` (5) and 2" in (
        comment(affected_modules=listing(*places))
    )
    assert "Felt in" not in comment()


def test_nothing_to_say_leaves_no_empty_section():
    text = comment()

    for title in ("Owners", "Other repositories", "Endpoints", "Felt in", "noted", "forgotten"):
        assert title not in text


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
            memories=listing(memory(name, contradiction=name, broken=(broken(detail=name),))),
            owners=listing(Owner(name=name, source=name, files=1)),
            repositories=listing(
                AffectedRepository(
                    name=name,
                    uses=(elsewhere(path=name, target=f"sym:{name}#{name}", repository=name),),
                    total=1,
                )
            ),
            services=listing(service(id=f"topic:{name}", path=name, others=(elsewhere(),))),
            affected_modules=listing(
                AffectedPath(path=name, dependents=2), AffectedPath(path="b", dependents=1)
            ),
            missing=(
                MissingChange(
                    path=name,
                    probability=0.5,
                    reason=name,
                    symbols=(LikelySymbol(id=name, name=name, line=1, reason=name),),
                ),
            ),
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
            memories=listing(
                *[memory(worst * 10, contradiction=worst, broken=(broken(detail=worst),) * 9)] * 20
            ),
            owners=listing(*[Owner(name=worst, source=worst, files=1)] * 20),
            repositories=listing(
                *[
                    AffectedRepository(
                        name=worst, uses=(elsewhere(path=worst, target=worst),) * 9, total=9
                    )
                ]
                * 20
            ),
            services=listing(*[service(id=worst, path=worst)] * 20),
            affected_modules=listing(*[AffectedPath(path=worst, dependents=1)] * 20),
            missing=(
                MissingChange(
                    path=worst,
                    probability=0.5,
                    reason=worst,
                    symbols=(LikelySymbol(id=worst, name=worst, line=1, reason=worst),) * 3,
                ),
            )
            * 5,
            notes=(worst,) * 100,
        ),
        repository=worst,
        ref=worst,
    )

    assert len(text) <= MOST_CHARACTERS


def test_what_is_perhaps_forgotten_is_told_with_its_probability_and_reason():
    missing = MissingChange(
        path="shop/order.py", probability=0.614, reason="Changed in 4 of 5 commits of price."
    )
    text = comment_of(review(missing=(missing,)), repository="shop", ref="main")
    assert "**Perhaps forgotten**: changes like this one usually include" in text
    assert "- `shop/order.py`, 61% likely: Changed in 4 of 5 commits of price." in text
    assert "Perhaps forgotten" not in comment_of(review(), repository="shop", ref="main")


def test_a_forgotten_file_names_where_in_it_the_change_would_be():
    inside = (
        LikelySymbol(id="sym:a#send", name="send", line=9, reason="calls net"),
        LikelySymbol(id="sym:a#wait", name="wait", line=12, reason="holds total"),
    )
    found = review(missing=(replace(FORGOTTEN, symbols=inside),))
    (remark,) = remarks_of(found)

    assert "Most likely in `send` (line 9, calls net), `wait` (line 12, holds total)." in (
        comment_of(found, repository="shop", ref="main")
    )
    assert remark.message.endswith(
        " Most likely in send (line 9, calls net), wait (line 12, holds total)."
    )
    assert (remark.path, remark.line) == ("shop/order.py", 9)
    assert remark.key == remarks_of(review(missing=(FORGOTTEN,)))[0].key


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


def test_a_changed_signature_that_another_repository_uses_is_a_remark():
    changed = listing(symbol(signature_changed=True))
    web = AffectedRepository(name="web", uses=(elsewhere(),), total=1)
    other = AffectedRepository(name="b", uses=(elsewhere(target="sym:shop/price.py#x"),), total=1)
    found = review(changed_symbols=changed, dependents=listing(), repositories=listing(web, other))
    (left,) = remarks_of(found)

    assert left.message == (
        "net has another signature, and web: src/api.ts:6 still uses it as it was"
    )
    assert not remarks_of(replace(found, changed_symbols=listing(symbol())))


def test_a_contradicted_decision_is_a_remark_that_says_none_of_its_words():
    secret = memory("Use the blue ledger.", contradiction="The diff brings in the red ledger.")
    cited = replace(secret, broken=(broken(),), id=UUID(int=1))
    file = ReviewedFile(
        path="shop/a.py",
        old_path=None,
        status=ChangeStatus.MODIFIED,
        language="python",
        lines_added=1,
        lines_removed=0,
        is_binary=False,
        changes_module=False,
    )
    first, second = remarks_of(
        review(files=listing(file), memories=listing(secret, cited, memory()))
    )

    assert (first.kind, first.level) == (RemarkKind.DECISION, Level.WARNING)
    assert (first.path, second.path) == ("shop/a.py", "shop/price.py")
    assert f"(memory {ID})" in first.message
    assert "cites shop/price.py#net" in second.message
    assert first.key != second.key
    assert "ledger" not in first.message + second.message


def test_the_posted_comment_shows_what_is_known_and_folds_what_is_to_look_up():
    text = posted(
        review(
            owners=listing(Owner(name="@prices", source="CODEOWNERS", files=1)),
            repositories=listing(AffectedRepository(name="web", uses=(elsewhere(),), total=1)),
            services=listing(service()),
            memories=listing(memory()),
            affected_modules=listing(
                AffectedPath(path="a", dependents=1), AffectedPath(path="b", dependents=1)
            ),
        )
    )
    shown, _, folded = text.partition("<details>")

    for title in ("Other repositories", "Owners of what is touched", "What the team noted"):
        assert title in shown
    for title in ("Endpoints and topics", "Felt in", "| Changed |"):
        assert title in folded
    assert "<summary>1 changed symbol, 1 direct dependent, 1 service</summary>" in text


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
