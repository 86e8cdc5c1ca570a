"""How long a hook holds up an agent: 2,000 events of fifty agents at once, over gunicorn.

    python -m tests.bench.hooks [--agents 50] [--events 40] [--pause 1.0] [--shim PATH] [--stopped]

Run on a database of its own (DATABASE_URL): it makes a namespace with rules, preferences and 120
memories, and deletes nothing. Each agent runs through a session: it starts, prompts, is about to
use tools and uses them, stops, is compacted, ends; between two events it thinks for `--pause`
seconds on average (0: not at all, which no agents do). With `--shim` each event goes through the
script that clients run, a process for each; with `--stopped` the server is ended before. Prints
milliseconds for each event as the agent waits for them; nothing is asserted.
"""

import argparse
import http.client
import json
import os
import random
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
django.setup()

from django.utils import timezone  # noqa: E402

from codemem.accounts import services as accounts  # noqa: E402
from codemem.accounts.models import User  # noqa: E402
from memory.services import store_memory  # noqa: E402
from tests import factories  # noqa: E402
from tests.servers import free_port, running_server  # noqa: E402

# How the shim takes each event; what it only tells it sends in the background.
ASKED = {
    "SessionStart": "open",
    "UserPromptSubmit": "ask",
    "PreToolUse": "ask",
}
_WARM_UP = 40
_STARTS_WITHIN = 20  # pauses: agents do not all start at once
_MEMORIES = 120
Event = dict[str, Any]
Send = Callable[[Event], float]


def main() -> None:
    options = _options()
    now = timezone.now()
    remote, token = _team(now)
    port = free_port()
    directory = Path(tempfile.mkdtemp(prefix="codemem-hooks-"))
    with ExitStack() as held:
        url = f"http://127.0.0.1:{port}"
        if not options.stopped:
            workers = int(os.environ.get("CODEMEM_WEB_WORKERS") or 2)
            held.enter_context(running_server(port=port, environment={}, workers=workers))
            warm = _sender(port, token, remote, agent=0)
            for event in list(_session("warm-up", _WARM_UP, seed=0)):
                warm(event)
        if options.shim:
            taken = _run(
                options,
                lambda number: _shim(
                    options.shim, directory / str(number), url=url, token=token, remote=remote
                ),
            )
        else:
            taken = _run(options, lambda number: _sender(port, token, remote, agent=number))
    _print(taken, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--events", type=int, default=40, help="of each agent")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds, on average")
    parser.add_argument("--shim", type=Path, help="the script that clients run for each event")
    parser.add_argument("--stopped", action="store_true", help="the server is away")
    options = parser.parse_args()
    if options.stopped and not options.shim:
        parser.error("--stopped is about what the shim does: pass --shim")
    return options


def _team(now: Any) -> tuple[str, str]:
    """Return the remote and the token of a member of a team that knows something."""
    user = User.objects.filter(username="bench-hooks").first()
    user = user or factories.make_user("bench-hooks")
    # Another one for each run: what earlier ones left does not count.
    name = f"bench-hooks-{now:%Y%m%d%H%M%S}"
    namespace = factories.make_namespace(name, owner=user)
    repository = factories.make_repository(namespace, "ledger", created_by=user)
    token = accounts.issue_token(
        user=user, name="bench", actor=user, now=now, expires_at=now + timedelta(hours=1)
    )
    caller = accounts.authenticate_token(secret=token.secret, now=now, ip=None)
    for number in range(_MEMORIES):
        kind = {0: "rule", 1: "preference"}.get(number % 30, "insight")
        store_memory(
            caller=caller,
            namespace_id=namespace.pk,
            repository_id=repository.pk,
            content=f"Part {number} of the ledger is kept in module{number % 40}.py as it stands.",
            memory_type=kind,
            is_distinct=True,
            now=now,
        )
    return repository.url, token.secret


def _session(name: str, count: int, *, seed: int) -> Iterator[Event]:
    """Yield the events of one agent's session, `count` in all."""
    chance = random.Random(seed)
    base = {"session_id": name, "cwd": "/home/dev/app", "permission_mode": "default"}
    yield {**base, "hook_event_name": "SessionStart", "source": "startup", "model": "bench"}
    last = [
        {"hook_event_name": "PreCompact", "trigger": "auto"},
        {
            "hook_event_name": "PostCompact",
            "trigger": "auto",
            "compact_summary": "Half done. " * 40,
        },
        {"hook_event_name": "Stop", "last_assistant_message": "All of it is done now. " * 40},
        {"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"},
    ]
    number = 0
    while number < count - 1 - len(last):
        if number % 12 == 0:
            prompt = f"Mend part {number} of the ledger, it rounds twice in {seed}"
            yield {**base, "hook_event_name": "UserPromptSubmit", "prompt": prompt}
        else:
            yield {**base, **_tool(chance, number)}
        number += 1
    for event in last:
        yield {**base, **event}


def _tool(chance: random.Random, number: int) -> Event:
    path = f"/home/dev/app/src/module{chance.randrange(40)}.py"
    text = "def part(ledger):\n    return round(ledger.total, 2)\n" * chance.randrange(1, 60)
    kind = chance.choice(["Read", "Edit", "Edit", "Bash", "Bash", "failure"])
    tool: Event = {"tool_name": "Bash" if kind == "failure" else kind, "tool_use_id": f"t{number}"}
    if kind in {"Read", "Edit"}:
        tool["tool_input"] = {"file_path": path, "old_string": "round(x)", "new_string": text}
        tool["tool_response"] = {"filePath": path, "content": text}
    else:
        tool["tool_input"] = {"command": f"pytest tests/test_module{chance.randrange(40)}.py"}
        tool["tool_response"] = {"stdout": text * 3, "stderr": "", "interrupted": False}
    if kind != "Read" and chance.random() < 0.5:
        del tool["tool_response"]
        return {**tool, "hook_event_name": "PreToolUse"}
    if kind == "failure":
        error = f"Exit code 1\nAssertionError: part {number} is rounded twice\n{text}"
        return {**tool, "hook_event_name": "PostToolUseFailure", "error": error}
    return {**tool, "hook_event_name": "PostToolUse"}


def _sender(port: int, token: str, remote: str, *, agent: int) -> Send:
    """Return what sends an event over one connection of this agent."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    opening = {
        "Codemem-Remote": remote,
        "Codemem-Ref": f"branch-{agent % 5}",
        "Codemem-Directory": "/home/dev/app",
    }

    def send(event: Event) -> float:
        is_start = event["hook_event_name"] == "SessionStart"
        body = json.dumps(event)
        started = time.perf_counter()
        connection.request(
            "POST", "/hooks/claude-code", body, headers | (opening if is_start else {})
        )
        answer = connection.getresponse()
        content = answer.read()
        seconds = time.perf_counter() - started
        if answer.status != http.client.OK:
            raise SystemExit(f"{answer.status}: {content[:300]!r}")
        return seconds * 1000

    return send


def _shim(script: Path, home: Path, *, url: str, token: str, remote: str) -> Send:
    """Return what runs the clients' script for an event, in a home of this agent's own."""
    home.mkdir(parents=True)
    script = script.resolve()
    checkout = home / "app"
    subprocess.run(("git", "init", "-q", str(checkout)), check=True)
    subprocess.run(("git", "-C", str(checkout), "remote", "add", "origin", remote), check=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "CODEMEM_URL": url,
        "CODEMEM_TOKEN": token,
        "CODEMEM_NAMESPACE": "",
    }

    def send(event: Event) -> float:
        name = event["hook_event_name"]
        body = json.dumps({**event, "cwd": str(checkout)}).encode()
        started = time.perf_counter()
        subprocess.run(
            ("sh", str(script), ASKED.get(name, "tell"), "claude-code", name),
            input=body,
            stdout=subprocess.DEVNULL,
            env=environment,
            cwd=checkout,
            check=True,
        )
        return (time.perf_counter() - started) * 1000

    return send


def _run(options: argparse.Namespace, how: Callable[[int], Send]) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = defaultdict(list)

    def live(number: int) -> list[tuple[str, float]]:
        send, chance = how(number), random.Random(number)
        time.sleep(chance.random() * _STARTS_WITHIN * options.pause)
        told = []
        for event in _session(f"agent-{number}-{os.getpid()}", options.events, seed=number):
            told.append((event["hook_event_name"], send(event)))
            time.sleep(chance.random() * 2 * options.pause)
        return told

    with ThreadPoolExecutor(options.agents) as threads:
        for told in threads.map(live, range(1, options.agents + 1)):
            for name, milliseconds in told:
                taken[name].append(milliseconds)
    return taken


def _print(taken: dict[str, list[float]], options: argparse.Namespace) -> None:
    through = "the shim" if options.shim else "HTTP"
    away = ", server stopped" if options.stopped else ""
    print(f"{options.agents} agents, {options.pause} s of thought, through {through}{away}")
    print(f"{'event':22}{'events':>8}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'most':>9}")
    everything = [one for times in taken.values() for one in times]
    asked = [one for name in ASKED for one in taken.get(name, [])]
    for name, times in [*sorted(taken.items()), ("waited for", asked), ("all", everything)]:
        shown = "".join(f"{_percentile(times, share):9.1f}" for share in (0.5, 0.95, 0.99, 1))
        print(f"{name:22}{len(times):8}{shown}")


def _percentile(times: list[float], share: float) -> float:
    ordered = sorted(times)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


if __name__ == "__main__":
    main()
