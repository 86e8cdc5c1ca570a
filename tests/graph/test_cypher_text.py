"""What people's Cypher may say."""

import pytest

from graph.cypher_text import LONGEST, CypherRefused, read_query


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("RETURN 1", ("1",)),
        ("MATCH (s:Symbol) RETURN s.name, count(*) AS n ORDER BY n DESC LIMIT 3", ("s.name", "n")),
        ("MATCH (s) RETURN DISTINCT s.kind AS `the kind`", ("the kind",)),
        ("MATCH (s) WITH s ORDER BY s.name RETURN [s.a, s.b] AS pair, {x: 1, y: 2} AS map",
         ("pair", "map")),
        ("RETURN 'a, b; DELETE // SET' AS text, \"x'\" AS other", ("text", "other")),
        ("MATCH (a)-[e:CALLS|IMPORTS]->(b) WHERE NOT (a)-[:INHERITS]->(b) RETURN type(e)",
         ("type(e)",)),
        ("RETURN 1 AS one UNION RETURN 2 AS one", ("one",)),
        ("/* SET */ MATCH (s) // a remark\n RETURN s.set AS value", ("value",)),
        ("MATCH (s {create: 1}) RETURN s.limit", ("s.limit",)),
        ("RETURN 2 * 3 AS six, CASE WHEN (1 = 1) THEN (2) ELSE (3) END AS two", ("six", "two")),
        ("RETURN [x IN [1, 2] WHERE x > 1 | x * 2] AS list", ("list",)),
    ],
)  # fmt: skip
def test_a_query_that_reads_is_taken_with_its_columns(text, columns):
    query = read_query(text)
    assert (query.text, query.columns) == (text, columns)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (n:Symbol) RETURN n",
        "MATCH (n) SET n.x = 1 RETURN n",
        "match (n) set n.x = 1 return n",
        "MATCH (n) DETACH DELETE n RETURN 1",
        "MATCH (n) REMOVE n.x RETURN n",
        "MERGE (n:Symbol {uid: 'x'}) RETURN n",
        "CALL pg_catalog.pg_sleep(1) YIELD x RETURN x",
        "LOAD CSV FROM 'x' AS line RETURN line",
        "EXPLAIN MATCH (n) RETURN n",
        "RETURN pg_sleep(1)",
        "RETURN pg_catalog.pg_sleep(1)",
        "RETURN pg_catalog . pg_sleep(1)",
        "RETURN pg_catalog./* */pg_sleep(1)",
        "RETURN `pg_catalog`.`pg_sleep`(1)",
        "RETURN `pg_sleep` (1)",
        "RETURN PG_READ_FILE('/etc/passwd')",
        "RETURN dblink('', '')",
        "RETURN set_config('role', 'x', false)",
        "RETURN load_labels_from_file('g', 'l', 'f')",
        "RETURN range(1, 1000000000)",
        "MATCH (a)-[e]->() RETURN startNode(e)",
        "MATCH p = shortestPath((a)-[:CALLS]->(b)) RETURN p",
        "MATCH (a)-[*]->(b) RETURN b",
        "MATCH (a)-[e:CALLS*1..9]->(b) RETURN b",
        "MATCH (a)<-[:CALLS *2]-(b) RETURN b",
        "MATCH (a)-[:CALLS {x: 1} * 2..]-(b) RETURN b",
        "MATCH (n) RETURN n; DELETE n",
        "RETURN $parameter",
        "RETURN '1'::pg_bigint",
        "MATCH (n) RETURN *",
        "MATCH (n)",
        "RETURN 1 AS a, 2 AS a",
        "RETURN 1,",
        "RETURN (1",
        "RETURN 1)",
        "RETURN " + "(" * 30 + "1" + ")" * 30,
        "RETURN " + ", ".join(f"{n} AS c{n}" for n in range(40)),
        "RETURN 1 " + " " * LONGEST,
        "RETURN 'open",
        "RETURN $$",
        "",
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_a_reason(text):
    with pytest.raises(CypherRefused) as refused:
        read_query(text)
    assert str(refused.value).endswith((".", "AS."))
