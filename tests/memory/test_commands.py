import pytest

from memory.commands import CommandKind, read_command, score_prefixes, shown


@pytest.mark.parametrize(
    ("line", "kind", "prefix"),
    [
        (
            "cd /srv/app && FOO=1 uv run pytest tests/test_a.py -q | tail",
            "test",
            "pytest tests/test_a.py",
        ),
        ("npm test", "test", "npm test"),
        ("npm run lint:fix", "check", "npm lint:fix"),
        ("python3 -m pytest", "test", "pytest"),
        ("go test ./...", "test", "go test"),
        ("cargo clippy --all", "check", "cargo clippy"),
        ("npx tsc --noEmit", "check", "tsc"),
        ("./gradlew build", "build", "./gradlew build"),
        ("make", "build", "make"),
        ("make test", "test", "make test"),
        ("make migrate", "other", "make migrate"),
        ("docker compose exec web pytest -x", "test", "pytest"),
        ("docker compose up -d", "other", "docker compose"),
        ("python manage.py migrate", "other", "manage.py migrate"),
        ("git diff HEAD", "look", "git diff"),
        ("cat a.py | grep total", "look", "cat a.py"),
        ("sed -i s/a/b/ a.py", "other", "sed s/a/b"),
        ("alembic upgrade head && pytest", "test", "pytest"),
        ("pytest 'an open quote", "test", "pytest 'an"),
    ],
)
def test_a_line_of_shell_is_read_as_what_it_is_for(line, kind, prefix):
    command = read_command(line)
    assert command is not None
    assert (command.kind, command.prefix) == (CommandKind(kind), prefix)


def test_nothing_is_no_command():
    assert read_command("  ") is None
    assert read_command("cd ..") is None


@pytest.mark.parametrize(
    ("passed", "failed", "speaks"),
    [
        ("pytest", "pytest tests/test_a.py", True),
        ("pytest tests", "pytest tests/test_a.py::test_x", True),
        ("pytest tests/test_a.py", "pytest tests/test_a.py::test_x", True),
        ("pytest tests/test_b.py", "pytest tests/test_a.py", False),
        ("pytest tests/test_a.py", "pytest", False),
        ("ruff check .", "pytest", False),
        ("npm test", "npm test", True),
    ],
)
def test_a_check_speaks_for_what_it_covers(passed, failed, speaks):
    one, other = read_command(passed), read_command(failed)
    assert one is not None
    assert other is not None
    assert one.covers(other) is speaks


def test_prefixes_count_by_their_common_words():
    assert score_prefixes("npm test", "npm test") == 0.7
    assert score_prefixes("npm test", "npm install") == 0.3
    assert score_prefixes("npm test", "go test") == 0


def test_a_shown_command_names_no_folder_of_a_machine():
    assert shown("/home/jane/app/.venv/bin/pytest /home/jane/app/tests/a.py") == "pytest a.py"
