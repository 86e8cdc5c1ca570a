"""How prose and code fall into words, and which names a prose text mentions."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from codemem.words import (
    MAX_TOKEN_BYTES,
    code_tokens,
    identifiers,
    query_terms,
    to_or_tsquery,
    tokens_text,
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("HTTPServer", "httpserver http server"),
        ("parse_json2", "parse_json2 pars json 2"),
        ("getUserByID", "getuserbyid get user id"),
        ("__init__", "__init__ init"),
        ("MAX_RETRY_COUNT", "max_retry_count max retri count"),
        ("pre-commit", "pre-commit pre commit"),
        ("utf8 x_train", "utf8 utf 8 x_train train"),
        ("to_list _ ___ x", "to_list list x"),
        ("URLs", "url"),
        ("parseURLs", "parseurls pars url"),
    ],
)
def test_an_identifier_is_kept_whole_and_falls_into_stemmed_parts(text, tokens):
    assert code_tokens(text) == tokens.split()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("graph/query.py", "graph/query.py graph query.py queri py"),
        ("os.path.join", "os.path.join os path join"),
        ("std::Vec", "std::vec std vec"),
        ("./.github/ci.yml", ".github/ci.yml .github github ci.yml ci yml"),
        ("user->name#slug", "user name slug"),
    ],
)
def test_a_path_is_kept_whole_and_falls_into_its_segments(text, tokens):
    assert code_tokens(text) == tokens.split()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("404 at 3.11.4", "404 3.11.4"),
        ("v2.0.1-rc1", "v2.0.1-rc1 2.0.1-rc1"),
        ("on 2026-05-01.", "2026-05-01"),
        ("commit 53aa51172d142c", "commit 53aa51172d142c"),
    ],
)
def test_numbers_versions_dates_and_hashes_stay_in_one_piece(text, tokens):
    assert code_tokens(text) == tokens.split()


def test_a_plain_word_becomes_its_stem_and_stop_words_are_dropped():
    tokens = code_tokens("Don't be caching what isn't the user's.")
    assert tokens == ["cach", "user"]


@pytest.mark.parametrize("question", ["cache", "caching", "the cached keys", "CACHE", "cacheKey"])
def test_a_question_meets_prose_and_identifiers_about_the_same_thing(question):
    stored = set(code_tokens("We cached every cache_key in CacheKeyStore."))
    assert stored & set(query_terms(question))


def test_unicode_is_normalized_and_ideographs_become_pairs():
    assert code_tokens("\uff28\uff54\uff54\uff50 STRASSE Stra\u00dfe") == [
        "http",
        "strass",
        "strass",
    ]
    assert "\u7f13\u5b58" in code_tokens("Redis\u7f13\u5b58\u5931\u6548")
    assert "redi" in code_tokens("Redis\u7f13\u5b58\u5931\u6548")


def test_c_plus_plus_and_c_sharp_are_words():
    assert code_tokens("C++, C# and F#") == ["c++", "c#", "f#"]


def test_output_is_bounded_in_tokens_and_bytes():
    assert len(code_tokens("word " * 100_000, limit=50)) == 50
    long_path = "/".join(["directory"] * 100)
    umlauts = "\u00e4" * 300
    tokens = code_tokens(f"{long_path} {'x' * 10_000} {umlauts}")
    assert set(tokens) == {"directori"}
    assert all(len(token.encode()) <= MAX_TOKEN_BYTES for token in tokens)


@pytest.mark.parametrize(
    "pattern", ["a.", "a-1.", "a::", "1.", "/", "_", "`", "A", "+", "~/", "'s", "a@", "a://"]
)
def test_hostile_text_takes_linear_time(pattern):
    started = time.process_time()
    code_tokens(pattern * 50_000)
    identifiers(pattern * 50_000)
    assert time.process_time() - started < 2


def test_threads_do_not_share_a_stemmer():
    texts = [f"caching{letter * 3} connections relational" for letter in "abcdefghijklmnop"] * 20
    alone = [code_tokens(text) for text in texts]
    with ThreadPoolExecutor(max_workers=8) as pool:
        assert list(pool.map(code_tokens, texts)) == alone


def test_tokens_text_is_one_line_of_the_same_tokens():
    text = "The HTTPServer\nin deploy/server.py"
    assert tokens_text(text).split(" ") == code_tokens(text)
    assert tokens_text("") == ""


def test_query_terms_are_distinct_and_in_order():
    terms = query_terms("recall memory, Recall MEMORY limit")
    assert terms == ["recal", "memori", "limit"]
    assert query_terms("what is it?") == []
    assert len(query_terms(" ".join(f"word{n}" for n in range(500)), limit=10)) == 10


@pytest.mark.parametrize(
    ("term", "quoted"),
    [
        ("recall", "'recall'"),
        ("it's", "'it''s'"),
        ("a\\", "'a\\\\'"),
        ("x:*", "'x:*'"),
        ("a & !b | (c <-> d)", "'a & !b | (c <-> d)'"),
    ],
)
def test_a_term_of_a_tsquery_is_always_quoted(term, quoted):
    assert to_or_tsquery([term]) == quoted


def test_a_tsquery_joins_terms_with_or_and_leaves_out_what_cannot_be_stored():
    assert to_or_tsquery(["a", "", " ", "b\0", "x" * 256, "b"]) == "'a' | 'b'"
    assert to_or_tsquery([]) == ""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Use `recall` and `Tool.call()` here", ["recall", "Tool.call"]),
        ("see graph/queries.py:12, then src/user.ts.", ["graph/queries.py", "src/user.ts"]),
        ("sym:graph/queries.py#dependents broke", ["graph/queries.py", "dependents"]),
        ("in ./setup/ or ../lib or /etc/hosts", ["setup", "../lib", "/etc/hosts"]),
        ("codemem/gateway/tools is a package", ["codemem/gateway/tools"]),
        ("README.md, Makefile and pyproject.toml", ["README.md", "Makefile", "pyproject.toml"]),
        ("os.path.join (self.user_id)", ["os.path.join", "self.user_id"]),
        ("std::vec::Vec and Foo::bar", ["std::vec::Vec", "Foo::bar"]),
        ("HTTPServer calls getUser and MAX_SIZE", ["HTTPServer", "getUser", "MAX_SIZE"]),
        ("a CamelCase-style user_id-like name", ["CamelCase", "user_id"]),
        ("run() twice, then run() again", ["run"]),
        ("__init__ is special", ["__init__"]),
        ("`git rebase_all -i` and ```run_tests```", ["rebase_all", "run_tests"]),
    ],
)
def test_identifiers_are_found_in_prose(text, names):
    assert identifiers(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox. It jumps, e.g. over 1.5 dogs, i.e. lazy ones, etc.",
        "At 5 p.m. in the U.S. we read/write and/or share TCP/IP, I/O and CI/CD, 24/7.",
        "Version v1.2.3 of 01/02/2026 (2.x) is _really_ well-known; PhD, URLs, IDs, function(s).",
        "Mail jane.doe@example.com or read https://example.com/some_page/Index.html now.",
        "W/o it, w/ it ... and then? Issue #12, `1.5`, `e.g.`, 50% -- $5, sha256, i18n, B2B",
        "",
    ],
)
def test_ordinary_prose_has_no_identifiers(text):
    assert identifiers(text) == []


HOSTILE_TERMS = [
    "it's",
    "a\\",
    "\\'",
    "x:*",
    "a & !b | (c <-> d)",
    "''",
    "<->",
    "!",
    "naïve",
    "a:1A",
]


@pytest.mark.django_db
@pytest.mark.parametrize("term", HOSTILE_TERMS)
def test_postgres_reads_every_term_as_that_term(term):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT array_to_tsvector(%s) @@ %s::tsquery, numnode(%s::tsquery)",
            [[term], to_or_tsquery([term]), to_or_tsquery([term])],
        )
        assert cursor.fetchone() == (True, 1)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query", ["how is json parsed", "parse_json2", "deploy/server.py", "1.5.2"]
)
def test_postgres_finds_a_stored_text_by_any_of_its_words(query):
    stored = tokens_text("parse_json2 in deploy/server.py came with version 1.5.2")
    terms = to_or_tsquery([*query_terms(query), *HOSTILE_TERMS])
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT to_tsvector('simple', %s) @@ to_tsquery('simple', %s),"
            " array_to_tsvector(string_to_array(%s, ' ')) @@ %s::tsquery",
            [stored, terms, stored, terms],
        )
        assert cursor.fetchone() == (True, True)


@pytest.mark.django_db
def test_postgres_finds_nothing_without_terms():
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_tsvector('simple', 'word') @@ %s::tsquery", [to_or_tsquery([])])
        assert cursor.fetchone() == (False,)
