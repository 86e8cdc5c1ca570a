"""What a view of the code says of anchors: read in batches, then judged one by one.

Symbols, files and blob ids come from the graph, contents from whoever can read the repository's
mirror (`read_code_with`): this floor cannot, and a web server of a cluster may not have one. What
nobody can read is unverified, never guessed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Protocol
from uuid import UUID

from django.db import DataError, OperationalError, connection, transaction

from graph import queries as graph
from graph.queries import CitedSymbol
from graph.values import LIVE, View
from memory import anchors
from memory.anchors import AnchorInvalid, AnchorKind, AnchorState, Citation

_PATTERN_MILLISECONDS = 500
_PATTERN_BYTES = 1_000_000
TOO_SLOW = "The pattern took longer than half a second."


class CodeReader(Protocol):
    """Whoever reads a repository's content: `indexing.memories.MirrorReader`."""

    def contents(self, *, repository_id: UUID, blobs: Collection[str]) -> Mapping[str, bytes]:
        """Return the contents of those blobs that can be read here."""

    def blobs_at(
        self, *, repository_id: UUID, commit: str, paths: Sequence[str]
    ) -> Mapping[str, str] | None:
        """Return the blobs at some paths of a commit; None when the commit is not at hand."""

    def packages(self, *, repository_id: UUID) -> frozenset[str] | None:
        """Return the text ids of the packages that it depends on; None before they were read."""


_readers: list[CodeReader] = []


def read_code_with(reader: CodeReader) -> None:
    """Have contents read by this from now on; the app that has mirrors says so when it starts."""
    _readers[:] = [reader]


class PatternTooSlow(Exception):
    """A pattern took longer than it may; what it would have found is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a view says of one citation, and where what was cited stands in it.

    `blob` is the content that this was judged by: "" for what is not there.
    """

    state: AnchorState
    detail: str = ""
    path: str = ""
    symbol: str = ""
    start_line: int | None = None
    end_line: int | None = None
    content_hash: bytes | None = None
    blob: str = ""
    vertex: int | None = None


@dataclass(kw_only=True)  # no slots: what was read once is cached
class SeenCode:
    """One repository through one view, as far as some citations need it.

    `renames` says where Git found files again (old path to new). Costs two or three queries for all
    citations, one read of the mirror for all contents, and one query for each pattern and for each
    symbol that is not where it was.
    """

    repository_id: UUID
    view: View = LIVE
    renames: Mapping[str, str] = field(default_factory=dict)
    citations: Sequence[Citation] = ()
    # Of these paths the blobs are given: those of a commit that no view shows.
    given_blobs: Mapping[str, str] | None = None

    @cached_property
    def blobs(self) -> Mapping[str, str]:
        if self.given_blobs is not None:
            return self.given_blobs
        return {path: blob for path, (blob, _) in self._files.items()}

    @cached_property
    def symbols(self) -> Mapping[str, CitedSymbol]:
        ids = {one.symbol for one in self.citations if one.symbol}
        ids |= {self._renamed_symbol(uid) for uid in ids}
        return graph.cited_symbols(repository_id=self.repository_id, ids=ids, view=self.view)

    @cached_property
    def contents(self) -> Mapping[str, bytes]:
        wanted = {
            self.blobs[path]
            for one in self.citations
            if one.kind in {AnchorKind.LINES, AnchorKind.PATTERN}
            and (path := self.place_of(one.path)) is not None
        }
        if not wanted:
            return {}
        return _readers[0].contents(repository_id=self.repository_id, blobs=wanted)

    @cached_property
    def packages(self) -> frozenset[str] | None:
        return _readers[0].packages(repository_id=self.repository_id)

    def place_of(self, path: str) -> str | None:
        """Return where a file stands now: where it stood, or where Git found it again."""
        if path in self.blobs:
            return path
        renamed = self.renames.get(path)
        return renamed if renamed in self.blobs else None

    def vertex_of_file(self, path: str) -> int | None:
        found = self._files.get(path)
        return found[1] if found else None

    def judged(self, citation: Citation) -> Judged:
        """Return what this view says of one of the citations."""
        match citation.kind:
            case AnchorKind.SYMBOL:
                return self._judged_symbol(citation)
            case AnchorKind.DEPENDENCY:
                return self._judged_package(citation)
        place = self.place_of(citation.path)
        if place is None:
            return Judged(
                state=AnchorState.MISSING,
                detail=f"{citation.path} is not there.",
                path=citation.path,
                start_line=citation.start_line,
                end_line=citation.end_line,
                content_hash=citation.content_hash,
            )
        match citation.kind:
            case AnchorKind.LINES:
                return self._judged_lines(citation, place)
            case AnchorKind.PATTERN:
                return self._judged_pattern(citation, place)
        return Judged(
            state=AnchorState.OK,
            detail=_moved(citation.path, place),
            path=place,
            blob=self.blobs[place],
            vertex=self.vertex_of_file(place),
        )

    @cached_property
    def _files(self) -> Mapping[str, tuple[str, int]]:
        paths = {one.path for one in self.citations if one.path}
        paths |= {self.renames[path] for path in paths if path in self.renames}
        return graph.blobs_of(repository_id=self.repository_id, paths=paths, view=self.view)

    # --- Lines and patterns -----------------------------------------------------------------------

    def _judged_lines(self, citation: Citation, place: str) -> Judged:
        first, last = citation.start_line or 1, citation.end_line or 1
        content = self.contents.get(self.blobs[place])
        lines = None if content is None else anchors.lines_of(content)
        wanted, found = citation.content_hash, None
        state, detail = AnchorState.UNVERIFIED, "The content cannot be read here."
        if lines is not None and wanted is None:
            # Nobody has seen yet what was cited: what stands there now is it.
            wanted = anchors.cited_hash(lines, start_line=first, end_line=last)
            if wanted is None:
                detail = f"{place} has {len(lines)} lines."
                return self._in_file(citation, place, AnchorState.MISSING, detail)
        if lines is not None and wanted is not None:
            found = anchors.find_lines(lines, wanted, start_line=first, end_line=last)
            state = AnchorState.OK if found else AnchorState.DRIFTED
            detail = f"Lines {first}-{last} of {place} say something else."
        if found is not None:
            is_moved = found[0] != first
            detail = f"The lines begin at {found[0]} by now." if is_moved else ""
            detail = _moved(citation.path, place) or detail
            first, last = found
        return Judged(
            state=state,
            detail=detail,
            path=place,
            start_line=first,
            end_line=last,
            content_hash=wanted,
            blob=self.blobs[place],
            vertex=self.vertex_of_file(place),
        )

    def _judged_pattern(self, citation: Citation, place: str) -> Judged:
        content = self.contents.get(self.blobs[place])
        if content is None:
            detail = "The content cannot be read here."
            return self._in_file(citation, place, AnchorState.UNVERIFIED, detail)
        try:
            is_there = matches(citation.pattern, content)
        except PatternTooSlow as error:
            return self._in_file(citation, place, AnchorState.UNVERIFIED, str(error))
        if is_there:
            return self._in_file(citation, place, AnchorState.OK, _moved(citation.path, place))
        detail = f"The pattern matches nothing in {place}."
        return self._in_file(citation, place, AnchorState.DRIFTED, detail)

    def _in_file(self, citation: Citation, place: str, state: AnchorState, detail: str) -> Judged:
        return Judged(
            state=state,
            detail=detail,
            path=place,
            start_line=citation.start_line,
            end_line=citation.end_line,
            content_hash=citation.content_hash,
            blob=self.blobs[place],
            vertex=self.vertex_of_file(place),
        )

    # --- Symbols and packages ---------------------------------------------------------------------

    def _judged_symbol(self, citation: Citation) -> Judged:
        found = self.symbols.get(citation.symbol)
        found = found or self.symbols.get(self._renamed_symbol(citation.symbol))
        found = found or self._moved_symbol(citation)
        if found is None:
            return Judged(
                state=AnchorState.MISSING,
                detail=f"{citation.symbol} is not there.",
                path=citation.path,
                symbol=citation.symbol,
                content_hash=citation.content_hash,
                blob=self.blobs.get(citation.path, ""),
            )
        path = found.id.removeprefix("sym:").partition("#")[0]
        says = body_digest(found)
        is_same = citation.content_hash in {None, says}
        return Judged(
            state=AnchorState.OK if is_same else AnchorState.DRIFTED,
            detail=_moved(citation.symbol, found.id)
            if is_same
            else f"{found.id} says something else.",
            path=path,
            symbol=found.id,
            start_line=found.start_line,
            end_line=found.end_line,
            content_hash=citation.content_hash or says,
            blob=self.blobs.get(path, ""),
            vertex=found.vertex,
        )

    def _renamed_symbol(self, uid: str) -> str:
        path, _, local_name = uid.removeprefix("sym:").partition("#")
        return f"sym:{self.renames.get(path, path)}#{local_name}"

    def _moved_symbol(self, citation: Citation) -> CitedSymbol | None:
        """Return the one symbol of that name that says elsewhere what was cited."""
        if citation.content_hash is None:
            return None
        name = citation.symbol.rpartition("#")[2].rpartition(".")[2].partition("~")[0]
        alike = [
            symbol
            for symbol in graph.symbols_named(
                repository_id=self.repository_id, name=name, view=self.view
            )
            if body_digest(symbol) == citation.content_hash
        ]
        return alike[0] if len(alike) == 1 else None

    def _judged_package(self, citation: Citation) -> Judged:
        state, detail = AnchorState.OK, ""
        if self.packages is None:
            state, detail = AnchorState.UNVERIFIED, "What it depends on was not read yet."
        elif citation.package not in self.packages:
            state, detail = AnchorState.MISSING, f"Nothing depends on {citation.package}."
        return Judged(state=state, detail=detail)


def blobs_at(*, repository_id: UUID, commit: str, paths: Iterable[str]) -> Mapping[str, str] | None:
    """Return the blobs at some paths of a commit; None when the commit is not at hand."""
    return _readers[0].blobs_at(
        repository_id=repository_id, commit=commit, paths=sorted(set(paths))
    )


def matches(pattern: str, content: bytes) -> bool:
    """Say whether a pattern matches in a content, lines apart.

    Postgres's own engine does it: it has no exponential cases but for back references, and it can
    be stopped, which Python's cannot. Raise AnchorInvalid for what is no pattern, PatternTooSlow
    after half a second.
    """
    text = content[:_PATTERN_BYTES].decode("utf-8", "replace").replace("\0", "\ufffd")
    lines_apart = pattern if pattern.startswith(("(?", "***")) else f"(?n){pattern}"
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            (usual,) = cursor.fetchone()
            cursor.execute(f"SET LOCAL statement_timeout = {_PATTERN_MILLISECONDS}")
            cursor.execute("SELECT %s ~ %s", [text, lines_apart])
            (is_match,) = cursor.fetchone()
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [usual])
            return bool(is_match)
    except DataError as error:
        reason = str(error).splitlines()[0].removeprefix("invalid regular expression: ")
        raise AnchorInvalid(f"The pattern {pattern[:80]!a} is none: {reason}.") from error
    except OperationalError as error:
        raise PatternTooSlow(TOO_SLOW) from error


def body_digest(symbol: CitedSymbol) -> bytes:
    """Return what is kept of a symbol's text: 32 bytes, whatever hash the graph uses."""
    return sha256(symbol.body_hash.encode()).digest()


def _moved(before: str, now: str) -> str:
    return "" if before == now else f"It is {now} by now."
