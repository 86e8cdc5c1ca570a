"""Ten thousand memories out, away, in and out again: seconds, peak memory, and the same bytes.

Run on an empty database of its own (DATABASE_URL); it makes one namespace and deletes it.
"""

import hashlib
import io
import os
import resource
import time
from datetime import timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
django.setup()

from django.utils import timezone  # noqa: E402

from codemem.accounts import services as accounts  # noqa: E402
from codemem.accounts.models import Namespace, User  # noqa: E402
from indexing import erasure  # noqa: E402
from memory.portability.exporting import Format, export  # noqa: E402
from memory.portability.importing import import_file  # noqa: E402
from memory.portability.reading import Selection  # noqa: E402
from memory.portability.restoring import Target  # noqa: E402

COUNT = int(os.environ.get("CODEMEM_BENCH_MEMORIES", "10000"))
_ID = "01890000-0000-7000-8000-{:012x}"


def main() -> None:
    """Print one line for each step."""
    owner = User.objects.create_user(f"bench-{time.time_ns()}")
    name = f"bench-{time.time_ns()}"
    namespace = accounts.create_namespace(name=name, owner=owner, actor="bench")
    caller = accounts.caller_of_user(user=owner)
    target = Target(caller=caller, namespace=namespace, now=timezone.now())
    _say("start", 0.0)

    made = _timed("first import", lambda: _import(target, _archive(owner.username)))
    archive = _timed("export", lambda: _export(target))
    _timed("wipe", lambda: _wipe(target))
    again = accounts.create_namespace(name=name, owner=owner, actor="bench")
    target = Target(caller=accounts.caller_of_user(user=owner), namespace=again, now=timezone.now())
    _timed("import", lambda: _import(target, archive))
    second = _timed("export again", lambda: _export(target))
    _timed("import again, nothing new", lambda: _import(target, archive))
    _wipe(target)
    print(f"{made:,} lines, {len(archive):,} bytes, the same bytes: {second == archive}")
    print(hashlib.sha256(archive).hexdigest())


def _archive(author: str) -> bytes:
    lines = [
        (
            f'{{"record":"memory","id":"{_ID.format(number)}","type":"insight","author":"{author}",'
            f'"created_at":"2026-01-31T12:00:00Z","tags":["bench"],"version":2,"content":'
            f'"Insight {number}: the queue drains before the cache is warm. {"Why? " * 60}",'
            '"versions":[{"number":1,"change":"refined","by":"x","valid_from":'
            '"2026-01-31T12:00:00Z","valid_to":"2026-02-01T12:00:00Z","snapshot":'
            f'{{"content":"Insight {number}"}}}}]}}\n'
        )
        for number in range(COUNT)
    ]
    lines += [
        f'{{"record":"link","source":{{"memory":"{_ID.format(number)}"}},"target":{{"memory":'
        f'"{_ID.format(number - 1)}"}},"kind":"EXPLAINS","weight":0.5,"by":"x","at":1769860800}}\n'
        for number in range(1, COUNT, 10)
    ]
    return "".join(lines).encode()


def _import(target: Target, content: bytes) -> int:
    report = import_file(target=target, form=Format.JSONL, file=io.BytesIO(content))
    assert report.problem_count == 0, report.problems[:3]
    return report.created + report.unchanged + report.links


def _export(target: Target) -> bytes:
    selection = Selection(caller=target.caller, namespace=target.namespace, now=target.now)
    with export(selection=selection, form=Format.JSONL).file as file:
        return file.read()


def _wipe(target: Target) -> None:
    receipt = erasure.request_erasure(
        caller=target.caller,
        namespace_id=target.namespace.pk,
        confirm=target.namespace.name,
        grace=timedelta(0),
        now=target.now,
    )
    assert erasure.erase(erasure_id=receipt.id, now=target.now)
    assert not Namespace.objects.filter(pk=target.namespace.pk).exists()


def _timed(step, work):
    started, used = time.perf_counter(), time.process_time()
    result = work()
    _say(step, time.perf_counter() - started, cpu=time.process_time() - used)
    return result


def _say(step: str, seconds: float, *, cpu: float = 0.0) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{step:<28} {seconds:7.1f} s   {cpu:7.1f} CPU s   peak {peak:5.0f} MB", flush=True)


if __name__ == "__main__":
    main()
