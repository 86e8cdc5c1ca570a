"""The settings of a namespace over REST: what holds, what would hold by default, what may be set.

GET   /namespaces/<name or id>/settings   every setting; for members
PATCH /namespaces/<name or id>/settings   {"key": value}, null for the default; for maintainers
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja import Router

from codemem import policies
from codemem.gateway import body
from codemem.gateway.errors import ArgumentsInvalid, register
from codemem.gateway.rest import ErrorView, bearer, call_of
from codemem.gateway.scope import NamespaceScope, get_namespace
from codemem.gateway.tool import Call, Result

register(
    {
        policies.PolicyUnknown: ("setting_unknown", 422),
        policies.PolicyInvalid: ("invalid_arguments", 422),
        policies.PolicyRefused: ("right_missing", 403),
    }
)


class SettingView(Result):
    key: str
    value: bool | int | float | str
    default: bool | int | float | str
    is_default: bool
    accepts: str
    description: str
    settable_by: str


class SettingsView(Result):
    namespace: str
    settings: list[SettingView]


def settings_router() -> Router:
    router = Router(tags=["namespaces"], auth=bearer)
    failures: dict[int, Any] = {403: ErrorView, 404: ErrorView, 422: ErrorView}
    router.get(
        "/{name}/settings", response={200: SettingsView, 404: ErrorView}, summary="See settings"
    )(list_settings)
    router.patch(
        "/{name}/settings", response={200: SettingsView, **failures}, summary="Change settings"
    )(change_settings)
    return router


def list_settings(request: HttpRequest, name: str) -> SettingsView:
    """Return every setting of a namespace with its default and what it takes."""
    return _view(get_namespace(call_of(request), name))


def change_settings(request: HttpRequest, name: str) -> SettingsView:
    """Set what the body names, all or nothing; null takes a setting back to its default."""
    call: Call = call_of(request)
    namespace = get_namespace(call, name)
    changes = body.read_json(request, maximum_bytes=settings.MAXIMUM_BODY_BYTES)
    if not isinstance(changes, dict) or not changes:
        raise ArgumentsInvalid('The body must be an object such as {"recall.floor": 0.5}.')
    policies.change(caller=call.caller, namespace_id=namespace.id, changes=changes)
    return _view(namespace)


def _view(namespace: NamespaceScope) -> SettingsView:
    return SettingsView(
        namespace=namespace.name,
        settings=[
            SettingView(
                key=setting.policy.key,
                value=setting.value,
                default=setting.policy.default,
                is_default=setting.is_default,
                accepts=setting.policy.accepts,
                description=setting.policy.description,
                settable_by="owner" if setting.policy.is_for_owners else "maintainer",
            )
            for setting in policies.list_settings(namespace.id)
        ],
    )
