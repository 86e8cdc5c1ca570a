"""Shows the server the state of a work tree, as an overlay that only its user sees."""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from codemem.client.transport import Refused

if TYPE_CHECKING:
    from codemem.client.transport import Server
    from codemem.client.worktree import WorkTree

_ADDRESS: Final = "/api/v1/worktrees"
# Below that a content is sent along unasked: a second request costs more.
_UNASKED_BYTES: Final = 256_000
_MOST_ANSWERS: Final = 5


class Shown(NamedTuple):
    """What the server said: the ref to ask for, how many files differ, how long it took."""

    ref: str
    files: int
    seconds: float


class Overlay:
    """One work tree at one server; remembers which contents the server has."""

    def __init__(self, server: Server, tree: WorkTree) -> None:
        self._server = server
        self._tree = tree
        self._sent: set[str] = set()

    def prepare(self) -> None:
        """Compare the work tree with what the server shows. Raises like `Server.ask`."""
        answer = self._server.ask("GET", _ADDRESS)
        self._tree.choose_base([str(commit) for commit in answer.get("commits", ())])
        self._tree.compare_all()

    def show(self) -> Shown:
        """Have the server show the differences; sends only contents that it lacks.

        Raises like `Server.ask`: Refused with base_unknown when `prepare` has to come first.
        """
        started = time.monotonic()
        files = dict(self._tree.differences)
        places = {blob: path for path, blob in files.items() if blob is not None}
        wanted = [blob for blob in places if blob not in self._sent]
        is_asked = False
        for _ in range(_MOST_ANSWERS):
            contents = self._contents(wanted, places, is_asked=is_asked)
            answer = self._put(files, contents)
            wanted, is_asked = [str(blob) for blob in answer.get("needs", ())], True
            if not wanted:
                self._sent = set(places)
                return Shown(str(answer.get("ref")), len(files), time.monotonic() - started)
            # A file that changed meanwhile has another id: the next look sends it.
            for blob in wanted:
                if blob not in contents and self._is_gone(blob, places.get(blob, "")):
                    files.pop(places.get(blob, ""), None)
        raise Refused(
            "The server asks for the same contents again and again.",
            http_status=500, code="contents_lost", hint=None,
        )  # fmt: skip

    def withdraw(self) -> None:
        """Take the overlay away."""
        self._server.ask("DELETE", self._address)

    @property
    def _address(self) -> str:
        return f"{_ADDRESS}/{quote(self._tree.name, safe='')}"

    def _put(self, files: dict[str, str | None], contents: dict[str, str]) -> dict[str, Any]:
        payload = {"base": self._tree.base, "files": files, "contents": contents}
        return self._server.ask("PUT", self._address, payload=payload)

    def _contents(
        self, wanted: list[str], places: dict[str, str], *, is_asked: bool
    ) -> dict[str, str]:
        from codemem.client.worktree import blob_id

        contents: dict[str, str] = {}
        size = 0
        for blob in wanted:
            content = self._tree.content(places[blob]) if blob in places else None
            if content is None or blob_id(content) != blob:
                continue
            size += len(content)
            if contents and size > _UNASKED_BYTES * (8 if is_asked else 1):
                break
            contents[blob] = base64.b64encode(content).decode("ascii")
        return contents

    def _is_gone(self, blob: str, path: str) -> bool:
        from codemem.client.worktree import blob_id

        content = self._tree.content(path) if path else None
        return content is None or blob_id(content) != blob
