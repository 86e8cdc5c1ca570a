"""`codemem review`: what a diff touches and how risky that is, for people and for CI."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from codemem.client import gitscope
from codemem.client.failure import ExitStatus, Failure
from codemem.client.plain import plain_of
from codemem.client.terminal import block, line, note, print_json

if TYPE_CHECKING:
    from codemem.client.scope import Scope
    from codemem.client.transport import Server

RISK_LEVELS: Final = ("none", "low", "medium", "high", "critical")
FORMATS: Final = ("text", "markdown", "json", "sarif", "codequality")
# What the server calls a report, and how one is written that has nothing to report.
_REPORTS: Final[dict[str, tuple[str, Any]]] = {
    "sarif": ("sarif", {"version": "2.1.0", "runs": []}),
    "codequality": ("code_quality", []),
}

# Far above what a server accepts; only keeps an endless standard input out of memory.
_DIFF_BYTES: Final = 64 * 1024 * 1024
_TITLE_CHARACTERS: Final = 1_000  # what the server takes
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


class DiffUnusable(Failure):
    """What came in cannot be a diff."""

    code = "diff_unusable"


class ReportMissing(Failure):
    """The server reviewed the diff, and does not write the report that was asked for."""

    code = "report_missing"


class CheckoutMissing(Failure):
    """A diff has to be made here, but this directory is in no Git repository."""

    code = "checkout_missing"


def run(
    *,
    server: Server,
    scope: Scope,
    base: str | None,
    title: str | None,
    depth: int | None,
    fail_on: str | None,
    shape: str,
) -> ExitStatus:
    """Review a diff; PROBLEMS_FOUND if its risk is at or above `fail_on`.

    `shape` is one of FORMATS. All of them say what the server's one renderer says. Where nobody
    says what the change does, and this checkout makes the diff, its commits do.
    """
    diff, base, told = _change(base, scope=scope)
    if not diff.strip():
        note("There are no changes to review.")
        if shape == "json":
            print_json({"review": None, "markdown": ""})
        elif shape in _REPORTS:
            print_json(_REPORTS[shape][1])
        return ExitStatus.OK
    reports = [_REPORTS[shape][0]] if shape in _REPORTS else None
    said = (title or told or "")[:_TITLE_CHARACTERS] or None
    request = {"diff": diff, "base": base, "title": said, "depth": depth, "formats": reports}
    answer = server.ask(
        "POST",
        "/api/v1/reviews",
        payload={key: value for key, value in request.items() if value is not None},
    )
    _show(answer, shape=shape)
    return _judge(answer, fail_on=fail_on)


def _show(answer: dict[str, Any], *, shape: str) -> None:
    if shape == "json":
        print_json(answer)
    elif shape in _REPORTS:
        report = answer.get(_REPORTS[shape][0])
        if report is None:
            raise ReportMissing(f"This server writes no {shape} report; it may be an older one.")
        print_json(report)
    else:
        said = answer.get("markdown")
        if said and shape == "text":
            print(plain_of(str(said)))
        else:
            print(block(said or _summary(answer)).rstrip("\n"))


def _change(base: str | None, *, scope: Scope) -> tuple[str, str | None, str | None]:
    """Return the diff, its base, and what the commits say that it was made of here."""
    piped = _read_stdin()
    # Build servers often give a command an empty standard input; --base says what is wanted.
    if piped is None or (base and not piped.strip()):
        return _own_diff(base, scope=scope)
    # What CI checked out may lack the base; the server has the whole history.
    if base and scope.checkout:
        try:
            base = gitscope.resolve_commit(base, directory=scope.directory)
        except gitscope.BaseUnknown:
            note(f"This checkout lacks {base}; the server is asked for it by that name.")
    return _decode(piped), base, None


def _read_stdin() -> bytes | None:
    """Return what was piped in, None if standard input is a terminal or closed."""
    if sys.stdin is None or sys.stdin.isatty():
        return None
    piped = sys.stdin.buffer.read(_DIFF_BYTES + 1)
    if len(piped) > _DIFF_BYTES:
        raise DiffUnusable(f"Standard input is longer than {_DIFF_BYTES >> 20} MiB.")
    return piped


def _own_diff(base: str | None, *, scope: Scope) -> tuple[str, str, str | None]:
    if scope.checkout is None:
        raise CheckoutMissing(
            scope.git_problem or "There is no diff on standard input and no checkout to make one.",
            hint="Pipe one in: git diff main...HEAD | codemem review",
        )
    left_at = (
        gitscope.merge_base(base, directory=scope.directory)
        if base
        else gitscope.default_base(checkout=scope.checkout, directory=scope.directory)
    )
    return (
        _decode(gitscope.diff(base=left_at, directory=scope.directory)),
        left_at,
        gitscope.subjects(base=left_at, directory=scope.directory),
    )


def _decode(diff: bytes) -> str:
    """Return the diff as text; bytes of other encodings inside its lines become U+FFFD.

    Git quotes paths that are not ASCII, so only content is affected, never a name. A redirect
    in PowerShell writes UTF-16.
    """
    if diff.startswith(_UTF16_MARKS):
        return diff.decode("utf-16", "replace")
    if b"\0" in diff:
        raise DiffUnusable(
            "Standard input is binary data, not a diff.", hint="Try: git diff | codemem review"
        )
    return diff.decode("utf-8-sig", "replace")


def _judge(answer: dict[str, Any], *, fail_on: str | None) -> ExitStatus:
    if fail_on is None:
        return ExitStatus.OK
    level = _risk(answer).get("level")
    if level not in RISK_LEVELS:
        # A gate that cannot see must stay closed.
        note(f"The server named no known risk level ({level}), so --fail-on {fail_on} fails.")
        return ExitStatus.PROBLEMS_FOUND
    if RISK_LEVELS.index(level) < RISK_LEVELS.index(fail_on):
        return ExitStatus.OK
    note(f"The risk is {level}: --fail-on {fail_on} fails.")
    return ExitStatus.PROBLEMS_FOUND


def _risk(answer: dict[str, Any]) -> dict[str, Any]:
    review = answer.get("review")
    risk = review.get("risk") if isinstance(review, dict) else None
    return risk if isinstance(risk, dict) else {}


def _summary(answer: dict[str, Any]) -> str:
    """Return a few lines for an answer without Markdown."""
    review = answer.get("review")
    review = review if isinstance(review, dict) else {}
    risk = _risk(answer)
    counted = [
        f"- {name.replace('_', ' ')}: {len(review[name])}"
        for name in ("changed_symbols", "dependents", "affected_files", "memories")
        if isinstance(review.get(name), list)
    ]
    verdict = f"Risk: {line(risk.get('level', 'unknown'))} ({line(risk.get('score', 'no score'))})"
    return "\n".join([verdict, *counted])
