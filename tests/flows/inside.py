"""What journeys cannot do over HTTP, each in a process of its own, as a shell of the server.

python -m tests.flows.inside found            make a team's first token, print it
python -m tests.flows.inside graph ID         print what the graph shows of a repository
python -m tests.flows.inside recover SECONDS  do beat's work as if that much time had passed
python -m tests.flows.inside recover_consolidation now
"""

import json
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import django

django.setup()

from django.utils import timezone  # noqa: E402

from codemem.accounts import services as accounts  # noqa: E402
from codemem.accounts.values import TokenScope  # noqa: E402
from graph import queries as graph  # noqa: E402
from graph.models import FileVersion, Repository  # noqa: E402
from graph.values import Direction, VertexLabel, graph_id  # noqa: E402
from indexing import services as indexing  # noqa: E402
from memory.consolidation import runs  # noqa: E402
from workers import queue  # noqa: E402

_ALL = 1_000_000


def found(name: str) -> str:
    """Make a namespace and its owner, the way the admin does; return a token for everything."""
    owner = accounts.create_user(username=name, actor="tests")
    accounts.create_namespace(name=name, owner=owner, actor="tests")
    issued = accounts.issue_token(
        user=owner,
        name="journey",
        actor=owner,
        now=timezone.now(),
        scopes=list(TokenScope),
        expires_at=None,
    )
    return issued.secret


def shown(repository_id: UUID) -> dict[str, Any]:
    """Return every live symbol and edge of a repository by their text ids, sorted."""
    namespace_id = Repository.objects.get(pk=repository_id).namespace_id
    versions = FileVersion.objects.filter(repository_id=repository_id, valid_to=None)
    keys, paths = zip(*versions.values_list("file_id", "file__path"), strict=True)
    by_path = graph.live_symbols_in(repository_id=repository_id, paths=paths)
    symbols = [node for nodes in by_path.values() for node in nodes]
    vertices = [graph_id(label=VertexLabel.FILE, key=key) for key in keys]
    files = graph.nodes_of(namespace_id=namespace_id, vertices=vertices).values()
    names = {node.vertex: node.id for node in (*files, *symbols)}
    near = graph.neighbors(
        namespace_id=namespace_id, vertices=list(names), direction=Direction.OUT, limit=_ALL
    )
    edges = [neighbor.edge for neighbor in near.neighbors]
    return {
        "files": sorted(node.id for node in files),
        "symbols": sorted(
            [node.id, node.kind, node.start_line, node.end_line, node.signature] for node in symbols
        ),
        "edges": sorted(
            [names[edge.source], edge.kind, names[edge.target], edge.rule, edge.line]
            for edge in edges
        ),
    }


def recover(seconds: int) -> list[str]:
    """Send what `recover_runs` would send when that much time has passed; return the runs."""
    later = timezone.now() + timedelta(seconds=seconds)
    runs = indexing.recover_runs(now=later)
    for run_id in runs:
        queue.index(run_id=run_id)
    return [str(run_id) for run_id in runs]


def recover_consolidation() -> list[str]:
    """Send the runs of dead workers again, as beat does; return whose."""
    namespaces = runs.recover(now=timezone.now())
    for namespace_id in namespaces:
        queue.consolidate(namespace_id=namespace_id)
    return [str(namespace_id) for namespace_id in namespaces]


_COMMANDS: dict[str, Callable[[str], Any]] = {
    "found": found,
    "graph": lambda text: shown(UUID(text)),
    "recover": lambda text: recover(int(text)),
    "recover_consolidation": lambda _: recover_consolidation(),
}

if __name__ == "__main__":
    command, argument = sys.argv[1:]
    json.dump(_COMMANDS[command](argument), sys.stdout)
