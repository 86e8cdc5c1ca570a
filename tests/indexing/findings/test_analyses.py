"""The analyses that compute from values: smells, surface, activity, ownership, hotspots."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from graph.values import NodeKind, Visibility
from indexing.findings import (
    activity,
    dead_code,
    hotspots,
    ownership,
    reach,
    smells,
    surface,
    testing,
)
from indexing.findings.values import Change, Found, HeadFile, HeadSymbol, Severity, Uses

NOW = datetime(2026, 3, 1, tzinfo=UTC)
FILE = HeadFile(vertex=1, path="a.py", blob="1", lines=300, language="python", is_test=False)
FUNCTION = HeadSymbol(
    vertex=10,
    id="sym:a.py#f",
    path="a.py",
    name="f",
    local_name="f",
    kind=NodeKind.FUNCTION,
    language="python",
    start_line=1,
    end_line=10,
    visibility=Visibility.PUBLIC,
    is_test=False,
    has_doc=False,
)


# --- Smells ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"cognitive": 26}, "complexity.cognitive"),
        ({"cyclomatic": 21}, "complexity.cyclomatic"),
        ({"end_line": 101}, "smell.long-function"),
        ({"parameters": tuple("abcdefgh")}, "smell.many-parameters"),
    ],
)
def test_a_function_above_a_threshold_smells(changes: dict[str, object], rule: str) -> None:
    symbol = replace(FUNCTION, **changes)  # type: ignore[arg-type]

    assert [one.rule for one in _smells(symbol)] == [rule]


def test_a_function_at_its_thresholds_does_not_smell() -> None:
    symbol = replace(
        FUNCTION, cognitive=14, cyclomatic=20, end_line=100, parameters=tuple("abcdefg")
    )

    assert _smells(symbol) == []


def test_three_times_the_threshold_is_one_step_worse() -> None:
    (found,) = _smells(replace(FUNCTION, cognitive=76))

    assert found.severity is Severity.HIGH


def test_only_parameters_that_callers_must_fill_are_counted() -> None:
    given = ("self", "a", "b", "c", "d", "e", "f", "g", "h=1", "*args", "**options", "i: int = 2")

    assert _smells(replace(FUNCTION, parameters=given)) == []


def test_tests_may_be_long() -> None:
    file = replace(FILE, is_test=True, lines=9_000)
    found = smells.find_smells(file=file, symbols=[replace(FUNCTION, cognitive=99)], content=None)

    assert found == []


def test_a_large_class_with_many_methods_is_told_once() -> None:
    owner = replace(FUNCTION, name="C", local_name="C", kind=NodeKind.CLASS, end_line=600)
    methods = [
        replace(FUNCTION, name=f"m{n}", local_name=f"C.m{n}", kind=NodeKind.METHOD)
        for n in range(31)
    ]

    found = smells.find_smells(file=FILE, symbols=[owner, *methods], content=None)

    assert [one.message for one in found] == ["C has 31 methods in 600 lines."]


def test_nesting_of_python_is_read_from_its_indentation() -> None:
    levels = ("for a in b:", "if a:", "while a:", "try:", "with a:", "if (\n a):")
    text = "def f():\n" + "".join(
        f"{'    ' * depth}{line}\n" for depth, line in enumerate(levels, start=1)
    )
    deep = replace(FUNCTION, cognitive=20, end_line=9)

    found = _smells(deep, content=text + "    " * 7 + "pass\n")

    assert [(one.rule, one.line) for one in found] == [("smell.deep-nesting", 7)]


def test_nesting_in_braces_counts_control_flow_not_objects() -> None:
    objects = "function f() {\n" + "x = {a: {b: {c: {d: {e: {f: 1}}}}}};\n" * 2 + "}\n"
    control = (
        "function f() {\nif (a) { for (;;) { while (b) { if (c) {} else if (d) {"
        " switch (e) {\n case 1: if (g) { } } } } } } }\n"
    )
    deep = replace(FUNCTION, cognitive=20, language="javascript")

    assert _smells(deep, content=objects, language="javascript") == []
    assert [one.line for one in _smells(deep, content=control, language="javascript")] == [3]


def _smells(
    symbol: HeadSymbol, *, content: str | None = None, language: str = "python"
) -> list[Found]:
    file = replace(FILE, language=language)
    raw = None if content is None else content.encode()
    return smells.find_smells(file=file, symbols=[symbol], content=raw)


# --- Surface --------------------------------------------------------------------------------------
def test_surface_counts_public_symbols_and_those_with_documentation() -> None:
    symbols = [
        replace(FUNCTION, has_doc=True, cognitive=3),
        replace(FUNCTION, name="_g", local_name="_g"),
        replace(FUNCTION, name="h", local_name="f.h"),
        replace(FUNCTION, name="m", local_name="_C.m", kind=NodeKind.METHOD),
    ]

    measured = {one.name: one.value for one in surface.measure_surface(file=FILE, symbols=symbols)}

    assert measured == {
        "lines": 300,
        "functions": 4,
        "public_symbols": 1,
        "documented_symbols": 1,
        "cyclomatic": 0,
        "cognitive": 3,
    }


def test_a_large_surface_without_documentation_is_told() -> None:
    symbols = [replace(FUNCTION, name=f"f{n}", local_name=f"f{n}") for n in range(10)]

    (found,) = surface.find_undocumented(file=FILE, symbols=symbols)

    assert found.message == "0 of 10 public symbols are documented."
    assert not list(surface.find_undocumented(file=FILE, symbols=symbols[1:]))


# --- Activity -------------------------------------------------------------------------------------
def test_activity_counts_commits_lines_and_authors_of_a_file() -> None:
    changes = [_change("1", "a.py", author="ada"), _change("2", "a.py", author="bob")]

    measured = {one.name: one.value for one in activity.measure_activity(changes)}

    assert measured == {"recent_commits": 2, "recent_churn": 6, "recent_authors": 2}


def test_files_that_change_together_are_paired_both_ways() -> None:
    together = [_change(str(n), path) for n in range(4) for path in ("a.py", "b.py")]
    alone = [_change(f"b{n}", "b.py") for n in range(4)]
    others = [_change(f"o{n}", "c.py") for n in range(12)]

    pairs = {(one.path, one.other): one for one in activity.co_changes(together + alone + others)}

    assert set(pairs) == {("a.py", "b.py"), ("b.py", "a.py")}
    there, back = pairs["a.py", "b.py"], pairs["b.py", "a.py"]
    assert (there.support, there.confidence, back.confidence) == (4, 1.0, 0.5)
    assert there.lift == back.lift == 2.5  # 4 * 20 / (4 * 8)


def test_a_commit_of_many_files_pairs_nothing() -> None:
    changes = [
        _change(str(n), path, files_in_commit=51) for n in range(9) for path in ("a.py", "b.py")
    ]

    assert activity.co_changes([*changes, *(_change(f"o{n}", "c.py") for n in range(99))]) == []


def _change(commit: str, path: str, *, author: str = "ada", files_in_commit: int = 2) -> Change:
    return Change(
        commit=commit,
        author=author,
        committed_at=NOW,
        path=path,
        lines_added=2,
        lines_removed=1,
        files_in_commit=files_in_commit,
    )


# --- Ownership ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lines", "expected"),
    [({}, 0), ({"a": 9}, 1), ({"a": 4, "b": 3, "c": 3}, 2), (dict.fromkeys("abcd", 1), 2)],
)
def test_bus_factor_is_how_few_wrote_half(lines: dict[str, int], expected: int) -> None:
    assert ownership.bus_factor(lines) == expected


def test_a_used_file_of_one_author_is_told_where_there_is_a_team() -> None:
    lines = {"a.py": {"ada": 290, "bob": 10}, "b.py": {"bob": 10}}

    def found(dependents: int, lines_by_file: dict[str, dict[str, int]]) -> list[str]:
        return [
            one.path
            for one in ownership.find_single_authors(
                files={"a.py": FILE}, lines_by_file=lines_by_file, dependents={"a.py": dependents}
            )
        ]

    assert found(10, lines) == ["a.py"]
    assert found(9, lines) == []
    assert found(10, {"a.py": {"ada": 300}}) == []


# --- Hot and complex ------------------------------------------------------------------------------
def test_only_what_is_both_hot_and_complex_is_told() -> None:
    files = {f"{n}.py": replace(FILE, path=f"{n}.py") for n in range(40)}
    cognitive = {path: 10.0 + n for n, path in enumerate(files)}
    cognitive["39.py"] = cognitive["38.py"] = 100.0
    churn = {"39.py": 900.0, "38.py": 1.0, "1.py": 950.0}

    found = hotspots.find_hotspots(
        files=files, churn=churn, commits=dict.fromkeys(churn, 9.0), cognitive=cognitive
    )

    assert [one.path for one in found] == ["39.py"]


# --- The graph ------------------------------------------------------------------------------------
def test_files_count_their_dependents_at_one_step_and_at_two() -> None:
    files = {
        f"{name}.py": replace(FILE, vertex=n, path=f"{name}.py") for n, name in enumerate("abc")
    }
    symbols = [replace(FUNCTION, vertex=10, path="a.py"), replace(FUNCTION, vertex=11, path="b.py")]

    direct, within_two = reach.dependents_by_file(files, symbols, _uses((11, 10), (2, 11), (0, 10)))

    assert direct == {"a.py": 1, "b.py": 1}
    assert within_two == {"a.py": 2, "b.py": 1}


def test_code_is_tested_when_a_test_reaches_it_over_others() -> None:
    test = replace(FUNCTION, vertex=1, is_test=True, path="test_a.py")
    near, far, out = (
        replace(FUNCTION, vertex=n, name=name, local_name=name, id=name, cyclomatic=9)
        for n, name in ((2, "near"), (3, "far"), (4, "out"))
    )
    symbols = [test, near, far, out]
    tested = testing.tested_vertices([], symbols, _uses((1, 2), (2, 3), (4, 3)))

    untested = testing.untested(symbols, tested=tested)

    assert [one.name for one in untested] == ["out"]
    assert [one.symbol for one in testing.find_untested(untested, tests_that_mention={})] == ["out"]
    assert not list(testing.find_untested(untested, tests_that_mention={"out": 1}))
    shares = [one for one in testing.measure_tests(symbols, tested=tested) if not one.node]
    assert [(one.name, one.value) for one in shares] == [("tested_share", 0.667)]


def test_without_any_test_nothing_is_called_untested() -> None:
    assert testing.untested([replace(FUNCTION, cyclomatic=9)], tested=()) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"is_test": True},
        {"decorators": ("app.route",)},
        {"name": "__call__"},
        {"name": "main"},
        {"vertex": 2},
    ],
)
def test_what_others_may_use_is_not_dead(changes: dict[str, object]) -> None:
    dead = replace(FUNCTION, name="forgotten", local_name="forgotten", vertex=9)
    uses = _uses((1, 2))

    assert dead_code.unused([dead], uses) == [dead]
    assert dead_code.unused([replace(dead, **changes)], uses) == []  # type: ignore[arg-type]


def test_a_family_of_methods_is_called_by_composed_names() -> None:
    family = [
        replace(FUNCTION, name=f"visit_{n}", local_name=f"Visitor.visit_{n}", vertex=10 + ord(n))
        for n in "abc"
    ]

    assert dead_code.unused(family, _uses((1, 2))) == []


def test_dead_is_only_what_is_written_nowhere_else() -> None:
    public = replace(FUNCTION, name="forgotten", local_name="forgotten")
    private = replace(FUNCTION, name="_hidden", local_name="_hidden")

    found = list(dead_code.find_unused([public, private], mentions={"forgotten": 1, "_hidden": 1}))

    assert [(one.severity, one.confidence) for one in found] == [
        (Severity.INFO, 0.5),
        (Severity.LOW, 0.9),
    ]
    assert not list(dead_code.find_unused([private], mentions={"_hidden": 2}))


def _uses(*pairs: tuple[int, int]) -> Uses:
    columns = np.array(pairs, dtype=np.int64)
    return Uses(sources=columns[:, 0], targets=columns[:, 1])
