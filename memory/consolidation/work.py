"""One run at work: what a cycle is given, and the one way in which it may change anything.

Every step is a transaction of its own that holds the change and what undoes it, so that a run that
is killed leaves nothing half-done, and goes on where it was when it is started again.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from django.db import transaction

from codemem.policies import Value
from memory.consolidation import images
from memory.models import ConsolidationChange, ConsolidationRun, ReviewItem
from memory.services import review

ACTOR = "consolidation"
STEP_ROWS = 500

Item = TypeVar("Item")


class Cancelled(Exception):
    """Somebody asked the run to stop."""


@dataclass(slots=True, kw_only=True)
class Work:
    """`policy` holds the settings of the cycle without their prefix: threshold, cap, and so on."""

    run: ConsolidationRun
    now: datetime
    policy: Mapping[str, Value]
    steps: int = field(default=0)

    @property
    def namespace_id(self) -> UUID:
        return self.run.namespace_id

    @property
    def is_dry(self) -> bool:
        return self.run.is_dry

    def number(self, name: str) -> float:
        return float(self.policy[name])

    def count(self, name: str) -> int:
        return int(self.policy[name])

    @contextmanager
    def changing(
        self,
        memory_ids: Collection[UUID],
        *,
        tables: Collection[str] = tuple(images.TABLES),
        links: bool = True,
    ) -> Iterator[set[UUID]]:
        """Hold a transaction, and keep whatever becomes different of these memories in it.

        Yields a set to which the step adds the memories that it makes. A dry run never comes here.
        """
        assert not self.is_dry
        self._stop_if_asked()
        with transaction.atomic():
            before = images.image(
                namespace_id=self.namespace_id, memory_ids=memory_ids, tables=tables, links=links
            )
            made: set[UUID] = set()
            yield made
            after = images.image(
                namespace_id=self.namespace_id,
                memory_ids=[*memory_ids, *made],
                tables=tables,
                links=links,
            )
            changes = images.differences(self.run, before, after)
            ConsolidationChange.objects.bulk_create(changes, batch_size=1_000)
        self.steps += 1

    def propose(
        self,
        *,
        kind: ReviewItem.Kind,
        operation: str,
        memory_ids: Sequence[UUID],
        reason: str,
        confidence: float,
        arguments: Mapping[str, object] | None = None,
    ) -> bool:
        """Put a change before people; False when it is before them, or was turned down."""
        self._stop_if_asked()
        with transaction.atomic():
            item = review.propose(
                namespace_id=self.namespace_id,
                kind=kind,
                memory_ids=memory_ids,
                proposal={"operation": operation, "arguments": dict(arguments or {})},
                reason=reason,
                confidence=confidence,
                proposed_by=f"{self.run.cycle} cycle",
                now=self.now,
            )
            if item is None:
                return False
            ConsolidationChange.objects.create(
                run=self.run,
                kind="proposed",
                subject=f"memory_reviewitem:{item.pk}",
                after={"state": item.state},
            )
        return True

    def _stop_if_asked(self) -> None:
        asked = ConsolidationRun.objects.filter(pk=self.run.pk, is_cancelled=True).exists()
        if asked:
            raise Cancelled


def batches(items: Sequence[Item], size: int = STEP_ROWS) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
