"""One list of every page of the console, with an address of the demo for each.

`tests/browser/test_walk.py` fails when a page of codemem/console/urls.py is not in it; the walk and
the bench of timings go through it.
"""

from collections.abc import Mapping
from typing import Final

from codemem.console.urls import urlpatterns
from tests.browser.demo import NAMESPACE, REPOSITORY, Demo, Ids
from tests.console.library import Told

_R: Final = f"/console/n/{NAMESPACE}/r/{REPOSITORY}"

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
    "graph-node": f"{_R}/graph/node?id=sym:shop/billing.py%23Invoice.total",
    "graph-suggestions": f"{_R}/graph/suggestions?q=total",
}
# Where who is signed in is led on; tests/browser/test_door.py looks at it.
DOOR: Final = frozenset({"sign-in"})


def pages(*, demo: Demo, told: Told, ids: Ids) -> dict[str, str]:
    """Return the address of every page that shows something, by its name."""
    namespace, repository = demo.namespace.name, demo.repository.name
    here = f"/console/n/{namespace}"
    there = f"{here}/r/{repository}"
    memory = f"{here}/memories/{told.shared}"
    first, second = demo.memories[:2]
    return {
        "dashboard": "/console/",
        "find": f"/console/find?q=total&namespace={namespace}&repository={repository}",
        "tokens": "/console/tokens",
        "namespaces": "/console/n",
        "jobs": "/console/jobs",
        "erasure": f"/console/erasures/{ids.erasure}",
        "namespace": here,
        "repositories": f"{here}/repositories",
        "memories": f"{here}/memories",
        "memory-timeline": f"{here}/memories/timeline",
        "memory-new": f"{here}/memories/new",
        "memory-merge": f"{here}/memories/merge?id={first}&id={second}",
        "memory": memory,
        "memory-edit": f"{memory}/edit",
        "memory-split": f"{memory}/split",
        "memory-erase": f"{memory}/erase",
        "queue": f"{here}/queue",
        "consolidation": f"{here}/consolidation",
        "consolidation-run": f"{here}/consolidation/{told.run}",
        "sessions": f"{here}/sessions",
        "session": f"{here}/sessions/{told.shared_session}",
        "handoffs": f"{here}/handoffs",
        "handoff-new": f"{here}/handoffs/new",
        "work": f"{here}/work",
        "failures": f"{here}/failures",
        "reviews": f"{here}/reviews",
        "review": f"{here}/reviews/{told.review}",
        "figures": f"{here}/figures",
        "members": f"{here}/members",
        "settings": f"{here}/settings",
        "namespace-delete": f"{here}/settings/delete",
        "audit": f"{here}/audit",
        "repository": there,
        "repository-reviews": f"{there}/reviews",
        "graph": f"{there}/graph",
        "symbols": f"{there}/symbols",
        "symbol": f"{there}/symbols/{demo.symbol.replace('#', '%23')}",
        "file": f"{there}/files/{demo.file}",
        "history": f"{there}/history",
        "history-past": f"{there}/history/past",
        "history-drift": f"{there}/history/drift",
        "insights": f"{there}/insights",
        "insights-health": f"{there}/insights/health",
        "insights-security": f"{there}/insights/security",
        "insights-performance": f"{there}/insights/performance",
        "branches": f"{there}/branches",
        "runs": f"{there}/runs",
        "run": f"{here}/r/{demo.broken.name}/runs/{ids.run}",
    }


def named_in_urls() -> set[str]:
    """Return the names of all addresses that the console serves."""
    return {str(pattern.name) for pattern in urlpatterns}
