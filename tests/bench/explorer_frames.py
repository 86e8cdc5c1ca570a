"""How smooth the graph explorer is: 2,000 nodes drawn from 200,000, in headless Chromium.

    python -m tests.bench.explorer_frames [--symbols 182000] [--edges 1000000] [--seconds 3]

Works in a database that DATABASE_URL names: empty, or what an earlier run made. Says how soon the
picture is there, and how long frames take (requestAnimationFrame) while a pointer pans, zooms and
hovers. Without a graphics card Chromium draws WebGL in software (SwiftShader), so the same pointer
over a page without a picture, and over 500 of the nodes, stand beside. Nothing is asserted.
"""

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any, Final

import django

_NAMESPACE: Final = "explorer"
_REPOSITORY: Final = "large"
_FEW: Final = 500
_STEP_SECONDS: Final = 0.008  # a pointer tells of itself 125 times a second
# When the picture is there, and the times of all frames while `frames` is a list.
_WATCH: Final = """
addEventListener("DOMContentLoaded", () => {
  const stage = document.querySelector("#stage");
  if (stage) new MutationObserver((_, watching) => {
    if (!stage.dataset.drawn) return;
    watching.disconnect();
    const note = () => { window.pictureAt = performance.now(); };
    requestAnimationFrame(() => requestAnimationFrame(note));
  }).observe(stage, { attributes: true });
});
window.frames = null;
(function tick(now) { window.frames?.push(now); requestAnimationFrame(tick); })(0);
"""
_DATA_THERE: Final = """
(() => {
  const loaded = performance.getEntriesByType("resource");
  const data = loaded.find((one) => one.name.includes("/columns"));
  return [data.responseStart - data.requestStart, data.responseEnd];
})()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """What one kind of movement looked like."""

    per_second: float
    median_ms: float
    late_ms: float  # a frame of twenty is later
    longest_ms: float

    @classmethod
    def of(cls, times: list[float]) -> "Frames":
        took = sorted(after - before for before, after in pairwise(times))
        return cls(
            per_second=1_000 * len(took) / sum(took),
            median_ms=statistics.median(took),
            late_ms=took[int(len(took) * 0.95)],
            longest_ms=took[-1],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--symbols", type=int, default=182_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=3.0, help="How long each movement takes.")
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    from tests.browser.conftest import browsing
    from tests.servers import free_port, running_server

    owner = _loaded(symbols=arguments.symbols, edges=arguments.edges)
    served = running_server(port=free_port(), environment={})
    with served as server, browsing() as browser:
        _measure(browser, server, owner, arguments.seconds)


def _loaded(*, symbols: int, edges: int) -> Any:
    """Return who may see the repository, made and laid out unless an earlier run did."""
    from codemem.accounts.models import User
    from tests import factories

    if found := User.objects.filter(username=_NAMESPACE).first():
        return found
    started = perf_counter()
    owner = factories.make_user(_NAMESPACE)
    _load(owner, symbols=symbols, edges=edges)
    print(f"{symbols:,} symbols, {edges:,} edges: made in {perf_counter() - started:.0f} s")
    return owner


def _load(owner: Any, *, symbols: int, edges: int) -> None:
    from django.db import connection, transaction

    from graph import cypher
    from graph import services as graph
    from tests import factories
    from tests.bench.code_graph import make_code_graph
    from tests.bench.code_rows import analyze, copy_code

    namespace = factories.make_namespace(_NAMESPACE, owner=owner)
    repository = factories.make_repository(namespace, _REPOSITORY, created_by=owner)
    code = make_code_graph(symbols=symbols, edges=edges, shares=(1.0,))
    schema = cypher.graph_name(namespace.pk)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("SET synchronous_commit = off")
        with transaction.atomic():
            copy_code(cursor, code=code, graph=schema, repository_ids=[repository.pk])
        analyze(cursor, graph=schema)
    graph.rank_repository(repository_id=repository.pk)
    graph.lay_out_repository(repository_id=repository.pk)


def _measure(browser: Any, server: str, owner: Any, seconds: float) -> None:
    from tests.browser.conftest import DESKTOP, sign_in

    address = f"/console/n/{_NAMESPACE}/r/{_REPOSITORY}/graph?open=all"
    context = browser.new_context(base_url=server, viewport=DESKTOP, locale="en-US")
    sign_in(context, owner, server)
    context.add_init_script(_WATCH)
    print(f"{'picture':>32}{'data':>8}{'there':>8} milliseconds after the address was given")
    _open(context.new_page(), address, "first in its process")
    page = context.new_page()
    _open(page, address, "again")
    few = context.new_page()
    few.route("**/graph/columns*", _only_a_few)
    _open(few, address, f"{_FEW} nodes")
    empty = context.new_page()
    empty.goto("/console/jobs")
    print(f"\n{'frames':>32}{'fps':>8}{'median':>8}{'95 %':>8}{'longest':>8} milliseconds")
    for name, movement in _MOVEMENTS.items():
        for what, where in (("no picture", empty), (f"{_FEW} nodes", few), ("2,000 nodes", page)):
            frames = _frames_while(where, movement, seconds)
            print(
                f"{f'{name}, {what}':>32}{frames.per_second:8.1f}{frames.median_ms:8.1f}"
                f"{frames.late_ms:8.1f}{frames.longest_ms:8.1f}",
                flush=True,
            )
    context.close()


def _open(page: Any, address: str, what: str) -> None:
    page.goto(address)
    # The page's policy forbids Playwright's own way to wait for a value.
    while not page.evaluate("window.pictureAt ?? 0"):
        page.wait_for_timeout(50)
    waited, data = page.evaluate(_DATA_THERE)
    drawn = page.locator("#stage-status").inner_text()
    there = page.evaluate("window.pictureAt")
    print(f"{what:>32}{data:8.0f}{there:8.0f} ({drawn}; the server took {waited:.0f})", flush=True)


def _only_a_few(route: Any) -> None:
    """Answer with the largest nodes of the picture, and the edges among them."""
    answer = route.fetch()
    columns = answer.json()
    nodes, edges = columns["nodes"], columns["edges"]
    sizes = nodes["size"]
    kept = sorted(range(len(sizes)), key=lambda slot: -sizes[slot])[:_FEW]
    slot_of = {slot: number for number, slot in enumerate(kept)}
    among = [
        number
        for number, ends in enumerate(zip(edges["source"], edges["target"], strict=True))
        if all(end in slot_of for end in ends)
    ]
    columns["nodes"] = {name: [values[slot] for slot in kept] for name, values in nodes.items()}
    columns["edges"] = {name: [values[slot] for slot in among] for name, values in edges.items()}
    for end in ("source", "target"):
        columns["edges"][end] = [slot_of[slot] for slot in columns["edges"][end]]
    route.fulfill(response=answer, body=json.dumps(columns))


def _frames_while(
    page: Any, movement: "Callable[[Any, dict[str, float], float], None]", seconds: float
) -> Frames:
    page.bring_to_front()
    place = page.locator("#stage-canvas, main").last
    box = place.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_timeout(500)
    page.evaluate("window.frames = []")
    movement(page, box, seconds)
    return Frames.of(page.evaluate("window.frames"))


def _pan(page: Any, box: dict[str, float], seconds: float) -> None:
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.down()
    for share in _steps(seconds):
        # There and back, and a little up and down.
        page.mouse.move(x + _swing(share * 3) * box["width"] / 4, y + _swing(share * 5) * 60)
    page.mouse.up()


def _zoom(page: Any, box: dict[str, float], seconds: float) -> None:
    for share in _steps(seconds):
        page.mouse.wheel(0, -40 if share < 0.5 else 40)
        page.wait_for_timeout(40)


def _hover(page: Any, box: dict[str, float], seconds: float) -> None:
    for share in _steps(seconds):
        page.mouse.move(
            box["x"] + box["width"] * (0.5 + 0.4 * _swing(share * 3)),
            box["y"] + box["height"] * (0.5 + 0.4 * _swing(share * 7)),
        )


_MOVEMENTS: Final = {"pan": _pan, "zoom": _zoom, "hover": _hover}


def _steps(seconds: float) -> Iterator[float]:
    """Yield the share of the time that is over, as often as a pointer would tell."""
    started = perf_counter()
    while (over := perf_counter() - started) < seconds:
        yield over / seconds
        rest = started + over + _STEP_SECONDS - perf_counter()
        if rest > 0:
            time.sleep(rest)


def _swing(turns: float) -> float:
    return math.sin(2 * math.pi * turns)


if __name__ == "__main__":
    main()
