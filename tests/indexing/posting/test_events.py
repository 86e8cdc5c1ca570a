"""Deliveries of pull requests as each git host writes them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from indexing.posting.events import Wish, read_event
from indexing.posting.values import Forge

HEAD, BASE = "a" * 40, "b" * 40


def of_actions(action: str = "opened", **changes: Any) -> dict[str, Any]:
    """Return a delivery of GitHub; Gitea and Forgejo write the same fields."""
    request = {
        "number": 7,
        "title": "Charge\ntaxes",
        "html_url": "https://git.example/acme/shop/pull/7",
        "updated_at": "2026-11-22T18:00:00Z",
        "draft": False,
        "head": {"sha": HEAD, "ref": "taxes"},
        "base": {"sha": BASE, "ref": "main"},
    }
    return {"action": action, "number": 7, "pull_request": {**request, **changes}}


def of_gitlab(action: str = "open", **changes: Any) -> dict[str, Any]:
    fields = {
        "iid": 7,
        "title": "Charge taxes",
        "url": "https://git.example/acme/shop/-/merge_requests/7",
        "updated_at": "2026-11-22 18:00:00 UTC",
        "last_commit": {"id": HEAD},
        "target_branch": "main",
        "action": action,
        "draft": False,
    }
    return {"object_kind": "merge_request", "object_attributes": {**fields, **changes}}


@pytest.mark.parametrize("forge", [Forge.GITHUB, Forge.GITEA, Forge.FORGEJO])
def test_a_pull_request_is_read(forge):
    event = read_event(forge, of_actions())

    assert event is not None
    assert (event.wish, event.number, event.head_commit) == (Wish.REVIEW, 7, HEAD)
    assert (event.base_commit, event.base_branch, event.title) == (BASE, "main", "Charge taxes")
    assert event.at == datetime(2026, 11, 22, 18, tzinfo=UTC)


def test_a_merge_request_is_read():
    event = read_event(Forge.GITLAB, of_gitlab())

    assert event is not None
    assert (event.wish, event.number, event.base_branch) == (Wish.REVIEW, 7, "main")
    assert event.at == datetime(2026, 11, 22, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    ("action", "draft", "wish"),
    [
        ("synchronize", False, Wish.REVIEW),
        ("synchronized", False, Wish.REVIEW),
        ("ready_for_review", False, Wish.REVIEW),
        ("synchronize", True, Wish.NOTHING),
        ("closed", False, Wish.CLOSE),
        ("labeled", False, Wish.NOTHING),
    ],
)
def test_what_happened_says_what_is_wished(action, draft, wish):
    event = read_event(Forge.GITHUB, of_actions(action, draft=draft))
    assert event is not None
    assert event.wish is wish


def test_a_merge_request_that_is_merged_or_a_draft_is_not_reviewed():
    merged = read_event(Forge.GITLAB, of_gitlab("merge"))
    draft = read_event(Forge.GITLAB, of_gitlab("update", work_in_progress=True))

    assert merged is not None
    assert merged.wish is Wish.CLOSE
    assert draft is not None
    assert draft.wish is Wish.NOTHING


@pytest.mark.parametrize(
    "delivery",
    [
        None,
        [],
        {},
        {"pull_request": 7},
        of_actions(number="7"),
        of_actions(number=0),
        of_actions(number=2**40),
        of_actions(head={"sha": "main; rm -rf /"}),
        of_actions(head=None),
    ],
)
def test_what_says_too_little_is_no_event(delivery):
    if isinstance(delivery, dict):
        delivery.pop("number", None)
    assert read_event(Forge.GITHUB, delivery) is None


def test_what_an_author_made_up_is_left_out():
    event = read_event(
        Forge.GITHUB,
        of_actions(
            html_url="javascript:alert(1)",
            title="a\0b" + "x" * 1000,
            updated_at="yesterday",
            base={"sha": "--upload-pack=x", "ref": "m\0"},
        ),
    )
    assert event is not None
    assert (event.url, event.at, event.base_commit, event.base_branch) == ("", None, "", "")
    assert len(event.title) == 300
