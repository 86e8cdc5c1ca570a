"""Every page of the console with the longest texts, on a screen and on a phone."""

from pathlib import Path

import pytest
from django.conf import settings

from tests.browser.conftest import DESKTOP, PHONE, Seen, in_database, overflow, sign_in, watched
from tests.browser.extremes import FOUND, make_longest
from tests.browser.pages import ACTS, DOOR, PARTS, named_in_urls


@pytest.fixture(scope="module")
def longest(demo, django_db_blocker):
    """Return the pages of a namespace of its own; it goes when the demo goes."""
    folder = Path(settings.MIRRORS_DIRECTORY).parent
    with django_db_blocker.unblock():
        return in_database(lambda: make_longest(folder))


@pytest.fixture(scope="module")
def reader(chromium, server, longest):
    context = chromium.new_context(base_url=server, viewport=DESKTOP, locale="en-US")
    context.set_default_timeout(30_000)
    sign_in(context, longest.owner, server)
    seen = Seen()
    yield watched(context.new_page(), seen), seen
    context.close()


@pytest.mark.parametrize("name", [*sorted(named_in_urls() - {*PARTS, *ACTS, *DOOR}), *FOUND])
def test_no_text_is_too_long_for_a_page(name, reader, longest):
    page, seen = reader
    assert page.goto(longest.addresses[name]).status == 200
    over = {}
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        over[size["width"]] = overflow(page)
    page.set_viewport_size(DESKTOP)
    assert over == {1280: 0, 390: 0}
    assert seen.troubles == []
