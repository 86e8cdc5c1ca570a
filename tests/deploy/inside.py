"""A server's shell on the database that DATABASE_URL names, for tests of backups.

python -m tests.deploy.inside fill    remember what a team would: versions, links, private memories
python -m tests.deploy.inside tell    print what two people are told about it, and all that is kept
python -m tests.deploy.inside extend  store one more memory, tied to code and to another memory
"""

import hashlib
import json
import os
import sys
from datetime import timedelta
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
django.setup()

from codemem.accounts.models import Namespace, User  # noqa: E402
from codemem.accounts.values import Caller  # noqa: E402
from graph import services as graph  # noqa: E402
from graph.models import Repository  # noqa: E402
from memory import history  # noqa: E402
from memory.models import Memory  # noqa: E402
from memory.portability.exporting import Format, export  # noqa: E402
from memory.portability.reading import Selection  # noqa: E402
from memory.recall import recall  # noqa: E402
from memory.services import refine_memory, store_memory  # noqa: E402
from memory.values import RecallQuery  # noqa: E402
from tests import factories  # noqa: E402

NOW = factories.NOW
LATER = NOW + timedelta(hours=1)
_QUESTIONS = (
    "how long do sessions live",
    "what does `User.login` rely on",
    "which editor do I like",
    "כמה זמן",
)
_SYMBOL = "sym:src/user.py#User.login"


def fill() -> None:
    owner, writer = factories.make_user("olga"), factories.make_user("walter")
    namespace = factories.make_namespace("team", owner=owner, writer=writer)
    repository = factories.make_repository(namespace, "app", created_by=owner)
    fact = factories.symbol_fact("src/user.py", "User.login")
    graph.put(repository_id=repository.pk, ref_name="main", snapshot=factories.snapshot(fact))
    place: dict[str, Any] = {"namespace_id": namespace.pk, "now": NOW}
    place |= {"repository_id": repository.pk, "caller": factories.caller_of(writer)}
    session = store_memory(
        content="Sessions live for a day.", memory_type="decision", links=[fact.id], **place
    ).memory
    store_memory(content="הכלל: זמן אחד בלבד", memory_type="rule", **place)
    store_memory(
        content="Logins rely on the clock of the database.",
        memory_type="insight",
        links=[fact.id, str(session.id)],
        **place,
    )
    store_memory(content="I like the editor vi.", memory_type="preference", **place)
    refine_memory(
        caller=place["caller"],
        memory_id=session.id,
        now=LATER,
        content="Sessions live for an hour.",
        reason="Audits.",
    )


def tell() -> dict[str, Any]:
    return {name: _told(_caller(name)) for name in ("olga", "walter")}


def _told(caller: Caller) -> dict[str, Any]:
    namespace = Namespace.objects.get()
    now = NOW + timedelta(days=1)
    answers = {}
    for text in _QUESTIONS:
        query = RecallQuery(text=text, namespace_ids=(namespace.pk,), expand=True)
        answer = recall(caller=caller, query=query, now=now)
        assert answer.used_vectors, answer.trouble
        answers[text] = [
            (str(hit.memory.id), hit.memory.content, round(hit.score, 9)) for hit in answer.hits
        ]
    selection = Selection(caller=caller, namespace=namespace, now=now, vectors=True)
    with export(selection=selection, form=Format.JSONL).file as file:
        kept = file.read()
    first = Memory.objects.earliest("number")
    versions = history.versions_of(caller=caller, memory_id=first.pk, now=now)
    return {
        "answers": answers,
        "export": hashlib.sha256(kept).hexdigest(),
        "private": b"editor vi" in kept,
        "vectors": kept.count(b'"vector":'),
        "versions": [version.number for version in versions],
    }


def extend() -> None:
    store_memory(
        caller=_caller("walter"),
        namespace_id=Namespace.objects.get().pk,
        repository_id=Repository.objects.get().pk,
        content="Restored servers go on.",
        memory_type="insight",
        links=[_SYMBOL, str(Memory.objects.earliest("number").pk)],
        now=NOW + timedelta(days=2),
    )


def _caller(name: str) -> Caller:
    return factories.caller_of(User.objects.get(username=name))


if __name__ == "__main__":
    json.dump({"fill": fill, "tell": tell, "extend": extend}[sys.argv[1]](), sys.stdout)
