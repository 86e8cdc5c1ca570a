"""What the files of one repository say together: whole paths, whole URLs, topics by name.

Routers are hung below each other across files, names of constants become their texts, handlers
become symbols. Pure: what other files and the graph know is asked of `Surroundings`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol

from indexing.crossing.paths import HOLE, joined_path, named_path, target_of, template_of
from indexing.crossing.reading.messages import TASK_DEFINED
from indexing.crossing.reading.servers import FILE_ROUTER
from indexing.crossing.traffic import (
    FileTraffic,
    MessageFact,
    MountFact,
    NameFact,
    RequestFact,
    RouteFact,
    RouterFact,
    Text,
)

_MAXIMUM_DEPTH: Final = 12
_MAXIMUM_PREFIXES: Final = 10
# A prefix given where a blueprint is registered takes the place of the blueprint's own.
_MOUNT_REPLACES: Final = frozenset({"flask"})
_RESOURCE: Final = (("", ("GET", "POST")), ("{id}", ("GET", "PUT", "PATCH", "DELETE")))


class Place(NamedTuple):
    """A definition by file and local name; the file itself when the name is ""."""

    path: str
    local_name: str


class Surroundings(Protocol):
    """What the graph knows of the other files of the repository."""

    def target(self, path: str, name: NameFact, below: str) -> Place | None:
        """Return what an import's name means, if it is in this repository.

        `below` is what is taken from it, which decides between the files of one package.
        """

    def file_of_module(self, path: str, module: str) -> str | None:
        """Return the file of a module that is named by a text (Django's include)."""

    def constant(self, place: Place) -> str | None:
        """Return the text that a constant of another file stands for."""

    def task_name(self, place: Place) -> str:
        """Return the name that a task has without one of its own: module and function."""


class Endpoint(NamedTuple):
    """One method of one whole path. `handler` is where its function is, if that is known."""

    method: str
    route: str
    template: str
    framework: str
    path: str
    symbol: str
    handler: Place | None
    certainty: float
    line: int
    text: str


class Request(NamedTuple):
    """One request with what is known of where it goes."""

    method: str
    url: str
    host: str
    template: str
    library: str
    path: str
    symbol: str
    certainty: float
    line: int
    text: str


class Message(NamedTuple):
    """One use of a topic; the topic is "" where it is not known."""

    bus: str
    is_publishing: bool
    topic: str
    path: str
    symbol: str
    certainty: float
    line: int
    text: str


class Composition:
    """The traffic of one repository; `files` are those that have any."""

    def __init__(self, files: Mapping[str, FileTraffic], surroundings: Surroundings) -> None:
        self._files = files
        self._surroundings = surroundings
        self._names = {
            path: {one.local: one for one in traffic.names} for path, traffic in files.items()
        }
        self._constants = {
            path: {one.name: one.text for one in traffic.constants}
            for path, traffic in files.items()
        }
        self._routers = {
            (path, router.key): router
            for path, traffic in files.items()
            for router in traffic.routers
        }
        self._mounts: defaultdict[tuple[str, str], list[tuple[str, MountFact]]] = defaultdict(list)
        for path, traffic in files.items():
            for mount in traffic.mounts:
                child = self._child(path, mount)
                if child is not None and child != (path, mount.parent):
                    self._mounts[child].append((path, mount))
        self._tasks = dict(self._task_names())

    def endpoints(self) -> list[Endpoint]:
        """Return every endpoint once for each whole path that it has."""
        found: dict[tuple[str, str, str, int], Endpoint] = {}
        for path, traffic in self._files.items():
            for route in traffic.routes:
                for endpoint in self._endpoints(path, route):
                    key = (endpoint.method, endpoint.template, path, route.line)
                    found.setdefault(key, endpoint)
            for mount in traffic.mounts:
                for endpoint in self._resource(path, mount) if mount.is_resource else ():
                    key = (endpoint.method, endpoint.template, path, mount.line)
                    found.setdefault(key, endpoint)
        return list(found.values())

    def requests(self) -> list[Request]:
        """Return every request whose URL is known well enough to have a path."""
        return [
            request
            for path, traffic in self._files.items()
            for fact in traffic.requests
            for request in self._requests(path, fact)
        ]

    def messages(self) -> list[Message]:
        """Return every use of a topic, also of those that nobody can name."""
        return [
            self._message(path, fact)
            for path, traffic in self._files.items()
            for fact in traffic.messages
        ]

    # --- Endpoints --------------------------------------------------------------------------------
    def _endpoints(self, path: str, route: RouteFact) -> Iterator[Endpoint]:
        own = self._text(path, route.path)
        if own is None:
            return
        router = self._router(path, route.router)
        handler = self._place(path, route.handler) if route.handler else None
        certainty = max(route.certainty, 0.9) if router in self._routers else route.certainty
        for prefix in self._prefixes(*router):
            whole = joined_path(prefix, route.prefix, own)
            for method in route.methods:
                yield Endpoint(
                    method="ANY" if method == "ALL" else method,
                    route=named_path(whole),
                    template=template_of(whole),
                    framework=self._framework(router, route),
                    path=path,
                    symbol=route.symbol,
                    handler=handler,
                    certainty=certainty,
                    line=route.line,
                    text=route.text,
                )

    def _framework(self, router: tuple[str, str], route: RouteFact) -> str:
        return self._routers[router].framework if router in self._routers else route.framework

    def _resource(self, path: str, mount: MountFact) -> Iterator[Endpoint]:
        """Yield the routes of a class that is registered as a whole (Django REST: a viewset)."""
        own = self._text(path, mount.prefix)
        if own is None:
            return
        router = self._router(path, mount.parent)
        for prefix in self._prefixes(*router):
            for tail, methods in _RESOURCE:
                whole = joined_path(prefix, own, tail)
                for method in methods:
                    yield Endpoint(
                        method=method,
                        route=named_path(whole),
                        template=template_of(whole),
                        framework="django",
                        path=path,
                        symbol=mount.symbol,
                        handler=self._place(path, mount.child.text),
                        certainty=0.7,
                        line=mount.line,
                        text=mount.text,
                    )

    def _prefixes(self, path: str, key: str, depth: int = 0) -> list[str]:
        """Return what stands before the routes of a router: one text for each way to it."""
        router = self._routers.get((path, key))
        own = (self._text(path, router.prefix) or "") if router else ""
        if depth > _MAXIMUM_DEPTH:
            return [own]
        if router is not None and router.parent:
            parent = self._router(path, router.parent)
            above = self._prefixes(*parent, depth + 1) if parent != (path, key) else [""]
            return [joined_path(one, own) for one in above][:_MAXIMUM_PREFIXES]
        mounts = self._mounts.get((path, key)) or (
            self._mounts.get((path, FILE_ROUTER), []) if key != FILE_ROUTER else []
        )
        found = [
            joined_path(above, *self._mounted(router, mount, at, own))
            for at, mount in mounts
            for above in self._prefixes(*self._router(at, mount.parent), depth + 1)
        ]
        return list(dict.fromkeys(found))[:_MAXIMUM_PREFIXES] or [own]

    def _mounted(
        self, router: RouterFact | None, mount: MountFact, path: str, own: str
    ) -> tuple[str, ...]:
        prefix = self._text(path, mount.prefix) or ""
        replaces = router is not None and router.framework in _MOUNT_REPLACES and prefix
        return (prefix,) if replaces else (prefix, own)

    def _router(self, path: str, key: str) -> tuple[str, str]:
        """Return the router that a key means, in the file where it is made."""
        if not key.startswith("?:"):
            return path, key
        place = self._place(path, key.removeprefix("?:"))
        file = self._files.get(place.path) if place else None
        for router in file.routers if file and place else ():
            # What is handed to a function is the router that its parameter is.
            if place and router.function.partition("~")[0] == place.local_name != "":
                return place.path, router.key
        if place is None or place.path == path:
            return path, key
        local = f"-1:{place.local_name}"
        is_router = (place.path, local) in self._routers or (
            file is not None and any(route.router == local for route in file.routes)
        )
        return place.path, local if is_router else FILE_ROUTER

    def _child(self, path: str, mount: MountFact) -> tuple[str, str] | None:
        if mount.is_resource:
            return None
        if mount.child.is_literal:
            file = self._surroundings.file_of_module(path, mount.child.text)
            return (file, FILE_ROUTER) if file else None
        return self._router(path, mount.child.text)

    # --- Requests and messages --------------------------------------------------------------------
    def _requests(self, path: str, fact: RequestFact) -> Iterator[Request]:
        url, base = self._text(path, fact.url), self._text(path, fact.base)
        if url is None:
            return
        if base and "://" not in url:
            url = base.rstrip("/") + "/" + url.removeprefix(HOLE).lstrip("/")
        host, template = target_of(url)
        if template in ("/", f"/{HOLE}") and not host:
            return
        for method in fact.methods:
            yield Request(
                method=method,
                url=url[:500],
                host=host,
                template=template,
                library=fact.library,
                path=path,
                symbol=fact.symbol,
                certainty=fact.certainty,
                line=fact.line,
                text=fact.text,
            )

    def _message(self, path: str, fact: MessageFact) -> Message:
        topic = self._topic(path, fact)
        return Message(
            bus=fact.bus,
            is_publishing=fact.is_publishing,
            topic=topic if _says_something(topic) else "",
            path=path,
            symbol=fact.symbol,
            certainty=fact.certainty,
            line=fact.line,
            text=fact.text,
        )

    def _topic(self, path: str, fact: MessageFact) -> str:
        text = fact.topic.text
        if text.startswith(TASK_DEFINED):
            if fact.topic.is_literal:
                return self._tasks.get(Place(path, fact.symbol.partition("~")[0]), "")
            place = self._place(path, text.removeprefix(TASK_DEFINED))
            return self._tasks.get(place, "") if place else ""
        said = self._text(path, fact.topic) or ""
        if fact.bus == "sqs":
            return said.rstrip("/").rpartition("/")[2].rpartition(":")[2]
        return said.rpartition(":")[2] if fact.bus == "sns" else said[:300]

    def _task_names(self) -> Iterator[tuple[Place, str]]:
        for path, traffic in self._files.items():
            for fact in traffic.messages:
                local = fact.symbol.partition("~")[0]
                if fact.topic.is_literal and not fact.is_publishing and fact.bus == "celery":
                    place = Place(path, local)
                    is_named = not fact.topic.text.startswith(TASK_DEFINED)
                    yield (
                        place,
                        fact.topic.text if is_named else self._surroundings.task_name(place),
                    )

    # --- Names ------------------------------------------------------------------------------------
    def _text(self, path: str, text: Text) -> str | None:
        """Return the text that a literal or the name of a constant stands for."""
        if text.is_literal:
            return text.text
        chain = text.text.removeprefix("self.").removeprefix("this.").removeprefix("cls.")
        known = self._constants.get(path, {})
        own = [value for name, value in known.items() if name.rpartition(".")[2] == chain]
        if chain in known or len(own) == 1:
            return known.get(chain) or own[0]
        place = self._place(path, chain)
        if place is None or not place.local_name or place.path == path:
            return None
        known = self._constants.get(place.path, {})
        return known.get(place.local_name) or self._surroundings.constant(place)

    def _place(self, path: str, chain: str) -> Place | None:
        """Return the definition that a chain (or a whole `path#name`) names where it stands."""
        file, is_whole, local_name = chain.rpartition("#")
        if is_whole:
            return Place(file, local_name)
        parts = [
            part.strip("()[]")
            for part in chain.split(".")
            if part not in ("as_view()", "bind()", "self", "this")
        ]
        if not parts or not all(parts):
            return None
        names = self._names.get(path, {})
        for end in range(len(parts), 0, -1):
            name = names.get(".".join(parts[:end]))
            below = parts[end] if end < len(parts) else ""
            target = self._surroundings.target(path, name, below) if name else None
            if target is not None:
                local = ".".join([one for one in (target.local_name, *parts[end:]) if one])
                return Place(target.path, local)
            if name is not None:
                return None
        return Place(path, ".".join(parts))


def _says_something(topic: str) -> bool:
    return any(character.isalnum() for character in topic.replace(HOLE, ""))
