import os
import random
import shutil
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

from indexing.diffs import ChangeStatus, Diff, DiffTooLarge, FileDiff, LineRange, NotADiff, parse

MAX_BYTES = 5_000_000


def read(diff: bytes | str) -> Diff:
    return parse(dedent(diff) if isinstance(diff, str) else diff, max_bytes=MAX_BYTES)


def only(diff: bytes | str) -> FileDiff:
    result = read(diff)
    assert result.problems == ()
    (file,) = result.files
    return file


def git(folder: Path, *arguments: str) -> bytes:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }
    result = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, capture_output=True, check=False
    )
    assert result.returncode in {0, 1}, result.stderr
    return result.stdout


# --- What one file's change says ---------------------------------------------------------------


def test_a_modified_file_has_its_removed_and_added_lines_with_their_numbers():
    file = only(
        """\
        diff --git a/src/app.py b/src/app.py
        index 83db48f..bf2a2b1 100644
        --- a/src/app.py
        +++ b/src/app.py
        @@ -10,5 +10,6 @@ def main():
         one
        -two
        +TWO
        +two and a half
         three
        -four
        +FOUR
         five
        """
    )
    assert (file.old_path, file.new_path) == ("src/app.py", "src/app.py")
    assert file.status is ChangeStatus.MODIFIED
    (hunk,) = file.hunks
    assert (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (10, 5, 10, 6)
    assert hunk.removed == ((11, "two"), (13, "four"))
    assert hunk.added == ((11, "TWO"), (12, "two and a half"), (14, "FOUR"))
    assert file.old_lines == (LineRange(11, 11), LineRange(13, 13))
    assert file.new_lines == (LineRange(11, 12), LineRange(14, 14))


def test_lines_that_look_like_file_headers_are_content():
    file = only(
        """\
        diff --git a/q.sql b/q.sql
        --- a/q.sql
        +++ b/q.sql
        @@ -1,3 +1,3 @@
        --- a comment
        +++ b/increment
         @@ -1 +1 @@
        -diff --git a/x b/x
        +diff --git a/y b/y
        """
    )
    assert file.hunks[0].removed == ((1, "-- a comment"), (3, "diff --git a/x b/x"))
    assert file.hunks[0].added == ((1, "++ b/increment"), (3, "diff --git a/y b/y"))


def test_the_missing_newline_at_the_end_is_not_a_line():
    file = only(
        """\
        --- a/x
        +++ b/x
        @@ -1,2 +1,2 @@
         one
        -two
        \\ No newline at end of file
        +two!
        \\ Kein Zeilenumbruch am Dateiende.
        --- a/y
        +++ b/y
        @@ -1 +1 @@
        -a
        +b
        """.partition("--- a/y")[0]
    )
    assert file.hunks[0].removed == ((2, "two"),)
    assert file.hunks[0].added == ((2, "two!"),)


def test_hunks_without_context_count_from_the_line_before():
    file = only(
        """\
        diff --git a/x b/x
        --- a/x
        +++ b/x
        @@ -0,0 +1,2 @@
        +zero
        +half
        @@ -4 +5,0 @@
        -four
        @@ -7,0 +8 @@
        +seven and a half
        """
    )
    first, second, third = file.hunks
    assert first.added == ((1, "zero"), (2, "half"))
    assert first.insertions == (0,)
    assert second.removed == ((4, "four"),)
    assert second.deletions == (5,)
    assert third.added == ((8, "seven and a half"),)
    assert third.insertions == (7,)


@pytest.mark.parametrize(
    ("first", "last", "is_touched"),
    [(1, 3, False), (1, 4, False), (4, 4, False), (5, 9, False), (4, 5, True), (1, 9, True)],
)
def test_an_insertion_touches_only_what_lies_around_it(first, last, is_touched):
    file = only("--- a/x\n+++ b/x\n@@ -4,0 +5 @@\n+new\n")
    assert file.touches_old(first, last) is is_touched
    assert file.touches_new(5, 5)


def test_a_deletion_touches_only_what_lies_around_it_in_the_new_file():
    file = only("--- a/x\n+++ b/x\n@@ -5 +4,0 @@\n-gone\n")
    assert file.touches_old(5, 8)
    assert not file.touches_old(6, 8)
    assert file.touches_new(2, 6)
    assert not file.touches_new(5, 6)
    assert not file.touches_new(2, 4)


def test_an_empty_context_line_stripped_by_a_mail_program_still_counts():
    file = only("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n\n-two\n+TWO\n")
    assert file.hunks[0].removed == ((3, "two"),)


# --- Kinds of change ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("diff", "status", "old_path", "new_path"),
    [
        (
            (
                "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n"
                "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
            ),
            ChangeStatus.ADDED,
            None,
            "x",
        ),
        (
            (
                "diff --git a/x b/x\ndeleted file mode 100644\nindex 7898192..0000000\n"
                "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
            ),
            ChangeStatus.DELETED,
            "x",
            None,
        ),
        (
            "diff --git a/em pty b/em pty\nnew file mode 100644\nindex 0000000..e69de29\n",
            ChangeStatus.ADDED,
            None,
            "em pty",
        ),
        (
            (
                "diff --git a/old name b/new/name\nsimilarity index 100%\n"
                "rename from old name\nrename to new/name\n"
            ),
            ChangeStatus.RENAMED,
            "old name",
            "new/name",
        ),
        (
            (
                "diff --git a/a/x b/b/x\nsimilarity index 90%\nrename from a/x\nrename to b/x\n"
                "index 1..2 100644\n--- a/a/x\n+++ b/b/x\n@@ -1 +1 @@\n-a\n+b\n"
            ),
            ChangeStatus.RENAMED,
            "a/x",
            "b/x",
        ),
        (
            "diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n",
            ChangeStatus.COPIED,
            "x",
            "y",
        ),
        (
            "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n",
            ChangeStatus.MODE_CHANGED,
            "run.sh",
            "run.sh",
        ),
        (
            (
                "diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1..2\n"
                "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
            ),
            ChangeStatus.MODIFIED,
            "x",
            "x",
        ),
    ],
)
def test_a_git_section_says_what_happened_to_the_file(diff, status, old_path, new_path):
    file = only(diff)
    assert (file.status, file.old_path, file.new_path) == (status, old_path, new_path)
    assert file.path == (new_path or old_path)


def test_a_submodule_is_marked_whichever_way_it_is_written():
    short = only(
        "diff --git a/lib b/lib\nindex 1111111..2222222 160000\n--- a/lib\n+++ b/lib\n"
        "@@ -1 +1 @@\n-Subproject commit 1111111\n+Subproject commit 2222222\n"
    )
    log = only("Submodule my lib 1111111..2222222:\n  > Fix the parser\n  < Break it\n")
    added = only("Submodule lib 0000000...2222222 (new submodule)\n")
    removed = only("Submodule lib 1111111...0000000 (submodule deleted)\n")
    assert short.is_submodule
    assert short.path == "lib"
    assert log == FileDiff("my lib", "my lib", ChangeStatus.MODIFIED, is_submodule=True)
    assert added.status is ChangeStatus.ADDED
    assert removed.status is ChangeStatus.DELETED


def test_binary_files_have_no_hunks_and_do_not_swallow_the_next_file():
    diff = read(
        """\
        diff --git a/logo.png b/logo.png
        index 1111111..2222222 100644
        Binary files a/logo.png and b/logo.png differ
        diff --git a/new.bin b/new.bin
        new file mode 100644
        index 0000000000000000000000000000000000000000..e5bf6ab1b9b3a4b4
        GIT binary patch
        literal 12
        Tcmd-E&dkhAO-oKoO-lm+6{G`g

        literal 0
        HcmV?d00001

        diff --git a/x b/x
        --- a/x
        +++ b/x
        @@ -1 +1 @@
        -a
        +b
        Binary files img/a.png and img/a.png differ
        """
    )
    assert diff.problems == ()
    assert [(file.path, file.is_binary, file.status.value) for file in diff.files] == [
        ("logo.png", True, "modified"),
        ("new.bin", True, "added"),
        ("x", False, "modified"),
        ("img/a.png", True, "modified"),
    ]


def test_a_binary_patch_cut_short_is_a_problem():
    diff = read(
        "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 12\n"
        "Tcmd-E&dkhAO-oKoO-lm+6{G`g\n"
    )
    assert diff.files[0].is_binary
    assert diff.problems == ("The binary patch of 'x' ends early.",)


# --- Paths -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "path"),
    [
        ("a/src/x.py b/src/x.py", "src/x.py"),
        ("src/x.py src/x.py", "src/x.py"),
        ("a/x.py a/x.py", "a/x.py"),
        ("i/src/x.py w/src/x.py", "src/x.py"),
        ("c/src/x.py i/src/x.py", "src/x.py"),
        ("1/x.py 2/x.py", "x.py"),
        ("old/src/x.py new/src/x.py", "src/x.py"),
        ("b/a/x.py a/a/x.py", "a/x.py"),
        ("a/my file b/my file", "my file"),
        ("a/x b/x b/x b/x", "x b/x"),
        ('"a/t\\tab" "b/t\\tab"', "t\tab"),
        ('"a/\\303\\244.py" "b/\\303\\244.py"', "ä.py"),
        ('"a/q\\"b\\\\c" "b/q\\"b\\\\c"', 'q"b\\c'),
        ('"a/\\377" "b/\\377"', "\\xff"),
        ('"a/new\\nline" "b/new\\nline"', "new\nline"),
    ],
)
@pytest.mark.parametrize("has_contents", [True, False])
def test_paths_lose_their_prefix_and_their_quotes(names, path, has_contents):
    if has_contents:
        middle = len(names) // 2
        old, new = names[:middle], names[middle + 1 :]
        diff = f"diff --git {names}\n--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n"
    else:
        diff = f"diff --git {names}\nold mode 100644\nnew mode 100755\n"
    file = only(diff)
    assert (file.old_path, file.new_path) == (path, path)


def test_a_new_file_without_prefixes_keeps_its_first_folder():
    file = only(
        "diff --git a/x.py a/x.py\nnew file mode 100644\nindex 0..1\n"
        "--- /dev/null\n+++ a/x.py\n@@ -0,0 +1 @@\n+a\n"
    )
    assert file.new_path == "a/x.py"


def test_the_tab_after_a_name_with_blanks_is_not_part_of_it():
    file = only("--- a/my file\t\n+++ b/my file\t\n@@ -1 +1 @@\n-a\n+b\n")
    assert file.path == "my file"


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("src/x.c\t2024-05-01 10:00:00.000000000 +0200", "src/x.c\t2024-05-02 10:00:00", "src/x.c"),
        ("proj-1.0/src/x.c\t2024-05-01 10:00:00", "proj-2.0/src/x.c\t2024-05-02", "src/x.c"),
        ("x.c.orig\t2024-05-01 10:00:00", "x.c\t2024-05-02 10:00:00", "x.c"),
        ("./x.c", "./x.c", "x.c"),
        ("src/x.c\t(revision 41)", "src/x.c\t(working copy)", "src/x.c"),
    ],
)
def test_a_diff_without_git_headers_is_read(old, new, path):
    diff = read(f"Index: x.c\n=====\n--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n")
    (file,) = diff.files
    assert (file.old_path, file.new_path, file.status) == (path, path, ChangeStatus.MODIFIED)


@pytest.mark.parametrize(
    ("old", "new", "hunk", "status"),
    [
        ("/dev/null", "b/x", "@@ -0,0 +1 @@\n+a\n", ChangeStatus.ADDED),
        ("a/x", "/dev/null", "@@ -1 +0,0 @@\n-a\n", ChangeStatus.DELETED),
        (
            "old/x\t1970-01-01 01:00:00.000000000 +0100",
            "new/x\t2024-05-02 10:00:00",
            "@@ -0,0 +1 @@\n+a\n",
            ChangeStatus.ADDED,
        ),
        (
            "old/x\t2024-05-02 10:00:00",
            "new/x\tThu Jan  1 00:00:00 1970",
            "@@ -1 +0,0 @@\n-a\n",
            ChangeStatus.DELETED,
        ),
        (
            "old/x\t2024-05-02 10:00:00",
            "new/x\t2024-05-02 10:00:01",
            "@@ -0,0 +1 @@\n+a\n",
            ChangeStatus.MODIFIED,
        ),
    ],
)
def test_a_plain_diff_says_which_side_is_not_there(old, new, hunk, status):
    file = only(f"--- {old}\n+++ {new}\n{hunk}")
    assert (file.status, file.path) == (status, "x")


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "a/../../x",
        "/etc/passwd",
        "a//etc/passwd",
        "C:\\Windows\\x",
        "c:/x",
        "a/..\\x",
        "\\\\server\\x",
        '"a/nul\\000"',
        "a/",
    ],
)
def test_a_path_outside_the_repository_is_dropped_and_named_safely(name):
    new = name.replace("a/", "b/", 1)
    diff = read(
        f"--- {name}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n--- a/ok\n+++ b/ok\n@@ -1 +1 @@\n-a\n+b\n"
    )
    assert [file.path for file in diff.files] == ["ok"]
    (problem,) = diff.problems
    assert problem.startswith("A path outside the repository is left out: '")
    assert problem.isprintable()
    assert problem.isascii()


def test_a_rename_that_leads_outside_is_dropped():
    diff = read("diff --git a/x b/x\nsimilarity index 100%\nrename from x\nrename to ../../x\n")
    assert diff.files == ()
    assert len(diff.problems) == 1


# --- Line ends and bytes -----------------------------------------------------------------------


def test_carriage_returns_inside_a_diff_are_content():
    file = only(b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ void f()\r\n a\r\n-b\r\n+c\r\n")
    assert file.hunks[0].removed == ((2, "b\r"),)
    assert file.hunks[0].added == ((2, "c\r"),)


def test_a_diff_saved_with_carriage_returns_is_read_without_them():
    plain = (
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
        "diff --git a/y b/y\nnew file mode 100644\nindex 0..1\nGIT binary patch\nliteral 0\n"
        "HcmV?d00001\n\n"
    )
    assert read(plain.replace("\n", "\r\n")) == read(plain)


def test_separators_that_are_not_newlines_do_not_split_lines():
    text = "form\x0cfeed \x85 \u2028 lone\rreturn"
    file = only(f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{text}\n+b\n".encode())
    assert file.hunks[0].removed == ((1, text),)


def test_bytes_that_are_not_utf8_become_escapes():
    file = only(b"--- a/\xe4.py\n+++ b/\xe4.py\n@@ -1 +1 @@\n-\xff\n+b\n")
    assert file.path == "\\xe4.py"
    assert file.hunks[0].removed == ((1, "\\xff"),)


# --- Text that is no diff, or a damaged one ----------------------------------------------------


def test_mail_and_commit_messages_around_the_files_are_passed_over():
    diff = read(
        """\
        From 1234 Mon Sep 17 00:00:00 2001
        Subject: [PATCH] Fix

        --- not a header
        ---
         x | 2 +-
         1 file changed, 1 insertion(+), 1 deletion(-)

        diff --git a/x b/x
        --- a/x
        +++ b/x
        @@ -1 +1 @@
        -a
        +b
        --\x20
        2.39.5

        commit abcdef
        Author: Ada

            Another message

        diff --git a/y b/y
        --- a/y
        +++ b/y
        @@ -1 +1 @@
        -a
        +b
        """
    )
    assert diff.problems == ()
    assert [file.path for file in diff.files] == ["x", "y"]


@pytest.mark.parametrize("text", ["", "\n \r\n", b""])
def test_blank_text_is_an_empty_diff(text):
    assert read(text) == Diff(files=(), problems=())


@pytest.mark.parametrize(
    "text",
    ["hello", "@@ -1 +1 @@\n-a\n+b\n", "--- a/x\nprose\n", b"\x89PNG\x00\xff", "+++ b/x\n"],
)
def test_text_without_a_file_header_is_not_a_diff(text):
    with pytest.raises(NotADiff):
        read(text)


@pytest.mark.parametrize("diff", [b"x" * 11, "x" * 11, "ä" * 6])
def test_a_diff_above_the_limit_is_refused(diff):
    with pytest.raises(DiffTooLarge):
        parse(diff, max_bytes=10)


def test_a_hunk_cut_short_keeps_what_was_readable():
    diff = read("--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n one\n-two\n+TWO\n")
    assert diff.files[0].hunks[0].removed == ((2, "two"),)
    assert diff.problems == (
        "The hunk at line 1 of 'x' ends early: 1 old and 2 new lines are missing.",
    )


def test_a_hunk_cut_short_does_not_swallow_the_next_file():
    diff = read(
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n one\n"
        "diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"
    )
    assert [file.path for file in diff.files] == ["x", "y"]
    assert diff.files[1].hunks[0].added == ((1, "b"),)
    assert len(diff.problems) == 1


def test_a_diff_cut_in_its_headers_says_so():
    for cut in ("index 1..2 100644\n", "index 1..2 100644\n--- a/x\n+++ b/x\n"):
        diff = read(f"diff --git a/x b/x\n{cut}")
        assert [file.path for file in diff.files] == ["x"]
        assert diff.problems == ("The diff ends before the first hunk of 'x'.",)


def test_lines_beyond_the_count_of_a_hunk_are_left_out_with_a_problem():
    diff = read("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+c\n d\n@@ -5 +5 @@\n-e\n+f\n")
    assert [hunk.added for hunk in diff.files[0].hunks] == [((1, "b"),), ((5, "f"),)]
    assert diff.problems == (
        "The hunk at line 1 of 'x' has more lines than its header says; they are left out.",
    )


@pytest.mark.parametrize("header", ["@@ -x +1 @@", "@@ -1 +1", f"@@ -{'9' * 5000} +1 @@"])
def test_an_unreadable_hunk_header_is_a_problem(header):
    diff = read(f"diff --git a/x b/x\n--- a/x\n+++ b/x\n{header}\n-a\n+b\n")
    assert diff.files[0].hunks == ()
    assert len(diff.problems) == 1
    assert len(diff.problems[0]) < 400


def test_the_combined_diff_of_a_merge_is_reported_and_not_misread():
    diff = read(
        """\
        diff --cc src/x.py
        index 1111111,2222222..3333333
        --- a/src/x.py
        +++ b/src/x.py
        @@@ -1,2 -1,2 +1,3 @@@
        - one
         -two
        ++three
        diff --git a/y b/y
        --- a/y
        +++ b/y
        @@ -1 +1 @@
        -a
        +b
        """
    )
    assert [file.path for file in diff.files] == ["y"]
    assert diff.problems == ("The combined diff of a merge is not read: 'diff --cc src/x.py'.",)


def test_problems_do_not_grow_without_end():
    diff = read("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n" * 500)
    assert len(diff.problems) == 101
    assert diff.problems[-1] == "There are more problems than are listed here."


def test_a_long_header_full_of_blanks_is_read_in_linear_time():
    diff = read(f"diff --git {'a ' * 1_000_000}\nold mode 100644\nnew mode 100755\n")
    assert len(diff.problems) == 1


@pytest.mark.parametrize("seed", range(10))
def test_a_mangled_diff_is_read_or_refused_but_never_breaks_the_reader(seed):
    dice = random.Random(seed)
    pieces = [
        *("diff --git a/x b/x", "--- a/x", "+++ b/x", "--- /dev/null", "@@ -1,2 +1,2 @@", " one"),
        *("-two", "+TWO", "index 1..2 160000", "rename from x", "rename to ../y", "old mode 1"),
        *("GIT binary patch", "literal 3", "Tcmd-E&", "Binary files a/x and b/x differ", ""),
        *("diff --cc x", "@@@ -1 -1 +1 @@@", "Submodule x 1111111..2222222:", "\\ No", "-- "),
        *('diff --git "a/\\', "--- ", "+++ ", "diff --git ", '--- "', "@@", "new file mode 1"),
    ]
    for _ in range(300):
        lines = [dice.choice(pieces) + dice.choice(["", "", "", "\r", "\r\r"]) for _ in range(20)]
        try:
            diff = read("\n".join(lines))
        except NotADiff:
            continue
        assert all(file.path for file in diff.files)


# --- Against Git and diff themselves -----------------------------------------------------------

_TRICKY = [
    *("", " ", "\t", "-", "--", "-- ", "-- x", "--- a/x", "+", "++ b", "+++ b/x", "@@ -1 +1 @@"),
    *("\\", "\\ No newline at end of file", "diff --git a/x b/x", "x\r", "def f():", "\u00e4"),
]


def random_lines(dice: random.Random) -> list[str]:
    return [dice.choice(_TRICKY) for _ in range(dice.randint(0, 60))]


def edited(lines: list[str], dice: random.Random) -> list[str]:
    result = list(lines)
    for _ in range(dice.randint(1, 8)):
        at = dice.randint(0, len(result))
        result[at : at + dice.randint(0, 3)] = random_lines(dice)[: dice.randint(0, 4)]
    return result


def written(lines: list[str], dice: random.Random) -> str:
    text = "\n".join(lines)
    return text + "\n" if lines and dice.random() < 0.8 else text


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def applied(old: list[str], file: FileDiff) -> list[str]:
    """Make the new lines from the old ones and the parsed hunks only."""
    removed = {number for hunk in file.hunks for number, _ in hunk.removed}
    kept = iter([line for number, line in enumerate(old, start=1) if number not in removed])
    added = {number: text for hunk in file.hunks for number, text in hunk.added}
    count = len(old) - len(removed) + len(added)
    return [added[number] if number in added else next(kept) for number in range(1, count + 1)]


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("command", ["git -U0", "git -U3", "diff -U3"])
def test_random_edits_are_read_as_they_were_made(tmp_path, seed, command):
    dice = random.Random(seed)
    before = random_lines(dice)
    old_text, new_text = written(before, dice), written(edited(before, dice), dice)
    (tmp_path / "old").write_text(old_text, newline="")
    (tmp_path / "new").write_text(new_text, newline="")
    program, context = command.split()
    if program == "git":
        diff = git(tmp_path, "diff", "--no-index", context, "--", "old", "new")
    else:
        if shutil.which("diff") is None:
            pytest.skip("diff is not installed")
        diff = subprocess.run(
            ["diff", context, "old", "new"], cwd=tmp_path, capture_output=True, check=False
        ).stdout
    result = read(diff)
    assert result.problems == ()
    if old_text == new_text:
        assert result.files == ()
        return
    (file,) = result.files
    old, new = lines_of(old_text), lines_of(new_text)
    assert all(old[number - 1] == text for hunk in file.hunks for number, text in hunk.removed)
    assert all(new[number - 1] == text for hunk in file.hunks for number, text in hunk.added)
    assert applied(old, file) == new


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--no-prefix",),
        ("-c", "diff.mnemonicPrefix=true"),
        ("-c", "core.quotePath=false"),
        ("-U0", "--full-index"),
        ("--binary",),
        ("--src-prefix=before/", "--dst-prefix=after/"),
    ],
)
def test_every_way_git_writes_a_change_names_the_same_files(tmp_path, options):
    git(tmp_path, "init", "--quiet")
    old = {
        "a/x.py": b"one\ntwo\nthree\n",
        "my file.py": b"one\n",
        "t\tab\nline.py": b"one\n",
        "a/moved.py": b"1\n2\n3\n4\n5\n6\n7\n8\n",
        "gone.py": b"one\n",
        "logo.bin": b"\x00\x01",
        "run.sh": b"#!/bin/sh\n",
        "\u00e4.py": b"one\n",
    }
    for name, content in old.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=one")
    (tmp_path / "b").mkdir()
    (tmp_path / "a/moved.py").rename(tmp_path / "b/moved.py")
    (tmp_path / "gone.py").unlink()
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "logo.bin").write_bytes(b"\x00\x02" * 50)
    (tmp_path / "b/empty new.py").write_bytes(b"")
    (tmp_path / "b/new.bin").write_bytes(b"\x00\x03")
    for name in ("a/x.py", "my file.py", "t\tab\nline.py", "\u00e4.py"):
        (tmp_path / name).write_bytes(b"changed\n")
    (tmp_path / "link").symlink_to("a/x.py")
    git(tmp_path, "add", "--all")

    settings = options if options[:1] == ("-c",) else ()
    switches = () if settings else options
    diff = read(git(tmp_path, *settings, "diff", "--cached", "--find-renames", *switches))

    assert diff.problems == ()
    assert {(file.status.value, file.old_path, file.new_path) for file in diff.files} == {
        ("modified", "a/x.py", "a/x.py"),
        ("modified", "my file.py", "my file.py"),
        ("modified", "t\tab\nline.py", "t\tab\nline.py"),
        ("modified", "\u00e4.py", "\u00e4.py"),
        ("renamed", "a/moved.py", "b/moved.py"),
        ("deleted", "gone.py", None),
        ("modified", "logo.bin", "logo.bin"),
        ("mode-changed", "run.sh", "run.sh"),
        ("added", None, "b/empty new.py"),
        ("added", None, "b/new.bin"),
        ("added", None, "link"),
    }
    assert {file.path for file in diff.files if file.is_binary} == {"logo.bin", "b/new.bin"}


# --- applying -------------------------------------------------------------------------------------
def _only(text: str) -> FileDiff:
    (file,) = parse(text, max_bytes=100_000).files
    return file


_EDIT = """\
--- a/x.py
+++ b/x.py
@@ -1,3 +1,4 @@
 one
-two
+2
+2b
 three
@@ -6,2 +7,1 @@
 six
-seven
"""


def test_applying_gives_the_new_content():
    old = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n"

    assert _only(_EDIT).applied_to(old) == b"one\n2\n2b\nthree\nfour\nfive\nsix\n"


@pytest.mark.parametrize(
    "old",
    [
        b"one\nTWO\nthree\nfour\nfive\nsix\nseven\n",  # a removed line differs
        b"ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n",  # a line of context differs
        b"zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\n",  # all is one line lower
        b"one\ntwo\nthree\n",  # the file ends before the second hunk
        b"",
    ],
)
def test_applying_to_other_content_gives_nothing(old):
    assert _only(_EDIT).applied_to(old) is None


def test_applying_a_new_file_gives_its_lines():
    file = _only("--- /dev/null\n+++ b/x.py\n@@ -0,0 +1,2 @@\n+one\n+two\n")

    assert file.applied_to(b"") == b"one\ntwo\n"


def test_applying_keeps_the_carriage_returns_of_lines_that_stay():
    assert _only(_EDIT).applied_to(b"one\r\ntwo\r\nthree\r\n4\n5\nsix\r\nseven\r\n") == (
        b"one\r\n2\n2b\nthree\r\n4\n5\nsix\r\n"
    )


@pytest.mark.parametrize("errors", ["backslashreplace", "replace"])
def test_applying_accepts_both_ways_to_decode_what_is_not_utf_8(errors):
    old = b"caf\xe9\nold\n"
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n {}\n-old\n+new\n"

    file = _only(text.format(old.split(b"\n")[0].decode("utf-8", errors)))

    assert file.applied_to(old) == b"caf\xe9\nnew\n"


def test_applying_a_hunk_with_lying_counts_gives_nothing_and_takes_no_time():
    file = _only("--- /dev/null\n+++ b/x\n@@ -0,0 +1,999999999 @@\n+one\n")

    assert file.applied_to(b"") is None


def test_applying_hunks_out_of_order_gives_nothing():
    text = "--- a/x\n+++ b/x\n@@ -2 +2 @@\n-b\n+B\n@@ -1 +1 @@\n-a\n+A\n"

    assert _only(text).applied_to(b"a\nb\n") is None


@pytest.mark.parametrize(
    ("line", "blob"),
    [
        ("index 1234567..89abcde 100644", "1234567"),
        (f"index {'a' * 40}..{'b' * 40}", "a" * 40),
        ("index 0000000..89abcde", None),
        ("index ../../etc..89abcde 100644", None),
    ],
)
def test_the_old_blob_is_what_a_git_diff_names(line, blob):
    text = f"diff --git a/x b/x\n{line}\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"

    assert _only(text).old_blob == blob
