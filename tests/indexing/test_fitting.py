"""Diffs that are too long to read."""

import pytest

from indexing.diffs import ChangeStatus, parse
from indexing.fitting import NOTHING, fit, fit_pieces, sentences_of


def section(path: str, lines: int, *, header: str = "index 1234567..89abcde 100644\n") -> str:
    body = "".join(f"+line {number}\n" for number in range(lines))
    return (
        f"diff --git a/{path} b/{path}\n{header}--- a/{path}\n+++ b/{path}\n"
        f"@@ -0,0 +1,{lines} @@\n{body}"
    )


def test_a_diff_that_fits_is_left_as_it_is():
    diff = section("a.py", 3)

    assert fit(diff, limit=10_000).text == diff
    assert fit(diff, limit=10_000).left_out == ()
    assert sentences_of(fit(diff, limit=10_000)) == sentences_of(NOTHING) == []


def test_of_the_largest_files_only_the_name_stays():
    diff = section("a.py", 3) + section("package-lock.json", 5_000) + section("z.py", 2)
    fitted = fit(diff, limit=1_000)

    files = parse(fitted.text, max_bytes=10_000)
    assert [file.path for file in files.files] == ["a.py", "package-lock.json", "z.py"]
    assert [len(file.hunks) for file in files.files] == [1, 0, 1]
    assert files.problems == ()
    assert [one.name for one in fitted.left_out] == ["package-lock.json"]
    assert fitted.left_out[0].size_bytes == len(section("package-lock.json", 5_000))
    assert "1 file left out, the largest first: package-lock.json (" in sentences_of(fitted)[0]


def test_what_was_left_out_is_known_to_who_reads_the_diff_again():
    diff = "".join(section(f"vendor/{number}.js", 400 + number) for number in range(9))
    once = fit(diff, limit=10_000)
    again = fit(once.text, limit=10_000)

    assert len(once.left_out) == 7
    assert again == once
    assert once.left_out[0].name == "vendor/8.js"
    assert " and 4 more." in sentences_of(again)[0]


def test_what_is_left_out_says_whether_it_came_or_went_or_moved():
    parts = [
        section("new.py", 900, header="new file mode 100644\nindex 0000000..89abcde\n"),
        section("gone.py", 900, header="deleted file mode 100644\nindex 89abcde..0000000\n"),
        section(
            "to.py",
            900,
            header="similarity index 60%\nrename from from.py\nrename to to.py\nindex 1..2\n",
        ),
    ]
    files = parse(fit("".join(parts), limit=1_000).text, max_bytes=10_000).files

    assert [(file.path, file.status) for file in files] == [
        ("new.py", ChangeStatus.ADDED),
        ("gone.py", ChangeStatus.DELETED),
        ("to.py", ChangeStatus.RENAMED),
    ]


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_pieces_may_end_anywhere(size: int):
    diff = (section("a.py", 3) + section("big.json", 500) + section("ü.py", 2)).encode()
    pieces = (diff[start : start + size] for start in range(0, len(diff), size))

    assert fit_pieces(pieces, limit=600) == fit(diff.decode(), limit=600)


def test_a_diff_without_headers_of_git_loses_its_end():
    diff = "--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,500 @@\n" + "+line\n" * 500
    fitted = fit(diff, limit=300)
    read = parse(fitted.text, max_bytes=1_000)

    assert [file.path for file in read.files] == ["x.py"]
    assert "the end of the diff (2.7 kB)" in sentences_of(fitted)[0]


def test_lines_of_a_hunk_divide_nothing():
    diff = section("a.py", 50) + "+diff --git a/b b/b\n diff --git a/c b/c\n"

    (left_out,) = fit(diff, limit=200).left_out
    assert left_out.name == "a.py"


def test_bytes_that_are_no_text_and_halves_of_characters_do_no_harm():
    fitted = fit(section("a.py", 1) + "+\ud800\n" + section("b.py", 900), limit=500)

    assert "\\xed\\xa0\\x80" in fitted.text
    assert [one.name for one in fitted.left_out] == ["b.py"]


def test_files_too_many_to_name_are_counted():
    diff = "".join(section(f"vendor/{number:05}.js", 1) for number in range(5_000))
    fitted = fit(diff, limit=20_000)

    assert len(fitted.text) < 41_000
    assert any(one.files > 1_000 and not one.name for one in fitted.left_out)
    total = sum(one.files for one in fitted.left_out)
    kept = fitted.text.count("+line")
    assert total + kept == 5_000
    assert f"{total:,} files left out" in sentences_of(fitted)[0]
    assert parse(fitted.text, max_bytes=50_000).problems == ()
