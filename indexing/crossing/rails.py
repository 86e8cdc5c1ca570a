"""Rails' routes: a small language of nested blocks, read line by line.

Knows what people write by hand; what a program makes at run time (loops, custom drawers) is not
seen. The handler is the action's method in the controller's file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from indexing.crossing.paths import joined_path
from indexing.crossing.reading.servers import FILE_ROUTER
from indexing.crossing.traffic import FileTraffic, RouteFact, Text

_FILE: Final = re.compile(r"(^|/)config/routes(\.rb|/.+\.rb)$")
_STRING: Final = r"(?:[\"']([^\"'#]*)[\"']|:(\w+))"
_CALL: Final = re.compile(
    rf"^\s*(get|post|put|patch|delete|match|root|resources?|namespace|scope|controller|member"
    rf"|collection|concern)\b\s*\(?\s*((?:{_STRING}\s*(?:,\s*|(?==>)|$|\)|(?=\s))\s*)*)(.*)$"
)
_ONE: Final = re.compile(_STRING)
_OPENS: Final = re.compile(r"\bdo\b(\s*\|[^|]*\|)?\s*(#.*)?$")
_CLOSES: Final = re.compile(r"^\s*end\b")
_CONDITION: Final = re.compile(r"^\s*(if|unless|case|begin|while|until|def|class|module)\b")
_TARGET: Final = re.compile(r"(?:=>|to:|\bcontroller:)\s*[\"']([\w/]+)#(\w+)[\"']")
_OPTION: Final = r"\b{}:\s*(\[[^\]]*\]|%i\[[^\]]*\]|[\"':][\w/:.-]+[\"']?)"
_ACTIONS: Final = {
    "index": ("GET", ""),
    "create": ("POST", ""),
    "new": ("GET", "new"),
    "edit": ("GET", ":id/edit"),
    "show": ("GET", ":id"),
    "update": ("PATCH", ":id"),
    "destroy": ("DELETE", ":id"),
}
_VERBS: Final = frozenset({"get", "post", "put", "patch", "delete", "match"})
_MAXIMUM_ROUTES: Final = 5_000


@dataclass(frozen=True, slots=True)
class _Block:
    """What a block adds to the routes inside of it."""

    path: str = ""
    module: str = ""
    controller: str = ""
    member: str = ""


def is_routes_file(path: str) -> bool:
    """Tell whether Rails reads its routes from the file at `path`."""
    return bool(_FILE.search(path))


def read_rails_routes(path: str, text: bytes) -> FileTraffic:
    """Return the endpoints that a routes file declares."""
    routes = list(_Routes(path).read(text.decode("utf-8", "replace")))[:_MAXIMUM_ROUTES]
    # Two alike, as `resources` makes of update: one line, one path, two methods.
    return FileTraffic(routes=tuple(dict.fromkeys(routes)))


class _Routes:
    """Reads one file; the blocks that are open decide what a line means."""

    def __init__(self, path: str) -> None:
        self._root = path[: path.index("config/routes")]
        self._blocks: list[_Block] = []

    def read(self, text: str) -> Iterator[RouteFact]:
        for number, line in enumerate(text.splitlines(), 1):
            if line.lstrip().startswith("#"):
                continue
            call = _CALL.match(line)
            opened = _Block()
            if call:
                names = [one[0] or one[1] for one in _ONE.findall(call[2])]
                yield from self._routes(call[1], names, call[0], number)
                opened = self._block(call[1], names, call[0])
            if _OPENS.search(line) or _CONDITION.match(line):
                self._blocks.append(opened)
            elif _CLOSES.match(line) and self._blocks:
                self._blocks.pop()

    def _routes(self, word: str, names: list[str], line: str, number: int) -> Iterator[RouteFact]:
        if word in ("resources", "resource"):
            for name in names:
                yield from self._resource(name, line, number, is_plural=word == "resources")
        elif word == "root":
            yield self._route(("GET",), "", self._target(line, ""), number, line)
        elif word in _VERBS:
            methods = (word.upper(),) if word != "match" else _via(line)
            for name in names[:1] if _TARGET.search(line) else names:
                yield self._route(methods, name, self._target(line, name), number, line)

    def _resource(
        self, name: str, line: str, number: int, *, is_plural: bool
    ) -> Iterator[RouteFact]:
        only, hidden = _listed(line, "only"), _listed(line, "except")
        path = (_listed(line, "path") or [name])[0]
        controller = (_listed(line, "controller") or [name if is_plural else f"{name}s"])[0]
        for action, (method, tail) in _ACTIONS.items():
            if (only and action not in only) or action in hidden:
                continue
            below = tail
            if not is_plural:
                if action == "index":
                    continue
                below = tail.removeprefix(":id").strip("/")
            handler = self._handler(controller, action)
            yield self._route((method,), joined_path(path, below), handler, number, line)
            if action == "update":
                yield self._route(("PUT",), joined_path(path, below), handler, number, line)

    def _block(self, word: str, names: list[str], line: str) -> _Block:
        name = names[0] if names else ""
        path = (_listed(line, "path") or [name])[0]
        module = (_listed(line, "module") or [""])[0]
        if word == "scope" and not re.match(r"^\s*scope\s*\(?\s*[\"':]", line):
            path = (_listed(line, "path") or [""])[0]
        param = (_listed(line, "param") or [f"{name.rstrip('s')}_id"])[0]
        blocks = {
            "namespace": _Block(path=path, module=name),
            "scope": _Block(path=path, module=module),
            "resources": _Block(path=path, controller=name, member=f":{param}", module=module),
            "resource": _Block(path=path, controller=f"{name}s", module=module),
            "member": _Block(path=":id", member="-"),
            "collection": _Block(member="-"),
            "controller": _Block(controller=name),
        }
        return blocks.get(word, _Block())

    def _route(
        self, methods: tuple[str, ...], path: str, handler: str, number: int, line: str
    ) -> RouteFact:
        return RouteFact(
            router=FILE_ROUTER,
            prefix="",
            path=Text(joined_path(self._prefix(line), path), is_literal=True),
            methods=methods,
            handler=handler,
            symbol="",
            framework="rails",
            certainty=0.9,
            line=number,
            text=line.strip()[:300],
        )

    def _prefix(self, line: str) -> str:
        parts: list[str] = []
        for position, block in enumerate(self._blocks):
            parts.append(block.path)
            inner = self._blocks[position + 1] if position + 1 < len(self._blocks) else None
            # Routes below a resource are below one of it, unless a block says otherwise.
            is_own = inner is not None and inner.member == "-"
            is_on = "on: :collection" in line or "on: :member" in line
            if block.member.startswith(":") and not is_own and not (inner is None and is_on):
                parts.append(block.member)
            elif inner is None and "on: :member" in line:
                parts.append(":id")
        return joined_path(*parts)

    def _target(self, line: str, name: str) -> str:
        found = _TARGET.search(line)
        if found:
            return self._handler(found[1], found[2])
        if "#" in name:
            controller, _, action = name.partition("#")
            return self._handler(controller, action)
        controllers = [block.controller for block in self._blocks if block.controller]
        if controllers and "/" not in name:
            return self._handler(controllers[-1], name)
        controller, _, action = name.strip("/").partition("/")
        return self._handler(controller, action) if action.isidentifier() else ""

    def _handler(self, controller: str, action: str) -> str:
        modules = [block.module for block in self._blocks if block.module]
        place = "/".join([*modules, controller.strip("/")])
        return f"{self._root}app/controllers/{place}_controller.rb#{action}"


def _listed(line: str, option: str) -> list[str]:
    found = re.search(_OPTION.format(option), line)
    return re.findall(r"[\w/.-]+", found[1].removeprefix("%i")) if found else []


def _via(line: str) -> tuple[str, ...]:
    listed = [one.upper() for one in _listed(line, "via")]
    return tuple("ANY" if one == "ALL" else one for one in listed) or ("ANY",)
