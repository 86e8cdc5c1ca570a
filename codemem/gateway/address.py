"""Reads where a call came in: the URL's path, then headers."""

from django.http import HttpRequest

from codemem.gateway.tool import Address


def address_of(
    request: HttpRequest, *, namespace: str | None = None, repository: str | None = None
) -> Address:
    """Return the address; a path that names the place wins over headers."""
    headers = request.headers
    return Address(
        namespace=namespace or headers.get("Codemem-Namespace") or None,
        repository=repository or headers.get("Codemem-Repository") or None,
        ref=headers.get("Codemem-Ref") or None,
        remote=headers.get("Codemem-Remote") or None,
        root_commit=headers.get("Codemem-Root-Commit") or None,
        head=headers.get("Codemem-Head") or None,
    )
