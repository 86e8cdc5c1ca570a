"""What a namespace may decide for itself: typed settings with defaults, declared by the apps.

Each app declares its keys in a `policies` module that its AppConfig loads. A namespace keeps only
what differs from the defaults, so that a better default reaches everybody who never chose. Nothing
is cached: a change holds from the next request on, in every process.
"""

import difflib
import json
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction

from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace
from codemem.accounts.values import Action, Caller
from codemem.plans import kept_rows

Value = bool | int | float | str
_KIND_NAMES: Mapping[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}
_LONGEST_TEXT = 200
_LARGEST_EXACT = 2**53


class PolicyUnknown(Exception):
    """There is no such setting; the message names the ones that are spelled like it."""


class PolicyInvalid(Exception):
    """The value is not one that the setting takes; the message says which are."""


class PolicyRefused(Exception):
    """The caller sees the setting but may not change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One setting of a namespace. The type of `default` is the type of every value."""

    key: str
    default: Value
    description: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    is_for_owners: bool = False

    @property
    def kind(self) -> type[Value]:
        return type(self.default)

    @property
    def accepts(self) -> str:
        """The values that are taken, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kind = _KIND_NAMES[self.kind]
        match self.minimum, self.maximum:
            case None, None:
                return kind
            case minimum, None:
                return f"{kind}, at least {minimum:,.10g}"
            case None, maximum:
                return f"{kind}, at most {maximum:,.10g}"
            case minimum, maximum:
                return f"{kind} from {minimum:,.10g} to {maximum:,.10g}"

    def checked(self, value: object) -> Value:
        """Return the value as it is kept; raise PolicyInvalid."""
        if self.kind is float and type(value) is int and abs(value) <= _LARGEST_EXACT:
            value = float(value)
        # An exact comparison: True is an int to Python and no number to anybody else.
        if type(value) is not self.kind or not self._is_within(value):
            raise PolicyInvalid(f"{self.key} is {_shown(value)}; it must be {self.accepts}.")
        assert isinstance(value, bool | int | float | str)
        return value

    def parsed(self, text: str) -> Value:
        """Return the value that somebody typed; raise PolicyInvalid."""
        if self.kind is bool:
            return self.checked({"true": True, "false": False}.get(text.strip().lower(), text))
        if self.kind is str:
            return self.checked(text)
        try:
            return self.checked(int(text) if self.kind is int else float(text))
        except ValueError:
            return self.checked(text)

    def _is_within(self, value: object) -> bool:
        if isinstance(value, str):
            is_text = len(value) <= _LONGEST_TEXT and value.isprintable()
            return value in self.choices if self.choices else is_text
        if isinstance(value, bool) or not isinstance(value, int | float):
            return True
        is_low = self.minimum is not None and value < self.minimum
        is_high = self.maximum is not None and value > self.maximum
        return abs(value) <= _LARGEST_EXACT and not is_low and not is_high


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A policy and what one namespace has made of it."""

    policy: Policy
    value: Value

    @property
    def is_default(self) -> bool:
        return self.value == self.policy.default


_REGISTRY: dict[str, Policy] = {}


def declare(*policies: Policy) -> None:
    """Add settings that an app reads; their defaults must be values that they take."""
    for policy in policies:
        if policy.key in _REGISTRY:
            raise TypeError(f"The setting {policy.key} is declared twice.")
        policy.checked(policy.default)
        _REGISTRY[policy.key] = policy


def registry() -> Mapping[str, Policy]:
    """Return every setting by key, in the order of the keys."""
    return types.MappingProxyType(dict(sorted(_REGISTRY.items())))


def get_policy(key: str) -> Policy:
    """Return a setting; raise PolicyUnknown."""
    if key in _REGISTRY:
        return _REGISTRY[key]
    alike = difflib.get_close_matches(key, _REGISTRY, n=3)
    hint = f" Did you mean {' or '.join(alike)}?" if alike else ""
    raise PolicyUnknown(f"There is no setting {key[:80]!r}.{hint}")


def value(namespace_id: UUID, key: str) -> Value:
    """Return what holds in a namespace. One query; ask `values` for several."""
    policy = get_policy(key)
    return _held(_deviations([namespace_id]).get(namespace_id, {}), policy)


def values(namespace_ids: Iterable[UUID], prefix: str = "") -> dict[UUID, dict[str, Value]]:
    """Return the settings whose keys begin with `prefix`, for each namespace. One query."""
    keys = list(namespace_ids)
    wanted = [policy for key, policy in registry().items() if key.startswith(prefix)]
    kept = _deviations(keys)
    return {
        key: {policy.key: _held(kept.get(key, {}), policy) for policy in wanted} for key in keys
    }


def held_in(settings: Mapping[str, object], prefix: str) -> dict[str, Value]:
    """Return the settings whose keys begin with `prefix` of a namespace's row that was read."""
    return {
        key: _held(settings, policy) for key, policy in registry().items() if key.startswith(prefix)
    }


def number(namespace_id: UUID, key: str) -> float:
    return float(value(namespace_id, key))


def count(namespace_id: UUID, key: str) -> int:
    return int(value(namespace_id, key))


def flag(namespace_id: UUID, key: str) -> bool:
    return bool(value(namespace_id, key))


def text(namespace_id: UUID, key: str) -> str:
    return str(value(namespace_id, key))


def list_settings(namespace_id: UUID) -> list[Setting]:
    """Return every setting of a namespace, by key. One query."""
    held = values([namespace_id])[namespace_id]
    return [Setting(policy=policy, value=held[key]) for key, policy in registry().items()]


def change(
    *, caller: Caller, namespace_id: UUID, changes: Mapping[str, object]
) -> Mapping[str, Value]:
    """Set what is named, all or nothing; None takes a setting back to its default.

    Return what was different before. Raise PolicyUnknown, PolicyInvalid, PolicyRefused.
    """
    for key in changes:
        _require(caller, namespace_id, get_policy(key))
    return change_as(actor=caller.username, namespace_id=namespace_id, changes=changes)


@transaction.atomic
def change_as(
    *, actor: str, namespace_id: UUID, changes: Mapping[str, object]
) -> Mapping[str, Value]:
    """Set what is named on behalf of whoever runs the server; each change leaves an event."""
    wanted = [(get_policy(key), given) for key, given in changes.items()]
    checked = [
        (policy, policy.default if given is None else policy.checked(given))
        for policy, given in wanted
    ]
    # Locked, so that of two changes at once neither loses the other's keys.
    namespace = Namespace.objects.select_for_update().get(pk=namespace_id)
    former = {policy.key: _held(namespace.settings, policy) for policy, _ in checked}
    for policy, chosen in checked:
        namespace.settings.pop(policy.key, None)
        if chosen != policy.default:
            namespace.settings[policy.key] = chosen
        if chosen != former[policy.key]:
            accounts.record(
                actor=actor,
                action="setting.change",
                target=policy.key,
                namespace=namespace,
                detail={"from": former[policy.key], "to": chosen},
            )
    namespace.save(update_fields=["settings"])
    return {policy.key: former[policy.key] for policy, new in checked if new != former[policy.key]}


_SETTINGS: Final = (
    "SELECT id, settings FROM accounts_namespace WHERE id = ANY ((SELECT %s::uuid[])::uuid[])"
)


def _deviations(namespace_ids: Iterable[UUID]) -> dict[UUID, dict[str, object]]:
    # Every recall asks; Django took ten times as long to make the query as Postgres to answer.
    keys = ",".join(key.hex for key in namespace_ids)
    return {key: json.loads(settings) for key, settings in kept_rows(_SETTINGS, [f"{{{keys}}}"])}


def _held(kept: Mapping[str, object], policy: Policy) -> Value:
    """Return a kept value, or the default for what only an earlier version took."""
    try:
        return policy.checked(kept.get(policy.key, policy.default))
    except PolicyInvalid:
        return policy.default


def _require(caller: Caller, namespace_id: UUID, policy: Policy) -> None:
    action = Action.CHANGE_OWNERS_SETTINGS if policy.is_for_owners else Action.CHANGE_SETTINGS
    if not caller.can(action, namespace_id):
        who = "an owner" if policy.is_for_owners else "a maintainer"
        raise PolicyRefused(
            f"You may not change {policy.key}: that takes {who} of the namespace and a token with"
            " the scope admin:namespace."
        )


def _shown(given: object) -> str:
    return repr(given)[:80]
