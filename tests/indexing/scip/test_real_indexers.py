"""The real indexers on the samples, walled off; `make test-scip` installs and runs them."""

from pathlib import Path

import pytest
from django.conf import settings

from indexing.scip.binding import bind
from indexing.scip.index import IndexFile
from indexing.scip.sandbox import find_wall
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
