"""What one session leaves to the next: its texts, checked, cleaned and capped. Pure.

A person's agent writes them in so many words; where nobody did, `baton_of` reads them from what
was captured, by rules and without a language model: what was asked first and last, which files
changed, which validations still fail, and what the last answer says comes next.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memory.commands import read_command
from memory.events import EventKind
from memory.safety import Screen
from memory.wording import MemoryInvalid, normal, valid_text

LONGEST_SUMMARY: Final = 8_000
LONGEST_PART: Final = 1_000
MOST_PARTS: Final = 50
MOST_FILES: Final = 200

_LONGEST_QUOTE: Final = 1_500
_MOST_STEPS: Final = 10
_MOST_FAILING: Final = 10
_LONGEST_COMMAND: Final = 300
_LONGEST_ERROR: Final = 300
_LONGEST_PATH: Final = 1_000

_LOOK: Final = "L"
_HEADING: Final = re.compile(
    r"""^[\s#*_>]*(?:(?:suggested|possible|recommended|remaining)\s+)?
        (?:next(?:\s+steps?)?|to-?dos?|what(?:'s|\s+is)\s+(?:next|left)|remaining(?:\s+work)?
        |left\s+to\s+do|still\s+to\s+do|follow-?ups?|not\s+(?:yet\s+)?done)
        (?:[\s*_]*:[\s*_]*(?P<rest>.*)|[\s*_#]*)$""",
    re.VERBOSE | re.IGNORECASE,
)
_BULLET: Final = re.compile(r"^\s*(?:[-*•+]|\d{1,2}[.)])\s+(?:\[[ xX]?\]\s+)?(?P<text>\S.*)$")
_DONE_BULLET: Final = re.compile(r"^\s*[-*•+]\s+\[[xX]\]\s")
_ERROR_LINE: Final = re.compile(
    r"\b(?:error|failed|failure|exception|panic|assert\w*)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baton:
    """The texts that one session hands to the next."""

    summary: str = ""
    done: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanBaton:
    """A baton fit to keep; what was taken out of it, and in what ways it gives orders."""

    baton: Baton
    redactions: Mapping[str, int]
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One captured event as `baton_of` reads it; the words are memory.models.Observation's."""

    kind: str
    tier: str = ""
    tool: str = ""
    paths: tuple[str, ...] = ()
    command: str = ""
    content: str = ""
    is_failure: bool = False
    is_of_subagent: bool = False


def cleaned_baton(baton: Baton, *, needs_summary: bool = True) -> CleanBaton:
    """Return texts fit to keep; raise MemoryInvalid with a sentence for what cannot be."""
    screen = Screen()
    summary = screen.text(
        valid_text("summary", baton.summary, maximum_characters=LONGEST_SUMMARY)
    ).strip()
    if needs_summary and not summary:
        raise MemoryInvalid("Say in `summary` where the work stands: it is empty.")
    kept = Baton(
        summary=summary,
        done=cleaned_parts("done", baton.done, screen),
        open_questions=cleaned_parts("open_questions", baton.open_questions, screen),
        next_steps=cleaned_parts("next_steps", baton.next_steps, screen),
        files=cleaned_parts("files", baton.files, screen, most=MOST_FILES),
    )
    return CleanBaton(baton=kept, redactions=dict(screen.redactions), flags=tuple(screen.flags))


def cleaned_parts(
    name: str, texts: Iterable[str], screen: Screen, *, most: int = MOST_PARTS
) -> tuple[str, ...]:
    """Return short texts fit to keep, each once; raise MemoryInvalid."""
    kept = [
        screen.text(valid_text(name, text, maximum_characters=LONGEST_PART)).strip()
        for text in texts
    ]
    once = tuple(dict.fromkeys(text for text in kept if text))
    if len(once) > most:
        raise MemoryInvalid(f"{name} has {len(once)} entries; at most {most} are kept.")
    return once


def baton_of(happenings: Sequence[Happening]) -> Baton:
    """Return what a session leaves, read from what was captured of it in the order it came.

    Quoted texts are cut, never reworded. Empty where nothing was captured that says anything.
    """
    prompts = [
        one.content
        for one in happenings
        if one.kind == EventKind.PROMPT and not one.is_of_subagent and one.content.strip()
    ]
    answer = next(
        (
            one.content
            for one in reversed(happenings)
            if one.kind == EventKind.STOP and one.content.strip()
        ),
        "",
    )
    passing, failing = _validations(happenings)
    return Baton(
        summary=_summary(prompts, answer),
        done=tuple(f"Passed at last: {command}" for command in passing[:_MOST_FAILING]),
        open_questions=tuple(failing[:_MOST_FAILING]),
        next_steps=next_steps_in(answer),
        files=tuple(_changed(happenings))[:MOST_FILES],
    )


def next_steps_in(answer: str) -> tuple[str, ...]:
    """Return what an answer lists under a heading such as "Next steps", at most ten of it."""
    lines = normal(answer).splitlines()
    for at, line in enumerate(lines):
        found = _HEADING.match(line)
        if found is None:
            continue
        rest = found["rest"] or ""
        steps = [rest] if len(rest.split()) > 1 else []
        steps += _bullets(lines[at + 1 :])
        if steps:
            return tuple(cut(step, LONGEST_PART) for step in steps[:_MOST_STEPS])
    return ()


def cut(text: str, longest: int) -> str:
    """Return a text that is at most so long, an ellipsis in the place of what is missing."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _summary(prompts: Sequence[str], answer: str) -> str:
    parts = []
    if prompts:
        parts.append(f"Asked first: {_quoted(prompts[0])}")
    if len(prompts) > 1 and prompts[-1] != prompts[0]:
        parts.append(f"Asked last: {_quoted(prompts[-1])}")
    if answer:
        parts.append(f"Answered last: {_quoted(answer)}")
    return "\n\n".join(parts)


def _quoted(text: str) -> str:
    return cut(normal(text), _LONGEST_QUOTE)


def _changed(happenings: Iterable[Happening]) -> list[str]:
    """Return the files that were changed, those that were changed most often first."""
    times: Counter[str] = Counter()
    for one in happenings:
        is_change = one.kind == EventKind.TOOL_USE and one.tier != _LOOK and not one.command
        if is_change and not one.is_failure:
            times.update(path for path in one.paths if len(path) <= _LONGEST_PATH)
    return [path for path, _ in times.most_common()]


def _validations(happenings: Iterable[Happening]) -> tuple[list[str], list[str]]:
    """Return the validations that passed when they last ran, and those that failed, newest first.

    The same command is the same validation: what it said last is what holds.
    """
    last: dict[str, Happening] = {}
    for one in happenings:
        is_over = one.kind in {EventKind.TOOL_USE, EventKind.TOOL_FAILURE}
        command = read_command(one.command)
        if is_over and command is not None and command.is_validation:
            last.pop(one.command, None)
            last[one.command] = one
    newest = list(reversed(last.items()))
    passing = [_command(name) for name, one in newest if not _has_failed(one)]
    failing = [_failing(name, one) for name, one in newest if _has_failed(one)]
    return passing, failing


def _has_failed(one: Happening) -> bool:
    return one.is_failure or one.kind == EventKind.TOOL_FAILURE


def _failing(command: str, one: Happening) -> str:
    said = _error_line(one.content)
    return f"Still failing: {_command(command)}" + (f": {said}" if said else "")


def _error_line(output: str) -> str:
    """Return the last line that names an error, else the last one that says anything."""
    lines = [line.strip() for line in normal(output).splitlines() if line.strip()]
    named = [line for line in lines if _ERROR_LINE.search(line)]
    return cut((named or lines or [""])[-1], _LONGEST_ERROR)


def _command(command: str) -> str:
    return cut(" ".join(command.split()), _LONGEST_COMMAND)


def _bullets(lines: Iterable[str]) -> list[str]:
    """Return the list that these lines begin with; a blank line before it is no matter."""
    steps: list[str] = []
    for line in lines:
        found = _BULLET.match(line)
        if found is None and line.strip():
            break
        if found is not None and not _DONE_BULLET.match(line):
            steps.append(found["text"].strip())
    return steps
