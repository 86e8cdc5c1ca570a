import json

import pytest

from tests.client.server_double import Canned

DIFF = b"""diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1 +1 @@
-x = 1
+x = 2
"""


@pytest.fixture
def branch(codemem, repository):
    """The command inside a checkout that is one commit ahead of main."""
    repository.commit()
    repository.git("switch", "-q", "-c", "side")
    repository.commit("a.py", "x = 2\n")
    codemem.directory = repository.directory
    return codemem


def sent(server):
    return server.last("/api/v1/reviews").json


def test_review_sends_standard_input_and_prints_markdown_on_request(codemem, server):
    result = codemem("review", "--depth", "4", "--format", "markdown", stdin=DIFF)
    assert result.status == 0
    assert result.out == "# Review\n\nRisk: medium\n"
    assert sent(server) == {"diff": DIFF.decode(), "depth": 4}


def test_review_prints_what_the_comment_says_without_its_marks(codemem, server):
    server.markdown = (
        "<!-- codemem-review -->\n\n### codemem: low risk\n\n- `net` is &#40;new&#41;\n"
    )
    result = codemem("review", stdin=DIFF)
    assert result.out == "codemem: low risk\n\n- net is (new)\n"
    assert sent(server) == {"diff": DIFF.decode()}


@pytest.mark.parametrize(
    ("shape", "asked", "nothing"),
    [
        ("sarif", "sarif", {"version": "2.1.0", "runs": []}),
        ("codequality", "code_quality", []),
    ],
)
def test_review_prints_the_reports_that_the_server_writes(codemem, server, shape, asked, nothing):
    report = [{"fingerprint": "a"}]
    answer = {"review": server.review, "markdown": "x", asked: report}
    server.canned["/api/v1/reviews"] = Canned(body=json.dumps(answer).encode())
    assert codemem("review", "--format", shape, stdin=DIFF).json == report
    assert sent(server)["formats"] == [asked]
    assert codemem("review", "--format", shape, stdin=b"").json == nothing
    del server.canned["/api/v1/reviews"]
    lacking = codemem("review", "--format", shape, stdin=DIFF)
    assert lacking.status != 0
    assert "writes no" in lacking.err


@pytest.mark.parametrize("flags", [["--format", "json"], ["--json"]])
def test_review_prints_json_on_request(codemem, server, flags):
    result = codemem("review", *flags, stdin=DIFF)
    assert result.json == {"review": server.review, "markdown": server.markdown}


def test_review_summarizes_an_answer_without_markdown(codemem, server):
    server.markdown = None
    server.review |= {"changed_symbols": [1, 2], "dependents": []}
    out = codemem("review", stdin=DIFF).out
    assert out == "Risk: medium (0.4)\n- changed symbols: 2\n- dependents: 0\n"


@pytest.mark.parametrize(
    ("level", "fail_on", "status"),
    [
        ("none", "low", 0), ("low", "low", 1), ("low", "medium", 0), ("medium", "medium", 1),
        ("high", "low", 1), ("medium", "high", 0), ("critical", "high", 1), (None, "high", 1),
        ("odd", "high", 1),
    ],
)  # fmt: skip
def test_fail_on_decides_by_the_risk_level(codemem, server, level, fail_on, status):
    server.review = {"risk": {"level": level}}
    result = codemem("review", "--fail-on", fail_on, stdin=DIFF)
    assert result.status == status
    assert (f"--fail-on {fail_on} fails" in result.err) == bool(status)


def test_a_failing_review_is_still_printed(codemem):
    assert "Review" in codemem("review", "--fail-on", "low", stdin=DIFF).out


def test_on_a_terminal_review_makes_the_diff_itself(branch, server, repository):
    result = branch.on_terminal("review")
    assert result.status == 0, result.err
    assert "Review" in result.out
    assert "+x = 2" in sent(server)["diff"]
    assert sent(server)["base"] == repository.git("rev-parse", "main")


def test_the_commits_of_an_own_diff_say_what_it_does(branch, server, repository):
    repository.git("commit", "--quiet", "--amend", "-m", "Price in cents", "-m", "A body.")
    branch.on_terminal("review")
    assert sent(server)["title"] == "Price in cents"
    branch.on_terminal("review", "--title", "Round prices")
    assert sent(server)["title"] == "Round prices"
    branch("review", "--title", "x" * 2_000, stdin=DIFF)
    assert sent(server)["title"] == "x" * 1_000


def test_with_a_base_and_nothing_piped_review_makes_the_diff_itself(branch, server, repository):
    assert branch("review", "--base", "main").status == 0
    assert "+x = 2" in sent(server)["diff"]
    assert sent(server)["base"] == repository.git("rev-parse", "main")


def test_the_base_of_an_own_diff_is_the_merge_base(branch, server, repository):
    shared = repository.git("rev-parse", "main")
    repository.git("switch", "-q", "main")
    repository.commit("later.py")
    repository.git("switch", "-q", "side")
    branch("review", "--base", "main")
    assert sent(server)["base"] == shared
    assert "later.py" not in sent(server)["diff"]


def test_a_base_for_a_piped_diff_is_sent_as_its_commit(branch, server, repository):
    branch("review", "--base", "main", stdin=DIFF)
    assert sent(server)["base"] == repository.git("rev-parse", "main")


def test_a_base_that_only_the_server_has_is_sent_by_name(branch, server):
    result = branch("review", "--base", "release/9", stdin=DIFF)
    assert sent(server)["base"] == "release/9"
    assert "lacks release/9" in result.err


def test_an_unknown_base_cannot_make_a_diff(branch, server):
    result = branch("review", "--base", "nowhere")
    assert result.status == 2
    assert "no commit nowhere" in result.err
    assert server.received == []


def test_outside_of_a_checkout_there_is_no_diff_to_make(codemem):
    result = codemem.on_terminal("review")
    assert result.status == 2
    assert "no checkout" in result.err


@pytest.mark.parametrize("piped", [b"", b"\n\n"])
def test_nothing_to_review_is_no_failure(codemem, server, piped):
    result = codemem("review", "--fail-on", "low", stdin=piped)
    assert result.status == 0
    assert "no changes" in result.err
    assert codemem("review", "--json", stdin=piped).json == {"review": None, "markdown": ""}
    assert server.received == []


def test_a_crlf_diff_arrives_as_it_is(codemem, server):
    codemem("review", stdin=DIFF.replace(b"\n", b"\r\n"))
    assert sent(server)["diff"] == DIFF.decode().replace("\n", "\r\n")


def test_a_diff_that_is_not_utf8_arrives_readable(codemem, server):
    assert codemem("review", stdin=DIFF + b"+caf\xe9\n").status == 0
    assert sent(server)["diff"].endswith("+caf\N{REPLACEMENT CHARACTER}\n")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_understood(codemem, server, encoding):
    codemem("review", stdin=DIFF.decode().encode(encoding))
    assert sent(server)["diff"] == DIFF.decode()


def test_binary_input_is_refused(codemem, server):
    result = codemem("review", stdin=b"\x7fELF\0\0\0\1")
    assert result.status == 2
    assert "binary data" in result.err
    assert server.received == []


def test_input_without_end_is_refused(codemem, server):
    result = codemem("review", stdin=b"+" * (64 * 1024 * 1024 + 1))
    assert result.status == 2
    assert "longer than 64 MiB" in result.err
    assert server.received == []


def test_a_large_diff_passes(codemem, server):
    result = codemem("review", stdin=DIFF + b"+x\n" * 1_000_000)
    assert result.status == 0
    assert len(sent(server)["diff"]) > 3_000_000


def test_what_the_server_makes_of_nonsense_is_a_sentence(codemem, server):
    server.canned["/api/v1/reviews"] = Canned(
        status=422,
        body=b'{"error": {"code": "not_a_diff", "message": "This is not a diff."}}',
    )
    result = codemem("review", "--json", stdin=b"hello\n")
    assert result.status == 2
    assert result.json == {"error": {"code": "not_a_diff", "message": "This is not a diff."}}


def test_markdown_cannot_drive_the_terminal(codemem, server):
    server.markdown = "# \x1b[2JReview"
    assert "\x1b" not in codemem("review", stdin=DIFF).out
