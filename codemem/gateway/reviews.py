"""POST /reviews for CI: the review tool's answer, and the comment to post with it."""

from dataclasses import replace

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router

from codemem.gateway import body, tool
from codemem.gateway.rest import ErrorView, bearer, call_of
from codemem.gateway.tool import Call, Result
from codemem.gateway.tools.review import ReviewArguments, ReviewResult, review_of
from indexing.comment import comment_of

_TOOL = tool.find_tool("review_diff")


class PostedReview(Result):
    """A review as an agent gets it, and as a comment of a pull request."""

    review: ReviewResult
    markdown: str


def _review(call: Call, arguments: ReviewArguments) -> PostedReview:
    reviewed = review_of(call, arguments)
    return PostedReview(
        review=reviewed.result,
        markdown=comment_of(
            reviewed.review,
            repository=f"{reviewed.place.namespace.name}/{reviewed.place.repository.name}",
            ref=reviewed.code.ref,
        ),
    )


# The tool's own way to be validated, timed, counted and to fail; only the answer says more.
_POSTED = replace(_TOOL, function=_review, result=PostedReview)


def reviews_router() -> Router:
    """Publish the review of a diff, which may be larger here than in a tool call."""
    router = Router(tags=["reviews"], auth=bearer)
    router.add_api_operation(
        "",
        ["POST"],
        _post,
        response={200: PostedReview, 404: ErrorView, 413: ErrorView, 422: ErrorView},
        operation_id="post_review",
        summary="Review a diff",
        description=_TOOL.description,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": _TOOL.input_schema}},
            }
        },
    )
    return router


def _post(request: HttpRequest) -> HttpResponse:
    arguments = body.read_json(request, maximum_bytes=settings.MAXIMUM_DIFF_BYTES)
    outcome = tool.run(_POSTED, arguments=arguments, call=call_of(request))
    return HttpResponse(
        outcome.text,
        content_type="application/json",
        status=outcome.error.status if outcome.error else 200,
    )
