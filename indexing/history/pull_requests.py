"""Pull and merge requests, as the messages of the commits that merged them tell.

Knows how GitHub, GitLab, Gitea (and Forgejo), Bitbucket (cloud and server) and Azure word merges
and squashed merges; asks no forge.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A request that a commit's message says it merged. `branch` is blank where nobody says it."""

    number: int
    title: str
    branch: str = ""


_MERGES = tuple(
    re.compile(pattern)
    for pattern in (
        # GitHub, and Bitbucket's server ("in PROJECT/repository from branch to main").
        r"Merge pull request #(?P<number>\d+) from (?P<branch>\S+)",
        r"Merge pull request #(?P<number>\d+) in \S+ from (?P<branch>\S+)",
        # Gitea.
        r"Merge pull request '(?P<title>.*)' \(#(?P<number>\d+)\) from (?P<branch>\S+)",
        # Bitbucket's cloud.
        r"Merged in (?P<branch>\S+) \(pull request #(?P<number>\d+)\)",
        r"Pull request #(?P<number>\d+): (?P<title>.+)",
        # Azure.
        r"Merged PR (?P<number>\d+): (?P<title>.+)",
        # Squashed, on GitHub and Gitea. The last number: a revert quotes another before it.
        r"(?P<title>.*\S) \(#(?P<number>\d+)\)$",
    )
)
_GITLAB_SUBJECT = re.compile(r"Merge branch '(?P<branch>[^']+)'")
_GITLAB_TRAILER = re.compile(r"^See merge request (?:\S*)!(?P<number>\d+)\s*$", re.MULTILINE)
_GITEA_TRAILER = re.compile(r"^Reviewed-on: https?://\S+/pulls?/(?P<number>\d+)\s*$", re.MULTILINE)
_LARGEST_NUMBER = 2**31 - 1
_LONGEST_TITLE = 500
_LONGEST_BRANCH = 255


def merged_by(*, subject: str, body: str) -> Merged | None:
    """Return the request that a commit with this message merged; None if it names none."""
    for pattern in _MERGES:
        match = pattern.match(subject)
        if match:
            named = match.groupdict()
            return _merged(
                number=named["number"],
                title=named.get("title") or _first_line(body) or subject,
                branch=named.get("branch") or "",
            )
    for trailer in (_GITLAB_TRAILER, _GITEA_TRAILER):
        if match := trailer.search(body):
            branch = _GITLAB_SUBJECT.match(subject)
            # GitLab's merge says the title in its body, a squash in its subject.
            title = (_first_line(body) if branch else "") or subject
            return _merged(
                number=match["number"], title=title, branch=branch["branch"] if branch else ""
            )
    return None


def _merged(*, number: str, title: str, branch: str) -> Merged | None:
    if not 0 < int(number[:12]) <= _LARGEST_NUMBER:
        return None
    return Merged(number=int(number), title=title[:_LONGEST_TITLE], branch=branch[:_LONGEST_BRANCH])


def _first_line(body: str) -> str:
    line = body.strip().partition("\n")[0].strip()
    is_trailer = _GITLAB_TRAILER.match(line) or _GITEA_TRAILER.match(line)
    return "" if is_trailer else line
