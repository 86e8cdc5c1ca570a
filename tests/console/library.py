"""A namespace with something on every page of the library, and text that nobody should obey."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from codemem.accounts.models import Namespace, User
from graph.models import Repository
from indexing.models import ReviewRecord
from indexing.remarks import Level, RemarkKind
from memory.baton import Baton
from memory.consolidation import runs
from memory.handoffs import write_handoff
from memory.models import Checkpoint, Injection, Observation, Session
from memory.services import associate, propose, store_memory
from memory.values import RelationshipKind
from memory.work_items import WorkTexts, open_item
from tests import factories

HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(2)> [here](javascript:alert(3))"
    ' "><b>bold</b> {{ 7|add:7 }} **stars**'
)
LONG = "Unbroken" + "x" * 9_900 + "\N{PARTY POPPER}" * 40
# Turned around by RIGHT-TO-LEFT OVERRIDE, and never turned back.
TURNED = (
    "invoice\N{RIGHT-TO-LEFT OVERRIDE}fdp.exe \N{HEBREW LETTER ALEF}\N{HEBREW LETTER BET}"
    " \N{GRINNING FACE} "
)
PRIVATE = "Walter alone knows that the vault is blue."
SESSION = "Walter's quiet session about the ledger"
KEY = "0123456789ab"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The ids that tests go to."""

    shared: UUID
    private: UUID
    chained: UUID
    proposal: UUID
    private_proposal: UUID
    session: UUID
    shared_session: UUID
    handoff: UUID
    work: UUID
    run: UUID
    review: UUID


def tell(namespace: Namespace, repository: Repository, writer: User, maintainer: User) -> Told:
    """Make one of everything, as the writer; what is private is theirs."""
    now = timezone.now()
    shared = _store(namespace, writer, HOSTILE, repository_id=repository.pk, rationale=HOSTILE)
    private = _store(namespace, writer, PRIVATE, visibility="private", tags=["vault"])
    chained = _store(namespace, writer, "Charges are rounded half up.", is_distinct=True)
    associate(
        caller=factories.caller_of(writer),
        repository_id=None,
        source_id=str(chained),
        target_id=str(shared),
        kind=RelationshipKind.DERIVED_FROM,
        now=now,
    )
    quiet, loud = (
        _session(namespace, repository, writer, title, is_shared=is_shared)
        for title, is_shared in ((SESSION, False), (f"Shared {HOSTILE}", True))
    )
    handoff = write_handoff(
        caller=factories.caller_of(writer),
        namespace_id=namespace.pk,
        baton=Baton(summary="The refunds wait in a drawer.", next_steps=("Write tests.",)),
        is_shared=True,
        now=now,
    )
    work = open_item(
        caller=factories.caller_of(writer),
        namespace_id=namespace.pk,
        texts=WorkTexts(title="Walter's secret rewrite", goal="Nobody knows."),
        now=now,
    )
    (run,) = runs.request(
        caller=factories.caller_of(maintainer),
        namespace_id=namespace.pk,
        cycles=["decay"],
        is_dry=False,
        now=now,
    )
    runs.execute(run_id=run, now=now)
    return Told(
        shared=shared,
        private=private,
        chained=chained,
        proposal=_propose(namespace, shared, "Nobody asks for it."),
        private_proposal=_propose(namespace, private, "The vault is red now."),
        session=quiet,
        shared_session=loud,
        handoff=handoff.id,
        work=work.id,
        run=run,
        review=_review(repository, shared, private),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Extremes:
    """Where text stands that is as long, or as strange, as it may be."""

    memory: UUID
    session: UUID
    review: UUID


def extremes(
    namespace: Namespace, repository: Repository, writer: User, *, number: int = 0
) -> Extremes:
    """Make one of each of what has a text, with text that layouts do not like."""
    now = timezone.now()
    memory = _store(namespace, writer, f"{LONG}{number}", rationale=TURNED, tags=["x" * 60])
    _propose(namespace, memory, TURNED)
    write_handoff(
        caller=factories.caller_of(writer),
        namespace_id=namespace.pk,
        baton=Baton(summary=LONG[:8_000], next_steps=(TURNED,), files=("d/" * 400 + "f.py",)),
        now=now,
    )
    open_item(
        caller=factories.caller_of(writer),
        namespace_id=namespace.pk,
        texts=WorkTexts(title=TURNED[:200], goal=LONG[:900]),
        now=now,
    )
    session = _session(
        namespace, repository, writer, LONG, is_shared=True, client=f"extreme-{number}"
    )
    review = ReviewRecord.objects.create(
        repository=repository,
        subject=f"github:{8 + number}",
        forge="github",
        number=8 + number,
        title=(TURNED + LONG)[:300],
        head_commit="c" * 40,
        base_commit="b" * 40,
        request={"ref": "main"},
        answer=ANSWER,
        remarks=[],
        risk_level="low",
        risk_score=1.0,
        pushes=[],
        runs=1,
        created_at=now,
        reviewed_at=now,
    )
    return Extremes(memory=memory, session=session, review=review.pk)


def _store(namespace: Namespace, writer: User, content: str, **changes: Any) -> UUID:
    outcome = store_memory(
        caller=factories.caller_of(writer),
        namespace_id=namespace.pk,
        content=content,
        memory_type="decision",
        now=timezone.now(),
        **changes,
    )
    return outcome.memory.id


def _propose(namespace: Namespace, memory_id: UUID, reason: str) -> UUID:
    item = propose(
        namespace_id=namespace.pk,
        kind="forget",
        memory_ids=[memory_id],
        proposal={"operation": "retire", "arguments": {}},
        reason=reason,
        confidence=0.7,
        proposed_by="forget",
        now=timezone.now(),
    )
    assert item is not None
    return item.pk


def _session(
    namespace: Namespace,
    repository: Repository,
    user: User,
    title: str,
    *,
    is_shared: bool,
    client: str = "session",
) -> UUID:
    now = timezone.now()
    session = Session.objects.create(
        namespace=namespace,
        repository=repository,
        user=user,
        agent="claude-code",
        client_session_id=f"{client}-{is_shared}",
        title=title[:200],
        is_shared=is_shared,
        started_at=now - timedelta(hours=1),
        last_event_at=now,
        prompts=1,
        failures=1,
    )
    place = {"session": session, "namespace": namespace}
    for number, (kind, content, is_failure) in enumerate(
        (("prompt", f"{title} {HOSTILE}", False), ("tool_failure", "TypeError: total", True))
    ):
        Observation.objects.create(
            **place,
            key=str(number),
            kind=kind,
            tier="S",
            tool="Bash" if is_failure else "",
            command="pytest -q" if is_failure else "",
            paths=["src/money.py"] if is_failure else [],
            content=content,
            is_failure=is_failure,
            tokens=" ".join(word[:50] for word in content.lower().split()),
            happened_at=now,
            received_at=now,
        )
    Checkpoint.objects.create(**place, origin="agent", summary=f"Half of {title}", created_at=now)
    Injection.objects.create(
        **place, event="prompt", kind="rule", reason=f"because of {title}"[:300], shown_at=now
    )
    return session.pk


def _review(repository: Repository, shared: UUID, private: UUID) -> UUID:
    now = timezone.now()
    record = ReviewRecord.objects.create(
        repository=repository,
        subject="github:7",
        forge="github",
        number=7,
        url="https://git.example/acme/app/pull/7",
        title=HOSTILE,
        head_commit="a" * 40,
        base_commit="b" * 40,
        indexed_commit="b" * 40,
        request={"ref": "main"},
        answer=ANSWER | {"memories": [{"id": str(shared)} | CONTRADICTED, {"id": str(private)}]},
        remarks=[
            {
                "key": KEY,
                "kind": RemarkKind.MISSING,
                "level": Level.WARNING,
                "path": "tests/test_money.py",
                "line": None,
                "message": f"Perhaps forgotten (71% likely): {HOSTILE}",
                "probability": 0.71,
            }
        ],
        risk_level="medium",
        risk_score=41.5,
        pushes=[{"commit": "a" * 40, "at": now.isoformat(), "level": "medium", "score": 41.5}],
        runs=1,
        created_at=now,
        reviewed_at=now,
        posting="posted",
        comment_url="javascript:alert(4)",
    )
    return record.pk


CONTRADICTED: dict[str, Any] = {
    "role": "decision",
    "contradiction": "The change may go against this decision.",
    "broken_anchors": [
        {"cites": "src/money.py#total", "state": "missing", "detail": "src/money.py#total is gone."}
    ],
}
ANSWER: dict[str, Any] = {
    "risk": {
        "score": 41.5,
        "level": "medium",
        "probability": 0.415,
        "note": "A rough signal: most changes rated high are fine.",
        "parts": [
            {
                "name": "centrality",
                "value": 0.8,
                "weight": 0.3,
                "points": 24.0,
                "reason": HOSTILE,
            },
            {"name": "tests", "value": 0.5, "weight": 0.35, "points": 17.5, "reason": "untested"},
        ],
    },
    "changed_symbols": [
        {
            "id": "sym:src/money.py#total",
            "kind": "function",
            "path": "src/money.py",
            "start_line": 1,
            "end_line": 4,
            "status": "modified",
            "visibility": "public",
            "signature": "def total(values, *, places)",
            "old_signature": "def total(values)",
            "signature_changed": True,
            "dependents": 2,
            "rank_percentile": 0.93,
            "is_tested": False,
        }
    ],
    "dependents": [
        {
            "id": f"sym:src/{name}.py#{name}",
            "kind": "function",
            "path": f"src/{name}.py",
            "depth": depth,
            "confidence": 0.9,
            "rank_percentile": 0.5,
            "uses": [
                {
                    "changed": "sym:src/money.py#total",
                    "relationship": "CALLS",
                    "line": 3,
                    "confidence": 0.9,
                }
            ]
            if depth == 1
            else None,
        }
        for name, depth in (("invoice", 1), ("report", 1), ("mail", 2))
    ],
    "tests": [
        {"id": "sym:tests/test_money.py#test_total", "path": "tests/test_money.py", "depth": 1}
    ],
    "files": [{"path": "src/money.py", "status": "modified", "lines_added": 3, "lines_removed": 1}],
    "affected_files": [{"path": "src/invoice.py", "dependents": 1}],
    "affected_modules": [{"path": "src", "dependents": 3}],
    "totals": {
        "changed_symbols": 1,
        "dependents": 3,
        "tests": 1,
        "files": 1,
        "affected_files": 3,
        "owners": 2,
        "repositories": 1,
        "services": 1,
    },
    "missing": [
        {
            "path": "tests/test_money.py",
            "probability": 0.71,
            "reason": "often",
            "symbols": [{"id": "sym:tests/test_money.py#test_total", "line": 4, "reason": "calls"}],
        }
    ],
    "owners": [
        {"name": "@team/money", "source": "CODEOWNERS", "files": 3},
        {"name": HOSTILE, "source": "history", "files": 1, "share": 0.4},
    ],
    "repositories": [
        {
            "name": "web",
            "total": 5,
            "uses": [
                {
                    "repository": "web",
                    "id": "sym:src/api.ts#order",
                    "target": "sym:src/money.py#total",
                    "relationship": "calls",
                    "path": "src/api.ts",
                    "line": 6,
                }
            ]
            * 4,
        }
    ],
    "services": [
        {
            "id": "endpoint:app:GET /orders/{}",
            "relationship": "handles",
            "by": "sym:src/money.py#total",
            "path": "src/money.py",
            "others": [
                {
                    "repository": "web",
                    "id": "x",
                    "relationship": "calls",
                    "path": "src/api.ts",
                    "line": 6,
                }
            ],
        }
    ],
    "notes": ["One file was not read."],
}
