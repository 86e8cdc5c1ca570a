"""Errors of the domain that a person meets: a page that is not there, or a sentence.

A page registers those of the calls it makes, as the gateway's tools do with their table.
"""

from typing import Final

from codemem.accounts.services import LastOwner, NamespaceNameTaken, TokenExceedsMaker
from codemem.policies import PolicyInvalid, PolicyRefused, PolicyUnknown
from graph.services import RemoteTaken, RepositoryNameTaken
from workers.queue import QueueUnavailable

_UNKNOWN: Final[set[type[Exception]]] = set()
_REFUSED: Final[set[type[Exception]]] = {
    LastOwner,
    NamespaceNameTaken,
    PolicyInvalid,
    PolicyRefused,
    PolicyUnknown,
    QueueUnavailable,
    RemoteTaken,
    RepositoryNameTaken,
    TokenExceedsMaker,
}


class InputRefused(Exception):
    """What somebody typed cannot be taken; the message is a sentence for them."""


def register(
    *, unknown: tuple[type[Exception], ...] = (), refused: tuple[type[Exception], ...] = ()
) -> None:
    """Add errors: `unknown` become the 404 page, `refused` a sentence on the page before."""
    _UNKNOWN.update(unknown)
    _REFUSED.update(refused)


def is_unknown(error: Exception) -> bool:
    return isinstance(error, tuple(_UNKNOWN))


def is_refused(error: Exception) -> bool:
    return isinstance(error, (InputRefused, *_REFUSED))
