"""What a question or a tool use is about, and how well a known failure matches it. Pure.

An exact file or error counts 1, a symbol or two command words .7, one command word .3.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from codemem.words import code_tokens, identifiers
from memory.commands import Command, CommandKind, read_command, score_prefixes
from memory.entities import error_signatures, signature
from memory.events import Doing, ToolUse
from memory.failures import diagnostics
from memory.observed import relative_path

EXACT: Final = 1.0
NEAR: Final = 0.7  # a symbol, two command words
FAR: Final = 0.3  # one command word

_ALIKE: Final = 0.5
_MOST_NAMES: Final = 60
_SHORTEST_NAME: Final = 5
_LONGEST_READ: Final = 4_000


class Recognized(Protocol):
    """What a failure is recognized by."""

    @property
    def signature(self) -> str: ...
    @property
    def command_prefix(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def paths(self) -> Sequence[str]: ...
    @property
    def symbols(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a question or a tool use touches, and how well a failure matches that."""

    paths: frozenset[str] = frozenset()
    command: Command | None = None
    names: frozenset[str] = frozenset()
    signatures: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    file_name: str = ""
    is_fuzzy: bool = False

    def match(self, row: Recognized) -> tuple[float, str]:
        """Return how well a failure matches, and why in a few words."""
        found: list[tuple[float, str]] = [(0.0, "")]
        if shared := self.paths & set(row.paths):
            found.append((EXACT, f"it failed at {min(shared)}"))
        if self.signatures & {row.signature}:
            found.append((EXACT, "it is the same error"))
        elif self.words and (alike := _likeness(self.words, row)) >= _ALIKE:
            found.append((NEAR * min(1.0, alike + 0.3), "the error reads like it"))
        if named := self.names & set(row.symbols):
            found.append((NEAR, f"it names {min(named)}"))
        if self.file_name and any(
            f"{path}".endswith(f"/{one}") for path in self.paths for one in row.paths
        ):
            found.append((EXACT, f"it failed at {row.paths[0]}"))
        elif self.file_name and any(path.endswith(f"/{self.file_name}") for path in row.paths):
            found.append((NEAR, f"it failed at a file named {self.file_name}"))
        if self.command is not None:
            score = score_prefixes(self.command.prefix, row.command_prefix)
            found.append((score, f"`{row.command_prefix}` failed"))
        return max(found, key=lambda one: one[0])


def about_tool(tool: ToolUse, *, directory: str) -> About | None:
    """Return what a tool use touches; None for a look, which repeats nothing."""
    if tool.doing is Doing.RUN:
        command = read_command(tool.command) if tool.command else None
        if command is None or command.kind is CommandKind.LOOK:
            return None
        targets = [target.partition("::")[0] for target in command.targets]
        return _about(paths=_inside(targets, directory), command=command)
    paths = _inside(tool.paths, directory)
    text = "\n".join(_texts(tool.arguments))[:_LONGEST_READ]
    return _about(paths=paths, names=_names(identifiers(text)))


def _inside(paths: Iterable[str], directory: str) -> list[str]:
    found = (relative_path(path, root=directory, working=directory) for path in paths)
    return [path for path in found if path]


def about_question(*, path: str, command: str, symbol: str, error: str) -> About:
    read = read_command(command) if command else None
    plain = path.replace("\\", "/").removeprefix("./")
    signatures = [*error_signatures(error), signature(error)] if error else []
    names = [symbol, re.split(r"[.#:/]", symbol)[-1]] if symbol else []
    targets = [target.partition("::")[0] for target in read.targets] if read else []
    return _about(
        paths=[*([plain] if plain else []), *_inside(targets, "")],
        command=read,
        names=names,
        signatures=[key for key in signatures if key],
        words=_words(error),
        file_name=plain.rpartition("/")[2],
    )


def _about(
    *,
    paths: Iterable[str] = (),
    command: Command | None = None,
    names: Iterable[str] = (),
    signatures: Iterable[str] = (),
    words: Iterable[str] = (),
    file_name: str = "",
) -> About:
    return About(
        paths=frozenset(path for path in paths if path),
        command=command,
        names=frozenset(sorted(set(names))[:_MOST_NAMES]),
        signatures=frozenset(signatures),
        words=frozenset(words),
        file_name=file_name,
        is_fuzzy=bool(words or file_name or command),
    )


def _names(found: Iterable[str]) -> list[str]:
    """Return the names of an edit that are particular enough to tell of a failure."""
    return [
        name for name in found if len(name) >= _SHORTEST_NAME and not diagnostics.is_common(name)
    ]


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _words(text: str) -> frozenset[str]:
    return frozenset(code_tokens(text[:2_000]))


def _likeness(words: frozenset[str], row: Recognized) -> float:
    """Return the share of a failure's words that an error has, or the other way round."""
    mine = _words(row.message)
    return len(words & mine) / max(min(len(words), len(mine)), 4)
