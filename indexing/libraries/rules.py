"""The rules of rules.yaml as values: which calls and annotations carry traffic, library by library.

Adding a library is one row there; only an unheard-of way of declaring needs code (`reading`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

import yaml

Place = int | str
"""Where an argument stands: its position, from the end when negative, or its keyword."""

RULES_VERSION: Final = 3
"""Raise when the same facts would be read otherwise: every file is then read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRule:
    """One way of declaring endpoints; see rules.yaml for what the fields mean."""

    is_decorator: bool
    names: Mapping[str, str]
    path: tuple[Place, ...]
    path_of: str = ""
    methods: Place | None = None
    handler: Place | None = None
    is_bare: bool = False
    is_chained: bool = False
    on_class: bool = False
    least_arguments: int = 1
    method_of_handler: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MountRule:
    """A call that hangs `child` below its receiver at `prefix`."""

    name: str
    child: Place
    prefix: Place
    is_resource: bool = False
    is_including: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRules:
    """How one framework declares endpoints."""

    framework: str
    languages: frozenset[str]
    imports: tuple[str, ...]
    is_implicit: bool
    makers: Mapping[str, tuple[Place, ...]]
    types: frozenset[str]
    receivers: re.Pattern[str]
    routes: tuple[RouteRule, ...]
    classes: Mapping[str, tuple[Place, ...]]
    excluded: frozenset[str]
    groups: Mapping[str, tuple[Place, ...]]
    mounts: tuple[MountRule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenericCall:
    """A call that says its method and its URL among the arguments."""

    method: tuple[Place, ...]
    url: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRules:
    """How one kind of library sends requests."""

    library: str
    languages: frozenset[str]
    imports: tuple[str, ...]
    is_implicit: bool
    makers: Mapping[str, tuple[Place, ...]]
    types: frozenset[str]
    modules: frozenset[str]
    receivers: re.Pattern[str]
    bare: frozenset[str]
    names: Mapping[str, str]
    url: tuple[Place, ...]
    method: tuple[Place, ...]
    generic: Mapping[str, GenericCall]


@dataclass(frozen=True, slots=True, kw_only=True)
class BusRules:
    """How one message bus is published to and subscribed to."""

    bus: str
    languages: frozenset[str]
    imports: tuple[str, ...]
    makers: frozenset[str]
    types: frozenset[str]
    services: frozenset[str]
    publish: Mapping[str, tuple[Place, ...]]
    subscribe: Mapping[str, tuple[Place, ...]]
    listeners: Mapping[str, tuple[Place, ...]]
    bare: frozenset[str]
    task_definers: frozenset[str]
    task_senders: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All rules for one language."""

    servers: tuple[ServerRules, ...] = field(default=())
    clients: tuple[ClientRules, ...] = field(default=())
    buses: tuple[BusRules, ...] = field(default=())


@cache
def rules_for(language: str) -> Rules:
    """Return the rules that hold for files of a language."""
    rules = _all_rules()
    return Rules(
        servers=tuple(rule for rule in rules.servers if language in rule.languages),
        clients=tuple(rule for rule in rules.clients if language in rule.languages),
        buses=tuple(rule for rule in rules.buses if language in rule.languages),
    )


@cache
def names_called(language: str) -> frozenset[str]:
    """Return the last names of all calls whose arguments a rule for a language may ask for."""
    rules = rules_for(language)
    makers: set[str] = set()
    names = {"include", "require", "Methods"}  # what stands in a mount, and beside a route
    for server in rules.servers:
        makers.update(server.makers)
        names.update(server.groups, (mount.name for mount in server.mounts))
        names.update(*(route.names for route in server.routes if not route.is_decorator))
    for client in rules.clients:
        makers.update(client.makers)
        names.update(client.names, client.bare, client.generic)
    for bus in rules.buses:
        makers.update(bus.makers)
        names.update(bus.publish, bus.subscribe, bus.bare)
        if bus.services:  # boto3.client("sqs")
            names.update(("client", "resource"))
    return frozenset(names.union(maker.rpartition(".")[2] for maker in makers))


@cache
def _all_rules() -> Rules:
    text = (resources.files(__package__ or "") / "rules.yaml").read_text(encoding="utf-8")
    # Every process that parses reads the rules; libyaml takes a seventh of the time.
    document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    families = document["languages"]
    return Rules(
        servers=tuple(_server(row, families) for row in document["servers"]),
        clients=tuple(_client(row, families) for row in document["clients"]),
        buses=tuple(_bus(row, families) for row in document["buses"]),
    )


def _server(row: Mapping[str, Any], families: Mapping[str, list[str]]) -> ServerRules:
    return ServerRules(
        framework=row["framework"],
        languages=_languages(row, families),
        imports=tuple(row.get("imports", ())),
        is_implicit=row.get("implicit", False),
        makers=_places_by_name(row.get("makers", {})),
        types=frozenset(row.get("types", ())),
        receivers=_pattern(row.get("receivers")),
        routes=tuple(map(_route, row["routes"])),
        classes=_places_by_name(row.get("classes", {})),
        excluded=frozenset(row.get("excluded", ())),
        groups=_places_by_name(row.get("groups", {})),
        mounts=tuple(
            MountRule(
                name=mount["name"],
                child=mount["child"],
                prefix=mount["prefix"],
                is_resource=mount.get("resource", False),
                is_including=mount.get("including", False),
            )
            for mount in row.get("mounts", ())
        ),
    )


def _route(row: Mapping[str, Any]) -> RouteRule:
    return RouteRule(
        is_decorator=row["as"] == "decorator",
        names=row["names"],
        path=_places(row.get("path")),
        path_of=row.get("path_of", ""),
        methods=row.get("methods"),
        handler=row.get("handler"),
        is_bare=row.get("bare", False),
        is_chained=row.get("chained", False),
        on_class=row.get("on_class", False),
        least_arguments=row.get("least_arguments", 1),
        method_of_handler=row.get("method_of_handler", False),
    )


def _client(row: Mapping[str, Any], families: Mapping[str, list[str]]) -> ClientRules:
    return ClientRules(
        library=row["library"],
        languages=_languages(row, families),
        imports=tuple(row.get("imports", ())),
        is_implicit=row.get("implicit", False),
        makers=_places_by_name(row.get("makers", {})),
        types=frozenset(row.get("types", ())),
        modules=frozenset(row.get("modules", ())),
        receivers=_pattern(row.get("receivers")),
        bare=frozenset(row.get("bare", ())),
        names=row["names"],
        url=_places(row.get("url")),
        method=_places(row.get("method")),
        generic={
            name: GenericCall(method=_places(call["method"]), url=_places(call["url"]))
            for name, call in row.get("generic", {}).items()
        },
    )


def _bus(row: Mapping[str, Any], families: Mapping[str, list[str]]) -> BusRules:
    return BusRules(
        bus=row["bus"],
        languages=_languages(row, families),
        imports=tuple(row.get("imports", ())),
        makers=frozenset(row.get("makers", ())),
        types=frozenset(row.get("types", ())),
        services=frozenset(row.get("services", ())),
        publish=_places_by_name(row.get("publish", {})),
        subscribe=_places_by_name(row.get("subscribe", {})),
        listeners=_places_by_name(row.get("listeners", {})),
        bare=frozenset(row.get("bare", ())),
        task_definers=frozenset(row.get("tasks", {}).get("definers", ())),
        task_senders=frozenset(row.get("tasks", {}).get("senders", ())),
    )


def _languages(row: Mapping[str, Any], families: Mapping[str, list[str]]) -> frozenset[str]:
    return frozenset(one for name in row["languages"] for one in families.get(name, [name]))


def _places_by_name(row: Mapping[str, Any]) -> dict[str, tuple[Place, ...]]:
    return {name: _places(place) for name, place in row.items()}


def _places(value: Place | list[Place] | None) -> tuple[Place, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list) else (value,)


def _pattern(text: str | None) -> re.Pattern[str]:
    return re.compile(text or r"(?!)")
