"""Every page of the console once: what its browser says, axe in light and dark, a phone's width.

Pages that other tests of the folder have looked at in this run are not looked at again.
"""

import pytest

from tests.browser.conftest import DESKTOP, Seen, sign_in, watched
from tests.browser.pages import ACTS, DOOR, PARTS, named_in_urls


def test_every_address_of_the_console_is_in_the_walk(all_pages):
    assert named_in_urls() == {*all_pages, *PARTS, *ACTS, *DOOR}


@pytest.fixture(scope="module")
def walker(chromium, server, demo):
    """Return one page of ada's for the whole walk, and what went wrong in it."""
    context = chromium.new_context(base_url=server, viewport=DESKTOP, locale="en-US")
    context.set_default_timeout(30_000)
    sign_in(context, demo.owner, server)
    walked = Seen()
    yield watched(context.new_page(), walked), walked
    context.close()


@pytest.mark.parametrize("name", sorted(named_in_urls() - {*PARTS, *ACTS, *DOOR}))
def test_every_page_is_in_order(name, walker, all_pages, looked_at, looks_right):
    page, walked = walker
    if name not in looked_at:
        assert page.goto(all_pages[name]).status == 200
        looks_right(page, name)
    assert name in looked_at
    assert walked.troubles == []


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_a_page_answers(part, page, all_pages):
    assert page.request.get(PARTS[part]).status == 200


def test_the_keyboard_alone_goes_everywhere(page):
    page.goto("/console/n/acme/members")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.goto("/console/n/acme/members")
    ways = []
    for _ in range(12):
        page.keyboard.press("Tab")
        ways.append(
            page.evaluate(
                "(() => { const it = document.activeElement; const look = getComputedStyle(it);"
                " return [it.tagName, look.outlineStyle !== 'none'"
                " || it.className === 'skip']; })()"
            )
        )
    assert all(is_seen for _tag, is_seen in ways), ways

    page.keyboard.press("Control+k")
    page.locator("#palette[open]").wait_for()
    assert page.evaluate("document.activeElement.id") == "palette-input"
    page.keyboard.press("Escape")
    page.locator("#palette").wait_for(state="hidden")
    page.get_by_label("Signed in as ada").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Your tokens").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Your tokens").wait_for(state="hidden")


def test_the_back_button_comes_back_to_a_whole_page(page):
    page.goto("/console/n/acme/r/shop/symbols")
    page.get_by_label("Search symbols").fill("total")
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator("tbody a").first.click()
    page.get_by_role("heading", name="Used by").wait_for()
    page.go_back()
    page.locator("tbody a").first.wait_for()
    assert page.locator(".topbar").count() == 1
    assert page.get_by_label("Search symbols").input_value() == "total"


def test_a_button_that_is_pressed_twice_sends_its_form_once(page):
    page.goto("/console/n/acme/work")
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else 0)
    page.get_by_label("Title").fill("Pressed twice")
    page.get_by_role("button", name="Open it").dblclick()
    page.get_by_text("Pressed twice").wait_for()
    assert len(sent) == 1
    assert page.get_by_text("Pressed twice").count() == 1


def test_a_form_of_a_page_that_was_signed_out_leads_back_to_it(page, context, seen):
    page.goto("/console/n/acme/handoffs/new")
    page.get_by_label("Where it stands").fill("Half of it is typed.")
    context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Offer it").click()
    page.get_by_text("You were signed out meanwhile").wait_for()
    assert "next=%2Fconsole%2Fn%2Facme%2Fhandoffs%2Fnew" in page.url


def test_a_handoff_is_written_for_a_colleague(page, looks_right):
    page.goto("/console/n/acme/handoffs")
    page.get_by_role("link", name="New handoff").click()
    page.get_by_label("Where it stands").fill("Vouchers are half done.")
    page.get_by_label("What comes next, one on a line").fill("Test them.\nShip them.")
    page.get_by_label("For whom").select_option("grace")
    page.get_by_label("Repository", exact=True).select_option("shop")
    looks_right(page, "handoff-typed")
    page.get_by_role("button", name="Offer it").click()
    page.get_by_text("It is offered to grace.").wait_for()
    assert page.get_by_text("Vouchers are half done.").is_visible()


def test_a_memory_is_erased_with_its_receipt(page, demo, looks_right):
    page.goto(f"/console/n/acme/memories/{demo.memories[-1]}")
    page.get_by_role("link", name="Erase it for good").click()
    looks_right(page, "memory-erase")
    page.get_by_label("Type or paste its id").fill(str(demo.memories[-1]))
    page.get_by_role("button", name="Erase for good").click()
    page.get_by_role("heading", name="Receipt: what was erased").wait_for()
    looks_right(page, "memory-erased")
