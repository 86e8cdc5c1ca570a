"""What a git host signs its deliveries with.

The secret follows from the server's own key and the repository, so there is none to store.
"""

from base64 import b64encode
from uuid import UUID

from django.utils.crypto import salted_hmac


def webhook_secret(repository_id: UUID) -> str:
    """Return what the git host signs its deliveries with; another for each repository."""
    return salted_hmac("codemem.webhook", f"{repository_id}", algorithm="sha256").hexdigest()


def webhook_signing_token(repository_id: UUID) -> str:
    """Return the same secret in the form in which GitLab takes a signing token."""
    key = bytes.fromhex(webhook_secret(repository_id))
    return f"whsec_{b64encode(key).decode()}"
