"""The code in a browser: the picture by pointer and by keys, its table, symbols, time, insights."""

import pytest

SHOP = "/console/n/acme/r/shop"


pytestmark = pytest.mark.usefixtures("laid_out")


def drawn(page):
    page.wait_for_selector("#stage[data-drawn]")
    return int(page.locator("#stage").get_attribute("data-drawn"))


def drawn_anew(page, before):
    """Wait until another number of nodes is drawn: the page's policy forbids waiting by a text."""
    page.wait_for_selector(f'#stage[data-drawn]:not([data-drawn="{before}"])')


def test_the_picture_opens_tells_of_a_node_and_focuses(page, looks_right):
    page.goto(f"{SHOP}/graph?open=none")
    closed = drawn(page)
    page.goto(f"{SHOP}/graph?open=all")
    assert drawn(page) > closed
    stage = page.get_by_role("application", name="Picture of the graph")
    stage.focus()
    stage.press("n")
    page.locator("#inspector h2").first.wait_for()
    page.get_by_role("link", name="Open its page").wait_for()
    looks_right(page, "graph")

    stage.press("Enter")
    page.wait_for_url("**focus=**")
    assert drawn(page) >= 1
    assert "Around" in page.locator(".graph-note").inner_text()
    looks_right(page, "graph-focus")


def test_nodes_alone_are_drawn_while_the_picture_moves_and_answer_afterwards(page):
    page.goto(f"{SHOP}/graph?open=all")
    drawn(page)
    box = page.locator("#stage-canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, 120)
    page.locator("#stage-canvas.moves").wait_for()
    seen = "(name) => getComputedStyle(document.querySelector(`.sigma-${name}`)).visibility"
    assert [page.evaluate(seen, name) for name in ("nodes", "labels")] == ["visible", "hidden"]

    page.locator("#stage-canvas:not(.moves)").wait_for()
    place = page.evaluate(
        "(() => { const { drawing } = window.codememPicture;"
        " return drawing.framedGraphToViewport("
        "drawing.getNodeDisplayData('sym:shop/billing.py#Invoice')); })()"
    )
    page.mouse.click(box["x"] + place["x"], box["y"] + place["y"])
    page.locator("#inspector h2", has_text="Invoice").wait_for()


def test_a_group_opens_by_its_button(page):
    page.goto(f"{SHOP}/graph?open=none")
    closed = drawn(page)
    stage = page.get_by_role("application", name="Picture of the graph")
    stage.focus()
    stage.press("n")
    page.get_by_role("button", name="Open this group").click()
    drawn_anew(page, closed)
    assert "open=" in page.url


def test_a_symbol_is_gone_to_by_its_name(page):
    page.goto(f"{SHOP}/graph")
    drawn(page)
    page.get_by_label("Go to a symbol or file").press_sequentially("total", delay=20)
    first = page.locator("#graph-suggestions a").first
    first.wait_for()
    first.click()
    page.wait_for_url("**focus=**")
    drawn(page)


def test_the_table_says_what_the_picture_shows(page, looks_right):
    page.goto(f"{SHOP}/graph?open=all")
    nodes = drawn(page)
    page.get_by_role("link", name="Table", exact=True).click()
    page.get_by_role("columnheader", name="Edges here").wait_for()
    assert page.locator("tbody tr").count() == min(nodes, 100)
    looks_right(page, "graph-table")


def test_a_symbol_is_found_and_read(page, looks_right):
    page.goto(f"{SHOP}/symbols")
    looks_right(page, "symbols")
    page.get_by_label("Search symbols").fill("total")
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator("tbody a").first.click()
    page.get_by_role("heading", name="Used by").wait_for()
    looks_right(page, "symbol")
    page.get_by_role("link", name="Whole file").click()
    page.get_by_role("heading", name="Outline").wait_for()
    looks_right(page, "file")


def test_time_is_walked_through(page, looks_right):
    page.goto(f"{SHOP}/history")
    page.get_by_role("heading", name="Commits by week").wait_for()
    looks_right(page, "history")
    page.get_by_role("link", name="As it was").click()
    now = drawn(page)
    slider = page.get_by_label("The code as of")
    slider.focus()
    slider.press("Home")
    drawn_anew(page, now)
    assert drawn(page) < now
    looks_right(page, "history-past")


def test_two_points_in_time_are_compared(page, looks_right):
    page.goto(f"{SHOP}/history/past")
    first = page.locator("#station-list li").first.get_attribute("data-sha")
    page.goto(f"{SHOP}/history/drift?from={first}")
    assert drawn(page) > 0
    page.get_by_role("heading", name="Appeared").wait_for()
    looks_right(page, "drift")


@pytest.mark.parametrize("view", ["", "/health", "/security", "/performance"])
def test_insights_are_told(view, page, looks_right):
    page.goto(f"{SHOP}/insights{view}")
    page.get_by_role("heading", name="Insights").wait_for()
    looks_right(page, f"insights{view.replace('/', '-')}")
