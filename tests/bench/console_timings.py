"""How soon a page of the console is there: a real gunicorn, Debian's Chromium, the demo's data.

    python -m tests.bench.console_timings [--visits 3]

Works in an empty database that DATABASE_URL names. For each page of the console the browser's own
performance API says when its first byte, its first content, its largest content and all of it was
there: once with nothing in the browser's cache ("first visit"), and the median of further visits.
Ends with 1 when a page took a second or more. The machine ought to be quiet.
"""

import argparse
import os
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import django

_LIMIT_MS: Final = 1_000
_SCRIPT: Final = """
async () => {
  // A page may be loaded before it is painted.
  const patience = performance.now() + 5000;
  const painted = () => performance.getEntriesByName("first-contentful-paint")[0];
  while (!painted() && performance.now() < patience)
    await new Promise((tell) => setTimeout(tell, 20));
  const largest = await new Promise((tell) => {
    let last = 0;
    new PerformanceObserver((list) => {
      for (const one of list.getEntries()) last = one.startTime;
    }).observe({ type: "largest-contentful-paint", buffered: true });
    setTimeout(() => tell(last), 100);
  });
  const way = performance.getEntriesByType("navigation")[0];
  return [painted()?.startTime ?? NaN, largest, way.loadEventEnd, way.responseStart];
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Milliseconds from asking for a page."""

    first_paint: float
    largest_paint: float
    loaded: float
    answered: float

    @property
    def worst(self) -> float:
        return max(self.first_paint, self.largest_paint, self.loaded)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--visits", type=int, default=3)
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    from tests.browser.conftest import browsing
    from tests.servers import free_port, running_server

    with tempfile.TemporaryDirectory() as folder:
        owner, addresses = _demo(Path(folder))
        served = running_server(port=free_port(), environment={})
        with served as server, browsing() as browser:
            slow = _measure(browser, server, owner, addresses, arguments.visits)
    if slow:
        raise SystemExit(f"A second or more: {', '.join(slow)}")


def _demo(folder: Path) -> tuple[Any, dict[str, str]]:
    from django.utils import timezone

    from graph import services as graph
    from indexing.findings import analysis
    from tests.browser.demo import ids_of, make_demo
    from tests.browser.pages import pages
    from tests.console.library import tell

    demo = make_demo(folder)
    told = tell(demo.namespace, demo.repository, demo.owner, demo.maintainer)
    graph.lay_out_repository(repository_id=demo.repository.pk)
    analysis.analyze(repository_id=demo.repository.pk, now=timezone.now())
    return demo.owner, pages(demo=demo, told=told, ids=ids_of(demo))


def _measure(
    browser: Any, server: str, owner: Any, addresses: dict[str, str], visits: int
) -> list[str]:
    """Print a row for each page; return the names of those that took a second."""
    # The server's first answer imports what all later ones use.
    _visits(browser, server, owner, next(iter(addresses.values())), 1)
    titles = ("TTFB", "FCP", "LCP", "load") * 2
    print(f"{'milliseconds':24}{'first visit':>28}{'median of further visits':>28}")
    print(f"{'page':24}" + "".join(f"{title:>7}" for title in titles))
    slow = []
    for name, address in addresses.items():
        first, *rest = _visits(browser, server, owner, address, visits + 1)
        usual = Timing(
            first_paint=statistics.median(one.first_paint for one in rest),
            largest_paint=statistics.median(one.largest_paint for one in rest),
            loaded=statistics.median(one.loaded for one in rest),
            answered=statistics.median(one.answered for one in rest),
        )
        figures = (
            *(first.answered, first.first_paint, first.largest_paint, first.loaded),
            *(usual.answered, usual.first_paint, usual.largest_paint, usual.loaded),
        )
        print(f"{name:24}" + "".join(f"{figure:7.0f}" for figure in figures), flush=True)
        if max(first.worst, usual.worst) >= _LIMIT_MS:
            slow.append(name)
    return slow


def _visits(browser: Any, server: str, owner: Any, address: str, count: int) -> list[Timing]:
    from tests.browser.conftest import DESKTOP, sign_in

    context = browser.new_context(base_url=server, viewport=DESKTOP, locale="en-US")
    sign_in(context, owner, server)
    page = context.new_page()
    timings = []
    for _ in range(count):
        page.goto(address)
        first, largest, loaded, answered = page.evaluate(_SCRIPT)
        timings.append(
            Timing(first_paint=first, largest_paint=largest, loaded=loaded, answered=answered)
        )
    context.close()
    return timings


if __name__ == "__main__":
    main()
