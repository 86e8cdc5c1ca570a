import json
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from psycopg import sql

from graph import cypher
from graph.models import FileVersion, Repository, Revision, SymbolVersion
from graph.services import put
from graph.services.embeddings import store_symbol_embeddings
from graph.values import EdgeKind, EntityFact, NodeKind, Snapshot, VertexLabel
from tests.factories import edge_fact, make_namespace, make_repository, snapshot, symbol_fact
from tests.graph.views import shown

pytestmark = pytest.mark.django_db

ODD = "a\\b \"c' \t{d,} \n\u00fc\u6f22 \x01 \\N"
SYMBOLS = (
    replace(
        symbol_fact("odd dir/\\n\t.py", ODD, doc=ODD, kind=NodeKind.METHOD),
        parameters=(ODD, "", "{}", "NULL"),
        decorators=('"quoted"', "plain\0"),
    ),
    symbol_fact("a.py", "twice", language="go"),
    symbol_fact("a.py", "twice", line=9, ordinal=1),
    symbol_fact("README.md", "Title", kind=NodeKind.DOCUMENT),
)
EDGES = (
    edge_fact("file:a.py", "sym:a.py#twice", EdgeKind.CONTAINS, confidence=1.0, rule=ODD),
    edge_fact("sym:a.py#twice~1", SYMBOLS[0].id, line=12, confidence=1e-5),
    edge_fact("sym:a.py#twice~1", SYMBOLS[0].id, line=11, confidence=0.75),
    edge_fact("sym:a.py#twice", "pkg:pypi:requests", EdgeKind.IMPORTS),
)
ENTITY = EntityFact(label=VertexLabel.PACKAGE, key="pkg:pypi:requests", name="requests")
WANTED = replace(snapshot(*SYMBOLS, edges=EDGES), entities=(ENTITY,))


def put_main(wanted: Snapshot, *, before: Snapshot | None = None) -> Repository:
    repository = make_repository(make_namespace())
    for one in (before, wanted):
        if one is not None:
            report = put(repository_id=repository.pk, ref_name="main", snapshot=one)
    assert report.revision == Revision.objects.filter(repository=repository).latest("pk").pk
    assert (report.symbols.opened, report.edges.opened) == (4, 3)
    return repository


def snapshot_of(repository: Repository) -> dict[str, Any]:
    """Return all that is shown, without edges to entities, whose numbers differ."""
    view = shown(repository)
    return view | {"edges": {edge: n for edge, n in view["edges"].items() if edge[0] != "IMPORTS"}}


def properties(repository: Repository, label: str) -> list[dict[str, Any]]:
    """Return what the live rows of a label say, without what the database numbered."""
    statement = sql.SQL("SELECT properties::text FROM {} e WHERE {}").format(
        sql.Identifier(cypher.graph_name(repository.namespace_id), label), cypher.is_head(table="e")
    )
    with connection.cursor() as cursor:
        cursor.execute(statement)
        rows = [json.loads(text, strict=False) for (text,) in cursor.fetchall()]
    said = [{key: row[key] for key in row if key not in {"f", "vf", "repo"}} for row in rows]
    assert all(row.get("repo", str(repository.pk)) == str(repository.pk) for row in rows)
    return sorted(said, key=repr)


def test_a_first_snapshot_becomes_the_rows_that_a_later_one_becomes():
    first = put_main(WANTED)
    later = put_main(WANTED, before=snapshot(symbol_fact("gone.py", "gone"), commit="0"))

    assert snapshot_of(first) == snapshot_of(later)
    for label in ("Symbol", "File", "Package", "CONTAINS", "CALLS", "IMPORTS"):
        found = properties(first, label)
        assert found == properties(later, label)
        assert found


def test_what_a_first_snapshot_wrote_is_not_written_again():
    repository = put_main(WANTED)

    assert put(repository_id=repository.pk, ref_name="main", snapshot=WANTED).is_unchanged

    newest = Revision.objects.get(repository=repository).pk
    rows = FileVersion.objects.filter(repository=repository)
    assert set(rows.values_list("valid_from", "valid_to", "layer")) == {(newest, None, 0)}


def test_an_edge_of_a_first_snapshot_is_found_by_its_file_and_ends_with_it():
    repository = put_main(WANTED)
    without = replace(WANTED, edges=EDGES[:1], commit="2" * 40)

    report = put(repository_id=repository.pk, ref_name="main", snapshot=without)

    assert (report.edges.closed, report.edges.opened) == (2, 0)
    assert properties(repository, "CALLS") == []


def test_a_new_repository_gets_the_vectors_of_texts_that_another_has():
    known = SymbolVersion.objects.get(repository=put_main(WANTED), language="go")
    vectors = {bytes(known.embedding_digest): [0.5] * 384}
    store_symbol_embeddings(vectors=vectors, fingerprint="model")

    copied = SymbolVersion.objects.filter(repository=put_main(WANTED))

    assert copied.count() == len(SYMBOLS)
    embedded = copied.exclude(embedding=None)
    assert {version.symbol.local_name for version in embedded} == {"twice"}
    assert {version.embedding_fingerprint for version in embedded} == {"model"}
    assert list(embedded[0].embedding) == [0.5] * 384
