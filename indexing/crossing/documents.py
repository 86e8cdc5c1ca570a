"""YAML, JSON, TOML and XML of a repository as plain values, however hostile the text.

Nothing here raises for what the text says: a document that cannot be read is None.
"""

import json
import tomllib
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError

import yaml
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

MAXIMUM_BYTES: Final = 5_000_000
_MAXIMUM_EVENTS: Final = 300_000
_MAXIMUM_DEPTH: Final = 100

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENING = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSING = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


def read_yaml(text: bytes) -> Any:
    """Return what a YAML (or JSON) document says; None for bombs, other tags and broken text.

    Events are counted before anything is built: an alias repeats what it names, so that a few lines
    of them are gigabytes; a document that needs them is refused.
    """
    if len(text) > MAXIMUM_BYTES or not _is_harmless(text):
        return None
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  a safe loader, the C one if it is there
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def read_json(text: bytes) -> Any:
    """Return what a JSON document says, or None."""
    if len(text) > MAXIMUM_BYTES:
        return None
    try:
        return json.loads(text.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None


def read_toml(text: bytes) -> dict[str, Any]:
    """Return what a TOML document says; nothing for a broken one."""
    try:
        return tomllib.loads(text.decode("utf-8-sig", "replace"))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def read_xml(text: bytes) -> Element | None:
    """Return the root of an XML document; None for entity bombs and broken text."""
    try:
        root: Element = fromstring(text, forbid_dtd=True)
    except (DefusedXmlException, ParseError, ValueError, RecursionError):
        return None
    return root


def table(value: object, *keys: str) -> dict[str, Any]:
    """Return the mapping below some keys; an empty one where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def strings(value: object) -> list[str]:
    """Return the texts in a list, leaving out what is none."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def text_of(value: object) -> str:
    """Return a text or a number as text; "" for anything else."""
    return str(value).strip() if isinstance(value, str | int | float) else ""


def tag_of(element: Element) -> str:
    """Return an element's name without its XML namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def child_of(element: Element, name: str) -> Element:
    """Return the first child of that name, an empty element where there is none."""
    for child in element:
        if tag_of(child) == name:
            return child
    return Element(name)


def said_by(element: Element, name: str) -> str:
    """Return the text of the first child of that name."""
    return (child_of(element, name).text or "").strip()


def _is_harmless(text: bytes) -> bool:
    depth = 0
    try:
        for count, event in enumerate(yaml.parse(text, Loader=_Loader)):
            depth += isinstance(event, _OPENING) - isinstance(event, _CLOSING)
            is_alias = isinstance(event, yaml.AliasEvent)
            if is_alias or depth > _MAXIMUM_DEPTH or count > _MAXIMUM_EVENTS:
                return False
    except (yaml.YAMLError, ValueError, RecursionError):
        return False
    return True
