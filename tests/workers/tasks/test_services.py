import uuid

import pytest

from indexing.crossing import services
from indexing.crossing.services import CrossingBusy, CrossingReport
from workers import queue
from workers.tasks.services import link_crossing, refresh_crossing


@pytest.fixture
def sent(monkeypatch):
    """What is asked of the queue, in order."""
    sent = []
    for name in ("refresh_crossing", "link_crossing"):
        monkeypatch.setattr(
            queue,
            name,
            lambda *, repository_id, is_again=False, name=name: sent.append(
                (name, repository_id, is_again)
            ),
        )
    return sent


def test_siblings_look_again_after_a_pass(monkeypatch, sent):
    siblings = (uuid.uuid4(), uuid.uuid4())
    report = CrossingReport(files_read=1, rows_written=1, edges_written=1, siblings=siblings)
    monkeypatch.setattr(services, "refresh_crossing", lambda **_: report)
    refresh_crossing(repository_id=str(uuid.uuid4()))
    assert sent == [("link_crossing", sibling, False) for sibling in siblings]


def test_who_comes_while_another_looks_is_asked_again(monkeypatch, sent):
    def busy(**_):
        raise CrossingBusy

    monkeypatch.setattr(services, "refresh_crossing", busy)
    monkeypatch.setattr(services, "link_crossing", busy)
    repository_id = uuid.uuid4()
    refresh_crossing(repository_id=str(repository_id))
    link_crossing(repository_id=str(repository_id))
    assert sent == [
        ("refresh_crossing", repository_id, True),
        ("link_crossing", repository_id, True),
    ]


@pytest.mark.django_db
def test_a_repository_that_is_gone_is_nothing_to_look_at(sent):
    refresh_crossing(repository_id=str(uuid.uuid4()))
    link_crossing(repository_id=str(uuid.uuid4()))
    assert sent == []
