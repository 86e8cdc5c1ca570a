"""What templates say in the console's own words: ages, bars, icons, addresses."""

from datetime import datetime
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """Draw an icon of icons.svg; without a label it is decoration."""
    address = static("console/icons.svg")
    if label:
        return format_html(
            '<svg class="icon" role="img" aria-label="{}"><use href="{}#{}"></use></svg>',
            label,
            address,
            name,
        )
    return format_html(
        '<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', address, name
    )


@register.simple_tag(takes_context=True)
def to(context: dict[str, Any], page: str, **arguments: Any) -> str:
    """Return the address of a page of this visit: {% to "memory" memory_id=memory.id %}."""
    address: str = context["visit"].url(page, **arguments)
    return address


@register.filter
def ago(moment: datetime | None) -> SafeString | str:
    """Say how long ago something was, with the exact time behind it; a dash for never."""
    if moment is None:
        return "\N{EN DASH}"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(),
        f"{moment:%Y-%m-%d %H:%M} UTC",
        _age(moment, timezone.now()),
    )


@register.filter
def sha(commit: str | None) -> str:
    """Return the first eight characters of a commit; a dash for none."""
    return commit[:8] if commit else "\N{EN DASH}"


@register.filter
def percent(share: float | None) -> str:
    """Return a share of 0..1 in whole percent."""
    return "\N{EN DASH}" if share is None else f"{share:.0%}"


@register.filter
def of_the_rest(percentile: float | None) -> str:
    """Say what something is more important than; only the first is above all."""
    if percentile is None:
        return "\N{EN DASH}"
    return "anything else" if percentile >= 1 else f"{min(percentile, 0.99):.0%} of the rest"


@register.filter
def words(name: str) -> str:
    """Return a name of the code as people read it: has_tests -> has tests."""
    return str(name).replace("_", " ").replace("-", " ")


@register.inclusion_tag("console/components/bar.html")
def bar(share: float | None, label: str = "", tone: str = "") -> dict[str, Any]:
    """Draw a share of 0..1; `tone` is good, warn or bad."""
    held = min(max(share or 0.0, 0.0), 1.0)
    return {"width": f"{held * 100:.1f}%", "text": f"{held:.0%}", "label": label, "tone": tone}


def _age(moment: datetime, now: datetime) -> str:
    seconds = (now - moment).total_seconds()
    ahead = seconds < 0
    seconds = abs(seconds)
    if seconds < _MINUTE:
        return "just now"
    if seconds < _HOUR:
        text = f"{int(seconds // _MINUTE)} min"
    elif seconds < 2 * _DAY:
        text = f"{int(seconds // _HOUR)} h"
    elif seconds < 60 * _DAY:
        text = f"{int(seconds // _DAY)} days"
    else:
        return f"{moment.day} {moment:%b %Y}"
    return f"in {text}" if ahead else f"{text} ago"
