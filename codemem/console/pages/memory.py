"""One memory: what it says, where it comes from, what it rests on, and everything done to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse

from codemem.accounts.values import Action
from codemem.console import pictures
from codemem.console.access import Visit
from codemem.console.refusals import InputRefused, register
from graph import queries as graph
from indexing.citations import cited_code
from memory import history, queries, services, sessions, summaries
from memory.anchors import Citation, read_citation
from memory.connections import connections_of
from memory.reception import reception_of
from memory.review_queue import proposals_about
from memory.services.anchoring import state_of
from memory.values import MemoryType, NewMemory, StoredMemory, Visibility

register(
    unknown=(services.MemoryUnknown, services.NamespaceUnknown),
    refused=(
        services.LinkUnknown,
        services.MemoryChanged,
        services.MemoryInvalid,
        services.MemoryTaken,
        services.NodesApart,
        services.RepositoryUnknown,
        services.RightMissing,
        services.StateUnfit,
        services.KeyReused,
    ),
)

_VERDICTS: Final = ("helpful", "not_helpful", "stale", "wrong")
_SETTLED: Final = frozenset({MemoryType.FAILURE, MemoryType.QUESTION, MemoryType.REQUIREMENT})
_CHAIN: Final = 20
_VERSIONS: Final = 50
_LONGEST_REASON: Final = 1_000
_BETWEEN_PARTS: Final = "---"
# What a form may say that a person can mend: shown beside what they typed.
_MENDABLE: Final[tuple[type[Exception], ...]] = (
    InputRefused,
    services.LinkUnknown,
    services.MemoryChanged,
    services.MemoryInvalid,
    services.MemoryTaken,
    services.NodesApart,
    services.RightMissing,
    services.StateUnfit,
    services.KeyReused,
    queries.MemoryUnknown,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What the person may do with a memory; the services decide, this only spares refusals."""

    write: bool
    own: bool  # or maintain
    resolve: bool
    reopen: bool


# --- Looking --------------------------------------------------------------------------------------
def show(visit: Visit, memory_id: UUID) -> HttpResponse:
    """Show a memory with all that is known about it."""
    stored = _memory(visit, memory_id)
    anchors = services.anchors_of([stored.id]).get(stored.id, ())
    chain = history.decision_chain(
        caller=visit.caller,
        namespace_id=visit.namespace_id,
        starts=[stored],
        now=visit.now,
        limit=_CHAIN,
    )
    session = (
        sessions.find_session(caller=visit.caller, handle=stored.session_id)
        if stored.session_id
        else None
    )
    context = {
        "memory": stored,
        "anchors": state_of(anchors),
        "cited": cited_code(caller=visit.caller, namespace_id=visit.namespace_id, anchors=anchors),
        "versions": history.versions_of(
            caller=visit.caller, memory_id=stored.id, now=visit.now, limit=_VERSIONS
        ),
        "connections": connections_of(caller=visit.caller, memory=stored, now=visit.now),
        "chain": pictures.arcs_of(chain, current=stored.id),
        "reception": reception_of(caller=visit.caller, memory_id=stored.id, now=visit.now),
        "proposals": proposals_about(caller=visit.caller, memory=stored, now=visit.now),
        "sources": _sources(visit, stored),
        "replaced_by": _replaced_by(visit, stored),
        "session_id": session.pk if session else None,
        "allowed": _allowed(visit, stored),
        "verdicts": _VERDICTS,
        "visibilities": _visibilities(stored),
    }
    return visit.render("memories/show.html", context, title=_title(stored), crumbs=_crumbs(visit))


# --- Marks ----------------------------------------------------------------------------------------
def mark(visit: Visit, memory_id: UUID) -> HttpResponse:
    """Do one of the small things: pin, retire, resolve, a verdict, another visibility."""
    stored = _memory(visit, memory_id)
    wanted = visit.typed("mark")
    act = _MARKS.get(wanted)
    if act is None:
        raise InputRefused(f"There is no mark {wanted[:40]!r}.")
    visit.say(act(visit, stored))
    return visit.go("memory", memory_id=stored.id)


def _verdict(visit: Visit, stored: StoredMemory) -> str:
    verdicts = services.give_feedback(
        caller=visit.caller,
        memory_id=stored.id,
        verdict=visit.typed("mark"),
        note=visit.typed("note"),
        now=visit.now,
    )
    if verdicts.proposal_id is not None:
        return "Your verdict is kept, and a maintainer is asked whether to retire it."
    return "Your verdict is kept."


def _pin(visit: Visit, stored: StoredMemory) -> str:
    is_pinned = visit.typed("mark") == "pin"
    services.pin(caller=visit.caller, memory_id=stored.id, is_pinned=is_pinned, now=visit.now)
    return "It is kept from expiry and forgetting." if is_pinned else "It is not pinned any more."


def _retire(visit: Visit, stored: StoredMemory) -> str:
    services.delete_memory(
        caller=visit.caller, memory_id=stored.id, reason=visit.typed("note"), now=visit.now
    )
    return "It is retired: nobody is answered with it. Restore brings it back."


def _restore(visit: Visit, stored: StoredMemory) -> str:
    services.restore_memory(caller=visit.caller, memory_id=stored.id, now=visit.now)
    return "It answers again."


def _settle(visit: Visit, stored: StoredMemory) -> str:
    is_resolved = visit.typed("mark") == "resolve"
    settle = services.resolve if is_resolved else services.reopen
    settle(caller=visit.caller, memory_id=stored.id, reason=visit.typed("note"), now=visit.now)
    return "It is resolved." if is_resolved else "It is open again."


def _recheck(visit: Visit, stored: StoredMemory) -> str:
    changed = services.recheck(
        caller=visit.caller,
        memory_id=stored.id,
        confirm=visit.typed("mark") == "confirm",
        now=visit.now,
    )
    if not changed:
        return "What it cites was checked: nothing is different."
    return f"What it cites was checked: {changed} of its anchors have another state now."


def _move(visit: Visit, stored: StoredMemory) -> str:
    wanted = visit.typed("visibility")
    if wanted not in set(Visibility):
        raise InputRefused("Choose who shall see it.")
    proposal = services.move(
        caller=visit.caller,
        memory_id=stored.id,
        visibility=Visibility(wanted),
        reason=visit.typed("note"),
        now=visit.now,
    )
    if proposal is not None:
        return "A maintainer is asked: for the whole namespace that takes one."
    return f"Its visibility is {wanted} now."


_MARKS: Final[Mapping[str, Callable[[Visit, StoredMemory], str]]] = {
    **dict.fromkeys(_VERDICTS, _verdict),
    "pin": _pin,
    "unpin": _pin,
    "retire": _retire,
    "restore": _restore,
    "resolve": _settle,
    "reopen": _settle,
    "verify": _recheck,
    "confirm": _recheck,
    "move": _move,
}


# --- Erasing --------------------------------------------------------------------------------------
def erase(visit: Visit, memory_id: UUID) -> HttpResponse:
    """Show what erasing would take away; POST with its id erases, and answers the receipt."""
    stored = _memory(visit, memory_id)
    if not _allowed(visit, stored).own:
        raise PermissionDenied("A memory is erased by its author or by a maintainer.")
    if visit.request.method != "POST":
        return _erasing(visit, stored)
    try:
        purge = services.purge_memory(
            caller=visit.caller,
            memory_id=stored.id,
            confirm=visit.typed("confirm"),
            reason=visit.typed("reason")[:_LONGEST_REASON],
            now=visit.now,
        )
    except services.PurgeUnconfirmed:
        return _erasing(visit, stored, refusal="That is not its id: nothing was erased.")
    # Shown once, by the answer itself: there is no page of a memory that is not there any more.
    return visit.render(
        "memories/erased.html", _taken_away(visit, purge), title="Erased", crumbs=_crumbs(visit)
    )


def _erasing(visit: Visit, stored: StoredMemory, *, refusal: str = "") -> HttpResponse:
    preview = services.preview_purge(caller=visit.caller, memory_id=stored.id, now=visit.now)
    context = {"memory": stored, "refusal": refusal, **_taken_away(visit, preview)}
    return visit.render(
        "memories/erase.html",
        context,
        title="Erase for good",
        crumbs=(*_crumbs(visit), (_title(stored), visit.url("memory", memory_id=stored.id))),
        status=422 if refusal else 200,
    )


def _taken_away(visit: Visit, purge: services.Purge) -> dict[str, Any]:
    echoes = queries.memories_by_id(
        caller=visit.caller, memory_ids=list(purge.echoes), now=visit.now
    )
    return {"purge": purge, "rows": sorted(purge.rows.items()), "echoes": list(echoes.values())}


# --- Storing --------------------------------------------------------------------------------------
def new(visit: Visit) -> HttpResponse:
    """Show the form for a new memory, or store what it says and tell what came of it."""
    visit.require(Action.WRITE_MEMORY)
    if visit.request.method != "POST":
        return _form(visit, typed=_first_typed(visit))
    try:
        outcome = services.store_new(
            caller=visit.caller,
            namespace_id=visit.namespace_id,
            new=_new_memory(visit),
            now=visit.now,
        )
    except _MENDABLE as error:
        return _form(visit, typed=visit.request.POST, refusal=str(error), status=422)
    context = {
        "outcome": outcome,
        "memory": outcome.memory,
        "typed": visit.request.POST,
        "kept": [
            (name, visit.request.POST.get(name, "")) for name in _TYPED if name != "supersedes"
        ],
    }
    return visit.render("memories/stored.html", context, title="Stored", crumbs=_crumbs(visit))


_TYPED: Final = (
    *("content", "memory_type", "rationale", "alternatives", "acceptance_criteria", "tags"),
    *("importance", "confidence", "visibility", "repository", "branch", "anchors", "links"),
    *("supersedes", "pinned", "propose", "distinct", "days"),
)


def _first_typed(visit: Visit) -> Mapping[str, str]:
    return {
        "memory_type": visit.parameter("type") or MemoryType.DECISION.value,
        "repository": visit.parameter("repository"),
        "anchors": visit.parameter("anchors"),
        "links": visit.parameter("links"),
        "importance": "0.5",
        "confidence": "1",
    }


def _form(
    visit: Visit, *, typed: Mapping[str, str], refusal: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "typed": typed,
        "refusal": refusal,
        "types": [kind.value for kind in MemoryType],
        "visibilities": [one.value for one in Visibility],
        "repository_names": sorted(
            one.name for one in graph.list_repositories(namespace_ids=(visit.namespace_id,))
        ),
    }
    return visit.render(
        "memories/new.html", context, title="New memory", crumbs=_crumbs(visit), status=status
    )


def _new_memory(visit: Visit) -> NewMemory:
    days = visit.typed("days")
    if days and not days.isdecimal():
        raise InputRefused("Say in whole days how long it holds.")
    return NewMemory(
        content=visit.typed("content"),
        memory_type=visit.typed("memory_type"),
        repository_id=visit.repository_called(visit.typed("repository")),
        branch=visit.typed("branch"),
        visibility=visit.typed("visibility") or None,
        rationale=visit.typed("rationale"),
        alternatives=_alternatives(visit),
        acceptance_criteria=_lines(visit, "acceptance_criteria"),
        citations=_citations(visit),
        tags=_words(visit, "tags"),
        importance=_share(visit, "importance", default=0.5),
        confidence=_share(visit, "confidence", default=1.0),
        is_pinned=visit.typed("pinned") == "yes",
        is_proposed=visit.typed("propose") == "yes",
        is_distinct=visit.typed("distinct") == "yes",
        links=_lines(visit, "links"),
        supersedes=_ids(visit, "supersedes"),
        ttl_hours=24 * int(days) if days else None,
        agent="console",
        source="console",
    )


# --- Editing --------------------------------------------------------------------------------------
def edit(visit: Visit, memory_id: UUID) -> HttpResponse:
    """Show the form of a memory, or refine it; nobody's change in between is overwritten."""
    visit.require(Action.WRITE_MEMORY)
    stored = _memory(visit, memory_id)
    if visit.request.method != "POST":
        return _edit_form(visit, stored, typed=_typed_of(stored))
    try:
        refined = services.refine_memory(
            caller=visit.caller,
            memory_id=stored.id,
            expected_version=_version(visit),
            reason=visit.typed("reason"),
            agent="console",
            anchors=_changed_anchors(visit, stored),
            now=visit.now,
            **_changes(visit, stored),
        )
    except _MENDABLE as error:
        return _edit_form(visit, stored, typed=visit.request.POST, refusal=str(error), status=422)
    visit.say(_told_of(refined))
    return visit.go("memory", memory_id=stored.id)


def _told_of(refined: services.Refined) -> str:
    if not refined.changed:
        return "It says so already: nothing was changed."
    names = ", ".join(name.replace("_", " ") for name in refined.changed)
    taken = sum(refined.redactions.values())
    secrets = f" {taken} secret{'s were' if taken > 1 else ' was'} taken out." if taken else ""
    return f"Changed: {names}. What it said before is in its versions.{secrets}"


def _edit_form(
    visit: Visit,
    stored: StoredMemory,
    *,
    typed: Mapping[str, str],
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "memory": stored,
        "typed": typed,
        "refusal": refusal,
        "types": [kind.value for kind in MemoryType],
        "is_overtaken": bool(refusal) and typed.get("version") != str(stored.version),
    }
    crumbs = (*_crumbs(visit), (_title(stored), visit.url("memory", memory_id=stored.id)))
    return visit.render("memories/edit.html", context, title="Edit", crumbs=crumbs, status=status)


def _typed_of(stored: StoredMemory) -> Mapping[str, str]:
    anchors = services.anchors_of([stored.id]).get(stored.id, ())
    return {
        "content": stored.content,
        "memory_type": stored.memory_type.value,
        "rationale": stored.rationale,
        "alternatives": "\n".join(_alternative(one) for one in stored.alternatives),
        "acceptance_criteria": "\n".join(stored.acceptance_criteria),
        "tags": ", ".join(stored.tags),
        "importance": f"{stored.importance:g}",
        "confidence": f"{stored.confidence:g}",
        "anchors": "\n".join(anchor.cites for anchor in anchors),
        "version": str(stored.version),
    }


def _changes(visit: Visit, stored: StoredMemory) -> services.Refinement:
    """Return the fields that the form says otherwise than the memory did when it was shown."""
    before = _typed_of(stored)
    read: dict[str, Callable[[], Any]] = {
        "content": lambda: visit.typed("content"),
        "memory_type": lambda: visit.typed("memory_type"),
        "rationale": lambda: visit.typed("rationale"),
        "alternatives": lambda: _alternatives(visit),
        "acceptance_criteria": lambda: _lines(visit, "acceptance_criteria"),
        "tags": lambda: _words(visit, "tags"),
        "importance": lambda: _share(visit, "importance", default=stored.importance),
        "confidence": lambda: _share(visit, "confidence", default=stored.confidence),
    }
    changed = {
        name: value()
        for name, value in read.items()
        if _unfolded(visit.typed(name)) != before[name].strip()
    }
    return cast("services.Refinement", changed)


def _changed_anchors(visit: Visit, stored: StoredMemory) -> list[services.DraftAnchor] | None:
    if _unfolded(visit.typed("anchors")) == _typed_of(stored)["anchors"].strip():
        return None
    return services.drafted_on(
        _citations(visit), repository_id=stored.repository_id, branch=stored.branch
    )


def _unfolded(text: str) -> str:
    """Return a text with line ends as they are kept; browsers send CR LF."""
    return text.replace("\r\n", "\n")


# --- Splitting and merging ------------------------------------------------------------------------
def split(visit: Visit, memory_id: UUID) -> HttpResponse:
    """Show the form for splitting, or say in several memories what one said."""
    visit.require(Action.WRITE_MEMORY)
    stored = _memory(visit, memory_id)
    refusal, typed = "", stored.content
    if visit.request.method == "POST":
        typed = visit.typed("parts")
        try:
            made = services.split_memory(
                caller=visit.caller,
                memory_id=stored.id,
                parts=[services.Part(content=part) for part in _parts(typed)],
                expected_version=_version(visit),
                reason=visit.typed("reason"),
                agent="console",
                now=visit.now,
            )
        except _MENDABLE as error:
            refusal = str(error)
        else:
            visit.say(f"Split into {len(made.parts)} memories; this one is superseded.")
            return visit.go("memory", memory_id=stored.id)
    crumbs = (*_crumbs(visit), (_title(stored), visit.url("memory", memory_id=stored.id)))
    context = {"memory": stored, "typed": typed, "refusal": refusal}
    return visit.render(
        "memories/split.html",
        context,
        title="Split",
        crumbs=crumbs,
        status=422 if refusal else 200,
    )


def merge(visit: Visit) -> HttpResponse:
    """Show the form for merging the chosen memories, or say in one what several said."""
    visit.require(Action.WRITE_MEMORY)
    chosen = _chosen(visit)
    refusal, typed = "", "\n\n".join(memory.content for memory in chosen)
    if visit.request.method == "POST":
        typed = visit.typed("content")
        try:
            merged = services.merge_memories(
                caller=visit.caller,
                source_ids=[memory.id for memory in chosen],
                content=typed,
                reason=visit.typed("reason"),
                agent="console",
                now=visit.now,
            )
        except _MENDABLE as error:
            refusal = str(error)
        else:
            return _merged(visit, merged)
    context = {"chosen": chosen, "typed": typed, "refusal": refusal}
    return visit.render(
        "memories/merge.html",
        context,
        title="Merge memories",
        crumbs=_crumbs(visit),
        status=422 if refusal else 200,
    )


def _merged(visit: Visit, merged: services.Merged) -> HttpResponse:
    if merged.memory is None:
        visit.say("Some of them are other people's: a maintainer is asked to approve the merge.")
        return visit.go("queue")
    visit.say(f"Merged: {len(merged.superseded)} memories are superseded by this one.")
    return visit.go("memory", memory_id=merged.memory.id)


def _chosen(visit: Visit) -> list[StoredMemory]:
    given = visit.request.POST if visit.request.method == "POST" else visit.request.GET
    keys = _uuids(given.getlist("id"))
    found = queries.memories_by_id(caller=visit.caller, memory_ids=keys, now=visit.now)
    chosen = [found[key] for key in keys if key in found]
    chosen = [memory for memory in chosen if memory.namespace_id == visit.namespace_id]
    if len(chosen) < 2:  # noqa: PLR2004
        raise InputRefused("Choose two memories or more to merge them.")
    return chosen


def _parts(text: str) -> list[str]:
    parts: list[list[str]] = [[]]
    for line in _unfolded(text).split("\n"):
        if line.strip() == _BETWEEN_PARTS:
            parts.append([])
        else:
            parts[-1].append(line)
    return [said for part in parts if (said := "\n".join(part).strip())]


# --- Parts ----------------------------------------------------------------------------------------
def _memory(visit: Visit, memory_id: UUID) -> StoredMemory:
    """Return a memory of the page's namespace, ended or not; raise MemoryUnknown or Http404."""
    stored = queries.get_memory(
        caller=visit.caller, memory_id=memory_id, now=visit.now, include_inactive=True
    )
    if stored.namespace_id != visit.namespace_id:
        raise Http404
    return stored


def _allowed(visit: Visit, stored: StoredMemory) -> Allowed:
    can_write = visit.can(Action.WRITE_MEMORY)
    is_own = stored.author_id == visit.caller.user_id
    may_own = can_write and (is_own or visit.can(Action.DELETE_ANY_MEMORY))
    is_guarded = stored.memory_type is MemoryType.RULE or stored.is_pinned
    can_change = may_own if is_guarded else can_write
    is_settled = stored.memory_type in _SETTLED
    return Allowed(
        write=can_change and stored.state == "active",
        own=may_own,
        resolve=can_change and is_settled and stored.state == "active",
        reopen=can_change and stored.state == "resolved",
    )


def _visibilities(stored: StoredMemory) -> list[str]:
    return [
        one.value
        for one in Visibility
        if one is not stored.visibility
        and (stored.repository_id is not None or one is not Visibility.REPOSITORY)
    ]


def _sources(visit: Visit, stored: StoredMemory) -> tuple[summaries.Node, ...]:
    """Return what a summary was made of, one step down."""
    if stored.memory_type is not MemoryType.SUMMARY:
        return ()
    try:
        nodes, _ = summaries.expand(
            caller=visit.caller, memory_id=stored.id, now=visit.now, depth=1
        )
    except summaries.NotASummary:
        return ()
    return tuple(node for node in nodes if node.memory.id != stored.id)


def _replaced_by(visit: Visit, stored: StoredMemory) -> StoredMemory | None:
    if stored.superseded_by is None:
        return None
    keys = [stored.superseded_by]
    found = queries.memories_by_id(caller=visit.caller, memory_ids=keys, now=visit.now)
    return found.get(stored.superseded_by)


def _title(stored: StoredMemory) -> str:
    return stored.memory_type.value.capitalize()


def _crumbs(visit: Visit) -> tuple[tuple[str, str], ...]:
    return (("Memories", visit.url("memories")),)


# --- What a form says -----------------------------------------------------------------------------
def _version(visit: Visit) -> int | None:
    text = visit.typed("version")
    return int(text) if text.isdecimal() else None


def _lines(visit: Visit, name: str) -> list[str]:
    return [line.strip() for line in visit.typed(name).splitlines() if line.strip()]


def _words(visit: Visit, name: str) -> list[str]:
    return [word.strip() for word in visit.typed(name).split(",") if word.strip()]


def _citations(visit: Visit) -> list[Citation]:
    return [read_citation(line) for line in _lines(visit, "anchors")]


def _alternatives(visit: Visit) -> list[dict[str, str]]:
    """Return the lines of a field as they are typed: an option, a dash, the reason against it."""
    lines = (line.partition(" - ") for line in _lines(visit, "alternatives"))
    return [{"option": option.strip(), "reason": reason.strip()} for option, _, reason in lines]


def _alternative(one: Mapping[str, str]) -> str:
    option, reason = one.get("option", ""), one.get("reason", "")
    return f"{option} - {reason}" if reason else option


def _share(visit: Visit, name: str, *, default: float) -> float:
    text = visit.typed(name)
    if not text:
        return default
    try:
        return float(text)
    except ValueError:
        raise InputRefused(f"{name}: write a number from 0 to 1, such as 0.5.") from None


def _ids(visit: Visit, name: str) -> list[UUID]:
    return _uuids([word for line in visit.request.POST.getlist(name) for word in line.split()])


def _uuids(texts: list[str]) -> list[UUID]:
    try:
        return list(dict.fromkeys(UUID(text) for text in texts))
    except ValueError:
        raise InputRefused("A memory is named by its id.") from None
