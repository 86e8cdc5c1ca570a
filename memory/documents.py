"""Documents of a repository as blocks: paragraphs, list items and code below their headings. Pure.

Reads Markdown and reStructuredText as people write them, line by line; not their whole grammars.
What is markup only (badges, tables, comments, front matter, directives) is left out.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

# What people write by hand is short; the rest costs time in patterns, and is no statement.
_LONGEST_LINE: Final = 2_000
_LONGEST_BLOCK: Final = 4_000
_HEADING: Final = re.compile(r"^(#{1,6})\s+(\S.*)$")
_ITEM: Final = re.compile(r"^(\s*)(?:[-*+•]|\d{1,3}[.)]|#\.)\s+(?:\[[ xX]\]\s+)?(?P<text>\S.*)$")
_FENCE: Final = re.compile(r"^\s*(```+|~~~+)\s*([\w+-]*)")
_UNDERLINE: Final = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_DIRECTIVE: Final = re.compile(r"^\s*\.\.\s")
_SHELL: Final = re.compile(r"^\s*\.\.\s+(?:code-block|code|sourcecode|prompt)::\s*(\w*)")
_OPTION: Final = re.compile(r"^\s+:")
_MARKUP: Final = re.compile(
    r"^\s*(?:<[^>]+>|\|.*\||\[!\[.*|!\[.*\]\(.*\)|\[[^\]]+\]:\s.*|-{3,}|\*{3,})\s*$"
)
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s\"[^\"]*\")?\)")
_REFERENCE: Final = re.compile(r"\[([^\]]+)\]\[[^\]]*\]")
_SHORTCUT: Final = re.compile(r"(?<!!)\[([A-Za-z][^\[\]]{1,60})\](?![(\[:])")
_ROLE: Final = re.compile(r":[\w:+.-]+:`~?([^`<]+?)(?:\s*<[^`>]+>)?`")
_RST_LINK: Final = re.compile(r"`([^`<]+?)\s*<[^`>]+>`_{1,2}|`([^`]+)`_{1,2}")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>")
_STRONG: Final = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")


class BlockKind(StrEnum):
    PARAGRAPH = "paragraph"
    ITEM = "item"
    CODE = "code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some lines of a document (1-based, inclusive) and the headings that they stand below."""

    kind: BlockKind
    text: str
    headings: tuple[str, ...]
    first_line: int
    last_line: int
    language: str = ""  # of code

    @property
    def heading(self) -> str:
        return self.headings[-1] if self.headings else ""


def blocks_of(text: str, *, is_rst: bool = False) -> list[Block]:
    """Return what a document says, in its order."""
    lines = _lines(_without_comments(text))
    start = _after_front_matter(lines)
    if is_rst:
        lines = _rst_as_markdown(lines)
    return [replace(block, text=plain(block)) for block in _blocks(lines, start) if plain(block)]


def plain(block: Block) -> str:
    """Return a block's words without the markup around them; code as it is."""
    if block.kind is BlockKind.CODE:
        return block.text.strip("\n")
    text = _LINK.sub(r"\1", block.text[:_LONGEST_BLOCK])
    text = _REFERENCE.sub(r"\1", text)
    text = _SHORTCUT.sub(r"\1", text)
    text = _ROLE.sub(r"`\1`", text)
    text = _RST_LINK.sub(lambda found: found[1] or found[2], text)
    text = _STRONG.sub(r"\2", _TAG.sub("", text)).replace("``", "`")
    return " ".join(text.split())


def title_of(text: str, *, is_rst: bool = False) -> str:
    """Return a document's first heading, blank if it has none."""
    lines = _lines(text)
    found = map(_HEADING.match, _rst_as_markdown(lines) if is_rst else lines)
    return next((_name(one[2]) for one in found if one), "")


def _blocks(lines: Sequence[str], start: int) -> Iterator[Block]:
    headings: list[tuple[int, str]] = []
    waiting: list[str] = []
    kind, first = BlockKind.PARAGRAPH, 0
    at = start

    def block(last: int, of: BlockKind, text: str, language: str = "") -> Block:
        names = tuple(name for _, name in headings)
        return Block(
            kind=of,
            text=text,
            headings=names,
            first_line=first + 1,
            last_line=last,
            language=language,
        )

    while at < len(lines):
        line = lines[at]
        fence, heading, item = _FENCE.match(line), _HEADING.match(line), _ITEM.match(line)
        ends = bool(fence or heading or item or not line.strip() or _MARKUP.match(line))
        if waiting and ends:
            yield block(at, kind, "\n".join(waiting))
            waiting = []
        if fence:
            end = _closing(lines, at, fence[1])
            first = at
            yield block(end + 1, BlockKind.CODE, "\n".join(lines[at + 1 : end]), fence[2].lower())
            at = end
        elif heading:
            level = len(heading[1])
            name = _name(heading[2])
            headings = [one for one in headings if one[0] < level] + [(level, name)]
        elif item:
            kind, first, waiting = BlockKind.ITEM, at, [item["text"]]
        elif line.strip() and not _MARKUP.match(line):
            if not waiting:
                kind, first = BlockKind.PARAGRAPH, at
            waiting.append(line.strip().removeprefix("> "))
        at += 1
    if waiting:
        yield block(len(lines), kind, "\n".join(waiting))


def _closing(lines: Sequence[str], at: int, fence: str) -> int:
    for later in range(at + 1, len(lines)):
        if lines[later].strip().startswith(fence[:3]) and not lines[later].strip().strip(fence[0]):
            return later
    return len(lines)


def _after_front_matter(lines: Sequence[str]) -> int:
    if not lines or lines[0].strip() != "---":
        return 0
    return next((at + 1 for at in range(1, len(lines)) if lines[at].strip() == "---"), 0)


def _without_comments(text: str) -> str:
    """Return a text without comments, with as many lines: what follows stands where it stood."""
    kept, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        kept += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end + len("-->")
    return "".join([*kept, text[at:]])


def _lines(text: str) -> list[str]:
    return [line[:_LONGEST_LINE].rstrip() for line in text.splitlines()]


def _name(heading: str) -> str:
    return " ".join(_TAG.sub("", _LINK.sub(r"\1", heading)).strip("*`_# ").split())


def _rst_as_markdown(lines: Sequence[str]) -> list[str]:
    """Return reStructuredText line for line with Markdown's headings and fences."""
    made = list(lines)
    levels: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        below = lines[at + 1] if at + 1 < len(lines) else ""
        mark = _UNDERLINE.match(below)
        if line.strip() and mark and not _UNDERLINE.match(line) and not line.startswith(" "):
            if mark[1] not in levels:
                levels.append(mark[1])
            made[at] = f"{'#' * min(levels.index(mark[1]) + 1, 6)} {line.strip()}"
            made[at + 1] = ""
            at += 2
            continue
        if _UNDERLINE.match(line):
            made[at] = ""
        elif _DIRECTIVE.match(line):
            at = _directive(lines, made, at)
            continue
        elif line.rstrip().endswith("::"):
            made[at] = line.rstrip()[:-1]
            _fenced(lines, made, at + 1, "")
        at += 1
    return made


def _directive(lines: Sequence[str], made: list[str], at: int) -> int:
    """Blank a directive with what is indented below it, or fence it if it is code."""
    shell = _SHELL.match(lines[at])
    made[at] = ""
    if shell:
        _fenced(lines, made, at + 1, shell[1])
        return at + 1
    later = at + 1
    while later < len(lines) and (not lines[later].strip() or lines[later].startswith((" ", "\t"))):
        made[later] = ""
        later += 1
    return later


def _fenced(lines: Sequence[str], made: list[str], start: int, language: str) -> None:
    """Fence the indented lines that follow, on the blank lines around them."""
    begin = start
    while begin < len(lines) and (not lines[begin] or _OPTION.match(lines[begin])):
        made[begin] = ""
        begin += 1
    end = begin
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith((" ", "\t"))):
        end += 1
    while end > begin and not lines[end - 1].strip():
        end -= 1
    if end > begin > start and end < len(lines):
        made[begin - 1] = f"```{language}"
        made[end] = "```"
        for one in range(begin, end):
            made[one] = lines[one].removeprefix("    ")
