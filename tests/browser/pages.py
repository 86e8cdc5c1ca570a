"""One list of every page of the console, with an address of the demo for each.

`tests/browser/test_walk.py` fails when a page of codemem/console/urls.py is not in it; the walk and
the bench of timings go through it.
"""

from collections.abc import Mapping
from typing import Final

from codemem.console.urls import urlpatterns
from tests.browser.demo import NAMESPACE, REPOSITORY, Demo, Ids
from tests.console.library import Told

_N: Final = f"/console/n/{NAMESPACE}"
_R: Final = f"{_N}/r/{REPOSITORY}"
_SYMBOL: Final = "sym:shop/billing.py#Invoice.total"

# What only takes forms: nothing to look at.
ACTS: Final = frozenset(
    {
        *("sign-out", "token-revoke", "memory-mark", "consolidation-undo", "consolidation-cancel"),
        *("session-end", "handoff-change", "work-change", "review-dismiss", "member-remove"),
        *("namespace-describe", "repository-index", "repository-webhook"),
    }
)
# What a page asks for after it is there: rows of JSON, pieces of HTML.
PARTS: Final[Mapping[str, str]] = {
    "graph-columns": f"{_R}/graph/columns",
    "graph-node": f"{_R}/graph/node?id={_SYMBOL.replace('#', '%23')}",
    "graph-suggestions": f"{_R}/graph/suggestions?q=total",
}
# Where who is signed in is led on; tests/browser/test_door.py looks at it.
DOOR: Final = frozenset({"sign-in"})


def pages(*, demo: Demo, told: Told, ids: Ids) -> dict[str, str]:
    """Return the address of every page that shows something, by its name."""
    memory = f"{_N}/memories/{told.shared}"
    first, second = demo.memories[:2]
    return {
        "dashboard": "/console/",
        "find": f"/console/find?q=total&namespace={NAMESPACE}&repository={REPOSITORY}",
        "tokens": "/console/tokens",
        "namespaces": "/console/n",
        "jobs": "/console/jobs",
        "erasure": f"/console/erasures/{ids.erasure}",
        "namespace": _N,
        "repositories": f"{_N}/repositories",
        "memories": f"{_N}/memories",
        "memory-timeline": f"{_N}/memories/timeline",
        "memory-new": f"{_N}/memories/new",
        "memory-merge": f"{_N}/memories/merge?id={first}&id={second}",
        "memory": memory,
        "memory-edit": f"{memory}/edit",
        "memory-split": f"{memory}/split",
        "memory-erase": f"{memory}/erase",
        "queue": f"{_N}/queue",
        "consolidation": f"{_N}/consolidation",
        "consolidation-run": f"{_N}/consolidation/{told.run}",
        "sessions": f"{_N}/sessions",
        "session": f"{_N}/sessions/{told.shared_session}",
        "handoffs": f"{_N}/handoffs",
        "handoff-new": f"{_N}/handoffs/new",
        "work": f"{_N}/work",
        "failures": f"{_N}/failures",
        "reviews": f"{_N}/reviews",
        "review": f"{_N}/reviews/{told.review}",
        "figures": f"{_N}/figures",
        "members": f"{_N}/members",
        "settings": f"{_N}/settings",
        "namespace-delete": f"{_N}/settings/delete",
        "audit": f"{_N}/audit",
        "repository": _R,
        "repository-reviews": f"{_R}/reviews",
        "graph": f"{_R}/graph",
        "symbols": f"{_R}/symbols",
        "symbol": f"{_R}/symbols/{_SYMBOL.replace('#', '%23')}",
        "file": f"{_R}/files/shop/billing.py",
        "history": f"{_R}/history",
        "history-past": f"{_R}/history/past",
        "history-drift": f"{_R}/history/drift",
        "insights": f"{_R}/insights",
        "insights-health": f"{_R}/insights/health",
        "insights-security": f"{_R}/insights/security",
        "insights-performance": f"{_R}/insights/performance",
        "branches": f"{_R}/branches",
        "runs": f"{_R}/runs",
        "run": f"{_N}/r/{demo.broken.name}/runs/{ids.run}",
    }


def named_in_urls() -> set[str]:
    """Return the names of all addresses that the console serves."""
    return {str(pattern.name) for pattern in urlpatterns}
