"""One review as it is said on a pull request, whoever posts it: the job or the server."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from indexing.comment import is_quiet, posted_comment_of, quiet_comment_of
from indexing.fitting import Fitted, sentences_of
from indexing.remarks import Dismissal, Remark, remarks_of
from indexing.values import Listing, Review


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewText:
    """What to post, and what to keep of it: the same without what memories say."""

    comment: str
    kept_comment: str
    is_quiet: bool
    remarks: tuple[Remark, ...]


def text_of(
    review: Review,
    *,
    repository: str,
    ref: str,
    head_commit: str,
    dismissals: Mapping[str, Dismissal],
) -> ReviewText:
    remarks = remarks_of(review)
    quiet = is_quiet(review, remarks=remarks, dismissals=dismissals)

    def comment(shown: Review) -> str:
        if quiet:
            return quiet_comment_of(
                repository=repository,
                head_commit=head_commit,
                remarks=remarks,
                dismissals=dismissals,
            )
        return posted_comment_of(
            shown,
            repository=repository,
            ref=ref,
            head_commit=head_commit,
            remarks=remarks,
            dismissals=dismissals,
        )

    return ReviewText(
        comment=comment(review),
        kept_comment=comment(replace(review, memories=Listing(items=(), total=0))),
        is_quiet=quiet,
        remarks=remarks,
    )


def with_left_out(review: Review, diff: Fitted, *, unnamed: int = 0) -> Review:
    """Return a review that says first which part of the change it did not read.

    `unnamed` files were left out by who sent the diff, without a word of which.
    """
    said = sentences_of(diff)
    if unnamed:
        counted = f"{unnamed:,} file{'s' * (unnamed > 1)}"
        said.append(
            f"The change is too large to read whole: {counted} left out, the largest first."
        )
    return replace(review, notes=(*said, *review.notes)) if said else review
