"""How long an agent waits for an answer about code: a real gunicorn, a token, random symbols.

    python -m tests.bench.http_latency NAMESPACE REPOSITORY [--index PATH] [--ref REF]
        [--questions 300]

Reads a repository that is indexed already in the database that DATABASE_URL names, or that is
indexed from PATH first (for the figures in ARCHITECTURE.md: Django's source). Prints milliseconds
from request to last byte, over one persistent connection; nothing is asserted. On a busy machine
root gets figures of a quiet one with `chrt --rr 1`.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import django

QUESTIONS = {
    "get_symbol_info": lambda node: ("get_symbol_info", {"qualified_name": node}),
    "get_symbol_graph": lambda node: ("get_symbol_graph", {"qualified_name": node}),
    "get_symbol_graph, depth 2": lambda node: (
        "get_symbol_graph",
        {"qualified_name": node, "depth": 2},
    ),
    "get_symbol_graph, depth 3, in": lambda node: (
        "get_symbol_graph",
        {"qualified_name": node, "depth": 3, "direction": "in"},
    ),
    "graph_traverse": lambda node: ("graph_traverse", {"start_id": node}),
}
_WARM_UP = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("namespace")
    parser.add_argument("repository")
    parser.add_argument(
        "--index", type=Path, help="a Git repository to index under that name first"
    )
    parser.add_argument("--ref", help="a branch that is indexed; default: the default branch")
    parser.add_argument("--questions", type=int, default=300)
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    if arguments.index is not None:
        _index(arguments.namespace, arguments.repository, arguments.index)
    headers = _headers(arguments.namespace, arguments.repository)
    nodes = _nodes(arguments.namespace, arguments.repository, arguments.questions)
    place = {"ref": arguments.ref} if arguments.ref else {}
    with _gunicorn() as connection:
        print(f"{'question':32}{'p50 ms':>9}{'p95 ms':>9}{'least':>9}")
        for name, question in QUESTIONS.items():
            asked = [question(node) for node in nodes]
            for tool, body in asked[:_WARM_UP]:
                milliseconds(connection, f"/api/v1/tools/{tool}", body | place, headers)
            taken = sorted(
                milliseconds(connection, f"/api/v1/tools/{tool}", body | place, headers)
                for tool, body in asked
            )
            p50, p95 = taken[len(taken) // 2], taken[int(len(taken) * 0.95)]
            print(f"{name:32}{p50:9.1f}{p95:9.1f}{taken[0]:9.1f}")


def _index(namespace: str, name: str, path: Path) -> None:
    from django.utils import timezone

    from codemem.accounts.models import Membership, Namespace, User
    from codemem.accounts.values import Role
    from graph.models import Repository
    from graph.services import rank_repository
    from indexing.missing.knowledge import keep_words
    from indexing.pipeline import run_index
    from indexing.services import request_index

    owner, _ = User.objects.get_or_create(username="bench")
    place, _ = Namespace.objects.get_or_create(name=namespace)
    Membership.objects.get_or_create(user=owner, namespace=place, defaults={"role": Role.OWNER})
    branch = subprocess.run(
        ("git", "-C", str(path), "symbolic-ref", "--short", "HEAD"),
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    repository, _ = Repository.objects.get_or_create(
        namespace=place,
        name=name,
        defaults={"url": str(path.resolve()), "default_branch": branch},
    )
    run_id = request_index(repository_id=repository.pk, requested_by="bench")
    outcome = run_index(run_id=run_id, now=timezone.now())
    if outcome is None or not outcome.is_indexed:
        raise SystemExit(f"{path} could not be indexed")
    rank_repository(repository_id=repository.pk)
    keep_words(repository_id=repository.pk)


def _headers(namespace: str, repository: str) -> dict[str, str]:
    from django.utils import timezone

    from codemem.accounts import services as accounts
    from codemem.accounts.models import User

    owner = User.objects.filter(namespaces__name=namespace).earliest("pk")
    now = timezone.now()
    token = accounts.issue_token(
        user=owner, name="bench", actor=owner, now=now, expires_at=now + timedelta(hours=1)
    )
    return {
        "Authorization": f"Bearer {token.secret}",
        "Content-Type": "application/json",
        "Codemem-Namespace": namespace,
        "Codemem-Repository": repository,
    }


def _nodes(namespace: str, repository: str, count: int) -> list[str]:
    from graph.models import SymbolVersion
    from graph.values import symbol_id

    rows = SymbolVersion.objects.filter(
        repository__namespace__name=namespace, repository__name=repository, layer=0, valid_to=None
    )
    names = list(
        rows.order_by("pk").values_list("symbol__path", "symbol__local_name", "symbol__ordinal")
    )
    picked = random.Random(5).sample(names, min(count, len(names)))
    return [symbol_id(path=path, local_name=name, ordinal=number) for path, name, number in picked]


@contextlib.contextmanager
def _gunicorn() -> Iterator[http.client.HTTPConnection]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        (
            *(sys.executable, "-m", "gunicorn", "codemem.wsgi", "-c", "deploy/gunicorn.conf.py"),
            *("--bind", f"127.0.0.1:{port}", "--workers", "1", "--log-level", "error"),
        ),
    )
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for _ in range(300):
            with contextlib.suppress(ConnectionRefusedError):
                connection.connect()
                break
            time.sleep(0.2)
        yield connection
    finally:
        server.terminate()
        server.wait()


def milliseconds(
    connection: http.client.HTTPConnection, path: str, body: dict[str, Any], headers: dict[str, str]
) -> float:
    """Return how long an answer took, from request to last byte."""
    begun = time.perf_counter()
    connection.request("POST", path, json.dumps(body), headers)
    response = connection.getresponse()
    content = response.read()
    taken = (time.perf_counter() - begun) * 1_000
    if response.status != http.client.OK:
        raise SystemExit(f"{path}: {response.status} {content[:300]!r}")
    return taken


if __name__ == "__main__":
    main()
