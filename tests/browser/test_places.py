"""A walk through namespaces, repositories, runs, jobs and settings, as a team lead would."""

import statistics

from tests.browser.conftest import milliseconds


def test_the_dashboard_says_what_to_look_at(page, looks_right):
    page.goto("/console/")
    assert page.get_by_role("link", name="warehouse could not be indexed").is_visible()
    assert page.get_by_text("Refunds are negative charges, so that").first.is_visible()
    looks_right(page, "dashboard")

    page.get_by_role("link", name="shop", exact=True).click()
    page.wait_for_url("**/console/n/acme/r/shop")
    assert page.get_by_text("What most of it rests on").is_visible()
    looks_right(page, "repository")


def test_a_person_with_nothing_is_told_how_to_begin(context, demo, server, page, looks_right):
    page.goto("/console/n")
    page.get_by_role("textbox", name="Name").fill("lab")
    page.get_by_role("button", name="Make it").click()
    page.wait_for_url("**/console/n/lab/repositories")
    assert "No repository yet" in page.content()
    looks_right(page, "repositories-empty")

    page.goto("/console/n/lab")
    looks_right(page, "dashboard-empty")
    page.goto("/console/n")
    looks_right(page, "namespaces")

    page.goto("/console/n/lab/settings/delete")
    looks_right(page, "namespace-delete")
    page.get_by_role("textbox").last.fill("lab")
    page.get_by_role("button", name="Delete lab for good").click()
    page.wait_for_url("**/console/erasures/**")
    looks_right(page, "erasure")


def test_a_repository_is_indexed_while_one_watches(page, demo, looks_right):
    page.goto("/console/n/acme/r/warehouse/runs")
    page.get_by_role("button", name="Index now").click()
    page.get_by_text("A worker indexes the default branch now.").wait_for()
    looks_right(page, "runs")
    page.get_by_role("link", name="default branch, just now").first.click()
    page.get_by_role("heading", name="How far it is").wait_for()
    looks_right(page, "run")

    page.goto("/console/n/acme/r/shop/branches")
    looks_right(page, "branches")
    page.goto("/console/n/acme/repositories")
    looks_right(page, "repositories")


def test_a_webhooks_secret_is_shown_once(page, looks_right):
    page.goto("/console/n/acme/r/shop")
    page.get_by_role("button", name="Show address and secret").click()
    page.locator("#secret").wait_for()
    looks_right(page, "repository-webhook")

    page.goto("/console/n/acme/r/shop")
    assert page.locator("#secret").count() == 0


def test_a_setting_is_changed_and_taken_back(page, looks_right):
    page.goto("/console/n/acme/settings")
    page.get_by_label("recall.floor", exact=True).fill("0.6")
    page.get_by_label("Set recall.floor").click()
    page.get_by_text("recall.floor is 0.6 now.").wait_for()
    looks_right(page, "settings")
    page.get_by_label("Take recall.floor back to its default").click()
    page.get_by_text("recall.floor is 0.4 now.").wait_for()


def test_members_and_the_trail_of_what_was_done(page, looks_right):
    page.goto("/console/n/acme/members")
    page.get_by_label("Role of linus", exact=True).select_option("writer")
    page.get_by_label("Set the role of linus").click()
    page.get_by_text("linus is writer now.").wait_for()
    looks_right(page, "members")
    page.get_by_role("button", name="Remove linus").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert page.get_by_label("Role of linus", exact=True).is_visible()

    page.goto("/console/n/acme/audit?action=member")
    assert page.get_by_text("member.set_role").first.is_visible()
    looks_right(page, "audit")


def test_jobs_and_figures(page, looks_right):
    page.goto("/console/jobs")
    assert page.get_by_text("The git host does not answer").is_visible()
    looks_right(page, "jobs")
    page.goto("/console/n/acme/figures")
    looks_right(page, "figures")


def test_everything_is_found_by_keyboard(page, screenshot):
    page.goto("/console/n/acme")
    page.keyboard.press("/")
    page.keyboard.type("cents")
    page.locator("#palette-results a", has_text="Invoice totals are whole cents").wait_for()
    screenshot("palette")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.get_by_label("Find a page, repository, symbol or memory").fill("memb")
    page.locator("#palette-results a.chosen", has_text="Members").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/n/acme/members")


def test_dark_is_chosen_and_kept(page):
    page.goto("/console/")
    light = page.evaluate("getComputedStyle(document.body).color")
    page.get_by_label("Light or dark").click()
    page.goto("/console/jobs")

    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).color") != light


def test_a_page_that_is_not_there_says_so(page, seen, looks_right):
    page.goto("/console/n/nobodys")
    looks_right(page, "not-found")
    assert page.get_by_role("heading", name="No such page").is_visible()
    # The browser speaks of the answer's status, 404.
    assert len(seen.troubles) == 1
    seen.troubles.clear()


def test_pages_are_there_within_a_second(page):
    addresses = ("", "n/acme", "n/acme/repositories", "n/acme/r/shop", "n/acme/settings", "jobs")
    took = []
    for address in addresses:
        page.goto(f"/console/{address}")
        first = milliseconds(page)
        page.goto(f"/console/{address}")
        took.append(min(first, milliseconds(page)))

    # The better of two visits, and the median: the machine may be busy with other tests just now.
    assert statistics.median(took) < 1_000
