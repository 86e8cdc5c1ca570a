from uuid import UUID, uuid4

import pytest
from age.models import Edge, Vertex

from graph import cypher

pytestmark = pytest.mark.django_db


@pytest.fixture
def graph(db):
    return cypher.ensure_graph(uuid4())


@pytest.mark.parametrize(
    "value",
    [
        'quotes " and \\ backslashes \\n',
        "new\nline\ttab",
        'ends with "',
        "日本 🎉",
        "100 % of $$ and ' and {}",
        [1, 2.5, True, None, ["deep"]],
        {'key "quoted"': {"inner": "x"}},
        -7,
        9_999_999_999,
        0.1,
        False,
        None,
        "",
    ],
)
def test_a_value_comes_back_as_it_was_sent(graph, value):
    ((back,),) = cypher.run(
        graph=graph, query="RETURN $value", columns=["value"], parameters={"value": value}
    )

    assert back == value


def test_vertices_and_edges_come_as_objects(graph):
    cypher.run(
        graph=graph,
        query='CREATE (:Memory {uid: "a"})-[:RELATES_TO {w: 0.5}]->(:Memory {uid: "b"})',
        columns=["nothing"],
    )

    ((vertex, edge),) = cypher.run(
        graph=graph, query="MATCH (a)-[e]->() RETURN a, e", columns=["a", "e"]
    )

    assert isinstance(vertex, Vertex)
    assert (vertex.label, vertex.properties) == ("Memory", {"uid": "a"})
    assert isinstance(edge, Edge)
    assert edge.properties == {"w": 0.5}


def test_a_parameter_is_never_part_of_the_query(graph):
    attack = "x'}) DETACH DELETE n //"
    cypher.run(graph=graph, query='CREATE (:Memory {uid: "kept"})', columns=["nothing"])

    rows = cypher.run(
        graph=graph,
        query="MATCH (n:Memory {uid: $uid}) RETURN n",
        columns=["n"],
        parameters={"uid": attack},
    )

    assert rows == []
    assert cypher.run(graph=graph, query="MATCH (n) RETURN count(*)", columns=["n"]) == [(1,)]


def test_a_percent_sign_in_a_query_is_a_percent_sign(graph):
    assert cypher.run(graph=graph, query="RETURN 7 % 4, '%s'", columns=["a", "b"]) == [(3, "%s")]


@pytest.mark.parametrize("name", ["ns_1", "public", "ns_" + "g" * 32, "x'; drop table y; --"])
def test_only_names_of_namespaces_graphs_are_taken(name):
    with pytest.raises(ValueError, match="graph"):
        cypher.run(graph=name, query="RETURN 1", columns=["one"])


def test_only_names_are_taken_for_columns(graph):
    with pytest.raises(ValueError, match="column"):
        cypher.run(graph=graph, query="RETURN 1", columns=["one) --"])


def test_numbers_that_json_lacks_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        cypher.agtype_text({"x": float("nan")})


def test_a_graph_is_named_after_its_namespace():
    namespace_id = UUID("0190a0b0-0000-7000-8000-000000000001")

    assert cypher.graph_name(namespace_id) == "ns_0190a0b0000070008000000000000001"


def test_a_graph_is_made_once_and_dropped_whole(db):
    namespace_id = uuid4()

    assert not cypher.has_graph(namespace_id)
    assert cypher.ensure_graph(namespace_id) == cypher.ensure_graph(namespace_id)
    assert cypher.has_graph(namespace_id)
    cypher.drop_graph(namespace_id)
    cypher.drop_graph(namespace_id)
    assert not cypher.has_graph(namespace_id)
