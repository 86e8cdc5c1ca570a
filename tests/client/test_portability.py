"""`codemem export`, `import` and `config` against a server double: files, folders, parts."""

import hashlib
import io
import json
import zipfile

import pytest

from tests.client.server_double import Canned

BODY = b'{"id":"1","content":"Round once.","record":"memory"}\n'
REPORT = {"created": 1, "unchanged": 0, "problem_count": 0, "problems": [], "dry_run": False}
NOTE = "---\nid: {}\ntype: rule\n---\n\nSign commits.\n"
IDS = ("01890000-0000-7000-8000-000000000001", "01890000-0000-7000-8000-000000000002")


def archive(body: bytes = BODY, digest: str | None = None) -> Canned:
    digest = digest or hashlib.sha256(body).hexdigest()
    header = json.dumps({"record": "header", "sha256": digest}).encode()
    return Canned(body=header + b"\n" + body, content_type="application/x-ndjson")


def vault(**files: str) -> Canned:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        for name, text in files.items():
            zipped.writestr(name, text)
    return Canned(body=buffer.getvalue(), content_type="application/zip")


@pytest.fixture
def answering(server):
    server.canned["/api/v1/exports"] = archive()
    server.canned["/api/v1/imports"] = Canned(body=json.dumps(REPORT).encode())
    return server


def sent(server):
    return [request for request in server.received if request.path.startswith("/api/v1/imports")]


# --- export ---------------------------------------------------------------------------------------
def test_an_export_goes_into_a_private_file(codemem, answering):
    result = codemem("export")
    assert result.status == 0, result.err
    path = codemem.home / "platform.jsonl"
    assert path.read_bytes() == answering.canned["/api/v1/exports"].body
    assert path.stat().st_mode & 0o777 == 0o600
    assert "platform is in platform.jsonl" in result.out
    asked = answering.received[-1].path
    assert asked == "/api/v1/exports?namespace=platform&format=jsonl"


def test_an_export_writes_over_nothing_unless_told(codemem, answering):
    assert codemem("export").status == 0
    refused = codemem("export")
    assert refused.status == 2
    assert "is there already" in refused.err
    assert codemem("export", "--force").status == 0


def test_an_export_to_stdout_is_the_file_itself(codemem, answering):
    result = codemem("export", "-o", "-", "--type", "rule", "--active-only")
    assert result.out.encode() == answering.canned["/api/v1/exports"].body
    assert answering.received[-1].path.endswith("&type=rule&active_only=true")


def test_an_export_that_is_not_whole_leaves_no_file(codemem, answering):
    answering.canned["/api/v1/exports"] = archive(digest="0" * 64)
    result = codemem("export")
    assert result.status == 3
    assert "not whole" in result.err
    assert not list(codemem.home.glob("*.jsonl"))


def test_a_vault_becomes_a_folder(codemem, answering):
    answering.canned["/api/v1/exports"] = vault(**{"app/rule/a.md": "A", ".codemem.txt": "1\n"})
    assert codemem("export", "--format", "markdown", "-o", "notes").status == 0
    assert (codemem.home / "notes/app/rule/a.md").read_text() == "A"


@pytest.mark.parametrize("name", ["../evil.md", "/evil.md", "a/../../evil.md", "a\\..\\evil.md"])
def test_no_vault_writes_outside_of_its_folder(codemem, answering, name):
    answering.canned["/api/v1/exports"] = vault(**{name: "evil"})
    assert codemem("export", "--format", "markdown", "-o", "notes").status == 3
    assert not list(codemem.home.parent.rglob("*evil*"))


def test_several_namespaces_want_one_to_be_named(codemem, answering):
    answering.identities["cm_good"]["namespaces"].append({"name": "web"})
    result = codemem("export")
    assert result.status == 2
    assert "platform, web" in result.err
    assert codemem("export", "--namespace", "web").status == 0


# --- import ---------------------------------------------------------------------------------------
def test_a_large_file_goes_in_parts_of_whole_lines(codemem, answering):
    line = b'{"content":"' + b"x" * 1000 + b'"}\n'
    (codemem.home / "a.jsonl").write_bytes(line * 3000)
    result = codemem("import", "a.jsonl", "--dry-run", "--skip-duplicates")
    assert result.status == 0, result.err
    parts = sent(answering)
    assert b"".join(part.body for part in parts) == line * 3000
    assert all(len(part.body) <= 1 << 20 for part in parts)
    firsts = [int(part.path.rpartition("first_line=")[2]) for part in parts]
    assert firsts == [
        1,
        1 + len(parts[0].body) // len(line),
        1 + 2 * len(parts[0].body) // len(line),
    ]
    assert "dry_run=true&skip_duplicates=true" in parts[0].path
    assert result.out.startswith("Would be: 3 new")


def test_a_json_export_goes_in_as_lines(codemem, answering):
    document = b'{"header":{"schema":1},"records":[\n{"a":1},\n{"b":2}\n]}\n'
    (codemem.home / "a.json").write_bytes(document)
    assert codemem("import", "a.json").status == 0
    (part,) = sent(answering)
    assert part.body == b'{"schema":1}\n{"a":1}\n{"b":2}\n'
    assert "format=jsonl" in part.path


def test_a_table_goes_in_parts_of_whole_rows_with_its_heading(codemem, answering):
    row = '"first\nsecond","' + "x" * 2000 + '"\r\n'
    (codemem.home / "a.csv").write_bytes(
        b"\xef\xbb\xbf" + ("content,tags\r\n" + row * 800).encode()
    )
    assert codemem("import", "a.csv").status == 0
    parts = sent(answering)
    assert len(parts) == 2
    rows = [part.body.decode().removeprefix("content,tags\r\n") for part in parts]
    assert "".join(rows) == row * 800
    first = int(parts[1].path.rpartition("first_line=")[2])
    assert first + 1 == 2 + 2 * rows[0].count("first")


def test_a_folder_goes_in_without_what_obsidian_keeps_beside(codemem, answering):
    notes = codemem.home / "notes"
    for name in ("rule/a.md", ".obsidian/b.md", ".trash/c.md", "d.txt"):
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text("x")
    (notes / "secret.md").symlink_to(codemem.config)
    assert codemem("import", "notes").status == 0
    (part,) = sent(answering)
    with zipfile.ZipFile(io.BytesIO(part.body)) as zipped:
        assert zipped.namelist() == ["rule/a.md"]


def test_what_could_not_be_taken_is_named_and_ends_in_one(codemem, answering):
    problems = [{"line": 7, "reason": "The line is not JSON."}]
    report = REPORT | {"problem_count": 1, "problems": problems}
    answering.canned["/api/v1/imports"] = Canned(body=json.dumps(report).encode())
    (codemem.home / "a.jsonl").write_bytes(BODY)
    result = codemem("import", "a.jsonl")
    assert result.status == 1
    assert "line 7: The line is not JSON." in result.out
    assert codemem("import", "a.jsonl", "--json").json["problems"] == problems


def test_standard_input_is_a_file_too(codemem, answering):
    assert codemem("import", "-", stdin=BODY).status == 0
    assert sent(answering)[0].body == BODY


def test_deleted_notes_are_retired_when_asked(codemem, answering):
    notes = codemem.home / "notes"
    notes.mkdir()
    (notes / "a.md").write_text(NOTE.format(IDS[0]))
    (notes / ".codemem.txt").write_text("\n".join(IDS))
    answering.canned["/api/v1/tools/delete_memory"] = Canned(body=b"{}")
    assert codemem("import", "notes").status == 0
    assert not [one for one in answering.received if "delete_memory" in one.path]
    assert codemem("import", "notes", "--retire-missing", "--dry-run").status == 0
    assert not [one for one in answering.received if "delete_memory" in one.path]
    result = codemem("import", "notes", "--retire-missing")
    (retired,) = [one for one in answering.received if "delete_memory" in one.path]
    assert retired.json["id"] == IDS[1]
    assert "1 retired" in result.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("import", "nothing.jsonl"), "Cannot read nothing.jsonl"),
        (("import", "a.txt"), "cannot be told from its name"),
        (("import", "a.json"), "not a JSON export of codemem"),
        (("import", "a.csv"), "The table cannot be read"),
        (("import", "a.txt", "--format", "jsonl", "--retire-missing"), "needs the folder"),
    ],
)
def test_what_is_no_file_for_us_is_said(codemem, answering, arguments, said):
    for name, content in (("a.txt", b"x"), ("a.json", b"[]"), ("a.csv", b"\xff\xfea,b\n")):
        (codemem.home / name).write_bytes(content)
    result = codemem(*arguments)
    assert result.status == 2
    assert said in result.err


# --- config ---------------------------------------------------------------------------------------
FLOOR = {
    "key": "recall.floor",
    "value": 0.3,
    "default": 0.45,
    "is_default": False,
    "accepts": "a number from 0 to 1",
    "description": "The relevance below which a memory is no answer.",
    "settable_by": "maintainer",
}


@pytest.fixture
def settings(server):
    server.canned["/api/v1/namespaces/platform/settings"] = Canned(
        body=json.dumps({"namespace": "platform", "settings": [FLOOR]}).encode()
    )
    return server


def test_settings_are_listed_and_shown(codemem, settings):
    assert codemem("config", "list").out == "recall.floor  0.3  (default 0.45)\n"
    shown = codemem("config", "get", "recall.floor").out
    assert shown.startswith("recall.floor = 0.3  (default 0.45)\n  The relevance below")
    assert codemem("config", "get", "recall.floor", "--json").json == FLOOR


def test_settings_are_set_in_their_own_type_and_unset(codemem, settings):
    codemem("config", "set", "recall.floor", "0.5")
    assert settings.received[-1].method == "PATCH"
    assert settings.received[-1].json == {"recall.floor": 0.5}
    codemem("config", "unset", "recall.floor")
    assert settings.received[-1].json == {"recall.floor": None}


@pytest.mark.parametrize(
    "arguments", [("set", "recall.floor"), ("get",), ("list", "x"), ("unset", "a", "b")]
)
def test_config_says_how_it_is_used(codemem, arguments):
    result = codemem("config", *arguments)
    assert result.status == 2
    assert f"codemem config {arguments[0]}" in result.err


def test_an_unknown_setting_is_said(codemem, settings):
    assert "no setting 'recall.roof'" in codemem("config", "get", "recall.roof").err
