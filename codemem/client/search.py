"""`codemem search`: ranked memories, or with --code ranked symbols, one short entry each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemem.client.failure import ExitStatus
from codemem.client.terminal import block, line, print_json, styled

if TYPE_CHECKING:
    from codemem.client.transport import Server

_SHOWN_LINES: Final = 8


def recall(
    *, server: Server, query: str, limit: int, memory_type: str | None, as_json: bool
) -> ExitStatus:
    """Print what the team knows about a question."""
    arguments: dict[str, object] = {"query": query, "k": limit}
    if memory_type:
        arguments["memory_type"] = memory_type
    result = server.call_tool("recall", arguments)
    if as_json:
        print_json(result)
    else:
        _show(result, entry=_memory, nothing="No memory fits this question.")
    return ExitStatus.OK


def search_code(
    *, server: Server, query: str, limit: int, mode: str | None, as_json: bool
) -> ExitStatus:
    """Print the symbols that fit the words."""
    arguments: dict[str, object] = {"query": query, "k": limit}
    if mode:
        arguments["mode"] = mode
    result = server.call_tool("search_code", arguments)
    if as_json:
        print_json(result)
    else:
        _show(result, entry=_symbol, nothing="No symbol fits these words.")
    return ExitStatus.OK


def _show(result: dict[str, Any], *, entry: Any, nothing: str) -> None:
    from codemem.client.answers import remarks, scope_phrase

    results = [found for found in result.get("results") or [] if isinstance(found, dict)]
    if not results:
        print(nothing)
    for rank, found in enumerate(results, start=1):
        print(f"{styled(f'{rank:>2}', 'bold')}  {entry(found)}\n")
    print(styled(f"in {line(scope_phrase(result))}", "dim"))
    for remark in remarks(result):
        print(styled(line(remark), "yellow"))


def _memory(memory: dict[str, Any]) -> str:
    about = [_score(memory), styled(line(memory.get("memory_type") or "memory"), "cyan")]
    about += [line(memory[key]) for key in ("author", "repository") if memory.get(key)]
    about += [line(memory["created_at"])[:10]] if memory.get("created_at") else []
    tags = " ".join(f"#{line(tag)}" for tag in memory.get("tags") or [])
    links = ", ".join(_link(link) for link in memory.get("links") or [])
    return "\n".join(
        [
            "  ".join(about),
            *_indented(memory.get("content") or ""),
            *([f"    {styled(tags, 'dim')}"] if tags else []),
            *([f"    {styled(f'about {links}', 'dim')}"] if links else []),
            f"    {styled(line(memory.get('id', '')), 'dim')}",
        ]
    )


def _symbol(symbol: dict[str, Any]) -> str:
    kind = styled(line(symbol.get("kind") or "symbol"), "cyan")
    name = styled(line(symbol.get("qualified_name") or symbol.get("id") or "?"), "bold")
    signature = symbol.get("signature")
    return "\n".join(
        [
            f"{_score(symbol)}  {kind}  {name}",
            f"    {line(symbol.get('path', ''))}{_lines(symbol)}",
            *(_indented(signature) if signature else []),
        ]
    )


def _score(found: dict[str, Any]) -> str:
    score = found.get("score")
    return f"{score:.2f}" if isinstance(score, int | float) else "   ?"


def _lines(symbol: dict[str, Any]) -> str:
    start, end = symbol.get("start_line"), symbol.get("end_line")
    if start is None:
        return ""
    return f":{start}" if end in (None, start) else f":{start}-{end}"


def _link(link: object) -> str:
    if isinstance(link, dict):
        link = link.get("id") or link.get("target") or link.get("name") or "?"
    return line(link)


def _indented(text: object) -> list[str]:
    lines = block(text).strip().split("\n")
    shown = [f"    {text}" for text in lines[:_SHOWN_LINES]]
    more = len(lines) - len(shown)
    return shown + (
        [styled(f"    ... {more} more lines (--json shows all)", "dim")] if more else []
    )
