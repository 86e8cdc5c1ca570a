"""What OpenAPI 2 and 3 and AsyncAPI 2 and 3 documents say of endpoints and topics.

Tolerant on purpose: what is written is taken, what is broken is left out. Only references inside
of the document are followed.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from indexing.crossing.documents import MAXIMUM_BYTES, read_json, read_yaml, table, text_of
from indexing.crossing.paths import joined_path
from indexing.crossing.reading.servers import FILE_ROUTER
from indexing.crossing.traffic import FileTraffic, MessageFact, RouteFact, Text

_NAME: Final = re.compile(
    r"(^|[-_.])(openapi|swagger|asyncapi|api[-_]?spec|api[-_]?docs?)([-_.].*)?\.(ya?ml|json)$",
    re.IGNORECASE,
)
_METHODS: Final = ("get", "post", "put", "patch", "delete", "head", "options", "trace", "query")
_DESCRIBED: Final = 0.8
_MAXIMUM_OPERATIONS: Final = 20_000
_BUSES: Final = {
    "kafka": "kafka",
    "kafka-secure": "kafka",
    "amqp": "rabbitmq",
    "amqps": "rabbitmq",
    "amqp1": "rabbitmq",
    "redis": "redis",
    "rediss": "redis",
    "sqs": "sqs",
    "sns": "sns",
    "nats": "nats",
}


class Operation(NamedTuple):
    """One method of one path that a document describes."""

    method: str
    path: str
    name: str
    line: int


class Channel(NamedTuple):
    """One topic that the described application publishes to or subscribes to."""

    bus: str
    topic: str
    is_publishing: bool
    line: int


class Specification(NamedTuple):
    """What one document says; nothing, if it is of another kind."""

    operations: tuple[Operation, ...] = ()
    channels: tuple[Channel, ...] = ()


def may_be_specification(path: str) -> bool:
    """Tell whether a file's name says that it describes an API."""
    return bool(_NAME.search(posixpath.basename(path)))


def read_specification(path: str, text: bytes) -> Specification:
    """Return the operations and channels that a document describes."""
    if len(text) > MAXIMUM_BYTES:
        return Specification()
    document = read_json(text) if path.endswith(".json") else read_yaml(text)
    if not isinstance(document, dict):
        return Specification()
    lines = _Lines(text)
    if "openapi" in document or "swagger" in document:
        found = list(_operations(document, lines))
        return Specification(operations=tuple(found[:_MAXIMUM_OPERATIONS]))
    if "asyncapi" in document:
        is_old = text_of(document.get("asyncapi")).startswith(("1.", "2."))
        channels = _channels_of_2(document, lines) if is_old else _channels_of_3(document, lines)
        return Specification(channels=tuple(list(channels)[:_MAXIMUM_OPERATIONS]))
    return Specification()


def specification_traffic(path: str, text: bytes) -> FileTraffic:
    """Return what a document describes as traffic of its own repository, described only."""
    found = read_specification(path, text)
    return FileTraffic(
        routes=tuple(
            RouteFact(
                router=FILE_ROUTER,
                prefix="",
                path=Text(one.path, is_literal=True),
                methods=(one.method,),
                handler="",
                symbol="",
                framework="openapi",
                certainty=_DESCRIBED,
                line=one.line,
                text=f"{one.method} {one.path}"[:300],
            )
            for one in found.operations
        ),
        messages=tuple(
            MessageFact(
                bus=one.bus,
                is_publishing=one.is_publishing,
                topic=Text(one.topic, is_literal=True),
                symbol="",
                certainty=_DESCRIBED,
                line=one.line,
                text=f"{'send' if one.is_publishing else 'receive'} {one.topic}"[:300],
            )
            for one in found.channels
        ),
    )


class _Lines:
    """Where keys stand in a text: the parser does not say, and people look for the key."""

    def __init__(self, text: bytes) -> None:
        self._lines = text.decode("utf-8", "replace").splitlines()
        self._found: dict[str, int] = {}
        for number, line in enumerate(self._lines, 1):
            key = line.strip().lstrip("{").strip().partition(": ")[0].rstrip(":")
            self._found.setdefault(key.strip().strip("\"'"), number)

    def of(self, key: str) -> int:
        return self._found.get(key, 1)


def _operations(document: Mapping[str, Any], lines: _Lines) -> Iterator[Operation]:
    bases = _base_paths(document)
    for path, item in table(document, "paths").items():
        if not isinstance(path, str) or not path.startswith("/"):
            continue
        methods = table(_followed(document, item))
        for method in _METHODS:
            if isinstance(methods.get(method), dict):
                name = text_of(methods[method].get("operationId"))
                for base in bases:
                    yield Operation(method.upper(), joined_path(base, path), name, lines.of(path))


def _base_paths(document: Mapping[str, Any]) -> list[str]:
    """Return the paths that all others are below: one for each different server."""
    if "swagger" in document:
        return [text_of(document.get("basePath"))]
    servers = document.get("servers")
    bases = [
        _path_of_server(server)
        for server in (servers if isinstance(servers, list) else [])
        if isinstance(server, dict)
    ]
    return list(dict.fromkeys(bases))[:5] or [""]


def _path_of_server(server: Mapping[str, Any]) -> str:
    url = text_of(server.get("url"))
    for name, variable in table(server, "variables").items():
        url = url.replace("{" + name + "}", text_of(table(variable).get("default")))
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def _channels_of_2(document: Mapping[str, Any], lines: _Lines) -> Iterator[Channel]:
    otherwise = _bus_of_servers(document)
    for topic, item in table(document, "channels").items():
        channel = table(_followed(document, item))
        bus = _bus_of_bindings(channel) or otherwise
        # Seen from others: what they may publish, this application receives.
        for operation, is_publishing in (("publish", False), ("subscribe", True)):
            if isinstance(channel.get(operation), dict):
                yield Channel(bus, str(topic), is_publishing, lines.of(str(topic)))


def _channels_of_3(document: Mapping[str, Any], lines: _Lines) -> Iterator[Channel]:
    otherwise = _bus_of_servers(document)
    for operation in table(document, "operations").values():
        said = table(_followed(document, operation))
        reference = text_of(table(said, "channel").get("$ref"))
        channel = table(_followed(document, said.get("channel")))
        topic = text_of(channel.get("address")) or unquote(reference.rpartition("/")[2])
        action = said.get("action")
        if topic and action in ("send", "receive"):
            bus = _bus_of_bindings(channel) or otherwise
            key = text_of(channel.get("address")) and "address"
            line = lines.of(reference.rpartition("/")[2]) if reference or not key else 1
            yield Channel(bus, topic, action == "send", line)


def _bus_of_servers(document: Mapping[str, Any]) -> str:
    for server in table(document, "servers").values():
        protocol = text_of(table(_followed(document, server)).get("protocol")).lower()
        if protocol in _BUSES:
            return _BUSES[protocol]
    return ""


def _bus_of_bindings(channel: Mapping[str, Any]) -> str:
    return next((_BUSES[name] for name in table(channel, "bindings") if name in _BUSES), "")


def _followed(document: Mapping[str, Any], item: object) -> object:
    """Return what a reference inside of the document leads to; a few steps, never in a circle."""
    for _ in range(10):
        reference = item.get("$ref") if isinstance(item, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return item
        item = document
        for part in reference[2:].split("/"):
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            item = item.get(key) if isinstance(item, dict) else None
    return None
