"""What one file says of routes, requests and messages: cacheable, and still to be composed.

A router is known by its key: `<scope>:<name>` (scopes are those of `indexing.facts`), `self:<name>`
for a field, `?:<chain>` for what the file does not say. Symbols are
`local_name~ordinal` as in text ids, "" for the file itself.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self


class Text(NamedTuple):
    """A literal, with `{}` for its holes, or the chain of a name that may stand for one."""

    text: str
    is_literal: bool


class RouterFact(NamedTuple):
    """Something that routes hang on: made with a prefix, or opened below a parent.

    `function` is the symbol of the function that is handed it, "" for one that is made.
    """

    key: str
    framework: str
    prefix: Text
    parent: str
    function: str = ""


class MountFact(NamedTuple):
    """`child` hangs below `parent` (a router's key) at a prefix.

    The child is a router's key or, when literal, a module; of a resource, the chain of its class.
    """

    parent: str
    child: Text
    prefix: Text
    symbol: str
    line: int
    text: str
    is_resource: bool


class RouteFact(NamedTuple):
    """One declaration of endpoints. `prefix` is what encloses it in its own file."""

    router: str
    prefix: str
    path: Text
    methods: tuple[str, ...]
    handler: str
    symbol: str
    framework: str
    certainty: float
    line: int
    text: str


class RequestFact(NamedTuple):
    """One request that is sent. `base` is what its client puts before the URL."""

    methods: tuple[str, ...]
    url: Text
    base: Text
    library: str
    symbol: str
    certainty: float
    line: int
    text: str


class MessageFact(NamedTuple):
    """One place that publishes to or subscribes to a topic of a bus."""

    bus: str
    is_publishing: bool
    topic: Text
    symbol: str
    certainty: float
    line: int
    text: str


class NameFact(NamedTuple):
    """A name that an import binds: which import's line, and what it is called where it is from."""

    local: str
    name: str
    module: str
    line: int


class ConstantFact(NamedTuple):
    """A name of the file that stands for a text."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTraffic:
    """All of it. A file that carries no traffic has nothing, and need not be kept."""

    routers: tuple[RouterFact, ...] = ()
    mounts: tuple[MountFact, ...] = ()
    routes: tuple[RouteFact, ...] = ()
    requests: tuple[RequestFact, ...] = ()
    messages: tuple[MessageFact, ...] = ()
    names: tuple[NameFact, ...] = ()
    constants: tuple[ConstantFact, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.mounts or self.routes or self.requests or self.messages)

    def to_json(self) -> dict[str, Any]:
        """Return plain lists, as they are kept."""
        return {name: getattr(self, name) for name in _ROWS if getattr(self, name)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Read what `to_json` gave."""
        rows: dict[str, Any] = {
            name: tuple(_row(kind, row) for row in values.get(name, ()))
            for name, kind in _ROWS.items()
        }
        return cls(**rows)


_ROWS: dict[str, Any] = {
    "routers": RouterFact,
    "mounts": MountFact,
    "routes": RouteFact,
    "requests": RequestFact,
    "messages": MessageFact,
    "names": NameFact,
    "constants": ConstantFact,
}


def _row(kind: Any, row: list[Any]) -> Any:
    # Of nested values there are two: a pair with a flag is a Text, any other list is of texts.
    return kind(*(_value(value) if isinstance(value, list | tuple) else value for value in row))


def _value(value: Any) -> Any:
    if len(value) == 2 and isinstance(value[1], bool):  # noqa: PLR2004  (text, is_literal)
        return Text(*value)
    return tuple(value)
