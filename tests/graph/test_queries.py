from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from codemem.accounts.models import Namespace
from codemem.accounts.services import archive_namespace
from codemem.accounts.values import Action, TokenScope
from graph import queries, services
from graph.models import NodeScore, Repository
from graph.queries import Algorithm, NodeUnknown
from graph.values import (
    LINK_LABEL,
    CommitRow,
    Direction,
    EdgeFact,
    EdgeKind,
    Node,
    NodeKind,
    PutReport,
    Score,
    SymbolFact,
    TreeNode,
    VertexLabel,
    graph_id,
)
from tests.factories import (
    NOW,
    caller_of,
    edge_fact,
    file_fact,
    make_namespace,
    make_repository,
    make_user,
    snapshot,
    symbol_fact,
)

pytestmark = pytest.mark.django_db


def put(
    repository: Repository,
    *symbols: SymbolFact,
    edges: Iterable[EdgeFact] = (),
    **changes: Any,
) -> PutReport:
    wanted = snapshot(*symbols, edges=edges, **changes)
    return services.put(repository_id=repository.pk, ref_name="main", snapshot=wanted)


def node(repository: Repository, text: str) -> Node:
    (found,) = queries.find_nodes(repository_id=repository.pk, text=text)
    return found


def ids(nodes: Iterable[Node]) -> list[str]:
    return [each.id for each in nodes]


# --- who sees what ------------------------------------------------------------------------------
@pytest.mark.parametrize("member", ["owner", "maintainer", "writer", "reader"])
def test_a_member_sees_the_repositories_of_the_namespace(repository, member, request):
    caller = caller_of(request.getfixturevalue(member))

    assert list(queries.visible_repositories(caller=caller)) == [repository]


def test_an_outsider_sees_only_their_own(repository, outsider):
    mine = make_repository(Namespace.objects.get(name="elsewhere"))

    assert list(queries.visible_repositories(caller=caller_of(outsider))) == [mine]


def test_a_token_without_the_scope_sees_none(repository, owner):
    caller = caller_of(owner, scopes=[TokenScope.MEMORY_READ])

    assert not queries.visible_repositories(caller=caller).exists()


def test_a_reader_may_not_manage_what_they_see(repository, reader):
    found = queries.visible_repositories(
        caller=caller_of(reader), action=Action.MANAGE_REPOSITORIES
    )

    assert not found.exists()


def test_an_archived_namespace_shows_none(repository, owner, namespace):
    archive_namespace(namespace=namespace, actor="olga", now=NOW)

    assert not queries.visible_repositories(caller=caller_of(owner)).exists()


# --- repositories -------------------------------------------------------------------------------
def test_a_repository_is_found_by_name_id_and_remote(namespace):
    app = make_repository(namespace, "app", url="git@git.example:team/app.git")

    for text in ("app", str(app.pk), "https://git.example/team/app"):
        found = queries.find_repositories(namespace_ids=[namespace.pk], name=text)
        assert [row.id for row in found] == [app.pk], text


def test_a_repository_is_not_found_from_another_namespace(repository):
    other = make_namespace()

    for text in ("app", str(repository.pk), repository.url, None):
        assert queries.find_repositories(namespace_ids=[other.pk], name=text) == []


def test_a_remote_decides_before_the_root_commit(namespace):
    app = make_repository(namespace, "app")
    fork = make_repository(namespace, "fork")
    for repository in (app, fork):
        note_head(repository, root_commit="f" * 40)

    both = queries.find_repositories_by_alias(
        namespace_ids=[namespace.pk], remote=None, root_commit="f" * 40
    )
    one = queries.find_repositories_by_alias(
        namespace_ids=[namespace.pk], remote=fork.url, root_commit="f" * 40
    )

    assert {row.name for row in both} == {"app", "fork"}
    assert [row.name for row in one] == ["fork"]


def note_head(
    repository: Repository, *, sha: str = "1" * 40, behind: int = 3, **changes: Any
) -> None:
    commit = CommitRow(
        sha=sha,
        parents=(),
        author_name="Ada",
        author_email="ada@example.org",
        authored_at=NOW,
        committed_at=NOW,
        subject="Begin",
    )
    values: dict[str, Any] = {
        "ref": "main",
        "root_commit": None,
        "count_behind": lambda _: behind,
        "now": NOW,
    }
    services.note_head(repository_id=repository.pk, commit=commit, **(values | changes))


# --- refs ---------------------------------------------------------------------------------------
def test_a_ref_says_how_far_the_graph_is_behind_it(repository):
    put(repository, symbol_fact("a.py", "foo"), commit="1")
    note_head(repository, sha="2" * 40, behind=3)

    state = queries.get_ref_state(repository_id=repository.pk, ref=None)

    assert (state.ref, state.requested_ref) == ("main", None)
    assert (state.indexed_commit, state.head_commit) == ("1" * 40, "2" * 40)
    assert (state.behind_by, state.is_pending) == (3, True)


def test_the_states_of_many_refs_are_asked_for_at_once(namespace, repository):
    other = make_repository(namespace, "other")
    put(repository, symbol_fact("a.py", "foo"), commit="1")
    note_head(repository, sha="2" * 40, behind=3)
    asked = [(other.pk, None), (repository.pk, "feature"), (repository.pk, None)]

    with CaptureQueriesContext(connection) as taken:
        states = queries.list_ref_states(asked=[*asked, (uuid4(), None)])

    # What nobody knows (any more) is left out.
    assert states == {
        (key, ref): queries.get_ref_state(repository_id=key, ref=ref) for key, ref in asked
    }
    assert [states[one].is_pending for one in asked] == [False, False, True]
    assert len(taken) == 1
    assert queries.list_ref_states(asked=[]) == {}


def test_an_indexed_head_is_behind_by_nothing(repository):
    note_head(repository, sha="1" * 40)
    put(repository, symbol_fact("a.py", "foo"), commit="1")

    state = queries.get_ref_state(repository_id=repository.pk, ref="main")

    assert (state.behind_by, state.is_pending, state.is_indexed) == (0, False, True)


def test_an_unknown_ref_is_said_to_be_unknown(repository):
    put(repository, symbol_fact("a.py", "foo"))

    state = queries.get_ref_state(repository_id=repository.pk, ref="feature")

    assert (state.ref, state.is_known, state.is_indexed) == ("feature", False, False)


# --- nodes --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sym:src/user.py#User.save", ["sym:src/user.py#User.save"]),
        ("src/user.py#User.save", ["sym:src/user.py#User.save"]),
        ("src/user.py::User.save", ["sym:src/user.py#User.save"]),
        ("src.user.User.save", ["sym:src/user.py#User.save"]),
        ("User.save", ["sym:src/user.py#User.save"]),
        ("User::save", ["sym:src/user.py#User.save"]),
        ("user.User.save()", ["sym:src/user.py#User.save"]),
        ("file:src/user.py", ["file:src/user.py"]),
        ("./src/user.py", ["file:src/user.py"]),
        ("user.py", ["file:src/user.py"]),
        ("save", ["sym:src/team.py#Team.save", "sym:src/user.py#User.save"]),
        ("load~1", []),
        ("sym:src/user.py#load~1", ["sym:src/user.py#load~1"]),
        ("load", ["sym:src/user.py#load", "sym:src/user.py#load~1"]),
        ("sav", []),
        ("file:src/gone.py", []),
        ("", []),
        ("\0", []),
    ],
)
def test_a_node_is_found_by_what_people_call_it(repository, text, expected):
    put(
        repository,
        symbol_fact("src/user.py", "User", kind=NodeKind.CLASS),
        symbol_fact("src/user.py", "User.save", kind=NodeKind.METHOD),
        symbol_fact("src/user.py", "load", line=20),
        symbol_fact("src/user.py", "load", line=30, ordinal=1),
        symbol_fact("src/team.py", "Team.save", kind=NodeKind.METHOD),
    )

    found = queries.find_nodes(repository_id=repository.pk, text=text)

    assert sorted(ids(found)) == expected


def test_the_most_important_of_several_candidates_stands_first(repository):
    put(repository, symbol_fact("a.py", "A.save"), symbol_fact("b.py", "B.save"))
    second = node(repository, "B.save")
    services.store_scores(
        repository_id=repository.pk,
        scores=[Score(vertex=second.vertex, rank=0.9, percentile=1.0, in_degree=5)],
    )

    found = queries.find_nodes(repository_id=repository.pk, text="save")

    assert ids(found) == ["sym:b.py#B.save", "sym:a.py#A.save"]


def test_a_removed_symbol_is_found_no_more(repository):
    put(repository, symbol_fact("a.py", "foo"))
    put(repository, files=[file_fact("a.py", blob="2")], at=2_000)

    assert queries.find_nodes(repository_id=repository.pk, text="foo") == []
    with pytest.raises(NodeUnknown):
        queries.get_node(repository_id=repository.pk, id="sym:a.py#foo")


def test_a_node_of_another_repository_is_unknown(repository, namespace):
    put(make_repository(namespace), symbol_fact("a.py", "foo"))

    assert queries.find_nodes(repository_id=repository.pk, text="foo") == []
    with pytest.raises(NodeUnknown):
        queries.get_node(repository_id=repository.pk, id="file:a.py")


def test_symbols_of_files_come_in_the_order_of_their_lines(repository):
    put(
        repository,
        symbol_fact("a.py", "second", line=20),
        symbol_fact("a.py", "first", line=2),
        symbol_fact("b.py", "other"),
    )

    found = queries.live_symbols_in(repository_id=repository.pk, paths=["a.py", "gone.py"])

    assert {path: [row.name for row in rows] for path, rows in found.items()} == {
        "a.py": ["first", "second"]
    }


def test_equal_texts_are_embedded_once(repository):
    put(repository, symbol_fact("a.py", "foo"), symbol_fact("b.py", "bar"))
    tasks = queries.symbols_to_embed(repository_id=repository.pk, fingerprint="m", limit=10)

    services.store_symbol_embeddings(vectors={tasks[0].digest: [0.1] * 384}, fingerprint="m")

    left = queries.symbols_to_embed(repository_id=repository.pk, fingerprint="m", limit=10)
    assert len(tasks) == 2
    assert [task.digest for task in left] == [tasks[1].digest]
    assert len(queries.symbols_to_embed(repository_id=repository.pk, fingerprint="n", limit=9)) == 2


# --- edges --------------------------------------------------------------------------------------
@pytest.fixture
def chain(repository):
    """Return a repository where d calls c calls b calls a, and x.py imports a."""
    put(
        repository,
        *(symbol_fact(f"{name}.py", name, line=10) for name in "abcd"),
        symbol_fact("x.py", "unrelated"),
        symbol_fact("y.py", "importer_of_x"),
        edges=[
            edge_fact("sym:b.py#b", "sym:a.py#a", line=12),
            edge_fact("sym:c.py#c", "sym:b.py#b", confidence=0.7),
            edge_fact("sym:d.py#d", "sym:c.py#c"),
            edge_fact("sym:d.py#d", "sym:a.py#a", confidence=0.2, rule="name"),
            edge_fact("file:x.py", "sym:a.py#a", EdgeKind.IMPORTS, line=3),
            edge_fact("file:y.py", "file:x.py", EdgeKind.IMPORTS),
        ],
    )
    return repository


def test_neighbors_tell_kind_confidence_rule_and_line(chain):
    start = node(chain, "b.b")

    found = queries.neighbors(namespace_id=chain.namespace_id, vertices=[start.vertex])

    assert [
        (row.node.id, row.edge.kind, row.edge.confidence, row.edge.rule, row.edge.line)
        for row in found.neighbors
        if row.node is not None
    ] == [
        ("sym:a.py#a", "CALLS", 0.9, "import", 12),
        ("sym:c.py#c", "CALLS", 0.7, "import", 10),
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"direction": Direction.OUT}, []),
        ({"direction": Direction.IN}, ["sym:b.py#b", "file:x.py", "sym:d.py#d"]),
        ({"kinds": ["IMPORTS"]}, ["file:x.py"]),
        ({"minimum_confidence": 0.5}, ["sym:b.py#b", "file:x.py"]),
        ({"limit": 1}, ["sym:b.py#b"]),
    ],
)
def test_neighbors_are_chosen_by(chain, arguments, expected):
    start = node(chain, "a.a")

    found = queries.neighbors(namespace_id=chain.namespace_id, vertices=[start.vertex], **arguments)

    assert [row.node.id for row in found.neighbors if row.node] == expected
    assert found.is_truncated == ("limit" in arguments)


def test_dependents_come_nearest_first_and_stop_behind_files(chain):
    start = node(chain, "a.a")

    found = queries.dependents(namespace_id=chain.namespace_id, vertices=[start.vertex])

    assert [(row.node.id, row.depth) for row in found.dependents] == [
        ("file:x.py", 1),
        ("sym:b.py#b", 1),
        ("sym:c.py#c", 2),
        ("sym:d.py#d", 3),
    ]
    assert not found.is_truncated


def test_a_file_that_is_asked_about_has_dependents(chain):
    start = node(chain, "x.py")

    found = queries.dependents(namespace_id=chain.namespace_id, vertices=[start.vertex])

    assert [row.node.id for row in found.dependents] == ["file:y.py"]


def test_dependents_go_no_deeper_than_asked(chain):
    start = node(chain, "a.a")

    found = queries.dependents(
        namespace_id=chain.namespace_id, vertices=[start.vertex], max_depth=1
    )

    assert {row.depth for row in found.dependents} == {1}
    assert not found.is_truncated


def test_the_dependents_of_a_hub_are_bounded_and_said_to_be(repository):
    callers = [symbol_fact("b.py", f"caller_{number}", line=number) for number in range(60)]
    put(
        repository,
        symbol_fact("a.py", "hub"),
        *callers,
        edges=[edge_fact(caller.id, "sym:a.py#hub") for caller in callers],
    )
    hub = node(repository, "hub")

    for limit, expected in ((10, 10), (59, 59), (60, 60), (100, 60)):
        found = queries.dependents(
            namespace_id=repository.namespace_id, vertices=[hub.vertex], node_limit=limit
        )
        assert len(found.dependents) == expected
        assert expected == queries.count_dependents(
            namespace_id=repository.namespace_id, vertices=[hub.vertex], limit=limit
        )
        assert found.is_truncated == (limit < 60)


def test_nodes_that_call_each_other_are_told_once(repository):
    put(
        repository,
        symbol_fact("a.py", "ping"),
        symbol_fact("b.py", "pong"),
        edges=[
            edge_fact("sym:a.py#ping", "sym:b.py#pong"),
            edge_fact("sym:b.py#pong", "sym:a.py#ping"),
            edge_fact("sym:a.py#ping", "sym:a.py#ping"),
        ],
    )
    ping = node(repository, "ping")

    found = queries.dependents(
        namespace_id=repository.namespace_id, vertices=[ping.vertex], max_depth=9
    )

    assert [row.node.id for row in found.dependents] == ["sym:b.py#pong"]


def test_edges_of_a_namespace_without_graph_are_none(db):
    namespace = make_namespace()

    assert queries.neighbors(namespace_id=namespace.pk, vertices=[1]).neighbors == ()
    assert queries.dependents(namespace_id=namespace.pk, vertices=[1]).dependents == ()
    assert queries.counts(namespace_ids=[namespace.pk]).nodes == {}


def test_another_namespace_gives_no_edges_of_this_one(chain, outsider):
    elsewhere = Namespace.objects.get(name="elsewhere")
    make_repository(elsewhere)
    start = node(chain, "a.a")

    found = queries.neighbors(namespace_id=elsewhere.pk, vertices=[start.vertex])

    assert found.neighbors == ()


# --- traversal ----------------------------------------------------------------------------------
def visited(chain: Repository, **arguments: Any) -> list[str | int]:
    start = node(chain, arguments.pop("start", "a.a"))
    found = queries.traverse(namespace_id=chain.namespace_id, starts=[start.vertex], **arguments)
    return [visit.node.id if visit.node else visit.vertex for visit in found.visits]


def test_a_traversal_goes_both_ways_by_shortest_paths(chain):
    start = node(chain, "b.b")

    found = queries.traverse(namespace_id=chain.namespace_id, starts=[start.vertex], max_depth=2)

    depths = {visit.node.id: visit.depth for visit in found.visits if visit.node}
    assert depths == {
        "sym:b.py#b": 0,
        "sym:a.py#a": 1,
        "sym:c.py#c": 1,
        "file:x.py": 2,
        "sym:d.py#d": 2,
    }
    by_id = {visit.node.id: visit for visit in found.visits if visit.node}
    assert by_id["file:x.py"].reached_from == by_id["sym:a.py#a"].vertex
    edge = by_id["file:x.py"].edge
    assert edge is not None
    assert edge.kind == "IMPORTS"


def test_a_traversal_follows_only_the_kinds_and_the_direction_asked_for(chain):
    found = visited(chain, start="d.d", direction=Direction.OUT, kinds=["CALLS"], max_depth=5)

    assert found == ["sym:d.py#d", "sym:c.py#c", "sym:b.py#b", "sym:a.py#a"]


def test_excluded_kinds_are_neither_told_nor_walked_through(chain):
    from_code = visited(chain, exclude_node_kinds=[NodeKind.FILE], max_depth=3)
    from_file = visited(chain, start="y.py", exclude_node_kinds=[NodeKind.FILE], max_depth=3)

    assert "file:y.py" not in from_code
    assert from_file == ["file:y.py"]


def test_depth_first_tells_each_branch_to_its_end(chain):
    arguments = {"max_depth": 3, "minimum_confidence": 0.5, "start": "b.b"}

    assert visited(chain, algorithm=Algorithm.BREADTH_FIRST, **arguments)[1:3] == [
        "sym:a.py#a",
        "sym:c.py#c",
    ]
    assert visited(chain, algorithm=Algorithm.DEPTH_FIRST, **arguments)[1:4] == [
        "sym:a.py#a",
        "file:x.py",
        "file:y.py",
    ]


def test_a_traversal_is_bounded_and_says_so(chain):
    start = node(chain, "a.a")

    found = queries.traverse(namespace_id=chain.namespace_id, starts=[start.vertex], node_limit=2)

    assert len(found.visits) == 2
    assert found.is_truncated


# --- links --------------------------------------------------------------------------------------
@pytest.fixture
def memory(chain):
    """Return the vertex of memory 7, which explains a."""
    vertex = services.ensure_memory_vertex(
        namespace_id=chain.namespace_id, number=7, memory_id=uuid4()
    )
    services.link(
        namespace_id=chain.namespace_id,
        source=vertex,
        target=node(chain, "a.a").vertex,
        kind="EXPLAINS",
        actor="olga",
        now=NOW,
        weight=0.8,
    )
    return vertex


def test_memories_are_found_by_the_code_they_are_tied_to(chain, memory):
    code = node(chain, "a.a").vertex

    numbers = queries.memories_linked_to(namespace_id=chain.namespace_id, vertices=[code])

    assert numbers == [7]
    (link,) = queries.links_of(namespace_id=chain.namespace_id, vertices=[code, memory])
    assert (link.kind, link.source, link.confidence) == ("EXPLAINS", memory, 0.8)


def test_a_traversal_passes_through_memories_by_their_relation(chain, memory):
    for kinds in (None, [LINK_LABEL], ["EXPLAINS"]):
        assert memory in visited(chain, kinds=kinds, max_depth=1)
    for arguments in ({"kinds": ["CALLS"]}, {"exclude_node_kinds": [NodeKind.MEMORY]}):
        assert memory not in visited(chain, max_depth=1, **arguments)


def test_links_are_counted_by_relation(chain, memory):
    assert queries.counts(namespace_ids=[chain.namespace_id]).links == {"EXPLAINS": 1}


# --- overviews ----------------------------------------------------------------------------------
@pytest.fixture
def forest(repository):
    put(
        repository,
        symbol_fact("src/app/user.py", "User", kind=NodeKind.CLASS),
        symbol_fact("src/app/user.py", "User.save", kind=NodeKind.METHOD, line=3),
        symbol_fact("src/cli.py", "main"),
        edges=[
            edge_fact("file:src/app/user.py", "sym:src/app/user.py#User", EdgeKind.CONTAINS),
            edge_fact(
                "sym:src/app/user.py#User", "sym:src/app/user.py#User.save", EdgeKind.CONTAINS
            ),
            edge_fact("file:src/cli.py", "sym:src/cli.py#main", EdgeKind.CONTAINS),
            edge_fact("sym:src/cli.py#main", "sym:src/app/user.py#User.save"),
        ],
        files=[file_fact(path) for path in ("src/app/user.py", "src/cli.py", "README.md")],
    )
    services.rank_repository(repository_id=repository.pk)
    return repository


def shape(tree: TreeNode) -> dict[str, list[Any]]:
    return {f"{tree.id} {tree.symbol_count}": [shape(child) for child in tree.children]}


def test_a_tree_shows_directories_files_and_symbols(forest):
    found = queries.tree(repository_id=forest.pk, max_depth=9)

    assert shape(found) == {
        "pkg: 3": [
            {
                "pkg:src/ 3": [
                    {
                        "pkg:src/app/ 2": [
                            {
                                "file:src/app/user.py 2": [
                                    {
                                        "sym:src/app/user.py#User 1": [
                                            {"sym:src/app/user.py#User.save 0": []}
                                        ]
                                    }
                                ]
                            }
                        ]
                    },
                    {"file:src/cli.py 1": [{"sym:src/cli.py#main 0": []}]},
                ]
            },
            {"file:README.md 0": []},
        ]
    }
    assert found.rank == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("start", "depth", "expected"),
    [
        (None, 1, {"pkg: 3": [{"pkg:src/ 3": []}, {"file:README.md 0": []}]}),
        ("pkg:src/app/", 1, {"pkg:src/app/ 2": [{"file:src/app/user.py 2": []}]}),
        (
            "file:src/app/user.py",
            1,
            {"file:src/app/user.py 2": [{"sym:src/app/user.py#User 1": []}]},
        ),
        (
            "sym:src/app/user.py#User",
            3,
            {"sym:src/app/user.py#User 1": [{"sym:src/app/user.py#User.save 0": []}]},
        ),
    ],
)
def test_a_tree_begins_anywhere_and_ends_at_its_depth(forest, start, depth, expected):
    found = queries.tree(repository_id=forest.pk, start=start, max_depth=depth)

    assert shape(found) == expected
    assert not found.is_truncated


def test_a_tree_says_what_found_no_room(forest):
    found = queries.tree(repository_id=forest.pk, max_depth=9, node_limit=2)

    assert shape(found) == {"pkg: 3": [{"pkg:src/ 3": []}]}
    assert found.is_truncated


@pytest.mark.parametrize("start", ["pkg:gone/", "file:gone.py", "sym:src/cli.py#gone", "what"])
def test_a_tree_of_nothing_is_an_error(forest, start):
    with pytest.raises(NodeUnknown):
        queries.tree(repository_id=forest.pk, start=start)


def test_the_most_important_nodes_are_told_by_kind(forest):
    every = queries.important_nodes(repository_ids=[forest.pk], limit=2)
    methods = queries.important_nodes(
        repository_ids=[forest.pk], limit=2, kinds=[NodeKind.FUNCTION]
    )
    files = queries.important_nodes(repository_ids=[forest.pk], limit=9, kinds=[NodeKind.FILE])

    assert ids(row.node for row in every)[0] == "sym:src/app/user.py#User.save"
    assert ids(row.node for row in methods) == ["sym:src/cli.py#main"]
    assert len(files) == 3
    assert every[0].score is not None
    assert every[0].score.percentile == 1.0
    assert queries.important_nodes(repository_ids=[], limit=5) == []


def test_what_is_gone_is_not_important(forest):
    put(forest, files=[file_fact("README.md")], at=2_000)

    found = queries.important_nodes(repository_ids=[forest.pk], limit=9)

    assert NodeScore.objects.count() > 1
    assert ids(row.node for row in found) == ["file:README.md"]


def test_counts_tell_nodes_by_kind_and_edges_by_label(forest, outsider):
    found = queries.counts(namespace_ids=[forest.namespace_id])

    assert found.repositories == 1
    assert found.nodes == {"class": 1, "method": 1, "function": 1, "file": 3}
    assert found.edges == {"CALLS": 1, "CONTAINS": 3}


def test_vertices_carry_label_and_key():
    assert graph_id(label=VertexLabel.SYMBOL, key=5) == (3 << 48) + 5
    assert VertexLabel.PULL_REQUEST.title == "PullRequest"


def test_two_users_never_share_a_repository_by_name(namespace, outsider):
    elsewhere = Namespace.objects.get(name="elsewhere")
    make_repository(namespace, "app", created_by=make_user())
    make_repository(elsewhere, "app")

    found = queries.find_repositories(namespace_ids=[namespace.pk, elsewhere.pk], name="app")

    assert {row.namespace_id for row in found} == {namespace.pk, elsewhere.pk}
