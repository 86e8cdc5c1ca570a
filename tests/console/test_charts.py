from codemem.console import charts


def test_the_highest_column_reaches_the_top_and_none_is_below_the_line():
    chart = charts.columns([0, 5, 10], ["a", "b", "c"], ticks=[(1, "May")])
    assert [one.height for one in chart.columns] == sorted(one.height for one in chart.columns)
    assert chart.columns[0].height == 0
    assert all(round(one.y + one.height, 2) == chart.base for one in chart.columns)
    assert {mark.text for mark in chart.scale} == {"10", "0", "May"}


def test_nothing_is_an_empty_chart():
    assert charts.columns([], []).columns == ()
    assert charts.scatter([]).dots == ()


def test_what_is_high_in_both_stands_in_the_upper_right_above_the_others():
    low, high = charts.Point(key="a", across=1, up=1), charts.Point(key="b", across=90, up=50)
    chart = charts.scatter([charts.Point(key="b", across=90, up=50, is_hot=True), low])
    assert [dot.key for dot in chart.dots] == ["a", high.key]
    one, other = chart.dots
    assert other.x > one.x
    assert other.y < one.y
