import pytest

from indexing.languages import LANGUAGES, grammar_of, language_named, language_of
from indexing.parsing import extract


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_every_language_compiles_its_queries_and_reads_nothing_from_nothing(language):
    assert grammar_of(language).cursor is not None
    assert extract(language, b"").definitions == ()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.py", "python"),
        ("a/b.pyi", "python"),
        ("b.JS", "javascript"),
        ("b.jsx", "javascript"),
        ("b.d.ts", "typescript"),
        ("b.mts", "typescript"),
        ("b.tsx", "tsx"),
        ("b_test.go", "go"),
    ],
)
def test_an_extension_names_the_language(path, name):
    assert language_of(path) is language_named(name)


@pytest.mark.parametrize("path", ["README.rst", "Makefile", ".py", "a.py/b", "go", "x."])
def test_other_files_have_no_language(path):
    assert language_of(path) is None


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("tests/helpers.py", True),
        ("pkg/test_views.py", True),
        ("pkg/views_test.py", True),
        ("conftest.py", True),
        ("pkg/testing.py", False),
        ("pkg/latest.py", False),
        ("src/a.test.ts", True),
        ("src/__tests__/a.ts", True),
        ("src/a.spec.jsx", True),
        ("src/contest.ts", False),
        ("tree_test.go", True),
        ("tree.go", False),
    ],
)
def test_a_path_tells_test_code(path, is_test):
    language = language_of(path)
    assert language
    assert bool(language.test_paths.search(path)) is is_test
