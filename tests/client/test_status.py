import pytest


@pytest.fixture
def here(codemem, repository):
    repository.commit()
    codemem.directory = repository.directory
    return codemem


def test_status_shows_server_scope_counts_queues_and_health(codemem, server):
    server.status |= {
        "queues": {"index": 0, "embed": 3},
        "health": {"database": "ok", "redis": "unreachable"},
        "tools": {
            "recall": {"calls": 1200, "p50_ms": 12.34, "p95_ms": 40.0, "p99_ms": 80.0},
            "review_diff": {"calls": 3, "p50_ms": 300, "p95_ms": 500, "p99_ms": 500},
        },
    }
    result = codemem("status")
    assert result.status == 0
    assert f"Server   {server.url}  codemem 0.1.0" in result.out
    assert "Scope    platform/api @ main" in result.out
    assert "memories 12 · symbols 12,345" in result.out
    assert "index 0 · embed 3" in result.out
    assert "database ok · redis unreachable" in result.out
    assert "recall                    1,200 calls   p50/p95/p99 12.3/40.0/80.0 ms" in result.out
    assert "\x1b" not in result.out


def test_status_under_json_is_the_servers_answer(codemem, server):
    assert codemem("status", "--json").json == server.status


def test_status_compares_the_index_with_head(here, server, repository):
    indexed = repository.git("rev-parse", "HEAD")
    server.status["code"] = {"indexed_commit": indexed, "behind_by": 0}
    assert f"indexed up to your HEAD {indexed[:10]}" in here("status").out
    repository.commit("b.py")
    head = repository.commit("c.py")
    expected = f"indexed {indexed[:10]}, 2 commits behind your HEAD {head[:10]}"
    assert expected in here("status").out


def test_status_says_when_the_index_is_ahead(here, server, repository):
    repository.commit("b.py")
    server.status["code"] = {"indexed_commit": repository.git("rev-parse", "HEAD")}
    repository.git("checkout", "-q", "HEAD~1")
    assert "newer than your HEAD" in here("status").out


def test_status_says_when_the_checkout_lacks_the_indexed_commit(here, server):
    server.status["code"] = {"indexed_commit": "f" * 40, "behind_by": 3}
    out = here("status").out
    assert "indexed ffffffffff, which this checkout does not have" in out
    assert "3 commits behind the server's mirror" in out


def test_status_says_that_the_index_is_behind_without_a_count(codemem, server):
    server.status["code"] = {"indexed_commit": "f" * 40, "behind": True, "note": "side is new."}
    assert "indexed ffffffffff; behind the server's mirror; side is new." in codemem("status").out


def test_status_says_when_nothing_is_indexed(codemem, server):
    server.status["code"] = {"indexed_commit": None}
    assert "not indexed yet" in codemem("status").out


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"scope": "platform/api", "health": True, "counts": None, "tools": []},
        {"health": {"database": {"status": "ok"}}, "queues": {"index": {"ready": 1}}},
        {"code": "none", "server": "0.1", "tools": {"recall": {}, "x": 7}},
    ],
)
def test_status_bears_absent_keys(codemem, server, answer):
    server.status = answer
    assert codemem("status").status == 0


def test_status_has_colors_on_a_terminal_only(codemem, server):
    server.status["health"] = {"database": "ok"}
    assert "\x1b[32mok\x1b[0m" in codemem.on_terminal("status", TERM="xterm").out
    assert "\x1b" not in codemem.on_terminal("status", TERM="xterm", NO_COLOR="1").out
    assert "\x1b" not in codemem.on_terminal("status", TERM="dumb").out
