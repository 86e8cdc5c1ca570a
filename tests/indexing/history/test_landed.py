from typing import Any
from uuid import UUID

from graph.models import Repository
from graph.queries.history import LandedChange, landed_changes, newest_landed
from indexing.history import landed
from indexing.missing.knowledge import history_of
from indexing.risk.knowledge import past_of
from tests.factories import NOW
from tests.indexing.checkout import Checkout, bring_up


def test_a_review_reads_the_past_once_for_all_that_it_asks(
    mirrored: Repository, source: Checkout, monkeypatch
):
    source.commit({"net.py": "A = 0\n"}, subject="Add the net")
    head = source.commit({"net.py": "A = 1\n"}, subject="Fix the net")
    bring_up(mirrored)
    reads = []

    def read(*, repository_id: UUID, **given: Any) -> list[LandedChange]:
        reads.append(repository_id)
        return landed_changes(repository_id=repository_id, **given)

    monkeypatch.setattr(landed, "landed_changes", read)
    asked: dict[str, Any] = {
        "repository_id": mirrored.pk,
        "mirror": None,
        "commit": head,
        "indexed_commit": head,
    }
    history = history_of(**asked)
    past = past_of(**asked, paths=["net.py"], now=NOW)
    assert len(reads) == 1
    assert history.paths[history.keys["net.py"]] == "net.py"
    assert past.commits == 2

    newest = newest_landed(repository_id=mirrored.pk)
    later = source.commit({"net.py": "A = 2\n"}, subject="Widen the net")
    bring_up(mirrored)
    assert newest_landed(repository_id=mirrored.pk) != newest
    history_of(**asked | {"commit": later, "indexed_commit": later})
    assert len(reads) == 2
