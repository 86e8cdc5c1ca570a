"""A session as failures are read from it: its runs and edits, in order, with what they mean.

Reads captured observations and nothing else; the prompts among them are not even loaded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from memory.commands import Command, CommandKind, read_command
from memory.entities import error_class, signature
from memory.events import EventKind
from memory.failures import diagnostics
from memory.failures.diagnostics import Diagnostic, diagnostics_of
from memory.models import Observation, Session
from memory.observed import relative_path

# What an attempt is looked for in, before what is new.
_LOOKED_BACK: Final = 80
_MOST_NEW: Final = 500
_TOOL_EVENTS = (EventKind.TOOL_USE.value, EventKind.TOOL_FAILURE.value)
_MOST_SIGHTINGS = 3
_MOST_PATHS = 6
_LONGEST_NAME = 400


@dataclass(frozen=True, kw_only=True)  # no slots: what was read once is cached
class Step:
    """One use of a tool: a command that ran, or files that changed."""

    id: int
    tool: str
    command: Command | None
    line: str  # the command as it was given
    paths: tuple[str, ...]
    content: str
    is_failed: bool
    exit_code: int | None
    is_edit: bool
    directory: str
    happened_at: datetime

    @cached_property
    def diagnostics(self) -> list[Diagnostic]:
        return diagnostics_of(self.content)

    @property
    def is_mutation(self) -> bool:
        """Whether it changed something: files, or a command that is no look and no check."""
        if self.is_failed:
            return False
        return self.is_edit or (self.command is not None and self.command.kind is CommandKind.OTHER)

    @property
    def is_validation(self) -> bool:
        return self.command is not None and self.command.is_validation

    @cached_property
    def has_failed(self) -> bool:
        """Whether it failed: by its word, or a check whose output says so behind a pipe."""
        if self.is_failed or self.exit_code not in {None, 0}:
            return True
        is_silent = self.is_validation and any(sign in self.line for sign in ("|", ";"))
        return is_silent and bool(self.diagnostics)

    @property
    def teaches(self) -> bool:
        """Whether its failing is a lesson: a run's, or another tool's that says where it is."""
        if not self.has_failed or self.is_edit:
            return False
        if self.command is not None:
            return self.command.kind is not CommandKind.LOOK
        return any(diagnostic.path for diagnostic in self.diagnostics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A failure as one step shows it. The first of `paths` is where it stands."""

    signature: str
    error_class: str
    message: str
    tool: str
    command: str
    command_prefix: str
    paths: tuple[str, ...]
    symbols: tuple[str, ...]
    line: int | None

    @property
    def place(self) -> str:
        return self.paths[0] if self.paths else ""


def steps_of(session: Session) -> tuple[list[Step], list[Step]]:
    """Return what is new since the last time, and what was shortly before it. Two queries."""
    rows = Observation.objects.filter(session=session, kind__in=_TOOL_EVENTS).defer(
        "tokens", "lexemes"
    )
    before = rows.filter(pk__lte=session.learned_up_to).order_by("-pk")[:_LOOKED_BACK]
    new = rows.filter(pk__gt=session.learned_up_to).order_by("pk")[:_MOST_NEW]
    return (
        [step_of(row, session.directory) for row in new],
        [step_of(row, session.directory) for row in reversed(before)],
    )


def step_of(row: Observation, directory: str) -> Step:
    """Return what an observation says of a tool's use."""
    command = read_command(row.command) if row.command else None
    return Step(
        id=row.pk,
        tool=row.tool,
        command=command,
        line=row.command,
        paths=tuple(row.paths),
        content=row.content,
        is_failed=row.is_failure,
        exit_code=row.exit_code,
        is_edit=not row.command and bool(row.paths) and row.tier != Observation.Tier.LOOK,
        directory=directory,
        happened_at=row.happened_at,
    )


def sightings_of(step: Step, before: Sequence[Step]) -> list[Sighting]:
    """Return the failures that a failed step shows, at most three, each with what led to it."""
    found: dict[tuple[str, ...], Sighting] = {}
    for diagnostic in step.diagnostics:
        sighting = _sighting(step, diagnostic, before)
        named = diagnostics.names_in(sighting.message)
        found.setdefault((sighting.signature, sighting.place, *named), sighting)
    return list(found.values())[:_MOST_SIGHTINGS]


def _sighting(step: Step, diagnostic: Diagnostic, before: Sequence[Step]) -> Sighting:
    named = _own_paths((diagnostic.path, *diagnostic.paths), step, before)
    paths = list(dict.fromkeys((*named, *_changed_before(before, named))))
    command = step.command
    symbols = (diagnostic.symbol, *diagnostics.names_in(diagnostic.message))
    return Sighting(
        signature=signature(diagnostic.message),
        error_class=error_class(diagnostic.message),
        message=diagnostics.shown(diagnostic.message),
        tool=step.tool,
        command=command.text if command else "",
        command_prefix=command.prefix if command else "",
        paths=tuple(paths[:_MOST_PATHS]),
        symbols=tuple(dict.fromkeys(filter(_is_particular, symbols)))[:10],
        line=diagnostic.line,
    )


def _own_paths(paths: Sequence[str], step: Step, before: Sequence[Step]) -> list[str]:
    """Return the repository's files among some; one named shortly is looked up among the known."""
    known = dict.fromkeys(path for one in before for path in one.paths)
    found = []
    for path in paths:
        plain = relative_path(path, root=step.directory, working=step.directory)
        if plain and "/" not in plain:
            plain = next((one for one in known if one.endswith(f"/{plain}")), plain)
        if plain and not diagnostics.is_foreign(plain):
            found.append(plain)
    return found


def _changed_before(before: Sequence[Step], named: Sequence[str]) -> list[str]:
    """Return the files of the change that led to it, of the last five.

    The newest of those that touch what the error names; without one, the newest.
    """
    edits = [step for step in reversed(before) if step.is_edit and not step.has_failed][:5]
    touching = [step for step in edits if set(step.paths) & set(named)]
    chosen = (touching or edits)[:1]
    return [path for step in chosen for path in step.paths]


def _is_particular(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and not diagnostics.is_common(name)
