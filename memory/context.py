"""Keeps what a memory is found by beside itself: its neighbors' words, and its words one by one.

A short memory of a session is read among its neighbors, because what it says is often half of it
("Yes, on Friday."). Long ones stand for themselves: on long texts neighbors only add noise. All of
it is derived: it may lag behind a write, and is made again by `make_contexts`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from codemem import embedding
from codemem.embedding import Provider
from codemem.embedding.words import word_model
from codemem.words import tokens_text
from memory import wordwise
from memory.models import Memory, MemoryContext

SHORT_CHARACTERS = 400
"""Up to about 90 word pieces of English; LoCoMo's turns are short, its chunks are not."""

_BEFORE, _AFTER = 2, 1  # it is read with these; more only add noise
_AROUND = 3  # on either side: what they say counts for it, the farther the less
_AT_ONCE = 64
_RECIPE = "context-2"  # raised whenever the same texts would give another row


@dataclass(frozen=True, slots=True)
class _Said:
    """A memory of a session, as its neighbors need it."""

    id: UUID
    content: str
    author: str


def context_fingerprint(provider: Provider) -> str:
    return f"{_RECIPE}:{provider.fingerprint}"


def make_contexts(*, limit: int, provider: Provider | None = None) -> int:
    """Make the contexts of active memories that lack a current one; return how many.

    Safe to run twice and beside itself. Raise EmbeddingUnavailable; what was made stays.
    """
    provider = provider or embedding.from_settings()
    waiting = list(_lacking(provider).order_by("pk")[:limit])
    for start in range(0, len(waiting), _AT_ONCE):
        _make(waiting[start : start + _AT_ONCE], provider)
    return len(waiting)


def forget_contexts(memory_ids: Iterable[UUID]) -> None:
    """Have the contexts of some memories, and of those around them, made again.

    To be called when memories are stored, changed, ended or moved, in the same transaction. Three
    statements, more only when several sessions are concerned.
    """
    ids = list(memory_ids)
    changed = Memory.objects.filter(pk__in=ids).exclude(session_id="")
    near: set[UUID] = set(ids)
    near.update(
        MemoryContext.objects.filter(around__overlap=ids).values_list("memory_id", flat=True)
    )
    for memory in changed.only(*_PLACE, "created_at"):
        # What came in between is in nobody's window yet: look who stands beside it.
        beside = _beside(memory)
        before = beside.filter(created_at__lte=memory.created_at).order_by("-created_at", "-pk")
        after = beside.filter(created_at__gte=memory.created_at).order_by("created_at", "pk")
        near.update(before.values_list("pk", flat=True)[: _AROUND + 1])
        near.update(after.values_list("pk", flat=True)[: _AROUND + 1])
    MemoryContext.objects.filter(memory_id__in=near).delete()


# Who sees a memory must see its neighbors, or their words would show through it.
_PLACE = (
    "namespace_id",
    "session_id",
    "repository_id",
    "branch",
    "visibility",
    "author_id",
)


def _lacking(provider: Provider) -> QuerySet[Memory]:
    current = MemoryContext.objects.filter(
        memory_id=OuterRef("pk"), fingerprint=context_fingerprint(provider)
    )
    active = Memory.objects.filter(state=Memory.State.ACTIVE)
    return active.exclude(Exists(current)).only("content", "author_name", *_PLACE)


def _make(memories: Sequence[Memory], provider: Provider) -> None:
    sessions: dict[tuple[object, ...], list[_Said]] = {}
    windows = [_window(memory, sessions) for memory in memories]
    nearest = [_nearest(window) for window in windows]
    words = _packed_words(nearest, provider)
    rows = [
        MemoryContext(
            memory_id=memory.pk,
            namespace_id=memory.namespace_id,
            around=[said.id for said, is_own in window if not is_own],
            before=_own_place(window),
            tokens=_tokens(near),
            words=bits,
            fingerprint=context_fingerprint(provider),
        )
        for memory, window, near, bits in zip(memories, windows, nearest, words, strict=True)
    ]
    for row, window in zip(rows, windows, strict=True):
        _put(row, window)


_Window = list[tuple[_Said, bool]]


@transaction.atomic
def _put(row: MemoryContext, window: _Window) -> None:
    """Write a context, unless what it was made of has been changed, moved, ended or erased since.

    Whoever does that forgets contexts first, and waits here or is seen here.
    """
    memories = {
        memory.pk: memory
        for memory in Memory.objects.select_for_update(no_key=True)
        .filter(pk__in=[said.id for said, _ in window], state=Memory.State.ACTIVE)
        .order_by("pk")
        .only("content", *_PLACE)
    }
    if {said.id: said.content for said, _ in window} != {
        key: memory.content for key, memory in memories.items()
    }:
        return
    if len({_place(memory) for memory in memories.values()}) > 1:
        return
    MemoryContext.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["memory"],
        update_fields=["around", "before", "tokens", "words", "fingerprint"],
    )


def _place(memory: Memory) -> tuple[object, ...]:
    return tuple(getattr(memory, name) for name in _PLACE)


def _window(memory: Memory, sessions: dict[tuple[object, ...], list[_Said]]) -> _Window:
    """Return a memory and its neighbors in order, each with whether it is the memory itself."""
    own = _Said(memory.pk, memory.content, memory.author_name)
    if not memory.session_id or len(memory.content) > SHORT_CHARACTERS:
        return [(own, True)]
    place = _place(memory)
    if place not in sessions:
        rows = (
            _beside(memory).order_by("created_at", "pk").values_list("pk", "content", "author_name")
        )
        sessions[place] = [_Said(*row) for row in rows]
    session = sessions[place]
    at = next((place for place, said in enumerate(session) if said.id == memory.pk), None)
    if at is None:  # ended meanwhile
        return [(own, True)]
    near = session[max(0, at - _AROUND) : at + _AROUND + 1]
    return [(said, said.id == memory.pk) for said in near]


def _nearest(window: _Window) -> _Window:
    own = _own_place(window)
    return window[max(0, own - _BEFORE) : own + _AFTER + 1]


def _own_place(window: _Window) -> int:
    return next(place for place, (_, is_own) in enumerate(window) if is_own)


def _beside(memory: Memory) -> QuerySet[Memory]:
    """Return the memories of the same session that everybody sees who sees this one."""
    place: Mapping[str, object] = {name: getattr(memory, name) for name in _PLACE}
    return Memory.objects.filter(state=Memory.State.ACTIVE, **place)


def _tokens(window: _Window) -> str:
    if len(window) == 1:
        return ""
    return tokens_text(
        "\n".join(said.content for said, is_own in window for _ in range(1 + is_own))
    )


def _packed_words(windows: Sequence[_Window], provider: Provider) -> list[bytes]:
    """Return each memory's words as they read among its neighbors; empty if the model has none."""
    model = word_model(provider)
    if model is None:
        return [b""] * len(windows)
    texts = [_spoken(window) for window in windows]
    vectors = model.embed_words(["\n".join(lines) for lines in texts])
    return [
        wordwise.pack(words.between(*_span(lines, _own_place(window))))
        for window, lines, words in zip(windows, texts, vectors, strict=True)
    ]


def _spoken(window: _Window) -> list[str]:
    """Return what the memories say; where several authors speak, with the name of each in front.

    Whose "I" and "you" it is tells the model much (LoCoMo, conversations 1-5: evidence recall .870
    with names, .866 without); one name in front of everything tells nothing.
    """
    if len({said.author for said, _ in window}) == 1:
        return [said.content for said, _ in window]
    return [f"{said.author}: {said.content}" for said, _ in window]


def _span(lines: Sequence[str], place: int) -> tuple[int, int]:
    start = sum(len(line) + 1 for line in lines[:place])
    return start, start + len(lines[place])
