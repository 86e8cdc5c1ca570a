"""A past for a team's repository: two commits of real text, as if a worker had read their history.

What a worker writes is written by the same services; only Git and the extraction are left out.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from django.utils import timezone

from graph import services as graph
from graph.events import (
    CommitEvents,
    FileEvent,
    Happening,
    HistoricCommit,
    MergedRequest,
    SymbolEvent,
    SymbolKey,
)
from graph.values import NodeKind
from indexing.contents import blob_id
from indexing.facts import EXTRACTOR_VERSION
from indexing.languages import language_named
from indexing.models import BlobFacts, History, TreeSpan
from indexing.parsing import extract

FIRST, SECOND = "a" * 40, "b" * 40
BEGUN, GONE_ON = datetime(2025, 1, 10, tzinfo=UTC), datetime(2026, 2, 20, tzinfo=UTC)
REQUEST = 17
_BILLING = "class Invoice:\n    def total(self):\n        return 1\n"
_CHARGE = "\n\ndef charge(invoice: Invoice):\n    return invoice.total()\n"
_WEB = "from app.billing import charge\n\n\ndef checkout(invoice):\n    return charge(invoice)\n"
_TEST = "from app.billing import charge\n\n\ndef test_charge():\n    assert charge(None)\n"
_TREES = (
    {"app/billing.py": _BILLING},
    {
        "app/billing.py": _BILLING + _CHARGE,
        "app/web.py": _WEB,
        "tests/test_billing.py": _TEST,
    },
)


def give_past(repository_id: UUID) -> None:
    """Give a repository two commits: the first is old and small, the second a pull request's."""
    graph.set_history(
        repository_id=repository_id,
        after=-1,
        commits=[
            _commit(FIRST, (), BEGUN, "Begin", 0),
            _commit(SECOND, (FIRST,), GONE_ON, f"Charge customers (#{REQUEST})", 1),
        ],
        requests=[
            MergedRequest(
                number=REQUEST,
                title="Charge customers",
                branch="",
                merged_commit=SECOND,
                merged_at=GONE_ON,
                commits=(SECOND,),
            )
        ],
    )
    graph.record_events(repository_id=repository_id, events=_events(), now=timezone.now())
    History.objects.create(
        repository_id=repository_id,
        state=History.State.DONE,
        head=SECOND,
        length=2,
        spans_until=2,
        commits_total=2,
        commits_done=2,
    )
    _spans(repository_id, *_TREES)


def _spans(repository_id: UUID, first: Mapping[str, str], second: Mapping[str, str]) -> None:
    spans: list[tuple[str, str, int, int | None]] = [
        (path, source, 0, 1) for path, source in first.items()
    ]
    spans += [(path, source, 1, None) for path, source in second.items()]
    TreeSpan.objects.bulk_create(
        TreeSpan(
            repository_id=repository_id,
            path=path,
            blob=blob_id(source.encode()),
            from_position=begins,
            to_position=ends,
        )
        for path, source, begins, ends in spans
    )
    BlobFacts.objects.bulk_create(
        (
            BlobFacts(
                blob=blob_id(source.encode()),
                language="python",
                extractor_version=EXTRACTOR_VERSION,
                facts=extract(language_named("python"), source.encode()).to_bytes(),
            )
            for _, source, _, _ in spans
        ),
        ignore_conflicts=True,
    )


def _events() -> list[CommitEvents]:
    billing = "app/billing.py"
    return [
        CommitEvents(
            sha=FIRST,
            files=(FileEvent(Happening.ADDED, billing),),
            symbols=(
                _symbol(Happening.ADDED, billing, "Invoice", NodeKind.CLASS),
                _symbol(Happening.ADDED, billing, "Invoice.total", NodeKind.METHOD),
            ),
        ),
        CommitEvents(
            sha=SECOND,
            files=(
                FileEvent(Happening.MODIFIED, billing),
                FileEvent(Happening.ADDED, "app/web.py"),
                FileEvent(Happening.ADDED, "tests/test_billing.py"),
            ),
            symbols=(
                _symbol(Happening.ADDED, billing, "charge", NodeKind.FUNCTION),
                _symbol(Happening.ADDED, "app/web.py", "checkout", NodeKind.FUNCTION),
            ),
        ),
    ]


def _symbol(happening: Happening, path: str, name: str, kind: NodeKind) -> SymbolEvent:
    return SymbolEvent(happening, SymbolKey(path, name, kind, 0), "python")


def _commit(
    sha: str, parents: tuple[str, ...], at: datetime, subject: str, position: int
) -> HistoricCommit:
    return HistoricCommit(
        sha=sha,
        parents=parents,
        author_name="Ada",
        author_email="ada@example.org",
        authored_at=at,
        committed_at=at,
        subject=subject,
        body="",
        is_bot=False,
        position=position,
        landed=position,
    )
