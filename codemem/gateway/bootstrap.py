"""POST /bootstrap: what a repository says of itself, as memories it could begin with; and storing.

Without `keys` it only shows. With the keys of a showing, and its commit, it stores those: a few at
a time, each safe to repeat, so that no request is long and whoever stops goes on later. With
`with_model` a worker has the namespace's language model read the documents besides.
"""

from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codemem import policies
from codemem.accounts.values import Action
from codemem.gateway import body
from codemem.gateway import scope as scopes
from codemem.gateway.errors import ArgumentsInvalid, ScopeNeeded, register
from codemem.gateway.rest import ErrorView, bearer, call_of
from codemem.gateway.tool import Arguments, Call, Result, sentence_of
from indexing.bootstrap import MirrorMissing, read_source
from memory import bootstrap, seeds
from memory.bootstrap import Planned, Standing
from memory.values import ItemOutcome, MemoryType
from workers import queue


class NoLanguageModel(Exception):
    """The namespace has no language model to read with."""


class NotQueued(Exception):
    """Redis did not take the message; nothing was begun."""


register(
    {
        MirrorMissing: ("not_indexed", 409),
        NoLanguageModel: ("no_language_model", 409),
        NotQueued: ("unavailable", 503),
    }
)

MOST_AT_ONCE = 25


class Wanted(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    commit: str = Field("", pattern=r"^([0-9a-f]{40,64})?$", description="Of a showing.")
    keys: list[Annotated[str, Field(max_length=64)]] | None = Field(
        None, max_length=MOST_AT_ONCE, description="Store these; without it nothing is stored."
    )
    limit: int = Field(seeds.MAXIMUM_SEEDS, ge=1, le=seeds.MAXIMUM_SEEDS)
    with_model: bool = Field(
        False,
        description="Also have the namespace's language model read the documents, in the"
        " background; what it finds waits for approval.",
    )


class SeedView(Result):
    key: str
    source: str
    memory_type: MemoryType
    content: str
    importance: float
    path: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    commit: str | None = None
    standing: Standing
    replaces: UUID | None = None
    waits: bool | None = Field(None, description="For approval: it gives orders to agents.")


class StoredSeed(Result):
    key: str
    action: str
    id: UUID | None = None
    reason: str | None = None


class BootstrapView(Result):
    scope: scopes.ScopeEcho
    commit: str
    documents: int
    commits: int
    seeds: list[SeedView]
    left_out: int = Field(description="Less telling ones, past the limit.")
    stored: list[StoredSeed]
    is_read_by: str | None = Field(None, description="The provider that reads the documents now.")


def bootstrap_router() -> Router:
    router = Router(tags=["memories"], auth=bearer)
    failures: dict[int, Any] = dict.fromkeys((403, 404, 409, 422, 503), ErrorView)
    router.post(
        "",
        summary="Begin a repository's memory with what it says of itself",
        response={200: BootstrapView, **failures},
        openapi_extra={
            "requestBody": {"content": {"application/json": {"schema": Wanted.model_json_schema()}}}
        },
    )(post_bootstrap)
    return router


def post_bootstrap(request: HttpRequest) -> BootstrapView:
    """Show what would be stored of the repository of this scope, or store some of it."""
    call = call_of(request)
    wanted = _wanted(request)
    place = _place(request)
    repository = place.repository
    source = read_source(
        repository_id=repository.id,
        branch=repository.default_branch,
        commit=wanted.commit,
        ignored=bootstrap.ignored_globs(
            namespace_id=place.namespace.id, repository_id=repository.id
        ),
    )
    reader = _have_read(call, place, source.commit) if wanted.with_model else None
    found = seeds.seeds_of(source.documents, source.commits, paths=source.paths)
    plans = bootstrap.planned(
        caller=call.caller,
        namespace_id=place.namespace.id,
        repository_id=repository.id,
        seeds=found[: wanted.limit],
        now=call.now,
    )
    chosen = [
        plan
        for plan in plans
        if plan.seed.key in (wanted.keys or ()) and plan.standing is not Standing.KNOWN
    ]
    outcomes = bootstrap.plant(
        caller=call.caller,
        namespace_id=place.namespace.id,
        repository_id=repository.id,
        commit=source.commit,
        plans=chosen,
        now=call.now,
    )
    return BootstrapView(
        scope=scopes.echo(place),
        commit=source.commit,
        documents=len(source.documents),
        commits=len(source.commits),
        seeds=[_view(plan) for plan in plans] if wanted.keys is None else [],
        left_out=max(len(found) - wanted.limit, 0),
        stored=[_stored(plan, one) for plan, one in zip(chosen, outcomes, strict=True)],
        is_read_by=reader,
    )


def _have_read(call: Call, place: scopes.RepositoryScope, commit: str) -> str:
    """Queue the reading and return the provider; raise NoLanguageModel or NotQueued."""
    provider = policies.text(place.namespace.id, "language.provider")
    if provider == "none":
        raise NoLanguageModel(
            f"{place.namespace.name} has no language model; an owner chooses one with"
            " `codemem config set language.provider`. Nothing was stored."
        )
    try:
        queue.read_documents(
            repository_id=place.repository.id, user_id=call.caller.user_id, commit=commit
        )
    except queue.QueueUnavailable as error:
        raise NotQueued("Redis does not answer: nothing was begun. Try again later.") from error
    return provider


def _place(request: HttpRequest) -> scopes.RepositoryScope:
    """Return the repository that was named, to write to; raise ScopeNeeded for a guess."""
    call = call_of(request)
    place = scopes.repository_to_read(call, Arguments(), Action.WRITE_MEMORY)
    scopes.require(call, Action.READ_GRAPH, place.namespace)
    if place.source is scopes.Source.INFERRED:
        raise ScopeNeeded(
            "Name the repository to write to: call from its checkout, or send Codemem-Namespace"
            " and Codemem-Repository."
        )
    return place


def _wanted(request: HttpRequest) -> Wanted:
    decoded = body.read_json(request, maximum_bytes=settings.MAXIMUM_BODY_BYTES)
    try:
        return Wanted.model_validate(decoded)
    except ValidationError as error:
        raise ArgumentsInvalid(sentence_of(error)) from error


def _view(plan: Planned) -> SeedView:
    seed = plan.seed
    return SeedView(
        key=seed.key,
        source=seed.source,
        memory_type=seed.memory_type,
        content=seed.content,
        importance=seed.importance,
        path=seed.path or None,
        first_line=seed.first_line or None,
        last_line=seed.last_line or None,
        commit=seed.commit or None,
        standing=plan.standing,
        replaces=plan.replaces,
        waits=plan.gives_orders or None,
    )


def _stored(plan: Planned, item: ItemOutcome) -> StoredSeed:
    if item.outcome is None:
        return StoredSeed(key=plan.seed.key, action="rejected", reason=item.rejected)
    return StoredSeed(
        key=plan.seed.key, action=item.outcome.action.value, id=item.outcome.memory.id
    )
