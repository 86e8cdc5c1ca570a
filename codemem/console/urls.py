"""The console's table of contents: every page, what it takes to see it, and its name.

`page` shows, `act` changes (POST), `form` does both; each finds the namespace and the repository
of the address among what the signed-in person sees. A page's name is what `visit.url` and the
template tag `to` take. ?ref= names the branch on every page of a repository.
"""

from django.urls import path

from codemem.console.access import act, form, page
from codemem.console.pages import dashboard, finding, repositories, signing, tokens

app_name = "console"

_N = "n/<str:namespace>"
_R = "n/<str:namespace>/r/<str:repository>"

urlpatterns = [
    # --- The door ---
    path("sign-in", signing.sign_in, name="sign-in"),
    path("sign-out", signing.sign_out, name="sign-out"),
    # --- Everywhere ---
    path("", page(dashboard.show), name="dashboard"),
    path("find", page(finding.find), name="find"),
    path("tokens", form(tokens.index), name="tokens"),
    path("tokens/<uuid:token_id>/revoke", act(tokens.revoke), name="token-revoke"),
    # --- A namespace ---
    path(_N, page(dashboard.show), name="namespace"),
    path(f"{_N}/repositories", form(repositories.index), name="repositories"),
    # --- A repository ---
    path(_R, page(repositories.show), name="repository"),
    path(f"{_R}/index", act(repositories.request_index), name="repository-index"),
]
