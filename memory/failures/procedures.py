"""Commands that had to run first: what failed, what was run then, and that it worked after."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory.commands import CommandKind
from memory.failures.steps import Step, step_of
from memory.models import Observation, Session

_MOST_STEPS: Final = 2_000
_MOST_BETWEEN: Final = 3
_MOST: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """What to run before what, and the observations that show it."""

    text: str
    observations: tuple[int, ...]


def procedures_of(session: Session) -> list[Procedure]:
    """Return at most two procedures that a session found: no file was changed in between."""
    rows = Observation.objects.filter(session=session).exclude(command="", paths=[])
    newest = rows.defer("tokens", "lexemes").order_by("pk")[:_MOST_STEPS]
    steps = [step_of(row, session.directory) for row in newest]
    found: dict[str, Procedure] = {}
    for number, step in enumerate(steps):
        if step.command is None or not step.has_failed or not step.teaches:
            continue
        if procedure := _after(step, steps[number + 1 :]):
            found.setdefault(procedure.text, procedure)
    return list(found.values())[:_MOST]


def _after(failed: Step, later: Sequence[Step]) -> Procedure | None:
    between: list[Step] = []
    for step in later:
        if step.is_edit or failed.command is None:
            return None
        if step.command is None or step.command.kind is CommandKind.LOOK:
            continue
        if step.command.text == failed.command.text:
            return None if step.has_failed else _procedure(failed, between, step)
        if not step.has_failed:
            between.append(step)
    return None


def _procedure(failed: Step, between: Sequence[Step], passed: Step) -> Procedure | None:
    commands = [step.command.text for step in between if step.command]
    if failed.command is None or not 0 < len(commands) <= _MOST_BETWEEN:
        return None
    first = ", then ".join(f"`{text}`" for text in dict.fromkeys(commands))
    said = next((one.message for one in failed.diagnostics), "")
    why = f" Without it: {said}." if said else ""
    return Procedure(
        text=f"Run {first} before `{failed.command.text}`.{why}",
        observations=(failed.id, *(step.id for step in between), passed.id),
    )
