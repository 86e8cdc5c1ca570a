"""The console's table of contents: every page, what it takes to see it, and its name.

`page` shows, `act` changes (POST), `form` does both; each finds the namespace and the repository
of the address among what the signed-in person sees. A page's name is what `visit.url` and the
template tag `to` take. ?ref= names the branch on every page of a repository.
"""

from django.urls import path

from codemem.accounts.values import Action
from codemem.console.access import act, form, page
from codemem.console.pages import (
    code,
    consolidation,
    dashboard,
    explorer,
    failures,
    finding,
    handoffs,
    history,
    insights,
    jobs,
    memories,
    memory,
    namespaces,
    queue,
    repositories,
    reviews,
    sessions,
    signing,
    tokens,
)

app_name = "console"

_N = "n/<str:namespace>"
_R = "n/<str:namespace>/r/<str:repository>"
_READ = Action.READ_MEMORY

urlpatterns = [
    # --- The door ---
    path("sign-in", signing.sign_in, name="sign-in"),
    path("sign-out", signing.sign_out, name="sign-out"),
    # --- Everywhere ---
    path("", page(dashboard.show), name="dashboard"),
    path("find", page(finding.find), name="find"),
    path("tokens", form(tokens.index), name="tokens"),
    path("tokens/<uuid:token_id>/revoke", act(tokens.revoke), name="token-revoke"),
    path("n", form(namespaces.index), name="namespaces"),
    path("jobs", page(jobs.show), name="jobs"),
    path("erasures/<uuid:erasure_id>", page(namespaces.receipt), name="erasure"),
    # --- A namespace ---
    path(_N, page(dashboard.show), name="namespace"),
    path(f"{_N}/repositories", form(repositories.index), name="repositories"),
    path(f"{_N}/memories", page(memories.index, to=_READ), name="memories"),
    path(f"{_N}/memories/timeline", page(memories.timeline, to=_READ), name="memory-timeline"),
    path(f"{_N}/memories/new", form(memory.new, to=_READ), name="memory-new"),
    path(f"{_N}/memories/merge", form(memory.merge, to=_READ), name="memory-merge"),
    path(f"{_N}/memories/<uuid:memory_id>", page(memory.show, to=_READ), name="memory"),
    path(f"{_N}/memories/<uuid:memory_id>/edit", form(memory.edit, to=_READ), name="memory-edit"),
    path(
        f"{_N}/memories/<uuid:memory_id>/split", form(memory.split, to=_READ), name="memory-split"
    ),
    path(f"{_N}/memories/<uuid:memory_id>/mark", act(memory.mark, to=_READ), name="memory-mark"),
    path(
        f"{_N}/memories/<uuid:memory_id>/erase", form(memory.erase, to=_READ), name="memory-erase"
    ),
    path(f"{_N}/queue", form(queue.index, to=_READ), name="queue"),
    path(f"{_N}/consolidation", form(consolidation.index, to=_READ), name="consolidation"),
    path(
        f"{_N}/consolidation/<uuid:run_id>",
        page(consolidation.show, to=_READ),
        name="consolidation-run",
    ),
    path(
        f"{_N}/consolidation/<uuid:run_id>/undo",
        act(consolidation.undo, to=_READ),
        name="consolidation-undo",
    ),
    path(
        f"{_N}/consolidation/<uuid:run_id>/cancel",
        act(consolidation.cancel, to=_READ),
        name="consolidation-cancel",
    ),
    path(f"{_N}/sessions", page(sessions.index, to=_READ), name="sessions"),
    path(f"{_N}/sessions/<uuid:session_id>", page(sessions.show, to=_READ), name="session"),
    path(f"{_N}/sessions/<uuid:session_id>/end", act(sessions.end, to=_READ), name="session-end"),
    path(f"{_N}/handoffs", page(handoffs.index, to=_READ), name="handoffs"),
    path(f"{_N}/handoffs/new", form(handoffs.new, to=_READ), name="handoff-new"),
    path(f"{_N}/handoffs/<uuid:handoff_id>", act(handoffs.change, to=_READ), name="handoff-change"),
    path(f"{_N}/work", form(handoffs.work, to=_READ), name="work"),
    path(f"{_N}/work/<uuid:item_id>", act(handoffs.change_work, to=_READ), name="work-change"),
    path(f"{_N}/failures", page(failures.index, to=_READ), name="failures"),
    path(f"{_N}/reviews", page(reviews.index, to=Action.READ_GRAPH), name="reviews"),
    path(f"{_N}/reviews/<uuid:review_id>", page(reviews.show, to=Action.READ_GRAPH), name="review"),
    path(
        f"{_N}/reviews/<uuid:review_id>/dismiss",
        act(reviews.dismiss, to=Action.READ_GRAPH),
        name="review-dismiss",
    ),
    path(f"{_N}/figures", page(namespaces.figures, to=Action.READ_MEMORY), name="figures"),
    path(f"{_N}/members", form(namespaces.members), name="members"),
    path(f"{_N}/members/remove", act(namespaces.remove_member), name="member-remove"),
    path(f"{_N}/settings", form(namespaces.settings), name="settings"),
    path(f"{_N}/settings/description", act(namespaces.describe), name="namespace-describe"),
    path(f"{_N}/settings/delete", form(namespaces.delete), name="namespace-delete"),
    path(f"{_N}/audit", page(namespaces.audit, to=Action.MANAGE_MEMBERS), name="audit"),
    # --- A repository ---
    path(_R, page(repositories.show), name="repository"),
    path(f"{_R}/reviews", page(reviews.index, to=Action.READ_GRAPH), name="repository-reviews"),
    path(f"{_R}/index", act(repositories.request_index), name="repository-index"),
    # --- The code of a repository ---
    path(f"{_R}/graph", page(explorer.show, to=Action.READ_GRAPH), name="graph"),
    path(f"{_R}/graph/columns", page(explorer.columns, to=Action.READ_GRAPH), name="graph-columns"),
    path(f"{_R}/graph/node", page(explorer.node, to=Action.READ_GRAPH), name="graph-node"),
    path(
        f"{_R}/graph/suggestions",
        page(explorer.suggestions, to=Action.READ_GRAPH),
        name="graph-suggestions",
    ),
    path(f"{_R}/symbols", page(code.symbols, to=Action.READ_GRAPH), name="symbols"),
    path(f"{_R}/symbols/<path:node_id>", page(code.symbol, to=Action.READ_GRAPH), name="symbol"),
    path(f"{_R}/files/<path:path>", page(code.file, to=Action.READ_GRAPH), name="file"),
    path(f"{_R}/history", page(history.show, to=Action.READ_GRAPH), name="history"),
    path(f"{_R}/history/past", page(history.past, to=Action.READ_GRAPH), name="history-past"),
    path(f"{_R}/history/drift", page(history.compare, to=Action.READ_GRAPH), name="history-drift"),
    path(f"{_R}/insights", page(insights.activity, to=Action.READ_GRAPH), name="insights"),
    path(
        f"{_R}/insights/health", page(insights.health, to=Action.READ_GRAPH), name="insights-health"
    ),
    path(
        f"{_R}/insights/security",
        page(insights.security, to=Action.READ_GRAPH),
        name="insights-security",
    ),
    path(
        f"{_R}/insights/performance",
        page(insights.performance, to=Action.READ_GRAPH),
        name="insights-performance",
    ),
    path(f"{_R}/webhook", act(repositories.show_webhook), name="repository-webhook"),
    path(f"{_R}/branches", page(repositories.branches), name="branches"),
    path(f"{_R}/runs", page(repositories.runs), name="runs"),
    path(f"{_R}/runs/<uuid:run_id>", page(repositories.run), name="run"),
]
