"""What a shell command is for: a check of the work, a look at it, or something else. Pure.

A line of shell is cut into its commands; the one that checks something speaks for the line, or
the first that changes something. Launchers (`uv run`, `npx`, `sudo`) and variables in front of it
are no part of a command.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

_LONGEST_SHOWN: Final = 200
_LONGEST_PREFIX: Final = 200


class CommandKind(StrEnum):
    """What a command tells or does."""

    TEST = "test"
    CHECK = "check"  # types, style
    BUILD = "build"
    LOOK = "look"  # reads only
    OTHER = "other"


VALIDATIONS: Final = frozenset({CommandKind.TEST, CommandKind.CHECK, CommandKind.BUILD})


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command: `tool` is what runs, `targets` what it is limited to (none: everything)."""

    kind: CommandKind
    text: str
    words: tuple[str, ...]
    tool: str
    targets: tuple[str, ...]

    @property
    def is_validation(self) -> bool:
        return self.kind in VALIDATIONS

    @property
    def prefix(self) -> str:
        """Its two leading words, by which two commands are compared."""
        tool = [word for word in self.tool.split() if word not in _NO_NAMES]
        return " ".join([*tool, *self.targets][:2])[:_LONGEST_PREFIX]

    def covers(self, failed: "Command") -> bool:
        """Tell whether this one passing says anything about the other, which failed."""
        if self.tool != failed.tool or self.kind is not failed.kind:
            return False
        return not self.targets or (
            all(any(_within(target, mine) for mine in self.targets) for target in failed.targets)
            and bool(failed.targets)
        )


@lru_cache(maxsize=1024)
def read_command(line: str) -> Command | None:
    """Return the command that a line of shell is about; None for an empty one."""
    commands = [found for words in _commands(line) if (found := _read(words))]
    if not commands:
        return None
    checks = [command for command in commands if command.is_validation]
    others = [command for command in commands if command.kind is CommandKind.OTHER]
    return [*checks, *others, *commands][0]


def shown(text: str) -> str:
    """Return a command as it may be shown to others: on one line, without folders of a machine."""
    line = " ".join(text.split())
    line = re.sub(r"(?:(?<=^)|(?<=[\s='\"]))(?:~|/)[\w.@+-]*(?:/[\w.@+-]+)*/(?=[\w.@+-])", "", line)
    return line if len(line) <= _LONGEST_SHOWN else f"{line[: _LONGEST_SHOWN - 1]}…"


def score_prefixes(one: str, other: str) -> float:
    """Return .7 for the same leading words, .3 for the same first one, else 0."""
    if not one or not other:
        return 0.0
    if one == other:
        return 0.7
    return 0.3 if one.split(maxsplit=1)[0] == other.split(maxsplit=1)[0] else 0.0


def _commands(line: str) -> list[list[str]]:
    lexer = shlex.shlex(line[:4_000], posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    found: list[list[str]] = [[]]
    try:
        for token in lexer:
            if token and set(token) <= set(";&|()\n"):
                found.append([])
            else:
                found[-1].append(token)
    except ValueError:  # an open quote, a heredoc
        return [line.split()]
    return [words for words in found if words]


def _read(words: Sequence[str]) -> Command | None:
    bare = _without_launchers([word for word in words if not _REDIRECTION.fullmatch(word)])
    if not bare or bare[0] in _MOVES:
        return None
    joined = " ".join(bare)
    for known, pattern in _TABLE:
        if match := pattern.match(joined):
            kind, tool = known, " ".join(match.group(0).split())
            targets = _targets(joined[match.end() :].split())
            break
    else:
        kind = CommandKind.OTHER
        tool, targets = _named(bare)
    return Command(
        kind=kind, text=shown(joined), words=tuple(bare), tool=tool, targets=tuple(targets)
    )


def _named(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return what runs and what it is told: of an interpreter the script, of docker its part."""
    first, rest = words[0].rpartition("/")[2], list(words[1:])
    if rest and (first, rest[0]) == ("docker", "compose"):
        return "docker compose", _targets(rest[1:])
    if rest and re.fullmatch(r"python[\d.]*|node|ruby|php|bash|sh|deno|bun|tsx|ts-node", first):
        script = rest[0].removeprefix("./")
        return (first, _targets(rest)) if script.startswith("-") else (script, _targets(rest[1:]))
    return first, _targets(rest)


def _without_launchers(words: list[str]) -> list[str]:
    while words:
        joined = " ".join(words)
        match = _LAUNCHER.match(joined)
        if match is None or match.end() == 0:
            return words
        words = joined[match.end() :].split()
    return words


def _targets(words: Sequence[str]) -> list[str]:
    """Return what a command is limited to: its plain arguments, and filters with theirs."""
    targets = []
    takes = ""
    for word in words:
        if takes:
            targets.append(f"{takes} {word}")
            takes = ""
        elif word in _FILTERS:
            takes = word
        elif word.startswith("-") or word in _EVERYTHING or "=" in word:
            continue
        else:
            targets.append(word.removeprefix("./").rstrip("/"))
    return targets


def _within(target: str, mine: str) -> bool:
    """Tell whether a target is (in) another: a test in a file, a file in a folder."""
    return target == mine or target.startswith((f"{mine}/", f"{mine}::"))


_REDIRECTION = re.compile(r"\d?>{1,2}(?:&\d|\S*)|<\S*|&>\S*")
_MOVES: Final = frozenset({"cd", "pushd", "popd", "export", "set", "source", ".", "unset", "then"})
_NO_NAMES: Final = frozenset({"run", "run-script", "python", "python3"})
_EVERYTHING: Final = frozenset({".", "./...", "--", "./", "..."})
_FILTERS: Final = frozenset({"-k", "-m", "-run", "--run", "-t", "--grep", "-g", "--filter", "-p"})
_LAUNCHER = re.compile(
    r"""(?: [A-Za-z_]\w*=\S*
          | sudo(?:\s+-\w+)* | time | nohup | command | exec | env | cross-env
          | xvfb-run(?:\s+-\w+)*
          | nice(?:\s+-n\s*-?\d+)? | timeout(?:\s+-\S+)*\s+\d+\w? | stdbuf(?:\s+-\w+)+
          | (?:uv|poetry|pipenv|hatch|pdm|rye)\s+run(?:\s+--?[\w-]+(?:=\S+)?)*
          | (?:npx|bunx|pnpx)(?:\s+(?:--yes|-y|--no-install))* | (?:pnpm|npm|yarn)\s+exec(?:\s+--)?
          | pnpm\s+dlx | bundle\s+exec
          | docker[\s-]compose\s+(?:exec|run)(?:\s+--?[\w-]+)*\s+\S+
          | (?:\S*/)?python[\d.]*(?:\s+-[A-Zu])*\s+-m
        )(?:\s+|$)""",
    re.VERBOSE,
)
_BIN = r"(?:\S*/)?"
_END = r"(?=\s|$)"
_SCRIPT = r"(?:npm|pnpm|yarn|bun)(?:\s+--?\S+)*\s+(?:run(?:-script)?\s+)?"


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{words}){_END}", re.VERBOSE)


_TABLE: Final = (
    (
        CommandKind.TEST,
        _pattern(
            rf"""{_BIN}(?:pytest|py\.test|unittest|tox|nox|nose2|jest|vitest(?:\s+run)?|mocha|ava
              |gotestsum|ctest|rspec|phpunit|pest|behat|busted|bats|stack\s+test|trial)
            | {_SCRIPT}(?:t|test)(?:[:\w-]*)
            | (?:\S*python[\d.]*\s+)?\S*manage\.py\s+test
            | (?:playwright|cypress|deno|go|mix|swift|sbt|bazel|dotnet|zig|dart|flutter|composer
              |rails|rake|ember|ng|hardhat|forge)\s+(?:test|run)
            | cargo\s+(?:test|nextest(?:\s+run)?|t)
            | {_BIN}(?:mvn|mvnw)(?:\s+-\S+)*\s+(?:test|verify)
            | {_BIN}(?:gradle|gradlew)(?:\s+-\S+)*\s+\S*(?:test|check)
            | (?:make|just|task|invoke|inv)\s+(?:\S*test\S*|check)"""
        ),
    ),
    (
        CommandKind.CHECK,
        _pattern(
            rf"""{_BIN}(?:tsc|vue-tsc|mypy|dmypy|pyright|basedpyright|pyre|pytype|flake8|pylint|eslint
              |oxlint|stylelint|golangci-lint|shellcheck|rubocop|sorbet|phpstan|psalm|ktlint|detekt
              |hadolint|yamllint|markdownlint|clang-tidy|cppcheck|staticcheck|actionlint)
            | {_BIN}(?:ruff|biome|prettier|black|isort|djlint)(?:\s+(?:check|ci|lint|format))?
            | {_SCRIPT}(?:lint|typecheck|type-check|types|check|tsc|format:check)[:\w-]*
            | go\s+vet | cargo\s+(?:clippy|check|fmt) | pre-commit\s+run | terraform\s+validate
            | (?:make|just|task|invoke|inv)\s+\S*(?:lint|types?|typecheck|vet)\S*
            | \S*manage\.py\s+(?:check|makemigrations\s+--check)"""
        ),
    ),
    (
        CommandKind.BUILD,
        _pattern(
            rf"""{_SCRIPT}(?:build|compile|bundle)[:\w-]*
            | go\s+(?:build|install) | cargo\s+(?:build|b) | cmake\s+--build
            | {_BIN}(?:gcc|g\+\+|clang|clang\+\+|cc|javac|kotlinc|rustc|webpack|rollup
              |esbuild|ninja)
            | {_BIN}(?:mvn|mvnw)(?:\s+-\S+)*\s+(?:compile|package|install)
            | {_BIN}(?:gradle|gradlew)(?:\s+-\S+)*\s+\S*(?:build|assemble|compile\w*)
            | (?:vite|next|nuxt|astro|ng|tsup|dotnet|swift|zig|bazel|mix|stack|sbt|flutter
              |poetry|hatch              |uv|docker(?:[\s-]compose)?)\s+(?:build|compile)
            | make(?:\s+(?:all|build\S*|compile|dist))?(?=\s+-|\s*$)
            | make\s+(?:all|build\S*|dist)"""
        ),
    ),
    (
        CommandKind.LOOK,
        _pattern(
            rf"""{_BIN}(?:cat|bat|ls|ll|head|tail|less|more|grep|egrep|rg|ag|ack|find|fd|pwd|wc|tree
              |stat|file|du|df|env|printenv|ps|which|type|man|jq|yq|diff|cmp|echo|printf|date|whoami
              |sleep|true|test|\[|sort|uniq|cut|awk|hexdump|xxd|uname|hostname|id|history|lsof|basename
              |dirname|realpath|readlink|nl|column|tee)
            | sed\s+(?:-n|--quiet)
            | git(?:\s+-\S+(?:\s+\S+)?)*?\s+(?:status|diff|log|show|blame|branch|rev-parse|remote
              |ls-files|ls-tree|grep|describe|reflog|shortlog|config|rev-list|cat-file|merge-base)
            | docker(?:[\s-]compose)?\s+(?:ps|logs|images|inspect|version)
            | kubectl\s+(?:get|describe|logs|top|explain)
            | (?:npm|pnpm|yarn|pip3?|uv\s+pip|cargo|go|gem|brew|composer)\s+
              (?:ls|list|view|show|info|freeze|outdated|why|tree|env|version|search)
            | gh\s+\w+\s+(?:view|list|status|diff|checks) | \S+\s+--(?:version|help)"""
        ),
    ),
)
