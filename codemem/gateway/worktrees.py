"""Work trees: the uncommitted state of a checkout as an overlay that only its user sees.

    GET    /worktrees          commits of the default branch that an overlay can rest on
    PUT    /worktrees/<name>   the whole difference to one of them: path -> blob id, null where gone
    DELETE /worktrees/<name>

Contents are named by blob id; the answer names those that the server lacks, which are sent with
the next request. They wait in Redis, under the user and the repository: nobody else's request can
name them, and losing them costs sending them again. Never are they written to a mirror.
"""

import base64
import binascii
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import UUID

import redis
from django.conf import settings
from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from redis.backoff import NoBackoff
from redis.retry import Retry

from codemem.accounts.values import Action
from codemem.gateway import body
from codemem.gateway import scope as scopes
from codemem.gateway.errors import ArgumentsInvalid, BodyTooLarge, GatewayError, register
from codemem.gateway.rest import ErrorView, bearer, call_of
from codemem.gateway.tool import Arguments, Result
from indexing import worktrees
from indexing.contents import blob_id

_MOST_FILES = 2_000
_CONTENTS_ARE_KEPT = timedelta(hours=12)
_OVERLAY_IS_KEPT = timedelta(hours=12)
_LONGEST_NAME = 80
_BASES = 50

register(
    {
        worktrees.BaseUnknown: ("base_unknown", 409),
        worktrees.WorkTreeTooDifferent: ("too_different", 422),
    }
)


class ContentsUnavailable(GatewayError):
    """Redis does not answer, so contents cannot wait for each other."""

    code = "queue_unavailable"
    status = 503


class BasesView(Result):
    scope: scopes.ScopeEcho
    commits: list[str] = Field(description="Newest first.")


class Differences(BaseModel):
    """All in which a work tree differs from `base`, and contents of some of it (base64)."""

    model_config = ConfigDict(extra="forbid", strict=True)

    base: str = Field(pattern=r"^[0-9a-f]{40,64}$")
    files: dict[str, str | None] = Field(max_length=_MOST_FILES)
    contents: dict[str, str] = Field(default_factory=dict, max_length=_MOST_FILES)


class WorkTreeView(Result):
    """With `needs` the overlay is as it was: send these contents and ask again."""

    ref: str = Field(description="What to pass as `ref`, or to connect with as Codemem-Ref.")
    needs: list[str]
    files: int = Field(0, description="Files that the overlay states otherwise than its base.")
    symbols: int = 0


def worktrees_router() -> Router:
    router = Router(tags=["worktrees"], auth=bearer)
    router.get("", response={200: BasesView}, summary="Commits a work tree can be compared with")(
        list_bases
    )
    router.put(
        "/{name}",
        response={200: WorkTreeView, 409: ErrorView, 413: ErrorView, 422: ErrorView},
        summary="Show a work tree to yourself",
    )(put_worktree)
    router.delete("/{name}", response={200: WorkTreeView}, summary="Forget a work tree")(
        delete_worktree
    )
    return router


def list_bases(request: HttpRequest) -> BasesView:
    """Return the commits that the default branch showed lately."""
    place = _place(request)
    commits = worktrees.bases(repository_id=place.repository.id, limit=_BASES)
    return BasesView(scope=scopes.echo(place), commits=commits)


def put_worktree(request: HttpRequest, name: str) -> WorkTreeView:
    """Make the overlay of this name say what the work tree says, or name the contents it lacks."""
    place = _place(request)
    given = _given(request)
    owner = _Owner(user_id=call_of(request).caller.user_id, repository_id=place.repository.id)
    ref = worktrees.ref_of(_named(name))
    owner.keep(_decoded(given.contents))
    contents = owner.contents({blob for blob in given.files.values() if blob is not None})
    needs = sorted(blob for blob in given.files.values() if blob and blob not in contents)
    if needs:
        return WorkTreeView(ref=ref, needs=needs)
    shown = worktrees.index_worktree(
        repository_id=place.repository.id,
        user_id=owner.user_id,
        name=name,
        base_commit=given.base,
        changes={path: contents[blob] if blob else None for path, blob in given.files.items()},
        now=call_of(request).now,
        keep_for=_OVERLAY_IS_KEPT,
    )
    return WorkTreeView(ref=ref, needs=[], files=shown.files, symbols=shown.symbols)


def delete_worktree(request: HttpRequest, name: str) -> WorkTreeView:
    """Take the overlay away; there need not be one."""
    place = _place(request)
    worktrees.forget_worktree(
        repository_id=place.repository.id, user_id=call_of(request).caller.user_id, name=name
    )
    return WorkTreeView(ref=worktrees.ref_of(name), needs=[])


class _Owner:
    """Whose contents are whose: a user's, of one repository."""

    def __init__(self, *, user_id: int, repository_id: UUID) -> None:
        self.user_id = user_id
        self._prefix = f"codemem:worktree:{user_id}:{repository_id}:"

    def keep(self, contents: dict[str, bytes]) -> None:
        if not contents:
            return
        try:
            with _client().pipeline(transaction=False) as pipe:
                for blob, content in contents.items():
                    pipe.set(self._prefix + blob, content, ex=_CONTENTS_ARE_KEPT)
                pipe.execute()
        except redis.RedisError as error:
            raise _unavailable() from error

    def contents(self, blobs: set[str]) -> dict[str, bytes]:
        """Return those contents that are there, kept for as long again."""
        wanted = sorted(blobs)
        if not wanted:
            return {}
        try:
            with _client().pipeline(transaction=False) as pipe:
                for blob in wanted:
                    pipe.getex(self._prefix + blob, ex=_CONTENTS_ARE_KEPT)
                found = pipe.execute()
        except redis.RedisError as error:
            raise _unavailable() from error
        return {
            blob: content
            for blob, content in zip(wanted, found, strict=True)
            if content is not None
        }


def _place(request: HttpRequest) -> scopes.RepositoryScope:
    return scopes.repository_to_read(call_of(request), Arguments(), Action.SHOW_WORK_TREE)


def _given(request: HttpRequest) -> Differences:
    decoded = body.read_json(request, maximum_bytes=settings.MAXIMUM_DIFF_BYTES)
    try:
        return Differences.model_validate(decoded)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])[:100]
        raise ArgumentsInvalid(f"{where or 'The body'}: {first['msg']}.") from error


def _named(name: str) -> str:
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        raise ArgumentsInvalid(f"A work tree's name has 1 to {_LONGEST_NAME} printable characters.")
    return name


def _decoded(contents: dict[str, str]) -> dict[str, bytes]:
    """Return the contents by the ids that they have: a wrong one would name other facts."""
    decoded: dict[str, bytes] = {}
    for blob, text in contents.items():
        try:
            content = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise ArgumentsInvalid(f"The content of {blob[:64]} is not base64.") from None
        if len(content) > settings.MAXIMUM_FILE_BYTES:
            raise BodyTooLarge(f"{blob[:64]} has over {settings.MAXIMUM_FILE_BYTES:,} bytes.")
        if blob_id(content) != blob:
            raise ArgumentsInvalid(f"{blob[:64]} is not the id of its content.")
        decoded[blob] = content
    return decoded


def _unavailable() -> ContentsUnavailable:
    return ContentsUnavailable("Redis does not answer; try again in a moment.")


@cache
def _client() -> Any:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=settings.REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=settings.REDIS_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
