"""The real indexers on the samples, walled off; `make test-scip` installs and runs them."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from graph import cypher
from graph.models import Repository
from indexing.models import ScipRun
from indexing.pipeline import run_index
from indexing.scip import queries
from indexing.scip.binding import bind
from indexing.scip.index import IndexFile
from indexing.scip.refinement import refine
from indexing.scip.sandbox import find_wall
from indexing.services import request_index
from tests.factories import NOW
from tests.indexing.checkout import Checkout
from tests.indexing.scip.test_binding import RELATIONS, TARGETS, named
from tests.samples.indexing import LANGUAGES, index_sample, parsed, sources_of

pytestmark = pytest.mark.scip


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_real_indexer_says_what_the_kept_index_says(language: str, tmp_path: Path) -> None:
    wall = find_wall(settings.SCIP_TOOLS)
    assert wall, "bubblewrap does not work here"
    report = index_sample(language, tools=settings.SCIP_TOOLS, scratch=tmp_path, wall=wall)
    assert report, "the indexer is not installed"
    assert report.reason == ""
    (written,) = report.indexes
    index = IndexFile(written.path, max_bytes=1 << 24)
    answers = bind(index, parsed(sources_of(language))).answers
    found = named(language, answers)
    for place, target in TARGETS[language].items():
        assert target in found.get(place, set()), place
    relations = {
        (r.kind, r.source.removeprefix("sym:"), r.target.removeprefix("sym:"))
        for said in answers.values()
        for r in said.relations
    }
    assert relations == RELATIONS[language]


@pytest.mark.django_db
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_real_indexer_says_is_in_the_graph(
    language: str, mirrored: Repository, source: Checkout, settings: Any
) -> None:
    settings.SCIP_ENABLED = True
    settings.SCIP_SANDBOX = "required"
    source.commit(sources_of(language))
    _index(mirrored)
    before = _edges(mirrored)

    assert refine(repository_id=mirrored.pk).has_answers
    runs = queries.latest_runs(repository_ids=[mirrored.pk])
    assert [(run.state, run.reason, run.is_walled) for run in runs] == [
        (ScipRun.State.DONE, "", True)
    ]
    _index(mirrored)

    after = _edges(mirrored)
    compiled = {target for target, sources in after.values() if sources & 2}
    assert {f"sym:{target}" for target in TARGETS[language].values()} <= compiled
    assert before.keys() <= after.keys()


def _index(repository: Repository) -> None:
    run_id = request_index(repository_id=repository.pk, requested_by="tests")
    outcome = run_index(run_id=run_id, now=NOW)
    assert outcome
    assert outcome.is_indexed


def _edges(repository: Repository) -> dict[tuple[str, str], tuple[str, int]]:
    """Return (source, target) -> target, and who says so, of every live edge in the code."""
    rows = cypher.run(
        graph=cypher.graph_name(repository.namespace_id),
        query="MATCH (a {repo: $repo})-[e {head: true}]->(b) RETURN a.uid, b.uid, e.s",
        columns=("source", "target", "sources"),
        parameters={"repo": str(repository.pk)},
    )
    return {(source, target): (target, int(sources or 0)) for source, target, sources in rows}
