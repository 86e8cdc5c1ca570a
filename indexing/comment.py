"""A review as one Markdown comment for a pull request: short, calm, and safe to post.

Names, paths, memories and parts of sentences come from whoever wrote the code, the diff or the
memory. All of them are data. Inside a code span no host looks for markup, mentions or references,
so that is where they stand; prose that may hold some of them is escaped.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final

from graph.impact import RiskLevel
from graph.values import NodeKind
from indexing.changes import SymbolStatus
from indexing.crossing.values import AffectedRepository, AffectedService, Elsewhere
from indexing.missing.values import MissingChange
from indexing.owners import Owner
from indexing.remarks import KEY_PATTERN, Dismissal, Remark, Ticks
from indexing.values import (
    MEMORY_CHARACTERS,
    AffectedPath,
    BrokenAnchor,
    ChangedSymbol,
    Item,
    Listing,
    Review,
    ReviewedDependent,
    ReviewedMemory,
    Role,
)
from memory.anchors import AnchorState
from memory.values import MemoryType

MARKER: Final = "<!-- codemem-review -->"
"""The first line of every comment, by which a later review finds the one to replace."""

# Together far below the 65,536 characters that hosts accept, however much must be escaped.
_SYMBOLS_SHOWN: Final = 25
_DEPENDENTS_SHOWN: Final = 15
_TEST_FILES_SHOWN: Final = 15
_TESTS_OF_A_FILE_SHOWN: Final = 3
_MEMORIES_SHOWN: Final = 5
_BROKEN_SHOWN: Final = 2
_OWNERS_SHOWN: Final = 5
_REPOSITORIES_SHOWN: Final = 5
_USES_NAMED: Final = 3
_SERVICES_SHOWN: Final = 8
_MODULES_SHOWN: Final = 5
_NOTES_SHOWN: Final = 8
_NAME_CHARACTERS: Final = 120
_NOTE_CHARACTERS: Final = 250
_REMARK_CHARACTERS: Final = 500
_SHOWN_SHA: Final = 12
_OPEN: Final = "active"
_PREFIXES: Final = frozenset({"sym", "file", "endpoint", "topic"})
_LEAST_POINTS: Final = 0.5
_ONE_PERCENT: Final = 0.01

MOST_CHARACTERS: Final = 60_000
"""What a comment has at most: GitHub takes 65,536 characters, Gitea and GitLab take more."""

_FOLD_END: Final = "</details>"
_CUT: Final = "\n\nThe rest was left out: the comment is as long as the host allows."


def comment_of(review: Review, *, repository: str, ref: str) -> str:
    """Return the Markdown of a review of this repository's ref, well below 65,536 characters."""
    sections = (
        MARKER,
        _headline(review),
        _owners(review.owners),
        _changed_symbols(review.changed_symbols),
        _dependents(review),
        _modules(review.affected_modules),
        _repositories(review.repositories),
        _services(review.services),
        _tests(review.tests),
        _missing(review.missing),
        _memories(review.memories),
        _notes(review.notes),
        _scope(review, repository=repository, ref=ref),
    )
    return fit("\n\n".join(section for section in sections if section) + "\n")


def posted_comment_of(
    review: Review,
    *,
    repository: str,
    ref: str,
    head_commit: str,
    remarks: Sequence[Remark],
    dismissals: Mapping[str, Dismissal],
) -> str:
    """Return the comment of a pull request: what to look at, with boxes to tick; the rest folded.

    Who ticks a box dismisses the remark, and hosts let only those do so who may edit the comment.
    """
    unticked = [one for one in remarks if one.key not in dismissals]
    ticked = [one for one in remarks if one.key in dismissals]
    sections = (
        MARKER,
        _headline(review),
        _remarks(unticked),
        _memories(review.memories),
        _repositories(review.repositories),
        _owners(review.owners),
        _folded(review),
        _dismissed(ticked),
        _scope(review, repository=repository, ref=ref, head_commit=head_commit),
    )
    return fit("\n\n".join(section for section in sections if section) + "\n")


def quiet_comment_of(
    *,
    repository: str,
    head_commit: str,
    remarks: Sequence[Remark],
    dismissals: Mapping[str, Dismissal],
) -> str:
    """Return what an earlier comment becomes when a later push leaves nothing to say."""
    ticked = [one for one in remarks if one.key in dismissals]
    settled = f"What was said here before is settled as of {code(head_commit[:_SHOWN_SHA])}"
    sections = (
        MARKER,
        "### codemem: nothing to point out",
        f"{settled} of {code(repository)}.",
        _dismissed(ticked),
    )
    return fit("\n\n".join(section for section in sections if section) + "\n")


def is_quiet(
    review: Review, *, remarks: Sequence[Remark], dismissals: Mapping[str, Dismissal]
) -> bool:
    """Tell whether a review has nothing that is worth interrupting somebody for."""
    return (
        all(remark.key in dismissals for remark in remarks)
        and not review.memories.total
        and review.risk.level in {RiskLevel.NONE, RiskLevel.LOW}
    )


def ticks_in(comment: str) -> Ticks:
    """Return which boxes of a comment are not as they were written."""
    boxes = [(match[1] != " ", match[2], match[3]) for match in _BOX.finditer(comment)]
    return Ticks(
        dismissed=tuple(key for is_ticked, key, was in boxes if is_ticked and was == "open"),
        restored=tuple(key for is_ticked, key, was in boxes if not is_ticked and was != "open"),
    )


def fit(comment: str, *, limit: int = MOST_CHARACTERS) -> str:
    """Return a comment that is no longer than a host takes, cut after a whole line."""
    if len(comment) <= limit:
        return comment
    room = limit - len(_CUT) - len(_FOLD_END) - 2
    kept = comment[:room].rpartition("\n")[0] or comment[:room]
    is_open = kept.count("<details>") > kept.count(_FOLD_END)
    return kept + (f"\n\n{_FOLD_END}" if is_open else "") + _CUT


# --- Sections ----------------------------------------------------------------------------------


def _remarks(remarks: Sequence[Remark]) -> str:
    if not remarks:
        return ""
    title = "**Worth a look** (tick what does not matter, and it is not said again)"
    return "\n".join([title, "", *(_box(remark, is_ticked=False) for remark in remarks)])


def _dismissed(remarks: Sequence[Remark]) -> str:
    if not remarks:
        return ""
    lines = [_box(remark, is_ticked=True) for remark in remarks]
    return _fold(f"{len(remarks):,} dismissed", "\n".join(lines))


def _box(remark: Remark, *, is_ticked: bool) -> str:
    mark = "x" if is_ticked else " "
    # How it was written stands beside it, so that a box which somebody changed can be told.
    state = "dismissed" if is_ticked else "open"
    key = f"<!-- codemem:{remark.key}:{state} -->"
    return (
        f"- [{mark}] {code(remark.path)}: {prose(remark.message, limit=_REMARK_CHARACTERS)} {key}"
    )


def _folded(review: Review) -> str:
    parts = (
        _changed_symbols(review.changed_symbols),
        _dependents(review),
        _modules(review.affected_modules),
        _services(review.services),
        _tests(review.tests),
        _notes(review.notes),
    )
    content = "\n\n".join(part for part in parts if part)
    if not content:
        return ""
    counts = (
        (review.changed_symbols.total, "changed symbol"),
        (review.direct_dependents, "direct dependent"),
        (review.services.total, "service"),
        (review.tests.total, "test"),
    )
    summary = ", ".join(_count(number, noun) for number, noun in counts if number)
    return _fold(summary or "What was not seen", content)


def _fold(summary: str, content: str) -> str:
    # Without the empty lines hosts would show the Markdown inside as it is.
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n{_FOLD_END}"


def _headline(review: Review) -> str:
    risk = review.risk
    if risk.level is RiskLevel.NONE:
        return "### codemem: no risk found\n\nNothing changed that other code could notice."
    parts = " · ".join(
        f"{part.name} {part.points:.0f} ({prose(part.reason)})"
        for part in risk.parts
        if part.points >= _LEAST_POINTS
    )
    heading = f"### codemem: {risk.level} risk, {risk.score:.0f} of 100"
    likely = "" if risk.probability is None else f"{_likely(risk.probability)} that a fix follows: "
    return f"{heading}\n\n{likely}{parts or 'no reason'}"


def _likely(probability: float) -> str:
    return "Less than 1% likely" if probability < _ONE_PERCENT else f"{probability:.0%} likely"


def _changed_symbols(symbols: Listing[ChangedSymbol]) -> str:
    if not symbols.total:
        return ""
    rows = [
        "| Changed | Where | How | Direct dependents | Rank | Test |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_symbol_row(symbol) for symbol in symbols.items[:_SYMBOLS_SHOWN]),
    ]
    return "\n".join(rows) + _more(symbols, _SYMBOLS_SHOWN, "changed symbols", gap="\n\n")


def _symbol_row(symbol: ChangedSymbol) -> str:
    cells = (
        code(symbol.name),
        code(f"{symbol.path}:{symbol.start_line}"),
        _how(symbol),
        "" if symbol.dependents is None else f"{symbol.dependents:,}",
        "" if symbol.percentile is None else f"top {max(1, round(100 * (1 - symbol.percentile)))}%",
        "" if symbol.is_tested is None else "yes" if symbol.is_tested else "**none found**",
    )
    return f"| {' | '.join(cells)} |"


def _how(symbol: ChangedSymbol) -> str:
    if symbol.status is not SymbolStatus.MODIFIED:
        return str(symbol.status)
    if symbol.is_trivial:
        return "comments"
    changed = ("signature", symbol.signature_changed), ("visibility", symbol.visibility_changed)
    return ", ".join(name for name, is_changed in changed if is_changed) or "body"


def _dependents(review: Review) -> str:
    if review.risk.level is RiskLevel.NONE:
        return ""
    if not review.dependents.total:
        return "**Nothing depends on this change**, as far as the graph can tell."
    direct = [one for one in review.dependents.items if one.depth == 1]
    lines = [_dependent_line(one) for one in direct[:_DEPENDENTS_SHOWN]]
    omitted = review.direct_dependents - len(lines)
    if omitted:
        lines.append(f"- and {omitted:,} more")
    return "\n".join([_dependents_title(review), "", *lines])


def _dependents_title(review: Review) -> str:
    total = review.dependents
    farther = total.total - review.direct_dependents
    at_least = "" if total.is_exact else "at least "
    beyond = f", {at_least}{farther:,} farther away" if farther else ""
    places = _count(review.affected_files.total, "file")
    return f"**{_count(review.direct_dependents, 'direct dependent')}**{beyond}, in {places}"


def _dependent_line(dependent: ReviewedDependent) -> str:
    node = dependent.node
    name = "" if node.kind is NodeKind.FILE else f"{code(node.local_name)} in "
    if not dependent.uses:
        return f"- {name}{code(node.path)}"
    use = dependent.uses[0]
    others = len(dependent.uses) - 1
    place = f"{node.path}:{use.line or node.start_line}"
    more = f" and {others} more" if others else ""
    doubt = "" if use.confidence >= 0.9 else f" ({use.confidence:.0%} sure)"  # noqa: PLR2004
    changed = code(use.changed_id.partition("#")[2] or use.changed_id)
    return f"- {name}{code(place)} {use.verb} {changed}{more}{doubt}"


def _tests(tests: Listing[ReviewedDependent]) -> str:
    if not tests.total:
        return ""
    by_file: dict[str, list[str]] = {}
    for test in tests.items:
        by_file.setdefault(test.node.path, []).append(test.node.local_name)
    lines = [
        f"- {code(path)}{_test_names(names)}"
        for path, names in list(by_file.items())[:_TEST_FILES_SHOWN]
    ]
    title = f"**Tests to run**: {_count(tests.total, 'test')} reach{'es' * (tests.total == 1)} this"
    return "\n".join([title, "", *lines]) + _more_tests(tests, by_file)


def _test_names(names: list[str]) -> str:
    named = [name for name in names if name]  # a file has no name of its own
    if not named:
        return ""
    shown = ", ".join(map(code, named[:_TESTS_OF_A_FILE_SHOWN]))
    more = len(named) - _TESTS_OF_A_FILE_SHOWN
    return f": {shown}{f' and {more:,} more' if more > 0 else ''}"


def _more_tests(tests: Listing[ReviewedDependent], by_file: dict[str, list[str]]) -> str:
    shown = sum(len(names) for names in list(by_file.values())[:_TEST_FILES_SHOWN])
    return f"\n- and {tests.total - shown:,} more tests" if tests.total > shown else ""


def _missing(missing: Sequence[MissingChange]) -> str:
    if not missing:
        return ""
    lines = [
        f"- {code(one.path)}, {one.probability:.0%} likely: {prose(one.reason)}{_inside(one)}"
        for one in missing
    ]
    title = "**Perhaps forgotten**: changes like this one usually include"
    return "\n".join([title, "", *lines])


def _inside(missing: MissingChange) -> str:
    if not missing.symbols:
        return ""
    named = ", ".join(
        f"{code(one.name)} (line {one.line}, {prose(one.reason)})" for one in missing.symbols
    )
    return f" Most likely in {named}."


def _memories(memories: Listing[ReviewedMemory]) -> str:
    if not memories.total:
        return ""
    lines = [_memory(memory) for memory in memories.items[:_MEMORIES_SHOWN]]
    title = "**What the team noted about this code** (quoted, not checked)"
    return "\n".join([title, "", *lines]) + _more(memories, _MEMORIES_SHOWN, "memories")


def _memory(memory: ReviewedMemory) -> str:
    quoted = f"- {_role(memory)}: {code(memory.content, limit=MEMORY_CHARACTERS)}"
    said = [memory.contradiction] if memory.contradiction else []
    said += [_broken(one) for one in memory.broken if one.detail not in memory.contradiction]
    shown = said[:_BROKEN_SHOWN]
    more = f" And {len(said) - len(shown):,} more." if len(said) > len(shown) else ""
    return " ".join([quoted, *map(prose, shown)]) + more


def _broken(broken: BrokenAnchor) -> str:
    """Say what becomes of something that a memory cites: broken, or only at another place."""
    if broken.state is AnchorState.OK:
        return broken.detail
    return f"The diff breaks what it cites: {broken.detail}"


def _role(memory: ReviewedMemory) -> str:
    """Say what a memory is to the change; in bold what should be read before merging."""
    match memory.role:
        case Role.DECISION if memory.contradiction:
            return "**decision that this may contradict**"
        case Role.FAILURE if memory.state == _OPEN:
            return "**failure known here**"
        case Role.FAILURE:
            return "failure solved here before"
        case Role.RULE:
            kind = "" if memory.memory_type is MemoryType.RULE else f" ({memory.memory_type})"
            return f"rule that applies{kind}"
        case _:
            return str(memory.memory_type)


def _owners(owners: Listing[Owner]) -> str:
    if not owners.total:
        return ""
    shown = owners.items[:_OWNERS_SHOWN]
    named = ", ".join(f"{code(one.name)} ({_owned(one)})" for one in shown)
    omitted = owners.total - len(shown)
    more = f" and {omitted:,} more" if omitted else ""
    return f"**Owners of what is touched**: {named}{more}"


def _owned(owner: Owner) -> str:
    files = _count(owner.files, "file")
    return files if owner.share is None else f"wrote {owner.share:.0%} of {files}"


def _modules(modules: Listing[AffectedPath]) -> str:
    if modules.total <= 1:
        return ""
    shown = modules.items[:_MODULES_SHOWN]
    named = ", ".join(f"{code(one.path)} ({one.dependents:,})" for one in shown)
    omitted = modules.total - len(shown)
    more = f" and {omitted:,} more" if omitted else ""
    return f"**Felt in** {named}{more}"


def _repositories(repositories: Listing[AffectedRepository]) -> str:
    if not repositories.total:
        return ""
    lines = [_repository(one) for one in repositories.items[:_REPOSITORIES_SHOWN]]
    title = "**Other repositories that use what changes**"
    return "\n".join([title, "", *lines]) + _more(repositories, _REPOSITORIES_SHOWN, "repositories")


def _repository(repository: AffectedRepository) -> str:
    named = [_use_elsewhere(one) for one in repository.uses[:_USES_NAMED]]
    omitted = repository.total - len(named)
    more = f" and {omitted:,} more" if omitted else ""
    return f"- {code(repository.name)}: {', '.join(named)}{more}"


def _use_elsewhere(use: Elsewhere) -> str:
    target = _short(use.target)
    return f"{code(_line_of(use.path, use.line))} {use.verb}{f' {code(target)}' if target else ''}"


def _services(services: Listing[AffectedService]) -> str:
    if not services.total:
        return ""
    lines = [_service(one) for one in services.items[:_SERVICES_SHOWN]]
    title = "**Endpoints and topics that it reaches**"
    return "\n".join([title, "", *lines]) + _more(services, _SERVICES_SHOWN, "services")


def _service(service: AffectedService) -> str:
    place = code(_line_of(service.path, service.line))
    line = f"- {place} {service.verb} {code(_short(service.id))}"
    if not service.others:
        return line
    named = [f"{code(one.repository)} {one.verb} it" for one in service.others]
    shown = list(dict.fromkeys(named))
    more = f" and {len(shown) - _USES_NAMED:,} more" if len(shown) > _USES_NAMED else ""
    return f"{line}; {', '.join(shown[:_USES_NAMED])}{more}"


def _short(uid: str) -> str:
    """Return a text id as people say it: the symbol, the route, the topic, or the path."""
    kind, _, rest = uid.partition(":")
    return (rest.partition("#")[2] or rest) if kind in _PREFIXES else uid


def _line_of(path: str, line: int) -> str:
    return f"{path}:{line}" if line else path


def _notes(notes: tuple[str, ...]) -> str:
    if not notes:
        return ""
    lines = [f"- {prose(note)}" for note in notes[:_NOTES_SHOWN]]
    if len(notes) > _NOTES_SHOWN:
        lines.append(f"- and {len(notes) - _NOTES_SHOWN:,} more")
    return "\n".join(["**What was not seen**", "", *lines])


def _scope(review: Review, *, repository: str, ref: str, head_commit: str = "") -> str:
    head = f" {code(head_commit[:_SHOWN_SHA])}" if head_commit else ""
    base = f" from base {code(review.base_commit[:_SHOWN_SHA])}" if review.base_commit else ""
    indexed = code(review.indexed_commit[:_SHOWN_SHA])
    return (
        f"Reviewed{head}{base} against {code(repository)}, {code(ref)} as indexed at {indexed}."
        " The risk is how likely a fix follows, from past commits: a rough signal, no finding."
    )


def _more(listing: Listing[Item], most: int, noun: str, *, gap: str = "\n- ") -> str:
    omitted = listing.total - min(len(listing.items), most)
    at_least = "" if listing.is_exact else "at least "
    return f"{gap}and {at_least}{omitted:,} more {noun}" if omitted else ""


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# --- Data --------------------------------------------------------------------------------------

_BACKTICKS: Final = re.compile(r"`+")
# A browser ends lines with CR LF when somebody ticks a box.
_BOX: Final = re.compile(
    rf"^- \[([ xX])\] .*<!-- codemem:({KEY_PATTERN}):(open|dismissed) -->[ \t]*\r?$", re.MULTILINE
)
# What Markdown and HTML act on, and the letters before which hosts look for a mention (@), a
# reference (#1, !1, $1, %1, ~label, &1, ^alert, GH-1), an address (http://, www.) or a smiley.
_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]()<>|+=\"'@#!$%~&^:-]|(?<=www)\.", re.IGNORECASE)
_SPACE_WITHOUT_WIDTH: Final = "\N{ZERO WIDTH SPACE}"


def code(text: str, *, limit: int = _NAME_CHARACTERS) -> str:
    """Return text as a code span of one line, safe in a table's cell too."""
    # How renderers read an escaped bar after a backslash differs; this one only looks like a bar.
    line = _line(text, limit).replace("|", "\N{BROKEN BAR}") or "(empty)"
    fence = "`" * (max(map(len, _BACKTICKS.findall(line)), default=0) + 1)
    padding = " " if "`" in (line[0], line[-1]) else ""
    return f"{fence}{padding}{line}{padding}{fence}"


def prose(text: str, *, limit: int = _NOTE_CHARACTERS) -> str:
    """Return text as one line that is shown as it is, and neither links nor mentions anything.

    Hosts look for mentions after the entities are resolved; only something between the sign and
    the name stops them.
    """
    return _SPECIAL.sub(_apart, _line(text, limit))


def _apart(match: re.Match[str]) -> str:
    entity = f"&#{ord(match[0])};"
    return _SPACE_WITHOUT_WIDTH + "." if match[0] == "." else entity + _SPACE_WITHOUT_WIDTH


def _line(text: str, limit: int) -> str:
    line = " ".join("".join(map(_visible, text)).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _visible(character: str) -> str:
    # Format characters go as well: some turn the direction of text, so that code reads otherwise.
    return " " if unicodedata.category(character) in _INVISIBLE else character


_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
