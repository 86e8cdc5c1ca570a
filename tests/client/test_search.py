import pytest

from tests.client.server_double import Canned

MEMORY = {
    "id": "0199-1",
    "content": "Uploads retry three times.\nThen they fail.",
    "memory_type": "decision",
    "score": 0.8731,
    "tags": ["uploads", "retry"],
    "author": "ada",
    "created_at": "2026-11-20T10:00:00Z",
    "repository": "api",
    "links": [{"id": "sym:a.py#retry"}],
}

SYMBOL = {
    "id": "sym:graph/queries.py#dependents",
    "kind": "function",
    "qualified_name": "graph.queries.dependents",
    "path": "graph/queries.py",
    "start_line": 12,
    "end_line": 48,
    "signature": "def dependents(*, symbol: int)",
    "score": 0.9,
}


def test_search_recalls_memories_in_rank_order(codemem, server):
    server.memories = [MEMORY, {"content": "Uploads are small."}]
    result = codemem("search", "Uploads", "retry", "-k", "5", "--type", "decision")
    assert result.status == 0
    assert server.last("/api/v1/tools/recall").json == {
        "query": "Uploads retry",
        "k": 5,
        "memory_type": "decision",
    }
    assert result.out.startswith(
        " 1  0.87  decision  ada  api  2026-11-20\n"
        "    Uploads retry three times.\n"
        "    Then they fail.\n"
        "    #uploads #retry\n"
        "    about sym:a.py#retry\n"
        "    0199-1\n"
    )
    assert " 2     ?  memory\n    Uploads are small." in result.out
    assert "in platform/api @ main" in result.out


def test_search_finds_code(codemem, server):
    server.symbols = [SYMBOL]
    result = codemem("search", "--code", "dependents", "--mode", "hybrid")
    assert server.last("/api/v1/tools/search_code").json == {
        "query": "dependents",
        "k": 10,
        "mode": "hybrid",
    }
    assert result.out.startswith(
        " 1  0.90  function  graph.queries.dependents\n"
        "    graph/queries.py:12-48\n"
        "    def dependents(*, symbol: int)\n"
    )


@pytest.mark.parametrize("flags", [[], ["--code"]])
def test_search_under_json_is_the_servers_answer(codemem, server, flags):
    server.memories, server.symbols = [MEMORY], [SYMBOL]
    result = codemem("search", "--json", *flags, "Uploads dependents")
    assert result.json["results"] == [SYMBOL if flags else MEMORY]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [([], "No memory fits this question."), (["--code"], "No symbol fits these words.")],
)
def test_search_says_when_nothing_is_found(codemem, flags, sentence):
    result = codemem("search", *flags, "nothing")
    assert result.status == 0
    assert sentence in result.out


def test_search_shows_the_beginning_of_a_long_memory(codemem, server):
    server.memories = [{"content": "x\n" * 40}]
    out = codemem("search", "x").out
    assert out.count("    x\n") == 8
    assert "... 32 more lines" in out


def test_a_memory_cannot_drive_the_terminal(codemem, server):
    server.memories = [{"content": "x\x1b]0;owned\x07\x1b[2J", "author": "a\nb", "tags": ["\x9b"]}]
    out = codemem("search", "x").out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "a b" in out


def test_search_says_when_the_index_is_behind(codemem, server):
    server.canned["/api/v1/tools/search_code"] = Canned(
        body=b'{"results": [{"qualified_name": "a", "score": 1}, 7], "code": {"behind_by": 1,'
        b' "pending": true, "note": "side is not indexed; this answers for main."}}'
    )
    out = codemem("search", "--code", "a").out
    assert "side is not indexed; this answers for main." in out
    assert "The index is 1 commit behind the server's mirror, an index run is on its way." in out


def test_search_says_what_the_server_notes(codemem, server):
    server.canned["/api/v1/tools/recall"] = Canned(
        body=b'{"scope": {"namespaces": ["a", "b"], "source": "inferred"}, "results": [],'
        b' "note": "Vectors were unavailable: only words were compared."}'
    )
    out = codemem("search", "x").out
    assert "in a, b (inferred)\nVectors were unavailable" in out


def test_a_query_may_be_in_any_script(codemem, server):
    server.memories = [{"content": "記憶 🙂"}]
    assert "記憶 🙂" in codemem("search", "記憶", PYTHONIOENCODING="utf-8").out
