"""All analyses over a real checkout: what a push brings, what the next one takes away."""

from typing import Any

import pytest
from django.db import connections

from graph import queries as graph
from graph.models import Repository
from indexing.findings import analysis, queries, smells
from indexing.locks import Work, only_worker
from indexing.models import Analysis, AnalyzedFile, Finding, Metric
from tests.factories import NOW
from tests.indexing.checkout import Checkout, index

DANGEROUS = '''\
"""Work with text."""


def calculate(text):
    """Return what a text says."""
    return eval(text)


def _forgotten():
    return 1
'''
MENDED = DANGEROUS.replace("eval(text)", "int(text)")
USER = "from app.text import calculate\n\n\ndef total():\n    return calculate('1')\n"


@pytest.fixture
def analyzed(mirrored: Repository, source: Checkout) -> Repository:
    source.commit({"app/__init__.py": "", "app/text.py": DANGEROUS, "app/user.py": USER})
    _analyze(mirrored)
    return mirrored


def test_a_push_brings_findings_with_their_place(analyzed: Repository) -> None:
    found = Finding.objects.order_by("rule").values_list("rule", "path", "line", "symbol")

    assert list(found) == [
        ("dead-code.unused-symbol", "app/text.py", 9, "sym:app/text.py#_forgotten"),
        ("dead-code.unused-symbol", "app/user.py", 4, "sym:app/user.py#total"),
        ("security.eval", "app/text.py", 6, "sym:app/text.py#calculate"),
    ]


def test_a_push_that_mends_the_code_resolves_the_finding(
    analyzed: Repository, source: Checkout
) -> None:
    commit = source.commit({"app/text.py": MENDED})
    _analyze(analyzed)

    finding = Finding.objects.get(rule="security.eval")
    assert (finding.state, finding.resolved_commit) == ("resolved", commit)
    assert Finding.objects.filter(state="open").count() == 2


def test_only_files_that_changed_are_looked_at_again(
    analyzed: Repository, source: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    real = smells.find_smells

    def noting(**arguments: Any) -> object:
        seen.append(arguments["file"].path)
        return real(**arguments)

    monkeypatch.setattr(smells, "find_smells", noting)
    source.commit({"app/text.py": MENDED})
    _analyze(analyzed)

    assert seen == ["app/text.py"]


def test_a_file_that_leaves_takes_its_findings_and_metrics_along(
    analyzed: Repository, source: Checkout
) -> None:
    source.commit({"app/text.py": None})
    _analyze(analyzed)

    assert not Finding.objects.filter(path="app/text.py", state="open").exists()
    assert not Metric.objects.filter(node="file:app/text.py", until_at=None).exists()
    assert not AnalyzedFile.objects.filter(path="app/text.py").exists()


def test_metrics_say_who_uses_owns_and_changes_a_file(analyzed: Repository) -> None:
    metrics = queries.list_metrics(
        repository_id=analyzed.pk,
        names=None,
        node="file:app/text.py",
        path_prefix=None,
        limit=50,
    )

    values = {one.name: one.value for one in metrics}
    assert values.items() >= {
        *(("lines", 10), ("functions", 2), ("public_symbols", 1), ("documented_symbols", 1)),
        *(("recent_commits", 1), ("recent_authors", 1), ("recent_churn", 10)),
        *(("dependents", 1), ("change_impact", 1), ("authors", 1), ("owner_share", 1)),
    }


def test_files_that_change_together_have_an_edge(mirrored: Repository, source: Checkout) -> None:
    for number in range(9):
        source.commit({f"other{number}.py": "1\n"})
    for number in range(4):
        source.commit({"a.py": f"{number}\n", "b.py": f"{number}\n"})
    _analyze(mirrored)

    def partners() -> list[tuple[str, int, float]]:
        found = graph.co_changed_with(
            namespace_id=mirrored.namespace_id, repository_id=mirrored.pk, path="a.py"
        )
        return [(one.path, one.support, one.confidence) for one in found]

    assert partners() == [("b.py", 4, 1.0)]
    source.commit({"a.py": "alone\n"})
    _analyze(mirrored)
    assert partners() == [("b.py", 4, 0.8)]


def test_analyzing_again_changes_nothing(analyzed: Repository) -> None:
    before = list(Finding.objects.order_by("pk").values())
    metrics = Metric.objects.count()
    Analysis.objects.update(commit="")  # as if it had been lost at the last step
    assert not analysis.analyze(repository_id=analyzed.pk, now=NOW)

    assert list(Finding.objects.order_by("pk").values()) == before
    assert Metric.objects.count() == metrics


def test_what_is_not_blamed_in_time_is_left_for_the_next_task(
    mirrored: Repository, source: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.commit({"a.py": "1\n", "b.py": "1\n"})
    index(mirrored)
    monkeypatch.setattr(analysis, "_SECONDS_OF_BLAME", 0.0)

    assert analysis.analyze(repository_id=mirrored.pk, now=NOW)
    assert queries.repositories_to_analyze() == [mirrored.pk]
    monkeypatch.setattr(analysis, "_SECONDS_OF_BLAME", 20.0)
    assert not analysis.analyze(repository_id=mirrored.pk, now=NOW)
    assert queries.repositories_to_analyze() == []


@pytest.mark.django_db(transaction=True)
def test_two_workers_do_not_analyze_at_once(mirrored: Repository, source: Checkout) -> None:
    source.commit({"a.py": "1\n"})
    index(mirrored)

    other = connections.create_connection("default")
    with other.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_lock(hashtextextended(%s, %s))",
            [f"{mirrored.pk}", Work.FINDINGS.value],
        )
        assert not analysis.analyze(repository_id=mirrored.pk, now=NOW)
        # Closing the connection alone would free the lock a moment later.
        cursor.execute("SELECT pg_advisory_unlock_all()")
    other.close()
    assert not Analysis.objects.exists()
    with only_worker(work=Work.FINDINGS, repository_id=mirrored.pk) as is_ours:
        assert is_ours


def test_a_repository_that_is_not_indexed_is_left_alone(mirrored: Repository) -> None:
    assert not analysis.analyze(repository_id=mirrored.pk, now=NOW)
    assert queries.repositories_to_analyze() == []


def _analyze(repository: Repository) -> None:
    index(repository)
    assert not analysis.analyze(repository_id=repository.pk, now=NOW)
