"""Memories, the queue, sessions and reviews, walked as a person would."""

HERE = "/console/n/acme"


def test_memories_are_listed_searched_and_explained(page, told, looks_right):
    page.goto(f"{HERE}/memories")
    looks_right(page, "memories")
    page.get_by_label("Type").select_option("rule")
    page.wait_for_url("**type=rule**")

    page.get_by_label("Ask what the team knows").fill("How are totals rounded?")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**q=How**")
    page.goto(f"{HERE}/memories?q=How+are+charges+rounded")
    assert page.locator(".score-parts dt").first.inner_text().strip() == "vector"
    looks_right(page, "memories-search")

    page.goto(f"{HERE}/memories?tag=nowhere")
    page.get_by_role("link", name="Show all that hold").click()
    page.get_by_role("link", name="Time line").click()
    page.get_by_role("heading", name="Time line").wait_for()
    looks_right(page, "timeline")


def test_a_memory_is_read_edited_pinned_and_retired(page, told, looks_right):
    page.goto(f"{HERE}/memories/{told.chained}")
    page.get_by_role("link", name="Edit").click()
    looks_right(page, "memory-edit")
    page.get_by_label("What is so").fill("Charges are rounded half even, since 2026.")
    page.get_by_label("Why it is changed").fill("The auditors said so.")
    page.get_by_role("button", name="Change it").click()
    assert "Changed: content" in page.get_by_role("status").inner_text()
    page.get_by_role("button", name="Pin", exact=True).click()
    page.get_by_role("button", name="Unpin").wait_for()
    looks_right(page, "memory")

    page.get_by_role("button", name="Retire", exact=True).click()
    page.locator("#confirm-yes").click()
    page.get_by_role("button", name="Restore").click()
    assert "It answers again." in page.get_by_role("status").inner_text()


def test_a_new_memory_tells_what_is_wrong_with_it_and_what_is_near(page, seen, told, looks_right):
    page.goto(f"{HERE}/memories/new")
    looks_right(page, "memory-new")
    page.get_by_label("What is so").fill("Refunds are negative charges, never deletions.")
    page.get_by_label("Code it rests on").fill("src/none.py")
    page.get_by_label("Repository", exact=True).select_option("shop")
    page.get_by_role("button", name="Store").click()
    # The browser speaks of the answer's status, 422, and what was typed is still there.
    page.get_by_role("alert").wait_for()
    seen.troubles.clear()
    page.get_by_label("Code it rests on").fill("sym:shop/billing.py#refund")
    page.get_by_role("button", name="Store").click()
    page.get_by_role("link", name="Open it").wait_for()
    looks_right(page, "memory-stored")
    page.get_by_role("link", name="Open it").click()
    page.get_by_text("The code as it is now").wait_for()
    looks_right(page, "memory-cited")


def test_the_queue_is_decided_by_keyboard(page, told, looks_right):
    page.goto(f"{HERE}/queue")
    looks_right(page, "queue")
    before = page.locator(".proposal").count()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("x")
    assert page.locator('.proposal:focus input[name="id"]').is_checked()
    page.keyboard.press("r")
    page.get_by_role("status").wait_for()
    assert "Turned down: 1" in page.get_by_role("status").inner_text()
    assert page.locator(".proposal").count() == before - 1


def test_a_session_is_looked_through(page, told, looks_right):
    page.goto(f"{HERE}/sessions")
    looks_right(page, "sessions")
    page.goto(f"{HERE}/sessions/{told.session}")
    page.get_by_text("pytest -q").first.wait_for()
    looks_right(page, "session")
    page.goto(f"{HERE}/sessions?q=ledger")
    looks_right(page, "sessions-found")


def test_handoffs_and_work_go_from_hand_to_hand(page, told, looks_right):
    page.goto(f"{HERE}/handoffs")
    page.get_by_role("button", name="Claim").first.click()
    page.get_by_role("heading", name="Claimed by you").wait_for()
    looks_right(page, "handoffs")
    page.get_by_role("link", name="Work", exact=True).click()
    page.get_by_label("Title").fill("Move the ledger")
    page.get_by_role("button", name="Open it").click()
    page.get_by_text("Move the ledger").wait_for()
    looks_right(page, "work")
    page.get_by_role("link", name="Known failures").click()
    looks_right(page, "failures")


def test_a_run_of_consolidation_is_read_and_undone(page, told, looks_right):
    page.goto(f"{HERE}/consolidation")
    looks_right(page, "consolidation")
    page.goto(f"{HERE}/consolidation/{told.run}")
    looks_right(page, "consolidation-run")
    page.get_by_role("button", name="Undo the run").click()
    page.locator("#confirm-yes").click()
    assert "Put back" in page.get_by_role("status").inner_text()


def test_a_review_is_explored_and_a_remark_dismissed(page, told, looks_right):
    page.goto(f"{HERE}/reviews")
    looks_right(page, "reviews")
    page.goto(f"{HERE}/reviews/{told.review}")
    looks_right(page, "review")
    page.get_by_placeholder("Why it does not matter").fill("Generated.")
    page.get_by_role("button", name="Dismiss").click()
    page.get_by_text("1 dismissed").click()
    page.get_by_role("button", name="Remark it again").wait_for()


def test_hostile_text_does_nothing(page, told):
    for place in (
        *("memories", "queue", "sessions", "reviews", "memories?q=alert"),
        *(f"memories/{told.shared}", f"sessions/{told.shared_session}", f"reviews/{told.review}"),
    ):
        page.goto(f"{HERE}/{place}")
        assert page.locator("img[src=x], main script, main b").count() == 0, place
        assert page.locator('a[href^="javascript"]').count() == 0, place
        assert "<script>alert(1)" in page.locator("main").inner_text(), place
