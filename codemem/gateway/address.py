"""Reads where a call came in: the URL's path, then headers."""

from django.http import HttpRequest

from codemem.gateway.tool import Address


def address_of(
    request: HttpRequest, *, namespace: str | None = None, repository: str | None = None
) -> Address:
    """Return the address; a path that names the place wins over headers."""
    return Address(
        namespace=_clean(namespace) or _header(request, "Codemem-Namespace"),
        repository=_clean(repository) or _header(request, "Codemem-Repository"),
        ref=_header(request, "Codemem-Ref"),
        remote=_header(request, "Codemem-Remote"),
        root_commit=_header(request, "Codemem-Root-Commit"),
        head=_header(request, "Codemem-Head"),
    )


def _header(request: HttpRequest, name: str) -> str | None:
    # WSGI hands headers over as Latin-1; our client sends branch names as UTF-8.
    value = request.headers.get(name, "")
    return _clean(value.encode("latin-1", "replace").decode("utf-8", "replace"))


def _clean(text: str | None) -> str | None:
    # Postgres takes no NUL, and a name with one is no name: it is looked up and not found.
    return (text or "").replace("\0", "\ufffd").strip() or None
