"""A browser before the console: Debian's Chromium on a server over the test database.

The server runs in this process, on the database that pytest made; its rows are made once for all
tests of the folder and deleted afterwards. CHROMIUM names another browser of that kind.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import pytest
from django.conf import settings as django_settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.core.management import call_command
from django.db import connections
from django.test import override_settings
from django.urls import Resolver404, resolve
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright
from pytest_django.live_server_helper import LiveServer

from codemem.accounts.models import User
from graph import services as graph
from indexing.findings import analysis
from tests.browser.demo import Demo, ids_of, make_demo
from tests.browser.pages import pages
from tests.console.library import Told, tell

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / ".local" / "screenshots"
DESKTOP = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=390, height=844)
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PATIENCE_MS = 30_000
# What a page must be free of; "minor" ones are told nobody.
_SERIOUS = {"moderate", "serious", "critical"}
_RULES_OF_COLOR = ("color-contrast", "link-in-text-block")


Made = TypeVar("Made")


def in_database(work: Callable[[], Made]) -> Made:
    """Return what `work` makes of the database, in a thread: Playwright's loop is in this one."""

    def working() -> Made:
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(working).result()


@dataclass
class Seen:
    """What went wrong in a page, by its own account."""

    troubles: list[str] = field(default_factory=list)


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("console")
    with override_settings(
        # Pages load this checkout's own files, whatever was collected before.
        STATIC_ROOT=folder / "static",
        MIRRORS_DIRECTORY=folder / "mirrors",
        LOCAL_REPOSITORY_ROOTS=(folder.resolve(),),
        EXTRACTION_PROCESSES=1,
    ):
        (folder / "static").mkdir()
        running = LiveServer("127.0.0.1")
        running._live_server_modified_settings.enable()
        yield running.url
        running._live_server_modified_settings.disable()
        running.stop()


@pytest.fixture(scope="package")
def demo(
    server: str, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any
) -> Iterator[Demo]:
    """Return the rows that every page shows; tests may change them, and tell each other so."""
    folder = Path(django_settings.MIRRORS_DIRECTORY).parent
    with django_db_blocker.unblock():
        try:
            yield in_database(lambda: make_demo(folder))
        finally:
            in_database(_forget)


@pytest.fixture(scope="package")
def told(demo: Demo, django_db_blocker: Any) -> Told:
    """Return one of everything, the owner's own, with text that wants to be more than text."""
    with django_db_blocker.unblock():
        return in_database(
            lambda: tell(demo.namespace, demo.repository, demo.owner, demo.maintainer)
        )


@pytest.fixture(scope="package")
def laid_out(demo: Demo, django_db_blocker: Any) -> None:
    """Have the shop drawn and analyzed, as workers would after its push."""
    repository_id = demo.repository.pk

    def work() -> None:
        graph.lay_out_repository(repository_id=repository_id)
        analysis.analyze(repository_id=repository_id, now=timezone.now())

    with django_db_blocker.unblock():
        in_database(work)


@pytest.fixture(scope="package")
def all_pages(demo: Demo, told: Told, laid_out: None, django_db_blocker: Any) -> dict[str, str]:
    """Return the address of every page, by name."""
    with django_db_blocker.unblock():
        return in_database(lambda: pages(demo=demo, told=told, ids=ids_of(demo)))


def _forget() -> None:
    call_command("flush", verbosity=0, interactive=False, inhibit_post_migrate=True)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


@contextmanager
def browsing() -> Iterator[Browser]:
    """Start Debian's Chromium, or the one that CHROMIUM names."""
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        pytest.fail("There is no Chromium: `apt-get install chromium`, or set CHROMIUM to one.")
    # Graphs are drawn by WebGL, here without a graphics card; root has no sandbox.
    options = ["--no-sandbox", "--enable-unsafe-swiftshader", "--use-angle=swiftshader"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@pytest.fixture
def db() -> None:
    """Say by name that these tests need the test database: its rows are the folder's, not a test's.

    pytest-django's own fixture would open a transaction, which the server could not see.
    """


@pytest.fixture
def seen() -> Seen:
    """Return what the console of the browser said; a test that expects trouble clears it."""
    return Seen()


@pytest.fixture
def context(chromium: Browser, server: str, db: None) -> Iterator[BrowserContext]:
    """Return a browser that nobody is signed in to."""
    context = chromium.new_context(base_url=server, viewport=DESKTOP, locale="en-US")
    context.set_default_timeout(_PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture
def stranger(context: BrowserContext, demo: Demo, seen: Seen) -> Iterator[Page]:
    """Return a page that nobody is signed in to."""
    yield watched(context.new_page(), seen)
    assert seen.troubles == []


@pytest.fixture
def page(context: BrowserContext, demo: Demo, server: str, seen: Seen) -> Iterator[Page]:
    """Return a page of ada's, who owns the namespace acme."""
    sign_in(context, demo.owner, server)
    yield watched(context.new_page(), seen)
    assert seen.troubles == []


def sign_in(context: BrowserContext, user: User, server: str) -> None:
    """Have a browser's session be a person's, without the half second that a password costs."""
    store = import_module(django_settings.SESSION_ENGINE).SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = django_settings.AUTHENTICATION_BACKENDS[0]
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    in_database(store.save)
    name, key = django_settings.SESSION_COOKIE_NAME, store.session_key
    context.add_cookies([{"name": name, "value": key, "url": server}])


@pytest.fixture
def screenshot(page: Page) -> Any:
    """Return `screenshot(name)`: the page as it is, into .local/screenshots/NAME.png."""
    return lambda name: _shoot(page, name)


@pytest.fixture(scope="package")
def looked_at() -> set[str]:
    """Return the names of the console's pages that were looked at so far."""
    return set()


@pytest.fixture
def looks_right(looked_at: set[str]) -> Any:
    """Return `looks_right(page, name)`: axe, no sideways scrolling, and pictures of the looks.

    Light and dark, at 1280 pixels and on a phone: NAME.png, NAME-dark.png, NAME-phone.png.
    """

    def looks_right(page: Page, name: str) -> None:
        _looks_right(page, name)
        looked_at.add(_name_of(page))

    return looks_right


def _name_of(page: Page) -> str:
    try:
        return resolve(unquote(urlsplit(page.url).path)).url_name or ""
    except Resolver404:
        return ""


def _looks_right(page: Page, name: str) -> None:
    wrong = []
    for size, width in ((DESKTOP, ""), (PHONE, "-phone")):
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            look = f"{name}{width}{'-dark' if scheme == 'dark' else ''}"
            page.emulate_media(color_scheme=scheme)
            if look != f"{name}-phone-dark":
                _shoot(page, look)
            # Light and dark differ in colors only.
            rules = None if scheme == "light" else _RULES_OF_COLOR
            wrong += [f"{look}: {one}" for one in serious(page, rules=rules)]
        if overflow(page) > 0:
            wrong.append(f"{name}{width} scrolls sideways")
    page.set_viewport_size(DESKTOP)
    page.emulate_media(color_scheme="light")
    assert wrong == []


def serious(page: Page, *, rules: tuple[str, ...] | None = None) -> list[str]:
    """Return what axe finds wrong with a page, as sentences, by some of its rules or by all."""
    script = (django_settings.VENDOR_DIRECTORY / "axe.min.js").read_text()
    # Evaluated by the debugger: the page's own policy lets no such script in.
    if not page.evaluate("'axe' in window"):
        page.evaluate(script + "; undefined")
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    found = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in _SERIOUS
    ]


def milliseconds(page: Page) -> float:
    """Return how long the page took from the click until everything was loaded."""
    return float(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))


def overflow(page: Page) -> int:
    script = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    return int(page.evaluate(script))


def _shoot(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    # From its top: what sticks would be drawn where the page was scrolled to.
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True, animations="disabled")


def watched(page: Page, seen: Seen) -> Page:
    def hear(message: Any) -> None:
        if message.type in {"error", "warning"}:
            seen.troubles.append(f"{urlsplit(page.url).path}: {message.text}")

    page.on("console", hear)
    page.on("pageerror", lambda error: seen.troubles.append(f"{page.url}: {error}"))
    return page
