"""A team on a Monday: one shop with a past, what was learned of it, and what went wrong.

Real rows of real services: a Git repository that was indexed, memories that were stored.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from django.utils import timezone

from codemem.accounts.models import Namespace, User
from codemem.accounts.services import caller_of_user
from codemem.accounts.values import TokenKind
from graph import services as graph
from graph.models import Repository
from indexing import erasure
from indexing.history import backfill
from indexing.models import IndexRun
from memory.baton import Baton
from memory.handoffs import write_handoff
from memory.models import Session
from memory.services import propose, store_memory
from tests import factories
from tests.browser import shop
from tests.indexing.checkout import Checkout, index

PASSWORD = "correct horse battery staple"
NAMESPACE, REPOSITORY = "acme", "shop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """Whom and what the tests name."""

    owner: User
    maintainer: User
    reader: User
    outsider: User
    namespace: Namespace
    repository: Repository
    broken: Repository
    memories: tuple[UUID, ...]
    file: str = "shop/billing.py"
    symbol: str = "sym:shop/billing.py#Invoice.total"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """What the addresses of single things name."""

    erasure: UUID
    run: UUID


def make_demo(folder: Path) -> Demo:
    owner = factories.make_user("ada", password=PASSWORD)
    maintainer, reader = factories.make_user("grace"), factories.make_user("linus")
    outsider = factories.make_user("mallory")
    namespace = factories.make_namespace(
        NAMESPACE, owner=owner, maintainer=maintainer, reader=reader
    )
    factories.make_namespace("elsewhere", owner=outsider)
    repository = _indexed(namespace, folder, owner)
    memories = tuple(_remember(owner, repository, *told) for told in shop.MEMORIES)
    _propose(namespace, memories)
    _leave(owner, repository)
    factories.make_token(owner, kind=TokenKind.USER, now=timezone.now())
    return Demo(
        owner=owner,
        maintainer=maintainer,
        reader=reader,
        outsider=outsider,
        namespace=namespace,
        repository=repository,
        broken=_broken(namespace, owner),
        memories=memories,
    )


def ids_of(demo: Demo, *, gone: str = "gone") -> Ids:
    """Return what else there is an address for: a deletion, and a run that failed."""
    now = timezone.now()
    namespace = factories.make_namespace(gone, owner=demo.owner)
    receipt = erasure.request_erasure(
        caller=caller_of_user(user=demo.owner),
        namespace_id=namespace.pk,
        confirm=gone,
        grace=timedelta(hours=24),
        now=now,
    )
    run = IndexRun.objects.filter(repository=demo.broken).latest("pk")
    return Ids(erasure=receipt.id, run=run.pk)


def _indexed(namespace: Namespace, folder: Path, owner: User) -> Repository:
    checkout = Checkout(folder / REPOSITORY)
    begun = datetime.now(tz=UTC) - timedelta(days=90)
    for number, (subject, files) in enumerate(shop.COMMITS):
        at = begun + timedelta(days=14 * number)
        checkout.commit(files, subject=subject, at=at.isoformat())
    repository = factories.make_repository(
        namespace, REPOSITORY, url=str(checkout.path), created_by=owner
    )
    index(repository)
    graph.rank_repository(repository_id=repository.pk)
    backfill.advance(repository_id=repository.pk, seconds=20)
    return repository


def _broken(namespace: Namespace, owner: User) -> Repository:
    """Return a repository whose host does not answer."""
    repository = factories.make_repository(namespace, "warehouse", created_by=owner)
    IndexRun.objects.create(
        repository=repository,
        requested_by=owner.username,
        state=IndexRun.State.FAILED,
        step=IndexRun.Step.FETCHING,
        finished_at=timezone.now(),
        error="The git host does not answer: could not resolve git.example.",
    )
    return repository


def _remember(owner: User, repository: Repository, kind: str, content: str, why: str) -> UUID:
    outcome = store_memory(
        caller=caller_of_user(user=owner),
        namespace_id=repository.namespace_id,
        repository_id=repository.pk,
        content=content,
        memory_type=kind,
        rationale=why,
        now=timezone.now(),
    )
    return outcome.memory.id


def _propose(namespace: Namespace, memories: tuple[UUID, ...]) -> None:
    propose(
        namespace_id=namespace.pk,
        kind="merge",
        memory_ids=memories[:2],
        proposal={"operation": "associate", "arguments": {"kind": "EXPLAINS"}},
        reason="Both speak of how totals are rounded.",
        confidence=0.82,
        proposed_by="cluster",
        now=timezone.now(),
    )


def _leave(owner: User, repository: Repository) -> None:
    now = timezone.now()
    Session.objects.create(
        namespace_id=repository.namespace_id,
        repository=repository,
        user=owner,
        agent="claude-code",
        client_session_id="demo-session",
        started_at=now - timedelta(minutes=40),
        last_event_at=now,
    )
    write_handoff(
        caller=caller_of_user(user=owner),
        namespace_id=repository.namespace_id,
        repository_id=repository.pk,
        baton=Baton(summary="Refunds are negative charges now; their tests are not written yet."),
        now=now,
    )
