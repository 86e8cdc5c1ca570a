from tests.browser.demo import PASSWORD


def test_a_person_signs_in_and_out(stranger, demo, looks_right):
    stranger.goto("/console/n/acme")
    looks_right(stranger, "sign-in")
    stranger.get_by_label("Name").fill("ada")
    stranger.get_by_label("Password").fill(PASSWORD)
    stranger.get_by_role("button", name="Sign in").click()

    stranger.wait_for_url("**/console/n/acme")
    stranger.get_by_label("Signed in as ada").click()
    stranger.get_by_role("button", name="Sign out").click()

    stranger.wait_for_url("**/console/sign-in")
    stranger.goto("/console/")
    assert "/console/sign-in" in stranger.url


def test_a_wrong_password_is_told(stranger, seen, demo, looks_right):
    stranger.goto("/console/sign-in")
    stranger.get_by_label("Name").fill("ada")
    stranger.get_by_label("Password").fill("guessed")
    stranger.get_by_role("button", name="Sign in").click()

    stranger.get_by_role("alert").wait_for()
    assert "do not belong together" in stranger.get_by_role("alert").inner_text()
    # The browser speaks of the answer's status, 401.
    assert len(seen.troubles) == 1
    seen.troubles.clear()


def test_tokens_are_shown_once_and_revoked(page, looks_right):
    page.goto("/console/tokens")
    page.get_by_role("textbox", name="Name").fill("laptop")
    page.get_by_role("button", name="Make the token").click()
    secret = page.locator("#secret").inner_text()
    looks_right(page, "tokens")

    page.goto("/console/tokens")
    assert secret.startswith("cm_")
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke laptop").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    assert "Revoked laptop" in page.get_by_role("status").inner_text()
