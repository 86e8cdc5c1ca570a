"""Ten thousand memories out, away, in and out again, by `codemem export` and `import` over HTTP.

    python -m tests.bench.portability          CODEMEM_BENCH_MEMORIES=10000

Run on a database of its own (DATABASE_URL): it makes one namespace and deletes it. Prints seconds
of each step and whether the bytes are the same; then imports the archive with broken lines in it.
"""

import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
django.setup()

from django.utils import timezone  # noqa: E402

from codemem.accounts import services as accounts  # noqa: E402
from codemem.accounts.models import Namespace, User  # noqa: E402
from codemem.accounts.values import TokenScope  # noqa: E402
from graph import services as graph  # noqa: E402
from graph.models import Repository  # noqa: E402
from indexing import erasure  # noqa: E402
from tests import factories  # noqa: E402
from tests.bench.archives import archive  # noqa: E402
from tests.servers import ROOT, free_port, running_server  # noqa: E402

COUNT = int(os.environ.get("CODEMEM_BENCH_MEMORIES", "10000"))
_REPOSITORY = "bench"
_FILES, _METHODS = 97, 12
_BROKEN = (b'{"record":"memory","id":"01\n', b'{"record":"weather"}\n', b"[]\n", b"\xff\xfe\n")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Team:
    """A namespace with its owner, who carries its memories about."""

    name: str
    owner: User
    environment: dict[str, str]

    def codemem(self, *arguments: str, expected: int = 0) -> dict[str, Any]:
        """Run the client as the owner; return what it says as JSON."""
        finished = subprocess.run(
            (sys.executable, "-m", "codemem.client", *arguments, "--json"),
            cwd=ROOT,
            env={**os.environ, **self.environment},
            capture_output=True,
            check=False,
        )
        if finished.returncode != expected:
            raise SystemExit(f"{arguments}: {finished.returncode} {finished.stderr.decode()}")
        said: dict[str, Any] = json.loads(finished.stdout)
        return said


def main() -> None:
    """Print one line for each step."""
    environment = {"CODEMEM_LOG_LEVEL": "ERROR"}
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(port=free_port(), environment=environment) as url,
    ):
        team = _team(url)
        symbols = _found(team)
        files = Path(folder)
        made, first, second = (files / f"{name}.jsonl" for name in ("made", "first", "second"))
        lines = list(
            archive(
                memories=COUNT,
                author=team.owner.username,
                repository=_REPOSITORY,
                symbols=symbols,
            )
        )
        made.write_bytes(b"".join(lines))
        _timed("import of what was made", lambda: team.codemem("import", str(made)))
        _timed("export", lambda: team.codemem("export", "-o", str(first)))
        _timed("wipe", lambda: _wipe(team))
        _found(team)
        _timed("import", lambda: team.codemem("import", str(first)))
        _timed("export", lambda: team.codemem("export", "-o", str(second)))
        again = _timed("import again", lambda: team.codemem("import", str(first)))
        assert (again["created"], again["unchanged"]) == (0, COUNT), again
        _tell_of(first, second)
        _wipe(team)
        _found(team)
        _with_broken_lines(team, first, files / "broken.jsonl")
        _wipe(team)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"server and clients together {used.ru_utime + used.ru_stime:.1f} CPU s")


def _team(url: str) -> Team:
    name = f"bench-{time.time_ns()}"
    owner = User.objects.create_user(name)
    issued = accounts.issue_token(
        user=owner,
        name="bench",
        actor=owner,
        now=timezone.now(),
        scopes=list(TokenScope),
        expires_at=None,
    )
    place = {"CODEMEM_URL": url, "CODEMEM_TOKEN": issued.secret, "CODEMEM_NAMESPACE": name}
    return Team(name=name, owner=owner, environment=place)


def _found(team: Team) -> list[tuple[str, str]]:
    """Make the namespace with its repository's code; return the symbols' ids and kinds."""
    namespace = accounts.create_namespace(name=team.name, owner=team.owner, actor="bench")
    repository = Repository.objects.create(
        namespace=namespace, name=_REPOSITORY, url="/bench", default_branch="main"
    )
    facts = [
        factories.symbol_fact(f"src/part_{file}.py", f"Part.step_{method}", line=10 * method + 1)
        for file in range(_FILES)
        for method in range(_METHODS)
    ]
    graph.put(repository_id=repository.pk, ref_name="main", snapshot=factories.snapshot(*facts))
    return [(fact.id, str(fact.kind)) for fact in facts]


def _wipe(team: Team) -> None:
    namespace = Namespace.objects.get(name=team.name)
    receipt = erasure.request_erasure(
        caller=accounts.caller_of_user(user=team.owner),
        namespace_id=namespace.pk,
        confirm=team.name,
        grace=timedelta(0),
        now=timezone.now(),
    )
    assert erasure.erase(erasure_id=receipt.id, now=timezone.now())
    assert not Namespace.objects.filter(pk=namespace.pk).exists()


def _tell_of(first: Path, second: Path) -> None:
    content = first.read_bytes()
    header = json.loads(content.partition(b"\n")[0])
    print(f"{header['counts']}, {len(content):,} bytes, sha256 {_digest(content)}")
    print(f"the same bytes again: {second.read_bytes() == content}")


def _with_broken_lines(team: Team, whole: Path, path: Path) -> None:
    """Import an archive in whose middle lines are broken; each must be told by its number."""
    lines = whole.read_bytes().splitlines(keepends=True)
    chance = random.Random(3)
    for line in _BROKEN * 5:
        lines.insert(chance.randrange(COUNT // 4, COUNT), line)
    path.write_bytes(b"".join(lines))
    wanted = [number for number, line in enumerate(lines, start=1) if line in _BROKEN]
    report = _timed(
        "import with broken lines", lambda: team.codemem("import", str(path), expected=1)
    )
    told = [problem["line"] for problem in report["problems"]]
    print(
        f"{report['created']:,} of {COUNT:,} memories kept; broken lines told by number:"
        f" {told == wanted} ({len(told)} of {len(wanted)})"
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _timed(step: str, work: Callable[[], Result]) -> Result:
    started = time.perf_counter()
    result = work()
    print(f"{step:<28} {time.perf_counter() - started:7.1f} s", flush=True)
    return result


if __name__ == "__main__":
    main()
