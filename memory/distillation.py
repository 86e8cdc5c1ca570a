"""A finished session becomes a few proposed memories: what was said to hold, fixed, found to work.

Nothing that was distilled answers before a person approved it. What somebody said is proposed to
them alone, unless their sessions are shared; what was run is proposed to those who use the
repository. Never one memory for each tool call: a handful at most, each with what it rests on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from codemem import policies
from codemem.accounts import services as accounts
from codemem.accounts.values import Action, Caller
from codemem.embedding import Provider
from codemem.language import Provider as LanguageProvider
from memory import failures, reading_sessions
from memory.claims import Claim, chosen, claims_of_answer, claims_of_prompt
from memory.events import EventKind
from memory.failures.procedures import procedures_of
from memory.handoffs import is_worth_keeping
from memory.models import FixAttempt, Memory, Observation, Session
from memory.services.drafting import content_hash
from memory.services.storing import store_memory
from memory.values import MemoryType, Visibility
from memory.wording import MemoryInvalid

MAXIMUM_CLAIMS: Final = 5
TAG: Final = "distilled"

_LAST_ANSWERS: Final = 3
_MOST_PROMPTS: Final = 200
_FIX_CONFIDENCE: Final = 0.8

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """What became of a session: the memories that were proposed, and by which model."""

    proposed: tuple[UUID, ...] = ()
    model: str = ""


def distill(
    *,
    session_id: UUID,
    now: datetime,
    provider: Provider | None = None,
    language: LanguageProvider | None = None,
) -> Distilled:
    """Propose what a session taught; nothing of one in which nothing was done, or that is private.

    By rules; what was said is read by the namespace's language model where it has one. Doing it
    twice proposes nothing new, nor what was turned down before.
    """
    session = Session.objects.select_related("user").filter(pk=session_id).first()
    if session is None or session.capture != Session.Capture.FULL or not is_worth_keeping(session):
        return Distilled()
    caller = accounts.caller_of_user(user=session.user)
    if not session.user.is_active or not caller.can(Action.WRITE_MEMORY, session.namespace_id):
        return Distilled()
    failures.learn(session_id=session_id, now=now, provider=provider)
    said = _said(session)
    read = reading_sessions.claims_by_model(
        namespace_id=session.namespace_id, said=said, now=now, provider=language
    )
    of_words = list(read.claims) if read.is_used else _by_rules(said)
    claims = chosen([*of_words, *_fixes(session), *_procedures(session)], most=MAXIMUM_CLAIMS)
    proposed = [
        key
        for claim in claims
        if (key := _proposed(claim, session, caller, model=read.model, provider=provider, now=now))
    ]
    return Distilled(proposed=tuple(proposed), model=read.model)


def _said(session: Session) -> list[Observation]:
    """Return the prompts and the last answers, in order."""
    rows = Observation.objects.filter(session=session, subagent_id="").defer("tokens", "lexemes")
    prompts = rows.filter(kind=EventKind.PROMPT).order_by("-pk")[:_MOST_PROMPTS]
    answers = rows.filter(kind=EventKind.STOP).order_by("-pk")[:_LAST_ANSWERS]
    return sorted([*prompts, *answers], key=lambda row: row.pk)


def _by_rules(said: Sequence[Observation]) -> list[Claim]:
    claims: list[Claim] = []
    for row in said:
        read = claims_of_prompt if row.kind == EventKind.PROMPT else claims_of_answer
        claims += read(row.content, observation=row.pk)
    return claims


def _fixes(session: Session) -> list[Claim]:
    """Return what made failures pass in this session: the failure and what was changed."""
    rows = (
        FixAttempt.objects.filter(session=session, outcome=FixAttempt.Outcome.SUCCEEDED)
        .exclude(failure__memory__state=Memory.State.ACTIVE)
        .select_related("failure")
        .order_by("started_at")
    )
    return [
        Claim(
            memory_type=MemoryType.FIX,
            content=f"{row.failure.message} (`{row.failure.command}`) was fixed by {row.summary};"
            f" `{row.validation}` passed then.",
            observations=(row.failure.last_run,) if row.failure.last_run else (),
            confidence=_FIX_CONFIDENCE,
            is_of_words=False,
        )
        for row in rows
    ]


def _procedures(session: Session) -> list[Claim]:
    return [
        Claim(
            memory_type=MemoryType.PROCEDURE,
            content=found.text,
            observations=found.observations,
            confidence=0.7,
            is_of_words=False,
        )
        for found in procedures_of(session)
    ]


def _proposed(
    claim: Claim,
    session: Session,
    caller: Caller,
    *,
    model: str,
    provider: Provider | None,
    now: datetime,
) -> UUID | None:
    if _was_turned_down(claim, session):
        return None
    labels = [TAG, "language-model"] if model and claim.is_of_words else [TAG]
    try:
        outcome = store_memory(
            caller=caller,
            namespace_id=session.namespace_id,
            repository_id=session.repository_id,
            content=claim.content,
            memory_type=claim.memory_type,
            visibility=_visibility(claim, session),
            rationale=claim.rationale,
            evidence=[
                {"kind": "tool_use", "ref": f"observation {key}", "note": f"session {session.pk}"}
                for key in claim.observations
            ],
            tags=labels,
            confidence=claim.confidence,
            is_proposed=True,
            agent=session.agent,
            model=model if claim.is_of_words else "",
            session_id=session.client_session_id,
            source="hook",
            provider=provider,
            now=now,
        )
    except MemoryInvalid as error:
        log.info("claim_not_proposed", session=str(session.pk), reason=str(error))
        return None
    return outcome.memory.id if outcome.memory.state == Memory.State.PROPOSED else None


def _visibility(claim: Claim, session: Session) -> Visibility:
    """Return who a claim is proposed to: what somebody said is theirs, unless they share it."""
    if claim.memory_type is MemoryType.PREFERENCE or session.repository_id is None:
        return Visibility.PRIVATE
    if claim.is_of_words:
        return Visibility.REPOSITORY if session.is_shared else Visibility.PRIVATE
    is_shared = policies.value(session.namespace_id, "failures.shared")
    return Visibility.REPOSITORY if is_shared else Visibility.PRIVATE


def _was_turned_down(claim: Claim, session: Session) -> bool:
    return Memory.objects.filter(
        namespace_id=session.namespace_id,
        author_id=session.user_id,
        content_hash=content_hash(claim.content),
        state=Memory.State.RETIRED,
    ).exists()
