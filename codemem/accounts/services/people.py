"""People: who has an account on this server."""

from django.db import transaction

from codemem.accounts.models import User
from codemem.accounts.services.audit import record


@transaction.atomic
def create_user(*, username: str, actor: str) -> User:
    """Create a person who cannot sign in yet: tokens only, until an admin sets a password."""
    user = User(username=username)
    user.set_unusable_password()
    user.save()
    record(actor=actor, action="user.create", target=username)
    return user


@transaction.atomic
def save_administrator(*, username: str, password: str) -> User:
    """Create the person who runs the server, or set the password anew."""
    user = User.objects.filter(username=username).first() or User(username=username)
    user.is_staff = user.is_superuser = True
    user.set_password(password)
    user.save()
    record(actor=username, action="user.save_administrator", target=username)
    return user
