"""GET /setup/<client>: what a client must be told to reach this server, as data.

The same that `codemem init` writes, from the same source, for machines that are set up by other
means. There is no secret in it, so nobody is asked for one: the token is named, by its variable.
"""

from importlib.resources import files
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from codemem.client.install import changes, templates
from codemem.gateway.errors import ArgumentsInvalid, NotFound, response, translate

_SHIM = 'sh "${XDG_DATA_HOME:-$HOME/.local/share}/codemem/codemem-hook"'
_SHIM_PLACE = ".local/share/codemem/codemem-hook"


@require_GET
def index(_request: HttpRequest) -> JsonResponse:
    """List the clients that can be set up."""
    return JsonResponse(
        {
            "clients": [
                {"name": client.name, "title": client.title, "address": _address(client.name)}
                for client in templates.CLIENTS
            ]
        }
    )


@require_GET
def show(request: HttpRequest, client: str) -> HttpResponse:
    """Return the files of one client and what belongs into them; ?scope= is user or project."""
    try:
        return JsonResponse(_setup(client, scope=request.GET.get("scope", templates.USER)))
    except (NotFound, ArgumentsInvalid) as error:
        report = translate(error)
        assert report is not None
        return response(report)


@require_GET
def shim(_request: HttpRequest) -> HttpResponse:
    """Return the program that clients' hooks run."""
    return HttpResponse(_shim_text(), content_type="text/x-shellscript; charset=utf-8")


@require_GET
def review_script(_request: HttpRequest) -> HttpResponse:
    """Return the program by which a CI job has its pull request reviewed: of this version."""
    script = settings.ROOT / "deploy" / "ci" / "codemem_review.py"
    return HttpResponse(script.read_text(), content_type="text/x-python; charset=utf-8")


def _setup(name: str, *, scope: str) -> dict[str, Any]:
    client = templates.client_named(name)
    if client is None:
        known = ", ".join(one.name for one in templates.CLIENTS)
        raise NotFound(f"There is no setup of {name[:40]!r}.", hint=f"Known: {known}.")
    if scope not in {templates.USER, templates.PROJECT}:
        raise ArgumentsInvalid("scope is user or project.")
    connection = templates.Connection(
        url=settings.PUBLIC_URL, shim=_SHIM, is_optional=scope == templates.PROJECT
    )
    return {
        "client": client.name,
        "title": client.title,
        "scope": scope,
        "relative_to": "home" if scope == templates.USER else "checkout",
        "mcp_url": f"{settings.PUBLIC_URL}/mcp",
        "hooks_url": f"{settings.PUBLIC_URL}/hooks/{client.name}",
        "environment": {"CODEMEM_URL": settings.PUBLIC_URL, templates.TOKEN_VARIABLE: None},
        "files": [
            _file(file) for file in templates.files(name, scope=scope, connection=connection)
        ],
        "shim": {"place": _SHIM_PLACE, "address": f"{settings.PUBLIC_URL}/setup/codemem-hook"},
        "instructions": {
            "places": list(templates.instruction_places(name, scope=scope)),
            "block": templates.instruction_block(),
        },
        "remark": client.remark or None,
    }


def _file(file: templates.ClientFile) -> dict[str, Any]:
    return {
        "place": file.place,
        "format": file.format,
        "pieces": [
            {"path": list(piece.path), "value": piece.value, "append": piece.is_element}
            for piece in file.pieces
        ],
        "content": changes.content_of(file),
    }


def _address(client: str) -> str:
    return f"{settings.PUBLIC_URL}/setup/{client}"


def _shim_text() -> str:
    return files("codemem.client.install").joinpath("codemem-hook").read_text()
