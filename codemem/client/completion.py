"""`codemem completion`: scripts that let a shell complete commands and their options.

Made from the parser itself, so that they never tell of what is not there.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from codemem.client.failure import ExitStatus
from codemem.client.terminal import print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

_BASH = """\
# codemem completion bash: source this, or put it into ~/.local/share/bash-completion/completions/
_codemem() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words
    case ${{COMP_WORDS[1]}} in
{cases}
        *) words="{commands}" ;;
    esac
    [ "$COMP_CWORD" -gt 1 ] || words="{commands}"
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    [ ${{#COMPREPLY[@]}} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}}
complete -F _codemem codemem
"""
_ZSH = """\
#compdef codemem
# codemem completion zsh: put this into a folder of $fpath under the name _codemem
_codemem() {{
    local command=$words[2]
    local -a words
    if (( CURRENT == 2 )); then
        words=(
{described}
        )
        _describe command words
        return
    fi
    case $command in
{cases}
    esac
    compadd -- $words
    _files
}}
_codemem "$@"
"""


def run(*, shell: str, parser: argparse.ArgumentParser, as_json: bool) -> ExitStatus:
    """Print the script for one shell."""
    commands = dict(_commands(parser))
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        print(script, end="")
    return ExitStatus.OK


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, tuple[str, list[str]]]]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to ask
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            helps = {one.dest: one.help or "" for one in action._choices_actions}  # noqa: SLF001
            for name, command in action.choices.items():
                yield name, (helps.get(name, ""), list(_words(command)))


def _words(command: argparse.ArgumentParser) -> Iterator[str]:
    for action in command._actions:  # noqa: SLF001
        yield from action.option_strings[-1:]
        yield from (str(choice) for choice in action.choices or ())


def _bash(commands: dict[str, tuple[str, list[str]]]) -> str:
    cases = (
        f'        {name}) words="{" ".join(words)}" ;;' for name, (_, words) in commands.items()
    )
    return _BASH.format(cases="\n".join(cases), commands=" ".join(commands))


def _zsh(commands: dict[str, tuple[str, list[str]]]) -> str:
    described = (f"            {_quoted(f'{name}:{text}')}" for name, (text, _) in commands.items())
    cases = (
        f"        {name}) words=({' '.join(words)}) ;;" for name, (_, words) in commands.items()
    )
    return _ZSH.format(described="\n".join(described), cases="\n".join(cases))


def _fish(commands: dict[str, tuple[str, list[str]]]) -> str:
    lines = ["# codemem completion fish: put this into ~/.config/fish/completions/codemem.fish"]
    for name, (text, words) in commands.items():
        lines.append(
            f"complete -c codemem -n __fish_use_subcommand -f -a {name} -d {_quoted(text)}"
        )
        condition = _quoted(f"__fish_seen_subcommand_from {name}")
        for word in words:
            how = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            if word.startswith("-") and not word.startswith("--"):
                how = f"-s {word[1:]}"
            lines.append(f"complete -c codemem -n {condition} {how}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "'\\''") + "'"
