"""From what was sent to a draft that can be stored: checked, cleaned, with what it names.

Every refusal is a MemoryInvalid with one sentence that says how to mend it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from codemem import policies
from codemem.accounts.values import Caller
from graph.models import Repository
from memory.anchors import Citation
from memory.entities import Entity, entities_of
from memory.models import Memory
from memory.safety import Screen
from memory.values import MemoryType, NewMemory, Visibility
from memory.wording import MemoryInvalid, normal, valid_content, valid_tags, valid_text, words_of

MAXIMUM_TTL_HOURS: Final = 24 * 366 * 10
MAXIMUM_SUPERSEDED: Final = 5
EVIDENCE_KINDS: Final = ("commit", "file", "url", "command", "tool_use", "memory")
# The mark of a text that gives orders, where a namespace keeps those.
ORDERS_TAG: Final = "gives-orders"
SOURCES: Final = ("tool", "hook", "import", "consolidation", "bootstrap", "console")

_PRIVATE_TYPES: Final = frozenset({MemoryType.PREFERENCE, MemoryType.STYLE, MemoryType.HABIT})
# What one session is about. Everything else was learned for the next ones, and a question stays
# open until somebody answers it.
_SESSION_TYPES: Final = frozenset({MemoryType.CONTEXT, MemoryType.SUMMARY})
_LONGEST_BRANCH: Final = 255
_LONGEST_RATIONALE: Final = 5_000
_LONGEST_PART: Final = 1_000
_MOST_ALTERNATIVES: Final = 20
_MOST_CRITERIA: Final = 50
_MOST_EVIDENCE: Final = 50
_LONGEST_NAME: Final = 100
_LONGEST_KEY: Final = 200


class RepositoryUnknown(Exception):
    """The namespace has no such repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A checked and cleaned memory on its way into the table."""

    caller: Caller
    namespace_id: UUID
    repository_id: UUID | None
    branch: str
    visibility: Visibility
    memory_type: MemoryType
    content: str
    rationale: str
    alternatives: tuple[dict[str, str], ...]
    acceptance_criteria: tuple[str, ...]
    evidence: tuple[dict[str, str], ...]
    citations: tuple[Citation, ...]
    tags: tuple[str, ...]
    importance: float
    confidence: float
    is_pinned: bool
    state: Memory.State
    is_distinct: bool
    links: tuple[str, ...]
    auto_link: bool
    supersedes: tuple[UUID, ...]
    expires_at: datetime | None
    agent: str
    model: str
    session_id: str
    source: str
    idempotency_key: str
    created_at: datetime
    redactions: Mapping[str, int]
    flags: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def content_hash(self) -> bytes:
        return content_hash(self.content)

    @property
    def words(self) -> str:
        return words_of(
            self.content,
            tags=self.tags,
            rationale=self.rationale,
            alternatives=self.alternatives,
            acceptance_criteria=self.acceptance_criteria,
        )

    @property
    def entities(self) -> tuple[Entity, ...]:
        return entities_of(self.content, self.rationale, *(part["ref"] for part in self.evidence))


def drafted(*, caller: Caller, namespace_id: UUID, new: NewMemory, now: datetime) -> Draft:
    """Return what was sent as a draft; raise MemoryInvalid or RepositoryUnknown."""
    screen = Screen()
    memory_type = _valid_type(new.memory_type)
    content = _cleaned_content(new.content, screen)
    rationale = _cleaned(screen, "rationale", new.rationale, longest=_LONGEST_RATIONALE)
    alternatives = _valid_alternatives(new.alternatives, screen)
    criteria = _valid_criteria(new.acceptance_criteria, screen)
    evidence = _valid_evidence(new.evidence, screen)
    tags = valid_tags(screen.value(_texts("tags", new.tags)))
    repository_id = _known_repository(namespace_id, new.repository_id)
    state = _state(new, screen, namespace_id)
    if screen.flags and state == Memory.State.ACTIVE:
        tags = valid_tags([*tags, ORDERS_TAG])
    expires_at, expiry_note = _expiry(new, memory_type, namespace_id, now=now)
    return Draft(
        caller=caller,
        namespace_id=namespace_id,
        repository_id=repository_id,
        branch=_valid_branch(new.branch, repository_id),
        visibility=_valid_visibility(new.visibility, memory_type, repository_id),
        memory_type=memory_type,
        content=content,
        rationale=rationale,
        alternatives=alternatives,
        acceptance_criteria=criteria,
        evidence=evidence,
        citations=tuple(new.citations),
        tags=tags,
        importance=_valid_share("importance", new.importance),
        confidence=_valid_share("confidence", new.confidence),
        is_pinned=bool(new.is_pinned),
        state=state,
        is_distinct=bool(new.is_distinct),
        links=tuple(new.links),
        auto_link=new.auto_link,
        supersedes=_valid_superseded(new.supersedes),
        expires_at=expires_at,
        agent=_valid_name("agent", new.agent, _LONGEST_NAME),
        model=_valid_name("model", new.model, _LONGEST_NAME),
        session_id=_valid_name("session_id", new.session_id, _LONGEST_KEY),
        source=_valid_source(new.source),
        idempotency_key=_valid_name("idempotency_key", new.idempotency_key, _LONGEST_KEY),
        created_at=_valid_beginning(new.created_at, now=now),
        redactions=dict(screen.redactions),
        flags=tuple(screen.flags),
        notes=(expiry_note,) if expiry_note else (),
    )


def content_hash(content: str) -> bytes:
    """Return what tells a text from all others: its SHA-256."""
    return hashlib.sha256(content.encode()).digest()


def cleaned_content(content: str) -> str:
    """Return a content as it would be kept; raise MemoryInvalid."""
    return _cleaned_content(content, Screen())


def _cleaned_content(content: str, screen: Screen) -> str:
    if not isinstance(content, str):
        raise MemoryInvalid(f"content must be a text, not {type(content).__name__}.")
    maximum = settings.MAXIMUM_MEMORY_CHARACTERS
    # Checked first, so that nothing huge is cleaned, and after, for cleaning may leave nothing.
    checked = valid_content(content, maximum_characters=maximum)
    return valid_content(screen.text(checked), maximum_characters=2 * maximum)


def _cleaned(screen: Screen, name: str, text: str, *, longest: int = _LONGEST_PART) -> str:
    return screen.text(valid_text(name, text, maximum_characters=longest)).strip()


def _valid_alternatives(
    alternatives: Sequence[Mapping[str, str]], screen: Screen
) -> tuple[dict[str, str], ...]:
    """Return what was turned down: each an option, and the reason why not."""
    kept = _objects(
        "alternatives", alternatives, keys=("option", "reason"), most=_MOST_ALTERNATIVES
    )
    cleaned = tuple(
        {key: _cleaned(screen, f"alternatives.{key}", text) for key, text in item.items()}
        for item in kept
    )
    for item in cleaned:
        if not item.get("option") or not item.get("reason"):
            raise MemoryInvalid("Each of alternatives needs an option and the reason against it.")
    return cleaned


def _valid_criteria(criteria: Sequence[str], screen: Screen) -> tuple[str, ...]:
    texts = _texts("acceptance_criteria", criteria)
    if len(texts) > _MOST_CRITERIA:
        raise MemoryInvalid(
            f"There are {len(texts)} acceptance criteria; a memory has at most {_MOST_CRITERIA}."
        )
    kept = (_cleaned(screen, "acceptance_criteria", text) for text in texts)
    return tuple(dict.fromkeys(text for text in kept if text))


def _valid_evidence(
    evidence: Sequence[Mapping[str, str]], screen: Screen
) -> tuple[dict[str, str], ...]:
    """Return what shows that it is so: each of a kind, where it is found, and maybe a note."""
    items = _objects("evidence", evidence, keys=("kind", "ref", "note"), most=_MOST_EVIDENCE)
    kept = []
    for item in items:
        if item.get("kind") not in EVIDENCE_KINDS:
            known = ", ".join(EVIDENCE_KINDS)
            raise MemoryInvalid(
                f"The kind of evidence is {item.get('kind')!r}; there are: {known}."
            )
        cleaned = {key: _cleaned(screen, f"evidence.{key}", text) for key, text in item.items()}
        if not cleaned.get("ref"):
            raise MemoryInvalid("Each of evidence needs a ref: a commit, a path, an address.")
        kept.append({key: text for key, text in cleaned.items() if text})
    return tuple(kept)


def _objects(name: str, items: Any, *, keys: Sequence[str], most: int) -> list[dict[str, str]]:
    """Return a list of objects that have no other keys than these, and texts only."""
    if isinstance(items, str | Mapping) or not isinstance(items, Sequence):
        raise MemoryInvalid(f"{name} must be a list of objects with {', '.join(keys)}.")
    if len(items) > most:
        raise MemoryInvalid(f"There are {len(items)} {name}; a memory has at most {most}.")
    for item in items:
        if not isinstance(item, Mapping):
            raise MemoryInvalid(f"Each of {name} must be an object with {', '.join(keys)}.")
        for key in item:
            if key not in keys:
                raise MemoryInvalid(
                    f"{name} has no {str(key)[:40]!r}; each is an object with {', '.join(keys)}."
                )
    return [{key: text for key, text in item.items() if text is not None} for item in items]


def _texts(name: str, values: Any) -> list[str]:
    if isinstance(values, str | Mapping):
        raise MemoryInvalid(f"{name} must be a list of texts.")
    texts = list(values)
    if not all(isinstance(text, str) for text in texts):
        raise MemoryInvalid(f"{name} must be a list of texts.")
    return texts


def _state(new: NewMemory, screen: Screen, namespace_id: UUID) -> Memory.State:
    """Return whether it answers at once or waits for a person; raise for what is refused."""
    if screen.flags:
        policy = policies.value(namespace_id, "memory.injection")
        if policy == "refuse":
            raise MemoryInvalid(
                f"This text gives orders to agents ({', '.join(screen.flags)}), and this namespace"
                " takes none. Say what is so, not what its reader shall do."
            )
        if policy == "queue":
            return Memory.State.PROPOSED
    return Memory.State.PROPOSED if new.is_proposed else Memory.State.ACTIVE


def _expiry(
    new: NewMemory, memory_type: MemoryType, namespace_id: UUID, *, now: datetime
) -> tuple[datetime | None, str]:
    """Return when it ends, and the sentence for who did not say so themselves."""
    named = _valid_expiry(new.expires_at, new.ttl_hours, now=now)
    if named is not None:
        if new.keep:
            raise MemoryInvalid("Give an expiry or keep, not both.")
        return named, ""
    is_of_session = bool(new.session_id.strip()) and memory_type in _SESSION_TYPES
    if not is_of_session or new.keep or new.is_pinned or new.source == "import":
        return None, ""
    hours = float(policies.value(namespace_id, "memory.session_ttl_hours"))
    return now + timedelta(hours=hours), (
        f"A {memory_type} of a session ends after {hours / 24:g} days; pass keep to keep it."
    )


def _valid_expiry(
    expires_at: datetime | None, ttl_hours: float | None, *, now: datetime
) -> datetime | None:
    if expires_at is not None and ttl_hours is not None:
        raise MemoryInvalid("Give expires_at or ttl_hours, not both.")
    if ttl_hours is not None:
        if not 0 < ttl_hours <= MAXIMUM_TTL_HOURS:
            raise MemoryInvalid(
                f"ttl_hours is {ttl_hours}; it must be more than 0, at most {MAXIMUM_TTL_HOURS}."
            )
        return now + timedelta(hours=ttl_hours)
    if expires_at is None:
        return None
    if expires_at.tzinfo is None:
        raise MemoryInvalid("expires_at needs a time zone, for example 2030-01-31T12:00:00Z.")
    if expires_at <= now:
        raise MemoryInvalid(
            f"expires_at is {expires_at.isoformat()}, which is not in the future: here it is"
            f" {now.isoformat(timespec='seconds')}."
        )
    return expires_at


def _valid_beginning(created_at: datetime | None, *, now: datetime) -> datetime:
    """Return since when it is known. A clock that is ahead of ours made it now, not tomorrow."""
    if created_at is None:
        return now
    if created_at.tzinfo is None:
        raise MemoryInvalid("created_at needs a time zone, for example 2030-01-31T12:00:00Z.")
    return min(created_at, now)


def _known_repository(namespace_id: UUID, repository_id: UUID | None) -> UUID | None:
    if repository_id is None:
        return None
    if not Repository.objects.filter(pk=repository_id, namespace_id=namespace_id).exists():
        raise RepositoryUnknown(f"There is no repository {repository_id} in this namespace.")
    return repository_id


def _valid_branch(branch: str, repository_id: UUID | None) -> str:
    if branch and repository_id is None:
        raise MemoryInvalid(f"To store for the branch {branch}, name its repository.")
    if len(branch) > _LONGEST_BRANCH or "\0" in branch:
        raise MemoryInvalid(f"The branch name is not one: {branch[:40]!r}.")
    return branch


def _valid_visibility(
    visibility: Visibility | str | None, memory_type: MemoryType, repository_id: UUID | None
) -> Visibility:
    if visibility is None:
        if memory_type in _PRIVATE_TYPES:
            return Visibility.PRIVATE
        return Visibility.NAMESPACE if repository_id is None else Visibility.REPOSITORY
    try:
        chosen = Visibility(visibility)
    except ValueError as error:
        known = ", ".join(Visibility)
        raise MemoryInvalid(
            f"There is no visibility {visibility!r}; there are: {known}."
        ) from error
    if chosen is Visibility.REPOSITORY and repository_id is None:
        raise MemoryInvalid("To store for a repository, name it.")
    return chosen


def _valid_type(memory_type: MemoryType | str) -> MemoryType:
    try:
        return MemoryType(memory_type)
    except ValueError as error:
        known = ", ".join(MemoryType)
        raise MemoryInvalid(
            f"There is no memory type {memory_type!r}; there are: {known}."
        ) from error


def _valid_share(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise MemoryInvalid(f"{name} is {value}; it must be a number from 0 to 1.")
    return float(value)


def _valid_superseded(ids: Sequence[UUID]) -> tuple[UUID, ...]:
    distinct = tuple(dict.fromkeys(ids))
    if len(distinct) > MAXIMUM_SUPERSEDED:
        raise MemoryInvalid(
            f"It supersedes {len(distinct)} memories; at most {MAXIMUM_SUPERSEDED} in one call."
        )
    return distinct


def _valid_name(name: str, text: str, longest: int) -> str:
    """Return the name of an agent, session or key on one line. It is looked up, so never cut."""
    kept = " ".join(normal(text).split()) if isinstance(text, str) else None
    if kept is None or len(kept) > longest:
        raise MemoryInvalid(f"{name} must be a text of at most {longest} characters.")
    return kept


def _valid_source(source: str) -> str:
    if source not in SOURCES:
        raise MemoryInvalid(f"There is no source {source!r}; there are: {', '.join(SOURCES)}.")
    return source
