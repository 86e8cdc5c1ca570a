"""`codemem completion` and `codemem ui`."""

import shutil
import subprocess

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_in_the_script(codemem, shell):
    script = codemem("completion", shell).out
    for command in ("login", "init", "uninstall", "search", "consolidate", "doctor", "serve"):
        assert command in script
    assert codemem("completion", shell, "--json").json["script"] == script


def test_bash_completes_commands_and_their_options(codemem, tmp_path):
    script = tmp_path / "codemem.bash"
    script.write_text(codemem("completion", "bash").out)
    asked = (
        f". {script}; COMP_WORDS=(codemem uni); COMP_CWORD=1; _codemem; echo ${{COMPREPLY[@]}};"
        "COMP_WORDS=(codemem init --dr); COMP_CWORD=2; _codemem; echo ${COMPREPLY[@]}"
    )
    finished = subprocess.run(
        [shutil.which("bash") or "bash", "-c", asked], capture_output=True, check=True
    )
    assert finished.stdout.decode().split() == ["uninstall", "--dry-run"]


def test_ui_says_where_the_pages_are_when_there_is_no_screen(codemem, server):
    assert codemem("ui").out == f"{server.url}/\n"
    assert codemem("ui", "--json").json == {"url": f"{server.url}/"}
