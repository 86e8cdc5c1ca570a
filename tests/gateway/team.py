"""Two teams with code and memories each: `team`, which most tests ask, and `elsewhere`.

Whatever belongs to `elsewhere` says "quagga", so that a leak shows in any text.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from codemem.accounts.models import Namespace, User
from codemem.accounts.values import TokenScope
from graph import services as graph
from graph.models import Repository
from graph.values import EdgeKind, NodeKind, Snapshot
from indexing.crossing.services import link_crossing
from indexing.models import Endpoint
from memory.baton import Baton
from memory.handoffs import write_handoff
from memory.models import ConsolidationRun, Memory, Session
from memory.services import propose, store_memory
from memory.work_items import WorkTexts, open_item
from tests import factories
from tests.factories import NOW
from tests.gateway.past import give_past

FOREIGN_WORD = "quagga"
DECISION = "Invoice totals are whole cents: app/billing.py rounds once, in Invoice.total."
NOTE = "The checkout page may charge a customer only once per invoice."
LEFT = "Rounding is done; the tests of refunds are not."
WORK = "Refunds as negative charges"
FOREIGN_NOTE = "The quagga combination is kept by quagga.open_safe in quagga/safe.py."


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """The people, ids and tokens that tests of the gateway name."""

    namespace: Namespace
    repository: Repository
    owner: User
    maintainer: User
    writer: User
    reader: User
    outsider: User
    decision: UUID
    note: UUID
    proposal: UUID
    run: UUID
    summary: UUID
    handoff: UUID
    work: UUID
    foreign_namespace: Namespace
    foreign_repository: Repository
    foreign_note: UUID

    def token(
        self,
        user: User,
        *,
        scopes: Iterable[TokenScope] = TokenScope,
        namespaces: Iterable[Namespace] = (),
    ) -> str:
        return factories.make_token(user, scopes=scopes, namespaces=namespaces).secret


def make_team() -> Team:
    owner, maintainer = factories.make_user("olga"), factories.make_user("mary")
    writer, reader = factories.make_user("walter"), factories.make_user("rita")
    outsider = factories.make_user("otto")
    namespace = factories.make_namespace(
        "team", owner=owner, maintainer=maintainer, writer=writer, reader=reader
    )
    foreign = factories.make_namespace(f"{FOREIGN_WORD}-keepers", owner=outsider)
    repository = factories.make_repository(namespace, "app", created_by=maintainer)
    vault = factories.make_repository(foreign, f"{FOREIGN_WORD}-vault", created_by=outsider)
    show(repository, billing())
    show(vault, safe())
    serve(repository, "app/web.py", "checkout~0", "/invoices/{id}/charge")
    serve(vault, f"{FOREIGN_WORD}/safe.py", "open_safe~0", f"/{FOREIGN_WORD}/open")
    give_past(repository.pk)
    decision, note = remember(writer, repository, DECISION), remember(writer, repository, NOTE)
    return Team(
        namespace=namespace,
        repository=repository,
        owner=owner,
        maintainer=maintainer,
        writer=writer,
        reader=reader,
        outsider=outsider,
        decision=decision,
        note=note,
        proposal=proposed(namespace, decision, note),
        run=waiting(namespace),
        summary=summarized(writer, repository, decision, note),
        handoff=left(owner, repository),
        work=begun(owner, repository),
        foreign_namespace=foreign,
        foreign_repository=vault,
        foreign_note=remember(outsider, vault, FOREIGN_NOTE),
    )


def show(repository: Repository, snapshot: Snapshot) -> None:
    """Have the graph show a snapshot as the head of the default branch, ranked."""
    graph.note_head(
        repository_id=repository.pk,
        ref="main",
        commit=graph.CommitRow(
            sha=snapshot.commit,
            parents=(),
            author_name="Ada",
            author_email="ada@example.org",
            authored_at=NOW,
            committed_at=NOW,
            subject="Begin",
        ),
        root_commit=None,
        count_behind=lambda _indexed: 0,
        now=NOW,
    )
    graph.put(repository_id=repository.pk, ref_name="main", snapshot=snapshot)
    graph.rank_repository(repository_id=repository.pk)


def serve(repository: Repository, path: str, symbol: str, route: str) -> None:
    """Have a definition answer a route, as a pass across repositories would find."""
    Endpoint.objects.create(
        repository=repository,
        path=path,
        line=1,
        symbol=symbol,
        certainty=0.9,
        text=f'@app.post("{route}")',
        method="POST",
        route=route,
        template=route.replace("{id}", "{}"),
        framework="fastapi",
    )
    link_crossing(repository_id=repository.pk)


def remember(user: User, repository: Repository, content: str) -> UUID:
    outcome = store_memory(
        caller=factories.caller_of(user),
        namespace_id=repository.namespace_id,
        repository_id=repository.pk,
        content=content,
        memory_type="decision",
        now=NOW,
    )
    return outcome.memory.id


def proposed(namespace: Namespace, *memory_ids: UUID) -> UUID:
    item = propose(
        namespace_id=namespace.pk,
        kind="merge",
        memory_ids=memory_ids,
        proposal={"operation": "associate", "arguments": {"kind": "EXPLAINS"}},
        reason="The two speak of one rule.",
        confidence=0.8,
        proposed_by="cluster",
        now=NOW,
    )
    assert item is not None
    return item.pk


def waiting(namespace: Namespace) -> UUID:
    """Have a rehearsal of the decay cycle wait for a worker: asking again names the same one."""
    run = ConsolidationRun.objects.create(
        namespace=namespace, cycle="decay", is_dry=True, asked_by="mary", started_at=NOW
    )
    return run.pk


def left(user: User, repository: Repository) -> UUID:
    """Have a handoff wait for its author, whose only live session is `session-1`."""
    Session.objects.create(
        namespace_id=repository.namespace_id,
        repository=repository,
        user=user,
        agent="claude-code",
        client_session_id="session-1",
        started_at=NOW,
        last_event_at=NOW,
    )
    written = write_handoff(
        caller=factories.caller_of(user),
        namespace_id=repository.namespace_id,
        repository_id=repository.pk,
        baton=Baton(summary=LEFT),
        now=NOW,
    )
    return written.id


def begun(user: User, repository: Repository) -> UUID:
    item = open_item(
        caller=factories.caller_of(user),
        namespace_id=repository.namespace_id,
        repository_id=repository.pk,
        texts=WorkTexts(title=WORK),
        now=NOW,
    )
    return item.id


def summarized(user: User, repository: Repository, *memory_ids: UUID) -> UUID:
    """Have a summary of two memories; retired, so that the memories that hold stay two."""
    summary = remember(user, repository, "Of money: round once, charge once.")
    Memory.objects.filter(pk=summary).update(
        memory_type="summary",
        state="retired",
        evidence=[{"kind": "memory", "ref": str(memory_id)} for memory_id in memory_ids],
    )
    return summary


def billing() -> Snapshot:
    invoice = factories.symbol_fact("app/billing.py", "Invoice", kind=NodeKind.CLASS)
    total = factories.symbol_fact(
        "app/billing.py", "Invoice.total", line=10, kind=NodeKind.METHOD, doc="Sum in whole cents."
    )
    charge = factories.symbol_fact("app/billing.py", "charge", line=20, doc="Take the money.")
    checkout = factories.symbol_fact("app/web.py", "checkout", doc="The page that charges.")
    test = factories.symbol_fact("tests/test_billing.py", "test_charge", is_test=True)
    return factories.snapshot(
        invoice,
        total,
        charge,
        checkout,
        test,
        edges=[
            factories.edge_fact("file:app/billing.py", invoice.id, EdgeKind.CONTAINS),
            factories.edge_fact(invoice.id, total.id, EdgeKind.CONTAINS),
            factories.edge_fact("file:app/billing.py", charge.id, EdgeKind.CONTAINS),
            factories.edge_fact("file:app/web.py", checkout.id, EdgeKind.CONTAINS),
            factories.edge_fact("file:tests/test_billing.py", test.id, EdgeKind.CONTAINS),
            factories.edge_fact("file:app/web.py", "file:app/billing.py", EdgeKind.IMPORTS),
            factories.edge_fact(charge.id, total.id, line=22),
            factories.edge_fact(checkout.id, charge.id, line=3),
            factories.edge_fact(test.id, charge.id, line=3),
        ],
    )


def safe() -> Snapshot:
    opened = factories.symbol_fact(f"{FOREIGN_WORD}/safe.py", "open_safe")
    turned = factories.symbol_fact(f"{FOREIGN_WORD}/safe.py", "turn_dial", line=10)
    return factories.snapshot(
        opened,
        turned,
        edges=[
            factories.edge_fact(f"file:{FOREIGN_WORD}/safe.py", opened.id, EdgeKind.CONTAINS),
            factories.edge_fact(f"file:{FOREIGN_WORD}/safe.py", turned.id, EdgeKind.CONTAINS),
            factories.edge_fact(opened.id, turned.id, line=3),
        ],
    )
