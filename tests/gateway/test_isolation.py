"""Who is not a member learns nothing: not even whether what they name exists."""

import json
from uuid import UUID

import pytest

from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace
from codemem.accounts.values import PERMISSIONS, Action, TokenScope
from codemem.gateway import tool
from memory.services import store_memory
from tests import factories
from tests.factories import NOW
from tests.gateway import surfaces
from tests.gateway.examples import EXAMPLES, Arguments
from tests.gateway.surfaces import Answer, Surface
from tests.gateway.team import DECISION, FOREIGN_WORD, Team

TOOLS = list(tool.registry())
NEEDED = {
    "store_memories": Action.WRITE_MEMORY,
    "store_memory": Action.WRITE_MEMORY,
    "recall": Action.READ_MEMORY,
    "check_prior_failures": Action.READ_MEMORY,
    "search_sessions": Action.READ_MEMORY,
    "delete_memory": Action.WRITE_MEMORY,
    "associate_memories": Action.WRITE_MEMORY,
    "refine_memory": Action.WRITE_MEMORY,
    "split_memory": Action.WRITE_MEMORY,
    "merge_memories": Action.WRITE_MEMORY,
    "questions": Action.READ_MEMORY,
    "mark_memory": Action.WRITE_MEMORY,
    "memory_history": Action.READ_MEMORY,
    "get_decision_chain": Action.READ_MEMORY,
    "get_node_memories": Action.READ_MEMORY,
    "node_coverage": Action.READ_MEMORY,
    "consolidate": Action.DELETE_ANY_MEMORY,
    "expand_summary": Action.READ_MEMORY,
    "detect_patterns": Action.READ_MEMORY,
    "list_proposals": Action.READ_MEMORY,
    "decide_proposal": Action.WRITE_MEMORY,
    "session_checkpoint": Action.WRITE_MEMORY,
    "session_context": Action.READ_MEMORY,
    "handoff": Action.WRITE_MEMORY,
    "work": Action.WRITE_MEMORY,
    "mark_decision": Action.WRITE_MEMORY,
    "mark_requirement": Action.WRITE_MEMORY,
    "review_diff": Action.RUN_REVIEW,
    "namespace_stats": Action.READ_MEMORY,
    "delete_namespace": Action.DELETE_NAMESPACE,
}
# Membership alone opens it: an agent must be able to learn where it may ask.
NEEDS_NO_SCOPE = {"list_namespaces"}


@pytest.mark.parametrize("surface", [Surface.REST, Surface.MODERN_MCP])
@pytest.mark.parametrize("name", TOOLS)
def test_a_foreign_namespace_is_like_none(name: str, surface: Surface, team: Team) -> None:
    works = EXAMPLES[name].works(team)
    token = team.token(team.outsider)
    theirs = _ask(token, name, {**works, "namespace": "team"}, surface)
    nobodys = _ask(token, name, {**works, "namespace": "nowhere"}, surface)
    assert theirs.code == "not_found"
    assert theirs.text.replace("team", "nowhere") == nobodys.text


@pytest.mark.parametrize("name", TOOLS)
def test_a_foreign_repository_is_like_none(name: str, team: Team) -> None:
    works = EXAMPLES[name].works(team) | {"namespace": team.foreign_namespace.name}
    token = team.token(team.outsider)
    theirs = _ask(token, name, {**works, "repository": "app"})
    nobodys = _ask(token, name, {**works, "repository": "nothing"})
    assert theirs.code == "not_found"
    assert theirs.text.replace("app", "nothing") == nobodys.text.replace("app", "nothing")


@pytest.mark.parametrize("name", TOOLS)
def test_a_foreign_id_is_like_none(name: str, team: Team) -> None:
    place = {
        "namespace": team.foreign_namespace.name,
        "repository": team.foreign_repository.name,
    }
    foreign = EXAMPLES[name].foreign(team)
    works = EXAMPLES[name].works(team) | place
    # Other ids of the example are the team's as well: each is replaced by one that is the asker's.
    own = {key: _own_id(team, value) for key, (value, _) in foreign.items()}
    token = team.token(team.outsider)
    for parameter, (theirs, nobodys) in foreign.items():
        about_theirs = _ask(token, name, {**works, **own, parameter: theirs})
        about_nobodys = _ask(token, name, {**works, **own, parameter: nobodys})
        assert about_theirs.code == "not_found", (parameter, about_theirs.text)
        assert _without(about_theirs, theirs) == _without(about_nobodys, nobodys)


@pytest.mark.parametrize("name", TOOLS)
def test_an_archived_namespace_is_like_none(name: str, team: Team) -> None:
    works = EXAMPLES[name].works(team)
    token = team.token(team.owner)
    accounts.archive_namespace(namespace=team.namespace, actor="olga", now=NOW)
    theirs = _ask(token, name, {**works, "namespace": "team"})
    nobodys = _ask(token, name, {**works, "namespace": "nowhere"})
    assert theirs.code == "not_found"
    assert theirs.text.replace("team", "nowhere") == nobodys.text


@pytest.mark.parametrize("name", TOOLS)
def test_a_token_for_another_namespace_sees_none_of_this_one(name: str, team: Team) -> None:
    other = factories.make_namespace("other", owner=team.owner)
    works = EXAMPLES[name].works(team)
    token = team.token(team.owner, namespaces=[other])
    theirs = _ask(token, name, {**works, "namespace": "team"})
    nobodys = _ask(token, name, {**works, "namespace": "nowhere"})
    assert theirs.code == "not_found"
    assert theirs.text.replace("team", "nowhere") == nobodys.text


@pytest.mark.parametrize("name", [name for name in TOOLS if name not in NEEDS_NO_SCOPE])
def test_a_token_without_the_scope_is_told_which_one(name: str, team: Team) -> None:
    needed = PERMISSIONS[NEEDED.get(name, Action.READ_GRAPH)].scope
    token = team.token(team.owner, scopes=set(TokenScope) - {needed})
    answer = _ask(token, name, EXAMPLES[name].works(team))
    assert answer.code == "right_missing"
    assert needed in answer.content["error"]["message"]


@pytest.mark.parametrize("name", [name for name in TOOLS if EXAMPLES[name].writes])
def test_a_reader_is_told_which_role_writing_takes(name: str, team: Team) -> None:
    answer = _ask(team.token(team.reader), name, EXAMPLES[name].works(team))
    assert answer.code == "right_missing"
    assert EXAMPLES[name].role in answer.content["error"]["message"]


@pytest.mark.parametrize(
    "name",
    [name for name in TOOLS if not (EXAMPLES[name].writes or EXAMPLES[name].sees_committed_only)],
)
def test_a_reader_reads(name: str, team: Team) -> None:
    assert _ask(team.token(team.reader), name, EXAMPLES[name].works(team)).code == "ok"


@pytest.mark.parametrize("name", TOOLS)
def test_no_answer_says_anything_of_a_foreign_namespace(name: str, team: Team) -> None:
    works = EXAMPLES[name].works(team)
    unscoped = {
        key: value for key, value in works.items() if key not in {"namespace", "repository"}
    }
    token = team.token(team.owner)
    for arguments in (works, unscoped, {}):
        assert FOREIGN_WORD not in _ask(token, name, arguments).text


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("recall", {"query": f"{FOREIGN_WORD} combination"}),
        ("search_code", {"query": f"{FOREIGN_WORD} open_safe", "mode": "text"}),
        ("search_code", {"query": f"{FOREIGN_WORD} open_safe"}),
    ],
)
def test_no_search_finds_anything_foreign(name: str, arguments: Arguments, team: Team) -> None:
    found = _ask(team.token(team.owner), name, arguments).content["results"]
    assert FOREIGN_WORD not in json.dumps(found)


def test_counts_leave_out_what_is_foreign(team: Team) -> None:
    counts = _ask(team.token(team.reader), "codemem_status", {}).content["counts"]
    assert (counts["namespaces"], counts["repositories"], counts["memories"]) == (1, 1, 2)
    assert counts["nodes"]["function"] == 3


def test_a_walk_does_not_pass_through_memories_that_the_token_may_not_read(team: Team) -> None:
    arguments = EXAMPLES["graph_traverse"].works(team) | {"start_id": "sym:app/billing.py#charge"}
    scopes = set(TokenScope) - {TokenScope.MEMORY_READ}
    walked = _ask(team.token(team.owner, scopes=scopes), "graph_traverse", arguments)
    assert walked.code == "ok"
    assert DECISION not in walked.text
    assert "memory" not in {visit["kind"] for visit in walked.content["visits"]}


def test_knowledge_about_code_is_left_out_for_tokens_that_may_not_read_memories(
    team: Team,
) -> None:
    arguments = EXAMPLES["get_symbol_info"].works(team) | {"qualified_name": "Invoice.total"}
    assert DECISION in _ask(team.token(team.owner), "get_symbol_info", arguments).text
    scopes = set(TokenScope) - {TokenScope.MEMORY_READ}
    for name, asked in (
        ("get_symbol_info", arguments),
        ("review_diff", EXAMPLES["review_diff"].works(team)),
        ("codemem_status", {}),
        ("list_namespaces", {}),
    ):
        answer = _ask(team.token(team.owner, scopes=scopes), name, asked)
        assert answer.code == "ok"
        assert DECISION not in answer.text
        assert '"memories":2' not in answer.text
        assert "memory_count" not in answer.text


def test_a_memory_of_another_own_namespace_is_not_the_named_ones(team: Team) -> None:
    other = factories.make_namespace("other", owner=team.owner)
    elsewhere = _stored_in(team, other)
    token = team.token(team.owner)
    for namespace in ("team", "nowhere"):
        arguments = {"id": str(elsewhere), "namespace": namespace}
        assert _ask(token, "delete_memory", arguments).code == "not_found"
    assert _ask(token, "delete_memory", {"id": str(elsewhere)}).code == "ok"


def test_nothing_is_tied_across_namespaces(team: Team) -> None:
    elsewhere = _stored_in(team, factories.make_namespace("other", owner=team.owner))
    arguments = {
        "source_id": str(team.decision),
        "target_id": str(elsewhere),
        "relationship": "EXPLAINS",
    }
    assert _ask(team.token(team.owner), "associate_memories", arguments).is_error


def _ask(token: str, name: str, arguments: object, surface: Surface = Surface.REST) -> Answer:
    return surfaces.call(surface, token=token, tool=name, arguments=arguments)


def _own_id(team: Team, theirs: object) -> object:
    if isinstance(theirs, list):
        return [str(team.foreign_note)]
    text = str(theirs)
    if text.startswith("sym:"):
        return f"sym:{FOREIGN_WORD}/safe.py#open_safe"
    return f"file:{FOREIGN_WORD}/safe.py" if text.startswith("file:") else str(team.foreign_note)


def _without(answer: Answer, asked: object) -> str:
    """Return the answer's text without the id that was asked about."""
    text = answer.text
    for value in asked if isinstance(asked, list) else [asked]:
        text = text.replace(str(value), "?")
    return text


def _stored_in(team: Team, namespace: Namespace) -> UUID:
    outcome = store_memory(
        caller=factories.caller_of(team.owner),
        namespace_id=namespace.pk,
        content="Other teams have other habits.",
        memory_type="habit",
        now=NOW,
    )
    return outcome.memory.id
