import pytest

from codemem.client import terminal


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("two\nlines\t.", "two\nlines\t."),
        ("crlf\r\nline", "crlf\nline"),
        ("\x1b[31mred", "\N{REPLACEMENT CHARACTER}[31mred"),
        ("\x9b2J wiped", "\N{REPLACEMENT CHARACTER}2J wiped"),
        ("a\u202eb\u2066c", "abc"),
        ("記憶 🙂", "記憶 🙂"),
    ],
)
def test_foreign_text_cannot_drive_the_terminal(foreign, shown):
    assert terminal.block(foreign) == shown


def test_a_line_stays_one_line():
    assert terminal.line("a\r\nb\tc") == "a b c"
    assert terminal.line(None) == "None"


def test_text_in_a_pipe_has_no_color():
    assert terminal.styled("ok", "green") == "ok"
