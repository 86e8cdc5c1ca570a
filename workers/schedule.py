"""What runs by the clock (Celery beat).

Each message dies when the next one is due: workers that come back after an hour find one of a kind.
"""

from typing import Any


def _every(seconds: int, task: str, *, topic: str = "maintenance") -> dict[str, Any]:
    name = f"workers.tasks.{topic}.{task}"
    return {"task": name, "schedule": seconds, "options": {"expires": seconds}}


SCHEDULE = {
    "erase-due-namespaces": _every(600, "erase_due", topic="erasure"),
    "recover-runs": _every(30, "recover_runs"),
    "expire-memories": _every(300, "expire_memories"),
    "expire-handoffs": _every(3600, "expire_handoffs"),
    "embed-missing": _every(120, "embed_missing"),
    "make-contexts": _every(30, "make_contexts"),
    "embed-missing-symbols": _every(600, "embed_missing_symbols"),
    "reembed": _every(60, "reembed", topic="embedding"),
    "trim-embedding-cache": _every(3600, "trim_cache", topic="embedding"),
    "rank-stale": _every(600, "rank_stale", topic="ranking"),
    "expire-overlays": _every(300, "expire_overlays"),
    "prune-graph": _every(3600, "prune_graph"),
    "advance-histories": _every(300, "advance_all", topic="history"),
    "find-missing-findings": _every(600, "find_missing_findings", topic="findings"),
    "prune-metrics": _every(86_400, "prune_metrics", topic="findings"),
    "post-due-reviews": _every(30, "post_due", topic="reviews"),
    "forget-reviews": _every(86_400, "forget_reviews", topic="reviews"),
    "consolidate-due": _every(1800, "consolidate_due", topic="consolidation"),
    "recover-consolidation": _every(300, "recover", topic="consolidation"),
    "prune-consolidation": _every(86_400, "prune", topic="consolidation"),
    "close-overtaken-proposals": _every(3600, "close_overtaken", topic="consolidation"),
    "close-silent-sessions": _every(300, "close_silent", topic="sessions"),
    "finish-sessions": _every(600, "finish_ended", topic="sessions"),
    "forget-captured": _every(3600, "forget_captured", topic="sessions"),
    "vector-indexes": _every(3600, "build_vector_indexes"),
}
