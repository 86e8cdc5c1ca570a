"""The tool that asks what failed before."""

from datetime import datetime
from uuid import UUID

from pydantic import Field, model_validator

from codemem.accounts.values import Action
from codemem.gateway import scope as scopes
from codemem.gateway.tool import Arguments, Call, Result, Toolset, tool
from memory.failures import KnownFailure, prior_failures

_SUBJECTS = ("file_path", "command", "symbol", "error")
_LONGEST_ERROR = 8_000


class PriorArguments(Arguments):
    file_path: str | None = Field(None, max_length=1000)
    command: str | None = Field(None, max_length=2000)
    symbol: str | None = Field(None, max_length=400)
    error: str | None = Field(None, max_length=_LONGEST_ERROR, description="Its text.")
    limit: int = Field(3, ge=1, le=5)

    @model_validator(mode="after")
    def _is_about_one_thing(self) -> "PriorArguments":
        given = [name for name in _SUBJECTS if (getattr(self, name) or "").strip()]
        if len(given) != 1:
            raise ValueError(f"Give one of {', '.join(_SUBJECTS)}.")
        return self


class AttemptView(Result):
    what: str
    outcome: str = Field(description="succeeded, failed, partial or unknown")
    validation: str | None = None


class FailureView(Result):
    id: UUID
    failure: str
    command: str | None = None
    paths: list[str] | None = None
    state: str = Field(description="open or fixed")
    occurrences: int
    last_seen_at: datetime
    score: float
    reason: str
    attempts: list[AttemptView] | None = None


class PriorResult(Result):
    scope: scopes.ScopeEcho
    found: bool
    verdict: str = Field(description="clear; caution: look first; stop: it fails still")
    failures: list[FailureView]


@tool(
    Toolset.SESSIONS,
    reads_only=True,
    core=("file_path", "command", "symbol", "error"),
)
def check_prior_failures(call: Call, arguments: PriorArguments) -> PriorResult:
    """Before you edit a file, run a command or chase an error: what failed there before, what
    fixed it, what was tried in vain. Give one of file_path, command, symbol, error.
    """
    namespaces, source = scopes.namespaces_to_read(call, arguments, Action.READ_MEMORY)
    repository = scopes.find_repository(call, arguments, namespaces=namespaces)
    if repository is not None:
        namespaces = (repository.namespace,)
    known = prior_failures(
        caller=call.caller,
        namespace_ids=[scope.id for scope in namespaces],
        repository_id=repository.repository.id if repository else None,
        branch=call.address.ref or "",
        path=arguments.file_path or "",
        command=arguments.command or "",
        symbol=arguments.symbol or "",
        error=arguments.error or "",
        limit=arguments.limit,
        now=call.now,
    )
    return PriorResult(
        scope=scopes.echo(repository) if repository else scopes.echo_namespaces(namespaces, source),
        found=bool(known.failures),
        verdict=known.verdict,
        failures=[_view(failure) for failure in known.failures],
    )


def _view(failure: KnownFailure) -> FailureView:
    return FailureView(
        id=failure.memory_id,
        failure=failure.what,
        command=failure.command or None,
        paths=list(failure.paths) or None,
        state=failure.state,
        occurrences=failure.occurrences,
        last_seen_at=failure.last_seen_at,
        score=failure.score,
        reason=failure.reason,
        attempts=[
            AttemptView(
                what=attempt.summary,
                outcome=attempt.outcome,
                validation=attempt.validation or None,
            )
            for attempt in failure.attempts
        ]
        or None,
    )
