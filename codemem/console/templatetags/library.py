"""How the pages of the library name things of the code."""

from typing import Any

from django import template

register = template.Library()


@register.filter
def symbol_name(uid: str) -> str:
    """Return the symbol of a text id, or the path of a file's: sym:src/a.py#f -> f."""
    name = uid.partition("#")[2]
    return name or uid.removeprefix("file:").removeprefix("sym:")


@register.filter
def said(value: Any) -> str:
    """Return a field of a memory as people read it: yes, no, nothing, parts with commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {said(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(said(part) for part in value) or "nothing"
    return "nothing" if value in {None, ""} else str(value)
