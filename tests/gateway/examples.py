"""One example of every tool: arguments that work, arguments that do not, and other people's ids."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tests.gateway.team import DECISION, LEFT, WORK, Team, remember

NOBODYS_ID = UUID("01920000-0000-7000-8000-00000000dead")
CHARGE = "sym:app/billing.py#charge"
NOBODYS_CODE = "sym:app/nothing.py#nobody"
PLACE = {"namespace": "team", "repository": "app"}

# Line 22 of app/billing.py is inside charge.
DIFF = """\
diff --git a/app/billing.py b/app/billing.py
--- a/app/billing.py
+++ b/app/billing.py
@@ -22 +22 @@
-    return 1
+    return 2
"""

Arguments = dict[str, Any]
# What is theirs, and what nobody has.
Foreign = tuple[object, object]


def _no_ids(_team: Team) -> Mapping[str, Foreign]:
    return {}


@dataclass(frozen=True, slots=True)
class Example:
    """`works` are arguments for a member; `mistake` replaces some so that the tool refuses.

    `foreign` names, for each parameter that takes an id, the id of something of `team` and one of
    nothing: whoever is not in `team` must get the same answer to both.
    """

    works: Callable[[Team], Arguments]
    mistake: Arguments
    foreign: Callable[[Team], Mapping[str, Foreign]] = field(default=_no_ids)
    writes: bool = False
    role: str = "writer"  # what writing takes
    # It reads through a connection of its own, to which a test's transaction is invisible: what it
    # answers is tested in test_tools_cypher, what it refuses with the others.
    sees_committed_only: bool = False


def _code(_team: Team) -> Mapping[str, Foreign]:
    return {"qualified_name": (CHARGE, NOBODYS_CODE)}


def _parts(team: Team) -> Arguments:
    """Return parts that are memories already: nothing is made, whose id would be another one."""
    parts = ("Invoice.total rounds once.", "Invoice totals are kept in whole cents.")
    for part in parts:
        remember(team.writer, team.repository, part)
    return {"id": str(team.decision), "parts": [{"content": part} for part in parts]}


EXAMPLES: Mapping[str, Example] = {
    # The same words again: nothing is made, so every surface answers about the same memory.
    "store_memory": Example(
        lambda _team: {**PLACE, "content": DECISION, "memory_type": "decision", "tags": ["money"]},
        {"content": " "},
        lambda team: {
            "links": ([str(team.note)], [str(NOBODYS_ID)]),
        },
        writes=True,
    ),
    "store_memories": Example(
        lambda _team: {
            **PLACE,
            "items": [
                {"content": DECISION, "memory_type": "decision"},
                {"content": " ", "memory_type": "decision"},
                {"content": "Fine.", "kind": "decision"},
            ],
        },
        {"items": []},
        writes=True,
    ),
    "search_sessions": Example(
        lambda _team: {**PLACE, "query": "rounding of invoices", "limit": 3}, {"limit": 0}
    ),
    "recall": Example(
        lambda _team: {
            **PLACE,
            "query": "How are invoice totals rounded?",
            "explain": True,
            "include_impact": True,
            "expand": True,
        },
        {"k": 51},
    ),
    "delete_memory": Example(
        lambda team: {"id": str(team.decision), "reason": "It no longer holds."},
        {"id": str(NOBODYS_ID)},
        lambda team: {"id": (str(team.decision), str(NOBODYS_ID))},
        writes=True,
    ),
    "associate_memories": Example(
        lambda team: {
            **PLACE,
            "source_id": str(team.decision),
            "target_id": CHARGE,
            "relationship": "EXPLAINS",
            "weight": 0.5,
        },
        {"target_id": NOBODYS_CODE},
        lambda team: {
            "source_id": (str(team.decision), str(NOBODYS_ID)),
            "target_id": (str(team.note), str(NOBODYS_ID)),
        },
        writes=True,
    ),
    "consolidate": Example(
        lambda _team: {**PLACE, "mode": "decay", "dry_run": True},
        {"mode": "astrology"},
        lambda team: {"undo": (str(team.run), str(NOBODYS_ID))},
        writes=True,
        role="maintainer",
    ),
    "expand_summary": Example(
        lambda team: {**PLACE, "id": str(team.summary), "depth": 2},
        {"depth": 0},
        lambda team: {"id": (str(team.summary), str(NOBODYS_ID))},
    ),
    "detect_patterns": Example(
        lambda _team: {**PLACE, "min_frequency": 2, "format": "both"}, {"format": "poem"}
    ),
    "list_proposals": Example(lambda _team: {**PLACE, "kind": "merge"}, {"kind": "guess"}),
    "decide_proposal": Example(
        lambda team: {"id": str(team.proposal), "approve": True},
        {"id": str(NOBODYS_ID)},
        lambda team: {"id": (str(team.proposal), str(NOBODYS_ID))},
        writes=True,
    ),
    "refine_memory": Example(
        lambda team: {"id": str(team.decision), "importance": 0.9, "reason": "It matters."},
        {"expected_version": 7},
        lambda team: {"id": (str(team.decision), str(NOBODYS_ID))},
        writes=True,
    ),
    "split_memory": Example(
        _parts,
        {"parts": [{"content": DECISION}]},
        lambda team: {"id": (str(team.decision), str(NOBODYS_ID))},
        writes=True,
    ),
    "merge_memories": Example(
        lambda team: {"source_ids": [str(team.decision), str(team.note)], "content": DECISION},
        {"content": " "},
        lambda team: {
            "source_ids": (
                [str(team.decision), str(team.note)],
                [str(NOBODYS_ID), str(NOBODYS_ID)],
            )
        },
        writes=True,
    ),
    "questions": Example(
        lambda _team: dict(PLACE),
        {"action": "ask"},
    ),
    "session_checkpoint": Example(
        lambda _team: {**PLACE, "session_id": "session-1", "summary": "Half done.", "done": ["a"]},
        {"summary": "x" * 9_000},
        writes=True,
    ),
    "session_context": Example(lambda _team: dict(PLACE), {"k": 51}),
    # The same texts to the same reader are the same handoff, in whatever session.
    "handoff": Example(
        lambda _team: {**PLACE, "operation": "write", "summary": LEFT},
        {"to": "nobody"},
        writes=True,
    ),
    "work": Example(
        lambda _team: {**PLACE, "operation": "open", "title": WORK},
        {"title": " "},
        writes=True,
    ),
    "mark_decision": Example(
        lambda _team: {**PLACE, "decision": DECISION, "rationale": "Cents add up."},
        {"rationale": " "},
        lambda team: {"supersedes": ([str(team.note)], [str(NOBODYS_ID)])},
        writes=True,
    ),
    "mark_requirement": Example(
        lambda _team: {**PLACE, "requirement": DECISION, "kind": "constraint"},
        {"kind": "wish"},
        lambda team: {"supersedes": ([str(team.note)], [str(NOBODYS_ID)])},
        writes=True,
    ),
    "mark_memory": Example(
        lambda team: {"id": str(team.decision), "mark": "pin"},
        {"mark": "eat"},
        lambda team: {"id": (str(team.decision), str(NOBODYS_ID))},
        writes=True,
    ),
    "memory_history": Example(
        lambda team: {**PLACE, "id": str(team.decision), "view": "provenance"},
        {"view": "future"},
        lambda team: {"id": (str(team.decision), str(NOBODYS_ID))},
    ),
    "get_decision_chain": Example(
        lambda team: {**PLACE, "id": str(team.decision)},
        {"topic": "money"},
        lambda team: {"id": (str(team.decision), str(NOBODYS_ID))},
    ),
    "get_node_memories": Example(
        lambda _team: {**PLACE, "node_id": "Invoice.total"},
        {"node_id": NOBODYS_CODE},
        lambda _team: {"node_id": (CHARGE, NOBODYS_CODE)},
    ),
    "node_coverage": Example(
        lambda _team: dict(PLACE),
        {"kinds": ["galaxy"]},
        lambda _team: {"node_ids": ([CHARGE], [NOBODYS_CODE])},
    ),
    "search_code": Example(
        lambda _team: {**PLACE, "query": "charge a customer", "k": 3}, {"mode": "guess"}
    ),
    "get_symbol_info": Example(
        lambda _team: {**PLACE, "qualified_name": CHARGE, "include_dependencies": True},
        {"qualified_name": NOBODYS_CODE},
        _code,
    ),
    "get_symbol_graph": Example(
        lambda _team: {**PLACE, "qualified_name": "charge", "depth": 3},
        {"qualified_name": NOBODYS_CODE},
        _code,
    ),
    "graph_traverse": Example(
        lambda team: {**PLACE, "start_id": str(team.decision), "max_depth": 3},
        {"start_id": "nothing"},
        lambda team: {"start_id": (str(team.decision), str(NOBODYS_ID))},
    ),
    "summary_tree": Example(
        lambda _team: {**PLACE, "start_id": "pkg:app/"},
        {"start_id": "pkg:nowhere/"},
        lambda _team: {"start_id": ("file:app/billing.py", "file:app/nothing.py")},
    ),
    "find_important_nodes": Example(
        lambda _team: {**PLACE, "top_k": 5, "near": [CHARGE]},
        {"kinds": ["galaxy"]},
        lambda _team: {"near": ([CHARGE], [NOBODYS_CODE])},
    ),
    "find_related_groups": Example(
        lambda _team: {**PLACE, "containing": CHARGE},
        {"resolution": 0},
        lambda _team: {"containing": (CHARGE, NOBODYS_CODE)},
    ),
    "graph_query": Example(
        lambda _team: {
            "namespace": "team",
            "query": "MATCH (a:Symbol)-[e:CALLS]->(b:Symbol {name: 'charge'})"
            " RETURN a.uid AS caller, e ORDER BY caller",
        },
        {"query": "MATCH (s:Symbol) DELETE s"},
        sees_committed_only=True,
    ),
    "cycles": Example(lambda _team: {**PLACE, "level": "symbol"}, {"min_size": 1}),
    "test_impact": Example(
        lambda _team: {**PLACE, "symbols": [CHARGE]},
        {"symbols": []},
        lambda _team: {"symbols": ([CHARGE], [NOBODYS_CODE])},
    ),
    "list_findings": Example(
        lambda _team: {**PLACE, "rules": ["security"], "minimum_severity": "info"},
        {"rules": ["astrology"]},
    ),
    "get_metrics": Example(
        lambda _team: {**PLACE, "node": "file:app/billing.py"},
        {"metrics": ["beauty"]},
        lambda _team: {"node": ("file:app/billing.py", "file:app/nothing.py")},
    ),
    "get_cross_repo": Example(lambda _team: {**PLACE, "query": "charge"}, {"include": ["weather"]}),
    "find_service_links": Example(
        lambda _team: {**PLACE, "target": "POST /invoices/{id}/charge"}, {"target": "nothing"}
    ),
    "what_changed": Example(
        lambda _team: {**PLACE, "from": "2025-01-01", "to": "2026-03-01"},
        {"from": "2026-02-01", "to": "2025-02-01"},
    ),
    "graph_at_time": Example(lambda _team: {**PLACE, "at": "2025-06-30"}, {"at": "yesterday"}),
    "find_stale_files": Example(lambda _team: dict(PLACE), {"stale_days": 0}),
    "detect_drift": Example(
        lambda _team: {**PLACE, "from": "2025-06-30", "to": "2026-03-01"},
        {"from": "2024-01-01"},
    ),
    "symbol_history": Example(
        lambda _team: {**PLACE, "node_id": CHARGE},
        {"node_id": NOBODYS_CODE},
        lambda _team: {"node_id": (CHARGE, NOBODYS_CODE)},
    ),
    "review_diff": Example(lambda _team: {**PLACE, "diff": DIFF}, {"diff": "Not a diff."}),
    "codemem_status": Example(
        # Without "tools": each call that is compared is itself counted there.
        lambda _team: {
            **PLACE,
            "include": ["counts", "code", "health", "queues", "runs", "embedding"],
        },
        {"include": ["weather"]},
    ),
    "namespace_stats": Example(lambda _team: dict(PLACE), {"repository": "nothing"}),
    # Without `confirm` it only says what would go.
    "delete_namespace": Example(
        lambda _team: {"namespace": "team"}, {"confirm": "tema"}, writes=True, role="owner"
    ),
    "list_namespaces": Example(lambda _team: dict(PLACE), {"namespace": "nowhere"}),
    "check_prior_failures": Example(
        lambda _team: {**PLACE, "file_path": "app/billing.py"}, {"command": "pytest"}
    ),
}
