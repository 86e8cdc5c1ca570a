"""POST /reviews for CI: the review tool's answer, and the comment to post with it.

Who names the commit or the pull request that is reviewed has a record kept of it, which a rerun
edits: its dismissals hold for every later push. What becomes of the comment is told afterwards:

POST /reviews                   reviews a diff, or what head changed since it left base
POST /reviews/<id>/posting      says what became of the comment
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router, Status
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codemem.accounts.values import Action, Caller
from codemem.client.version import VERSION
from codemem.gateway import body, tool
from codemem.gateway import scope as scopes
from codemem.gateway.errors import ArgumentsInvalid, NotFound, register
from codemem.gateway.rest import ErrorView, bearer, call_of
from codemem.gateway.tool import Call, Result
from codemem.gateway.tools.review import ReviewArguments, Reviewed, ReviewResult, review_of
from graph.values import RefState, RepositoryValue
from indexing.comment import comment_of
from indexing.fitting import NOTHING, fit
from indexing.posting import queries, services
from indexing.posting.formats import code_quality_of, sarif_of
from indexing.posting.text import ReviewText, text_of, with_left_out
from indexing.posting.values import Forge, Subject
from indexing.remarks import NOTHING_DISMISSED, Dismissal, Remark, Ticks, remarks_of
from indexing.values import Review

register({services.RemarkUnknown: ("not_found", 404)})

_TOOL = tool.find_tool("review_diff")
_NOBODY: Final = 0
_FULL_SHA: Final = re.compile(r"[0-9a-f]{40,64}")
# A diff in JSON is longer than it is: quotes, backslashes, line breaks count twice. Of what is
# longer than a diff may be, the largest files are only named; above this nothing is read.
_BODY_PER_DIFF: Final = 2
_MOST_KEYS: Final = 200


class PullRequest(BaseModel):
    """Which pull request a diff is of; `title` is read, kept, and shown to members only."""

    model_config = ConfigDict(extra="forbid", strict=True)

    forge: Literal["github", "gitlab", "gitea", "forgejo"]
    number: int = Field(ge=1, le=2**31 - 1)
    url: str = Field("", max_length=500, pattern=r"^(https?://[^\s<>\"]*)?$")
    title: str = Field("", max_length=1000)


class PostedArguments(ReviewArguments):
    """What CI says beside the diff, all of it optional."""

    head: str | None = Field(
        None,
        min_length=1,
        max_length=1000,
        description="The commit that the diff leads to, as its full sha; without a diff, the"
        " commit or branch to review.",
    )
    pull_request: PullRequest | None = Field(None, description="What the diff is proposed in.")
    dismissed: list[str] = Field(
        [], max_length=_MOST_KEYS, description="Keys of remarks whose boxes are ticked."
    )
    restored: list[str] = Field(
        [], max_length=_MOST_KEYS, description="Keys of remarks whose ticks were taken out."
    )
    formats: list[Literal["sarif", "code_quality"]] = Field(
        [], max_length=2, description="Reports of the remarks to answer with."
    )
    omitted_files: int = Field(
        0, ge=0, le=10**7, description="Files of the change that the diff leaves out for its size."
    )


class RemarkView(Result):
    """One thing to look at. `key` stays the same over pushes."""

    key: str
    kind: str
    level: str
    path: str
    line: int | None = None
    message: str
    probability: float | None = None
    dismissed: bool | None = None


class RecordView(Result):
    """What is kept of the review, and what became of its comment before."""

    id: UUID
    posting: str
    comment_id: str


class PostedReview(Result):
    """A review as an agent gets it, as text, as single remarks, and as the comment to post.

    `comment` is there for what has a record. When `is_quiet`, nothing in it is worth a comment of
    its own: it is what an earlier comment becomes.
    """

    review: ReviewResult
    markdown: str
    remarks: list[RemarkView]
    comment: str | None = None
    is_quiet: bool | None = None
    record: RecordView | None = None
    sarif: dict[str, Any] | None = None
    code_quality: list[dict[str, Any]] | None = None


class Posted(BaseModel):
    """What became of a comment."""

    model_config = ConfigDict(extra="forbid", strict=True)

    posting: Literal["posted", "silent", "summary", "deleted", "failed"]
    head: str = Field(pattern=r"^[0-9a-f]{40,64}$")
    comment_id: str = Field("", max_length=40, pattern=r"^[0-9]*$")
    comment_url: str = Field("", max_length=500, pattern=r"^(https?://[^\s<>\"]*)?$")
    error: str = Field("", max_length=2000)


def _review(call: Call, arguments: PostedArguments) -> PostedReview:
    head = _head_of_record(arguments)
    if head is None:
        return _answer(_reviewed(call, arguments), arguments, NOTHING_DISMISSED)
    # What is posted is for everybody who reads the pull request: nobody's private memories.
    reviewed = _reviewed(replace(call, caller=_public(call.caller)), arguments)
    subject = _subject(arguments, head_commit=reviewed.head or head)
    opened = services.open_review(
        repository_id=reviewed.place.repository.id,
        subject=subject,
        ticks=Ticks(dismissed=arguments.dismissed, restored=arguments.restored),
        requested_by=call.caller.username,
        now=call.now,
    )
    text = text_of(
        reviewed.review,
        repository=reviewed.name,
        ref=reviewed.code.ref,
        head_commit=subject.head_commit,
        dismissals=opened.dismissals,
    )
    services.keep_review(
        record_id=opened.id,
        head_commit=subject.head_commit,
        reviewed=_kept(reviewed, text, arguments),
        now=call.now,
    )
    return _answer(reviewed, arguments, opened.dismissals).model_copy(
        update={
            "comment": text.comment,
            "is_quiet": text.is_quiet,
            "record": RecordView(
                id=opened.id, posting=opened.posting, comment_id=opened.comment_id
            ),
        }
    )


def answer_of(
    review: Review, repository: RepositoryValue, namespace: str, state: RefState
) -> Mapping[str, Any]:
    """Return what the tool would answer, for reviews that the server posts by itself."""
    place = scopes.RepositoryScope(
        scopes.NamespaceScope(repository.namespace_id, namespace, scopes.Source.ARGUMENT),
        repository,
        scopes.Source.ARGUMENT,
    )
    code = scopes.CodeEcho(
        ref=state.ref,
        indexed_commit=state.indexed_commit,
        current_commit=state.head_commit,
        behind_by=state.behind_by,
        behind=state.indexed_commit != state.head_commit,
        pending=False,
    )
    found = Reviewed(review, place, code).result
    return found.model_dump(mode="json", exclude_none=True, by_alias=True)


# The tool's own way to be validated, timed, counted and to fail; only the answer says more.
_POSTED = replace(
    _TOOL,
    function=_review,
    arguments=PostedArguments,
    result=PostedReview,
    input_schema=PostedArguments.model_json_schema(),
)


def reviews_router() -> Router:
    """Publish the review of a diff, which may be larger here than in a tool call."""
    router = Router(tags=["reviews"], auth=bearer)
    router.add_api_operation(
        "",
        ["POST"],
        _post,
        response={200: PostedReview, 404: ErrorView, 413: ErrorView, 422: ErrorView},
        operation_id="post_review",
        summary="Review a diff, or the commits from base to head",
        description=_TOOL.description,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": _POSTED.input_schema}},
            }
        },
    )
    router.post(
        "/{review_id}/posting",
        response={204: None, 404: ErrorView, 422: ErrorView},
        summary="Say what became of a comment",
    )(note_posting)
    return router


def note_posting(request: HttpRequest, review_id: UUID) -> Status[None]:
    """Keep whether a job posted the comment of a review that the caller may run, and where."""
    call = call_of(request)
    told = _told(request)
    review = queries.visible_reviews(caller=call.caller).filter(pk=review_id).first()
    if review is None or not call.caller.can(Action.RUN_REVIEW, review.repository.namespace_id):
        raise NotFound(f"There is no review {review_id}.")
    services.note_posting(
        record_id=review_id,
        posting=told.posting,
        head_commit=told.head,
        comment_id=told.comment_id,
        comment_url=told.comment_url,
        error=told.error,
        now=call.now,
    )
    return Status(204, None)


def _post(request: HttpRequest) -> HttpResponse:
    arguments = body.read_json(request, maximum_bytes=_BODY_PER_DIFF * settings.MAXIMUM_DIFF_BYTES)
    # Here, before anything makes copies of what is not read anyhow.
    if isinstance(arguments, dict) and isinstance(diff := arguments.get("diff"), str):
        arguments["diff"] = fit(diff, limit=settings.MAXIMUM_DIFF_BYTES).text
        del diff
    outcome = tool.run(_POSTED, arguments=arguments, call=call_of(request))
    return HttpResponse(
        outcome.text,
        content_type="application/json",
        status=outcome.error.status if outcome.error else 200,
    )


# --- Parts ----------------------------------------------------------------------------------------


def _head_of_record(arguments: PostedArguments) -> str | None:
    """Return what is said of the head, None when nothing is kept; raise ArgumentsInvalid."""
    if arguments.head is None:
        if arguments.pull_request is not None:
            raise ArgumentsInvalid("head: name the commit of the pull request that is reviewed.")
        return None
    if arguments.diff is not None and not _FULL_SHA.fullmatch(arguments.head):
        raise ArgumentsInvalid("head: beside a diff, name the commit by its full sha.")
    return arguments.head


def _subject(arguments: PostedArguments, *, head_commit: str) -> Subject:
    request = arguments.pull_request
    if request is None:
        return Subject(head_commit=head_commit)
    return Subject(
        head_commit=head_commit,
        forge=Forge(request.forge),
        number=request.number,
        url=request.url,
        title=request.title,
    )


def _public(caller: Caller) -> Caller:
    return replace(caller, user_id=_NOBODY)


def _reviewed(call: Call, arguments: PostedArguments) -> Reviewed:
    """Review the change; what the job left out of it is among what was not seen."""
    plain = arguments.model_dump(include=set(ReviewArguments.model_fields))
    if arguments.pull_request is not None:
        plain["title"] = arguments.title or arguments.pull_request.title
    reviewed = review_of(call, ReviewArguments.model_validate(plain))
    unnamed = arguments.omitted_files - reviewed.diff.files_left_out
    return replace(
        reviewed, review=with_left_out(reviewed.review, NOTHING, unnamed=max(0, unnamed))
    )


def _kept(reviewed: Reviewed, text: ReviewText, arguments: PostedArguments) -> services.Reviewed:
    review = reviewed.review
    return services.Reviewed(
        request={
            "base": arguments.base or review.base_commit,
            "ref": reviewed.code.ref,
            "depth": arguments.depth,
            "budget_tokens": arguments.budget_tokens,
            "diff_bytes": len(reviewed.diff.text.encode("utf-8", "surrogatepass")),
            "omitted_files": max(arguments.omitted_files, reviewed.diff.files_left_out),
        },
        answer=reviewed.result.model_dump(mode="json", exclude_none=True, by_alias=True),
        remarks=text.remarks,
        comment=text.kept_comment,
        base_commit=review.base_commit,
        indexed_commit=review.indexed_commit,
        risk_level=review.risk.level,
        risk_score=review.risk.score,
    )


def _answer(
    reviewed: Reviewed, arguments: PostedArguments, dismissals: Mapping[str, Dismissal]
) -> PostedReview:
    remarks = remarks_of(reviewed.review)
    formats = arguments.formats
    return PostedReview(
        review=reviewed.result,
        markdown=comment_of(reviewed.review, repository=reviewed.name, ref=reviewed.code.ref),
        remarks=[_remark(one, is_dismissed=one.key in dismissals) for one in remarks],
        sarif=sarif_of(remarks, dismissals, version=VERSION) if "sarif" in formats else None,
        code_quality=code_quality_of(remarks, dismissals) if "code_quality" in formats else None,
    )


def _remark(remark: Remark, *, is_dismissed: bool) -> RemarkView:
    return RemarkView(
        key=remark.key,
        kind=remark.kind,
        level=remark.level,
        path=remark.path,
        line=remark.line,
        message=remark.message,
        probability=None if remark.probability is None else round(remark.probability, 2),
        dismissed=is_dismissed or None,
    )


def _told(request: HttpRequest) -> Posted:
    decoded = body.read_json(request, maximum_bytes=settings.MAXIMUM_BODY_BYTES)
    try:
        return Posted.model_validate_json(tool.dumps(decoded))
    except ValidationError as error:
        raise ArgumentsInvalid(tool.sentence_of(error)) from None
