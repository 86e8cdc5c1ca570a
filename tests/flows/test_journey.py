"""A developer's whole loop, from HTTP to the rows and back, with nothing taken out of the way."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.flows.conftest import Agent
from tests.flows.repositories import commit, git, make_repository

BILLING = '''
class Invoice:
    """What a customer owes."""

    def total(self) -> int:
        """Return the sum in whole cents."""
        return sum(self.lines)


def charge(invoice: Invoice) -> int:
    return invoice.total()
'''
WEB = '''
from shop.billing import Invoice, charge


def checkout(invoice: Invoice) -> int:
    """The page where the customer pays."""
    return charge(invoice)
'''
FILES = {"shop/__init__.py": "", "shop/billing.py": BILLING, "shop/web.py": WEB}
RULE = (
    "`charge` may run once per invoice only: the bank refuses the second charge of shop/billing.py."
)


def test_a_developers_loop_over_mcp(
    agent: Agent, worker: subprocess.Popen[bytes], folder: Path
) -> None:
    path = make_repository(folder / "shop", FILES)
    agent.wait_until_indexed(agent.register("shop", path))

    answers = _conversation(agent, "auto", _loop_of(path))
    assert answers == ["found", "used by checkout", "stored", "recalled", "reviewed", "deleted"]


def test_the_graph_follows_the_next_commit(
    agent: Agent, worker: subprocess.Popen[bytes], folder: Path
) -> None:
    path = make_repository(folder / "moving", FILES)
    repository_id = agent.register("moving", path)
    agent.wait_until_indexed(repository_id)
    place = {"namespace": agent.namespace, "repository": "moving"}
    head = commit(
        path, {"shop/web.py": WEB.replace("checkout", "pay")}, message="Call it what it is"
    )
    agent.ask("POST", f"/api/repositories/{repository_id}/index")
    agent.wait_until_indexed(repository_id)

    told = agent.told("get_symbol_graph", qualified_name="charge", direction="in", **place)
    assert told["code"]["indexed_commit"] == head
    assert told["code"]["behind"] is False
    assert "sym:shop/web.py#pay" in {edge["node"]["id"] for edge in told["edges"]}
    gone = agent.tool("get_symbol_info", qualified_name="checkout", **place)
    assert gone.content["error"]["code"] == "not_found"


def test_both_eras_of_the_official_client_list_and_call_every_tool(
    agent: Agent, worker: subprocess.Popen[bytes], folder: Path
) -> None:
    path = make_repository(folder / "eras", FILES)
    agent.wait_until_indexed(agent.register("eras", path))
    place = {"namespace": agent.namespace, "repository": "eras"}

    async def call_all(client: Client) -> set[str]:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        faults = {"internal_error", "unknown_tool"}
        for name, arguments in _every_call().items():
            result = await client.call_tool(name, {**place, **arguments})
            assert result.structured_content is not None
            # What follows a push (ranks) or comes before it (a past) may not be there.
            error = result.structured_content.get("error", {})
            assert error.get("code") not in faults, (name, error)
        assert listed == set(_every_call())
        prompts = (await client.list_prompts()).prompts
        for prompt in prompts:
            assert (await client.get_prompt(prompt.name, {})).messages
        templates = (await client.list_resource_templates()).resource_templates
        assert {one.name for one in templates} == {"memory", "symbol"}
        (context,) = (await client.list_resources()).resources
        assert (await client.read_resource(context.uri)).contents
        return listed

    assert _conversation(agent, "2026-07-28", call_all) == _conversation(agent, "legacy", call_all)


def _loop_of(path: Path) -> Callable[[Client], Any]:
    async def loop(client: Client) -> list[str]:
        answers = []

        async def told(name: str, **arguments: Any) -> Any:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result.structured_content
            return result.structured_content

        found = await told("search_code", query="page where customers pay", mode="hybrid")
        assert found["results"][0]["id"] == "sym:shop/web.py#checkout"
        answers.append("found")

        users = await told("get_symbol_graph", qualified_name="charge", direction="in", depth=2)
        assert "sym:shop/web.py#checkout" in {edge["node"]["id"] for edge in users["edges"]}
        answers.append("used by checkout")

        stored = await told("store_memory", content=RULE, memory_type="rule")
        assert stored["action"] == "created"
        assert "file:shop/billing.py" in stored["linked"]
        answers.append("stored")

        recalled = await told("recall", query="Can an invoice be charged twice?")
        assert recalled["results"][0]["id"] == stored["id"]
        answers.append("recalled")

        diff = _changed(path, BILLING.replace("return invoice.total()", "return 2"))
        review = await told("review_diff", diff=diff)
        assert "sym:shop/billing.py#charge" in {one["id"] for one in review["changed_symbols"]}
        assert "sym:shop/web.py#checkout" in {one["id"] for one in review["dependents"]}
        assert stored["id"] in {one["id"] for one in review["memories"]}
        answers.append("reviewed")

        deleted = await told("delete_memory", id=stored["id"], reason="The bank changed its mind.")
        assert deleted["state"] == "retired"
        assert not (await told("recall", query="Can an invoice be charged twice?"))["results"]
        answers.append("deleted")
        return answers

    return loop


def _changed(path: Path, billing: str) -> str:
    """Return the diff of a change in the work tree, which is then undone."""
    (path / "shop/billing.py").write_text(billing)
    diff = git(path, "diff")
    git(path, "checkout", "--quiet", "--", ".")
    return diff + "\n"


def _every_call() -> dict[str, dict[str, Any]]:
    nobody = "01920000-0000-7000-8000-00000000dead"
    return {
        "store_memory": {"content": "Invoices are in cents."},
        "recall": {"query": "cents"},
        "check_prior_failures": {"command": "pytest -q"},
        "store_memories": {"items": [{"content": "Refunds are in cents, too."}]},
        "refine_memory": {"id": nobody, "importance": 0.9},
        "split_memory": {"id": nobody, "parts": [{"content": "One."}, {"content": "Two."}]},
        "merge_memories": {"source_ids": [nobody, nobody], "content": "Both."},
        "mark_memory": {"id": nobody, "mark": "helpful"},
        "memory_history": {"view": "timeline"},
        "search_sessions": {"query": "cents"},
        "get_decision_chain": {"topic": "cents"},
        "get_node_memories": {"node_id": "checkout"},
        "node_coverage": {},
        "questions": {},
        "delete_memory": {"id": nobody},
        "consolidate": {"mode": "decay", "dry_run": True},
        "expand_summary": {"id": nobody},
        "detect_patterns": {},
        "list_proposals": {},
        "decide_proposal": {"id": nobody, "approve": False},
        "namespace_stats": {},
        "delete_namespace": {},
        "associate_memories": {
            "source_id": nobody,
            "target_id": "file:shop/web.py",
            "relationship": "EXPLAINS",
        },
        "search_code": {"query": "checkout"},
        "get_symbol_info": {"qualified_name": "checkout"},
        "get_symbol_graph": {"qualified_name": "checkout"},
        "graph_traverse": {"start_id": "sym:shop/web.py#checkout"},
        "summary_tree": {},
        "find_important_nodes": {},
        "find_related_groups": {},
        "cycles": {},
        "test_impact": {"symbols": ["checkout"]},
        "graph_query": {"query": "MATCH (s:Symbol) RETURN count(s)"},
        "what_changed": {"from": "2000-01-01"},
        "symbol_history": {"node_id": "checkout"},
        "graph_at_time": {"at": "2100-01-01"},
        "find_stale_files": {},
        "detect_drift": {"from": "2000-01-01"},
        "get_cross_repo": {},
        "find_service_links": {"target": "pkg:pypi:requests"},
        "list_findings": {},
        "get_metrics": {},
        "review_diff": {"diff": "--- a/shop/web.py\n+++ b/shop/web.py\n@@ -1 +1 @@\n-\n+#\n"},
        "session_checkpoint": {"session_id": "s-1", "summary": "Begun."},
        "session_context": {},
        "handoff": {},
        "work": {},
        "mark_decision": {"decision": "Cents are whole.", "rationale": "They add up."},
        "mark_requirement": {"requirement": "Refunds take a day at most."},
        "codemem_status": {},
        "list_namespaces": {},
    }


def _conversation(agent: Agent, mode: str, talk: Callable[[Client], Any]) -> Any:
    """Talk to the server through the official client, bound to no repository but by its path."""

    async def connect() -> Any:
        headers = {"Authorization": f"Bearer {agent.token}"}
        path = f"/mcp/r/{agent.namespace}/shop" if mode == "auto" else "/mcp"
        transport = streamable_http_client(
            f"{agent.url}{path}?toolsets=all", http_client=create_mcp_http_client(headers=headers)
        )
        async with Client(transport, mode=mode) as client:
            return await talk(client)

    return anyio.run(connect)
