"""Each consolidation cycle on 10,000 memories: figures before and after, seconds, and the way back.

    python -m tests.bench.consolidation MIRROR...      (bare repositories; make bench-consolidation)

The texts are commit messages of the mirrors, as a team would have noted them; ages, types, uses and
sessions are drawn. After each cycle that changes anything the run is undone, and the hash of every
row and every link is compared with that from before: "exact" means equal in all columns except
`version`, which counts changes and goes on.
"""

import hashlib
import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import django

_COUNT: Final = 10_000
_SEED: Final = 4
_NOW: Final = datetime(2026, 3, 1, tzinfo=UTC)
_LONGEST: Final = 600
_TYPES: Final = (
    *(("context", 30), ("insight", 20), ("fix", 15), ("decision", 10), ("pattern", 8)),
    *(("failure", 6), ("rule", 4), ("procedure", 3), ("requirement", 2), ("question", 2)),
)
_TRAILER: Final = re.compile(r"^[A-Z][\w-]+-by: .*$|^Change-Id: .*$", re.MULTILINE)
_TABLES: Final = (
    *("memory_memory", "memory_memoryuse", "memory_anchor", "memory_memoryentity"),
    *("memory_feedback", "memory_reviewitem"),
)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    from memory.consolidation import runs

    texts = _texts(sys.argv[1:])
    _say(f"{len(texts):,} messages of {len(sys.argv) - 1} repositories")
    namespace, maintainer = _load(texts)
    for cycle, changes in (
        ("decay", {}),
        ("cluster", {}),
        ("cluster", {"consolidation.cluster.policy": "merge"}),
        ("creative", {}),
        ("summarize", {}),
        ("forget", {}),
    ):
        namespace.settings = changes
        namespace.save()
        _measure(namespace, maintainer, cycle, "".join(changes.values()))
    # Once more, one after the other and not undone in between: what a team would have.
    namespace.settings = {}
    namespace.save()
    _say("\nall five, one upon the other, then undone in reverse")
    before, done = _state(namespace), []
    for cycle in runs.CYCLES:
        started = time.perf_counter()
        done.append(_carried_out(namespace, cycle, is_dry=False))
        changed = _shared(done[-1])["changed"]
        _say(f"  {cycle:10} {changed:>7,} changed  {time.perf_counter() - started:6.1f} s")
    again = _carried_out(namespace, "decay", is_dry=False)
    _say(f"  decay again: {_shared(again)['changed']} changed")
    for run in reversed(done):
        runs.undo(caller=maintainer, run_id=run.pk, now=_NOW)
    _say(f"  undone: {'exact' if _state(namespace) == before else _differing(namespace, before)}")
    _say(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


def _measure(namespace: Any, maintainer: Any, cycle: str, how: str) -> None:
    from memory.consolidation import runs

    before = _state(namespace)
    dry = _carried_out(namespace, cycle, is_dry=True)
    is_dry_silent = _state(namespace) == before
    cpu, started = time.process_time(), time.perf_counter()
    run = _carried_out(namespace, cycle, is_dry=False)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    report = _shared(run)
    started = time.perf_counter()
    undone: Any = {"restored": 0, "kept": []}
    if run.changes.exists():
        undone = runs.undo(caller=maintainer, run_id=run.pk, now=_NOW)
    undo_seconds = time.perf_counter() - started
    is_exact = _state(namespace) == before
    _say(f"\n{cycle} {how}".rstrip())
    _say(f"  before    {_figures(report['before'])}")
    _say(f"  after     {_figures(report['after'])}")
    _say(f"  changed   {report['changed']:,}, proposed {report['proposed']:,}")
    _say(f"  left out  {_figures(report['left_out'])}")
    _say(f"  rehearsed {_shared(dry)['changed']:,} changes; wrote nothing: {is_dry_silent}")
    _say(f"  seconds   {seconds:.1f} ({cpu:.1f} of them CPU in Python), undo {undo_seconds:.1f}")
    _say(f"  undo      {undone['restored']:,} changes put back, {len(undone['kept'])} kept")
    _say(f"  restored  {'exactly' if is_exact else _differing(namespace, before)}")
    for example in report["examples"][:2]:
        _say(f"  example   {json.dumps(example)}")


def _texts(mirrors: Sequence[str]) -> list[str]:
    """Return distinct commit messages, as many of each repository as it takes."""
    by_mirror = [list(_messages(mirror)) for mirror in mirrors]
    share = -(-_COUNT // len(by_mirror))
    chosen: dict[str, None] = {}
    for messages in sorted(by_mirror, key=len):
        for message in messages[: max(share, _COUNT - len(chosen))]:
            chosen.setdefault(message)
    if len(chosen) < _COUNT:
        raise SystemExit(f"The mirrors have {len(chosen):,} messages; {_COUNT:,} are needed.")
    texts = list(chosen)
    random.Random(_SEED).shuffle(texts)
    return texts[:_COUNT]


def _messages(mirror: str) -> Iterator[str]:
    log = subprocess.run(
        ["git", "-C", mirror, "log", "--no-merges", "--format=%B%x00", "-20000"],
        capture_output=True,
        check=True,
    ).stdout.decode(errors="replace")
    for message in log.split("\0"):
        text = " ".join(_TRAILER.sub("", message).split())[:_LONGEST]
        if len(text) > 20:
            yield text


def _load(texts: Sequence[str]) -> tuple[Any, Any]:
    """Store the texts as the rows that storing would make, with drawn ages, uses and links."""
    from codemem import embedding
    from codemem.accounts import services as accounts
    from codemem.accounts.models import User
    from codemem.accounts.values import Role
    from codemem.words import tokens_text
    from graph import services as graph
    from graph.values import VertexLabel, graph_id
    from memory.models import Memory, MemoryUse
    from memory.services.versioning import content_hash

    chance = random.Random(_SEED)
    stamp = f"{time.time():.0f}"
    people = [User.objects.create_user(f"bench-{stamp}-{number}") for number in range(5)]
    namespace = accounts.create_namespace(name=f"bench-{stamp}", owner=people[0], actor="bench")
    for person in people[1:]:
        accounts.set_role(namespace=namespace, user=person, role=Role.WRITER, actor="bench")
    started = time.perf_counter()
    provider = embedding.from_settings()
    vectors: list[Any] = []
    for start in range(0, len(texts), 256):
        vectors += list(provider.embed(texts[start : start + 256], kind="document"))
    _say(f"embedded in {time.perf_counter() - started:.0f} s")
    types, weights = zip(*_TYPES, strict=True)
    rows, uses = [], []
    for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        days = min(chance.expovariate(1 / 200), 1_500)
        author = chance.choice(people)
        is_private = number % 20 == 0
        row = Memory(
            number=_next_number(),
            namespace=namespace,
            visibility="private" if is_private else "namespace",
            memory_type=chance.choices(types, weights)[0],
            content=text,
            content_hash=content_hash(text),
            tokens=tokens_text(text),
            tags=[text.split()[0].lower()[:40]],
            importance=round(chance.betavariate(4, 4), 2),
            author=author,
            author_name=author.username,
            # A tenth was noted in long sessions.
            session_id=f"session-{number % 3}" if number % 10 == 1 else "",
            created_at=_NOW - timedelta(days=days),
            embedding=vector,
            embedding_fingerprint=provider.fingerprint,
        )
        rows.append(row)
        if chance.random() < 0.3:
            recalled = 1 + int(chance.expovariate(0.5))
            at = _NOW - timedelta(days=chance.random() * days)
            uses.append(MemoryUse(memory=row, recalled=recalled, recalled_at=at))
    Memory.objects.bulk_create(rows, batch_size=500)
    MemoryUse.objects.bulk_create(uses, batch_size=1_000)
    vertices = [
        graph.ensure_memory_vertex(namespace_id=namespace.pk, number=row.number, memory_id=row.pk)
        for row in rows
    ]
    links = [
        graph.NewLink(source=one, target=other, kind="RELATES_TO", weight=0.5)
        for one, other in (chance.sample(vertices, 2) for _ in range(2_000))
    ]
    graph.link_all(namespace_id=namespace.pk, links=links, actor="bench", now=_NOW)
    assert vertices[0] == graph_id(label=VertexLabel.MEMORY, key=rows[0].number)
    _say(f"loaded {len(rows):,} memories, {len(uses):,} of them used, {len(links):,} links")
    return namespace, accounts.caller_of_user(user=people[0])


def _carried_out(namespace: Any, cycle: str, *, is_dry: bool) -> Any:
    from memory.consolidation import runs
    from memory.models import ConsolidationRun

    run = ConsolidationRun.objects.create(
        namespace=namespace, cycle=cycle, is_dry=is_dry, asked_by="bench", started_at=_NOW
    )
    runs.execute(run_id=run.pk, now=_NOW)
    run.refresh_from_db()
    return run


def _state(namespace: Any) -> dict[str, str]:
    """Return a hash of each table's rows of the namespace, and of all its memories' links."""
    from django.db import connection

    from graph import services as graph
    from graph.values import VertexLabel, graph_id
    from memory.models import Memory

    found = {}
    with connection.cursor() as cursor:
        for table in _TABLES:
            key = {"memory_memory": "id", "memory_reviewitem": "id"}.get(table, "memory_id")
            inside = (
                "t.namespace_id = %s"
                if key == "id"
                else "t.memory_id IN (SELECT id FROM memory_memory WHERE namespace_id = %s)"
            )
            cursor.execute(
                "SELECT md5(string_agg(row, '' ORDER BY row)) FROM"
                f" (SELECT md5((to_jsonb(t) - 'version')::text) AS row FROM {table} t"
                f" WHERE {inside}) rows",
                [namespace.pk],
            )
            found[table] = str(cursor.fetchone()[0])
    numbers = Memory.objects.filter(namespace=namespace).values_list("number", flat=True)
    vertices = [graph_id(label=VertexLabel.MEMORY, key=number) for number in numbers]
    links = graph.link_rows(namespace_id=namespace.pk, vertices=vertices)
    text = "\n".join(f"{row.id} {row.source} {row.target} {row.properties}" for row in links)
    found["links"] = hashlib.sha256(text.encode()).hexdigest()
    return found


def _differing(namespace: Any, before: dict[str, str]) -> str:
    after = _state(namespace)
    return f"NOT exactly: {', '.join(name for name in before if before[name] != after[name])}"


def _next_number() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('memory_memory_number')")
        return int(cursor.fetchone()[0])


def _shared(run: Any) -> dict[str, Any]:
    report: dict[str, Any] = run.report["circles"]["shared"]
    return report


def _figures(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:,.4g}" for name, value in figures.items()) or "nothing"


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
