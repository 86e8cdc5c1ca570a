"""What a repository already says of itself, as statements that a memory could begin with. Pure.

By rules, without a language model: instruction files give rules, decision records decisions,
READMEs and guides for contributors how things are done, commits why something was reverted, broken
or done otherwise, and where the same is mended again and again. Few and ranked: what documents
tell users of the code, and what the code says itself, is left where it is.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memory.documents import Block, BlockKind, blocks_of, title_of
from memory.values import MemoryType
from memory.wording import normal

MAXIMUM_SEEDS: Final = 200

_LONGEST: Final = 1_500
_SHORTEST: Final = 16
_FEWEST_WORDS: Final = 4
_LONGEST_RATIONALE: Final = 3_000
_MOST_OF_A_SOURCE: Final = {
    "instructions": 80,
    "decision": 60,
    "guide": 40,
    "readme": 8,
    "history": 40,
}
_RECURS: Final = 4
_MOST_RECURRING: Final = 10
_LARGEST_FIX: Final = 5  # files: a fix of more says little of any

_INSTRUCTIONS: Final = re.compile(
    r"""(?:^|/)(?:CLAUDE(?:\.local)?|AGENTS?|GEMINI|CODEX)\.md$ | ^\.(?:cursor|windsurf)rules$
      | ^\.clinerules(?:/.*\.md)?$ | ^\.cursor/rules/.*\.md$ | \.mdc$ | ^\.windsurf/rules/.*\.md$
      | ^\.github/copilot-instructions\.md$ | ^\.github/instructions/.*\.md$
      | ^\.junie/guidelines\.md$""",
    re.VERBOSE,
)
_DECISION: Final = re.compile(
    r"""(?:^|/)(?:adrs?|decisions?|decision-records?|architecture-decisions?)/[^/]+\.(?:md|rst)$""",
    re.IGNORECASE,
)
_GUIDE: Final = re.compile(
    r"""^(?:(?:\.github/|docs?/)?(?:CONTRIBUTING|HACKING|DEVELOPMENT|DEVELOPING|ARCHITECTURE
        |DESIGN|STYLE(?:[-_]?GUIDE)?|CONVENTIONS) | TESTING|RELEAS(?:E|ING))
        \.(?:md|rst|txt)$""",
    re.VERBOSE | re.IGNORECASE,
)
_ABOUT_DESIGN: Final = re.compile(r"(?:design|architecture)\.\w+$", re.IGNORECASE)
_OBLIGES: Final = re.compile(r"\b(?:must|never|always|do not|don't|avoid|prefer)\b", re.IGNORECASE)
_LONGEST_RULE: Final = 60  # words: what is longer explains more than it binds
_README: Final = re.compile(r"^README(?:\.(?:md|rst|markdown))?$", re.IGNORECASE)
_NO_RECORD: Final = re.compile(
    r"(?:^|/)(?:readme|index|template|adr-template|0000-.*)\.\w+$", re.IGNORECASE
)
_DEPTH: Final = 4

_BINDS: Final = re.compile(
    r"""\b(?:must|never|always|do\s+not|don.t|avoid|prefer|should|shall|required?|forbidden
      |only|instead\s+of|make\s+sure|ensure|keep)\b | ^(?:use|run|write|add|put|place|follow|call
      |name|test|document|check|update|commit|target|include|leave|handle|return|import)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_HOW: Final = re.compile(
    r"""\b(?:develop|contribut|build|test|lint|format|setup|set\s+up|install.*(?:source|develop)
      |releas|deploy|run(?:ning)?|debug|commands?|workflow|pull\s+request|commit|submit)""",
    re.VERBOSE | re.IGNORECASE,
)
_DEVELOPING: Final = re.compile(r"develop|contribut|test|build", re.IGNORECASE)
_SHELL: Final = frozenset(
    {"", "sh", "bash", "shell", "console", "zsh", "text", "make", "shell-session"}
)
_NOISE: Final = re.compile(
    r"""^(?:https?://\S+|table\s+of\s+contents|contents|license\b.*|copyright\b.*|@\S+|badge.*)$
      | \b(?:code\s+of\s+conduct|sponsor|donat|discord|slack|gitter|stack\s*overflow|twitter
      |mailing\s+list|good\s+first\s+issue|security\s+vulnerabilit|thank)""",
    re.VERBOSE | re.IGNORECASE,
)
_GENERIC: Final = re.compile(
    r"^(?:rules?|guidelines?|notes?|general|overview|introduction|important|instructions?|contents?)$",
    re.IGNORECASE,
)

_STATUS: Final = re.compile(r"^\W*status\W*:?\W*(?P<status>[\w ]+)?", re.IGNORECASE)
_OVER: Final = re.compile(
    r"\b(?:superseded|deprecated|rejected|withdrawn|obsolete|draft)\b", re.IGNORECASE
)
_DECIDED: Final = re.compile(
    r"^(?:decision(?:\s+outcome)?|outcome|resolution|we\s+decided)\b", re.IGNORECASE
)
_WHY: Final = re.compile(
    r"^(?:context|problem|motivation|background|rationale|why|considerations?|decision\s+drivers?)",
    re.IGNORECASE,
)
_OPTIONS: Final = re.compile(r"^(?:considered\s+)?(?:options|alternatives)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"^(?:adr[-\s]*)?\d+\s*[.:)-]?\s*", re.IGNORECASE)

_REVERT: Final = re.compile(
    r"^Revert[:\s]+[\"“']?(?P<what>.+?)[\"”']?(?:\s*\(#\d+\))?$", re.IGNORECASE
)
_REVERTED: Final = re.compile(
    r"This\s+reverts\s+(?:commits?|merge)\s+[0-9a-f, and]+\.?"
    r"|,?\s*reversing\s+changes\s+made\s+to\s+[0-9a-f]+\.?",
    re.IGNORECASE,
)
_BREAKING: Final = re.compile(
    r"^BREAKING[ -]CHANGES?\s*:?\s*(?P<what>.+)", re.MULTILINE | re.DOTALL
)
_BANG: Final = re.compile(r"^\w+(?:\([^)]*\))?!:\s*(?P<what>.+)")
_BECAUSE: Final = re.compile(
    r"\b(?:because|so\s+that|in\s+order\s+to|otherwise|the\s+reason|turns\s+out|caused\s+by)\b",
    re.IGNORECASE,
)
_TRIFLE: Final = re.compile(
    r"\b(?:typ(?:o|os|ing)|mypy|lint|clippy|docstrings?|style)\b", re.IGNORECASE
)
_IS_CODE: Final = re.compile(
    r"\.(?:py|pyi|[jt]sx?|mjs|cjs|vue|go|rs|java|kt|kts|scala|rb|php|cs|c|h|cc|cpp|hpp|swift|sql|sh)$"
)
_IS_TEST: Final = re.compile(r"(?:^|/)tests?\b|[_.-](?:test|spec)\.", re.IGNORECASE)
_IS_PROSE: Final = re.compile(
    r"^(?:docs?|examples?|\.github)/|\.(?:md|rst|txt|lock)$|^(?:changes|license|authors)|changelog",
    re.IGNORECASE,
)
_FEWEST_WORDS_OF_REASON: Final = 5
_MOST_WORDS_OF_REASON: Final = 80
_FIX: Final = re.compile(r"^(?:fix(?:e[sd])?|bug\s*fix|hotfix|repair|mend)\b", re.IGNORECASE)
_TRAILER: Final = re.compile(
    r"^(?:[A-Z][\w-]+-by|Change-Id|Cc|Refs?|See|Closes|Fixes|Resolves|PR-URL|Signed-off|Link)\s*[:#]",
    re.IGNORECASE,
)
_BOT: Final = re.compile(
    r"^(?:Merge\b|bump\b|build\(deps|chore\(deps|\[pre-commit|update\s+(?:dependenc|changelog)"
    r"|release\b|version\b|prepare\b|(?:docs?|ci|style)\b[(:]?)|\b(?:typos?|readme|changelog)\b",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
_SUFFIX: Final = re.compile(r"\s*\(#\d+\)\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file of a commit's tree, as text."""

    path: str
    text: str

    @property
    def is_rst(self) -> bool:
        return self.path.lower().endswith(".rst")


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCommit:
    """One commit, and the paths that it changed where they are known; newest come first."""

    sha: str
    subject: str
    body: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """One statement that could become a memory: what it says, and where that stands.

    `place` is what stays when the words change: a record, a heading of a file, a commit.
    """

    source: str
    memory_type: MemoryType
    content: str
    importance: float
    place: str
    path: str = ""
    first_line: int = 0
    last_line: int = 0
    commit: str = ""
    rationale: str = ""
    alternatives: tuple[Mapping[str, str], ...] = ()

    @property
    def key(self) -> str:
        """What makes the same statement of the same place the same."""
        parts = (self.path, self.commit, self.memory_type.value, self.content)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def wanted(path: str) -> bool:
    """Say whether a file of this path is read at all."""
    return bool(_kind_of(path))


def is_instructions(path: str) -> bool:
    """Say whether a file of this path tells agents what to do."""
    return bool(_INSTRUCTIONS.search(path))


def seeds_of(
    documents: Iterable[Document], commits: Sequence[PastCommit], *, paths: Collection[str] = ()
) -> list[Seed]:
    """Return the statements of documents and history, each once, the most telling first.

    `paths` are those of the tree: what a commit says of files that are gone is past. At most so
    many of each source, so that a long guide crowds out neither decisions nor history.
    """
    found: list[Seed] = []
    for document in documents:
        match _kind_of(document.path):
            case "instructions":
                found += _instructions(document)
            case "decision":
                found += _decision(document)
            case "guide":
                found += _guide(document)
            case "readme":
                found += _readme(document)
    there = frozenset(paths)
    found += _history([one for one in commits if not there or _is_about(one, there)], there)
    return _ranked(found)


def _kind_of(path: str) -> str:
    if path.count("/") > _DEPTH or "node_modules/" in path or "vendor/" in path:
        return ""
    if _INSTRUCTIONS.search(path):
        return "instructions"
    if _DECISION.search(path):
        return "" if _NO_RECORD.search(path) else "decision"
    if _GUIDE.search(path):
        return "guide"
    return "readme" if _README.search(path) else ""


def _ranked(found: Iterable[Seed]) -> list[Seed]:
    once: dict[str, Seed] = {}
    for seed in found:
        once.setdefault(" ".join(seed.content.lower().split()), seed)
    best = sorted(once.values(), key=lambda seed: -seed.importance)
    taken: Counter[str] = Counter()
    kept = []
    for seed in best:
        taken[seed.source] += 1
        if taken[seed.source] <= _MOST_OF_A_SOURCE[seed.source]:
            kept.append(seed)
    return kept


# --- Documents ------------------------------------------------------------------------------------
def _instructions(document: Document) -> Iterator[Seed]:
    """Yield what an instruction file asks of agents: each item a rule, commands as procedures."""
    for block in _told(document):
        binds = bool(_BINDS.search(block.text))
        if block.kind is BlockKind.CODE:
            if block.language in _SHELL and _HOW.search(" ".join(block.headings)):
                yield _stated(document, block, "instructions", MemoryType.PROCEDURE, 0.7)
        elif binds:
            yield _stated(document, block, "instructions", MemoryType.RULE, 0.8)
        elif block.kind is BlockKind.PARAGRAPH or len(block.text.split()) > 2 * _FEWEST_WORDS:
            yield _stated(document, block, "instructions", MemoryType.INSIGHT, 0.6)


def _guide(document: Document) -> Iterator[Seed]:
    """Yield what a guide for contributors binds them to, and the commands that it gives."""
    for block in _told(document):
        if block.kind is BlockKind.CODE:
            if block.language in _SHELL and _HOW.search(" ".join(block.headings)):
                yield _stated(document, block, "guide", MemoryType.PROCEDURE, 0.6)
        elif _OBLIGES.search(block.text) and len(block.text.split()) <= _LONGEST_RULE:
            kind = MemoryType.INSIGHT if _ABOUT_DESIGN.search(document.path) else MemoryType.RULE
            yield _stated(document, block, "guide", kind, 0.6)


def _readme(document: Document) -> Iterator[Seed]:
    """Yield what a README says that the project is, and how one develops and tests it."""
    has_begun = False
    for block in _told(document):
        is_how = block.language in _SHELL and _DEVELOPING.search(block.heading)
        if block.kind is BlockKind.PARAGRAPH and not has_begun:
            has_begun = True
            yield _stated(document, block, "readme", MemoryType.CONTEXT, 0.6)
        elif block.kind is BlockKind.CODE and is_how:
            yield _stated(document, block, "readme", MemoryType.PROCEDURE, 0.5)


def _decision(document: Document) -> Iterator[Seed]:
    """Yield the decision of a record that stands, with its context and what was turned down."""
    parts: dict[str, list[Block]] = {}
    for block in blocks_of(document.text, is_rst=document.is_rst):
        parts.setdefault(block.heading, []).append(block)
    if _OVER.search(_status(parts, document.text)):
        return
    decided = _under(parts, _DECIDED)
    if not decided:
        return
    title = _NUMBER.sub("", title_of(document.text, is_rst=document.is_rst)).strip()
    said = _joined(decided)
    yield Seed(
        source="decision",
        memory_type=MemoryType.DECISION,
        content=_cut(f"{title}: {said}" if title else said, _LONGEST),
        rationale=_cut(_joined(_under(parts, _WHY)), _LONGEST_RATIONALE),
        alternatives=_alternatives(_under(parts, _OPTIONS)),
        importance=0.8,
        place=document.path,
        path=document.path,
        first_line=min(block.first_line for block in decided),
        last_line=max(block.last_line for block in decided),
    )


def _status(parts: Mapping[str, Sequence[Block]], text: str) -> str:
    """Return what a record says of its own standing, wherever it says so."""
    lines = [line for line in text.splitlines()[:30] if _STATUS.match(line)]
    below = [
        block.text
        for heading, blocks in parts.items()
        if heading.lower().startswith("status")
        for block in blocks[:1]
    ]
    return " ".join([*lines, *below])


def _under(parts: Mapping[str, Sequence[Block]], heading: re.Pattern[str]) -> list[Block]:
    return [block for name, blocks in parts.items() if heading.search(name) for block in blocks]


def _joined(blocks: Iterable[Block]) -> str:
    lines = (f"- {one.text}" if one.kind is BlockKind.ITEM else one.text for one in blocks)
    return "\n".join(lines)


def _alternatives(blocks: Iterable[Block]) -> tuple[Mapping[str, str], ...]:
    """Return the options of a list that say why not, as "option: reason" or "option - reason"."""
    kept = []
    for block in blocks:
        option, mark, reason = re.split(r"(:\s|\s[-\u2013\u2014]\s|$)", block.text, maxsplit=1)[:3]
        if block.kind is BlockKind.ITEM and mark and reason.strip():
            kept.append({"option": _cut(option, 200), "reason": _cut(reason, 800)})
    return tuple(kept[:10])


def _told(document: Document) -> Iterator[Block]:
    """Yield the blocks of a document that are long enough to say something by themselves."""
    for block in blocks_of(document.text, is_rst=document.is_rst):
        is_code = block.kind is BlockKind.CODE
        is_short = len(block.text) < _SHORTEST or len(block.text.split()) < _FEWEST_WORDS
        if len(block.text) > _LONGEST or (is_short and not is_code):
            continue
        if not _NOISE.search(block.text) and not block.text.endswith(":"):
            yield block


def _stated(
    document: Document, block: Block, source: str, memory_type: MemoryType, importance: float
) -> Seed:
    below = "" if _GENERIC.match(block.heading) else block.heading
    if block.kind is BlockKind.CODE:
        content = f"{below}:\n```\n{block.text}\n```"
    else:
        content = f"{below}: {block.text}" if below else block.text
    return Seed(
        source=source,
        memory_type=memory_type,
        content=content,
        importance=importance,
        place=f"{document.path}#{' / '.join(block.headings)}"[:500],
        path=document.path,
        first_line=block.first_line,
        last_line=block.last_line,
    )


# --- History --------------------------------------------------------------------------------------
def _history(commits: Sequence[PastCommit], paths: frozenset[str]) -> Iterator[Seed]:
    """Yield what commits say of why: reverts, breaks, reasons; and what is mended often."""
    for commit in commits:
        body = _body(commit.body)
        if reverted := _REVERT.match(commit.subject):
            reason = _REVERTED.sub("", body).strip()
            if len(reason.split()) >= _FEWEST_WORDS:
                what = _SUFFIX.sub("", reverted["what"]).strip("\"“”' ")
                said = f"“{what}” was reverted: {reason}"
                yield _from_commit(commit, MemoryType.FAILURE, said, 0.65)
        elif _BOT.match(commit.subject):
            continue
        elif broken := _BREAKING.search(commit.body):
            said = f"{_subject(commit)}. Breaking: {_first_paragraph(broken['what'])}"
            yield _from_commit(commit, MemoryType.DECISION, said, 0.6)
        elif bang := _BANG.match(commit.subject):
            why = "" if body.startswith("*") else _first_paragraph(body)
            said = f"Breaking: {_SUFFIX.sub('', bang['what'])}. {why}"
            yield _from_commit(commit, MemoryType.DECISION, said.strip(), 0.55 if why else 0.4)
        elif reason := _reason(body):
            kind = MemoryType.FIX if _FIX.match(commit.subject) else MemoryType.DECISION
            yield _from_commit(commit, kind, f"{_subject(commit)}: {reason}", 0.5)
    yield from _recurring(commits, paths)


def _is_about(commit: PastCommit, paths: frozenset[str]) -> bool:
    """Say whether a commit changed code that is still there; one that tells no files may have."""
    code = [path for path in commit.paths if not _IS_PROSE.search(path)]
    return not commit.paths or any(path in paths for path in code)


def _recurring(commits: Sequence[PastCommit], paths: frozenset[str]) -> Iterator[Seed]:
    """Yield the files that were mended most often, with what was mended last."""
    fixes: dict[str, list[PastCommit]] = {}
    for commit in commits:
        is_fix = _FIX.match(commit.subject) and not _TRIFLE.search(commit.subject)
        if is_fix and len(commit.paths) <= _LARGEST_FIX:
            for path in commit.paths:
                is_code = _IS_CODE.search(path) and not _IS_TEST.search(path)
                if is_code and (not paths or path in paths):
                    fixes.setdefault(path, []).append(commit)
    often = sorted(fixes.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    for path, mended in often[:_MOST_RECURRING]:
        if len(mended) < _RECURS:
            return
        last = "; ".join(_subject(commit) for commit in mended[:3])
        yield Seed(
            source="history",
            memory_type=MemoryType.INSIGHT,
            content=f"{path} was mended {len(mended)} times. Last: {last}.",
            importance=0.45,
            place=path,
            path=path,
        )


def _from_commit(
    commit: PastCommit, memory_type: MemoryType, content: str, importance: float
) -> Seed:
    about = [path for path in commit.paths if not path.lower().startswith(("doc", "change"))]
    where = f" ({', '.join(about[:3])})" if about and len(commit.paths) <= _LARGEST_FIX else ""
    return Seed(
        source="history",
        memory_type=memory_type,
        content=_cut(content, _LONGEST) + where,
        importance=importance,
        place=f"git:{commit.sha}",
        commit=commit.sha,
    )


def _subject(commit: PastCommit) -> str:
    return _SUFFIX.sub("", commit.subject).strip().rstrip(".")


def _reason(body: str) -> str:
    """Return the sentences of a commit's body that give a reason, at most three of them."""
    paragraphs = re.split(r"\n\s*\n", body)
    for paragraph in paragraphs:
        text = " ".join(paragraph.split())
        sentences = [one for one in _SENTENCE.split(text) if _BECAUSE.search(one)]
        kept = [
            one
            for one in sentences
            if _FEWEST_WORDS_OF_REASON <= len(one.split()) <= _MOST_WORDS_OF_REASON
        ]
        if kept:
            return _cut(" ".join(kept[:3]), 700)
    return ""


def _body(body: str) -> str:
    lines = [line for line in normal(body).splitlines() if not _TRAILER.match(line.strip())]
    return "\n".join(lines).strip()


def _first_paragraph(text: str) -> str:
    return _cut(" ".join(re.split(r"\n\s*\n", text.strip())[0].split()), 700)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
