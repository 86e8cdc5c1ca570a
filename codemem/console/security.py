"""What browsers may do with the console's pages: run our own scripts and nothing else."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

PREFIX: Final = "/console"
# No inline script or style anywhere, so there is no nonce to leak.
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " worker-src 'self' blob:; connect-src 'self'; form-action 'self'; frame-ancestors 'none';"
    " base-uri 'none'; object-src 'none'"
)
_PERMISSIONS: Final = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


class PagePolicyMiddleware:
    """Send the policy with every answer below /console, also with errors and redirects."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if is_console(request.path):
            response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
            response["Permissions-Policy"] = _PERMISSIONS
            # What one person may see is nobody else's: no proxy and no disk keeps it.
            response.setdefault("Cache-Control", "private, no-store")
        return response


def is_console(path: str) -> bool:
    return path == PREFIX or path.startswith(f"{PREFIX}/")
