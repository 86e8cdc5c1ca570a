"""The table of contents: every address of the server."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from codemem.console.pages import signing
from codemem.gateway import (
    bootstrap,
    erasures,
    exposition,
    health,
    hooks,
    mcp,
    namespace_settings,
    openapi,
    portability,
    reembedding,
    resources,
    rest,
    reviews,
    runs,
    sessions,
    setup,
    webhooks,
    worktrees,
)

rest.api.add_router("/tools", rest.tools_router())
rest.api.add_router("/reviews", reviews.reviews_router())
rest.api.add_router("/embedding", reembedding.embedding_router())
rest.api.add_router("/bootstrap", bootstrap.bootstrap_router())
rest.api.add_router("/runs", runs.runs_router())
rest.api.add_router("/namespaces", namespace_settings.settings_router())
rest.api.add_router("/erasures", erasures.erasures_router())
rest.api.add_router("/sessions", sessions.sessions_router())
rest.api.add_router("/capture", sessions.capture_router())
rest.api.add_router("", portability.portability_router())
rest.api.add_router("/worktrees", worktrees.worktrees_router())

handler404 = "codemem.gateway.errors.page_not_found"
handler500 = "codemem.gateway.errors.server_error"

_WELL_KNOWN = (
    "oauth-protected-resource",
    "oauth-authorization-server",
    "openid-configuration",
)

urlpatterns = [
    # People.
    path("", RedirectView.as_view(pattern_name="console:dashboard")),
    path("console/", include("codemem.console.urls")),
    path("console", RedirectView.as_view(pattern_name="console:dashboard")),
    # One door, and the one that makes guessers wait.
    path("admin/login/", signing.to_sign_in),
    path("admin/", admin.site.urls),
    # Agents: the path may bind a connection to one repository.
    path("mcp", mcp.endpoint),
    path("mcp/r/<str:namespace>/<str:repository>", mcp.endpoint),
    # Machines that act (django-ninja) and resources (DRF): never both on one route.
    path("api/v1/", rest.api.urls),
    path("api/openapi.json", openapi.document),
    path("api/docs", openapi.viewer),
    path("api/", include(resources.router.urls)),
    # Agents' hooks tell what a session does.
    path("hooks/<str:agent>", hooks.receive),
    # How a client is connected, as data.
    path("setup", setup.index),
    path("setup/codemem-hook", setup.shim),
    path("setup/codemem_review.py", setup.review_script),
    path("setup/<str:client>", setup.show),
    # Git hosts tell of pushes.
    path("webhooks/<str:provider>/<uuid:repository_id>", webhooks.receive),
    # Probes.
    path("healthz", health.alive),
    path("readyz", health.ready),
    path("metrics", exposition.metrics),
    # We have no OAuth: say so in JSON, because clients print what they get.
    *(path(f".well-known/{name}", mcp.not_served) for name in _WELL_KNOWN),
    *(path(f".well-known/{name}/<path:rest>", mcp.not_served) for name in _WELL_KNOWN),
    path("register", mcp.not_served),
]
