"""Figures of the graph: finding a symbol, and who depends on it, one to three hops away."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

import numpy as np
import psycopg
from psycopg import sql

from graph import queries as graph
from graph.values import VertexLabel, label_of
from tests.bench.dataset import Dataset
from tests.bench.measuring import Figure, Timings, bare_connection, timed_beside

NODE_LIMIT: Final = 500
_LOOKUPS: Final = 500
_SEEDS: Final = {"typical": 400, "weighted": 400, "hub": 60}
_TARGETS_MS: Final = {("typical", 2): 0.5, ("typical", 3): 1.0}
_SEED: Final = 1

_BARE_LOOKUP: Final[LiteralString] = """
    select symbol.id, symbol.path, symbol.local_name, symbol.ordinal, symbol.qualified_name,
        symbol.name, symbol.kind, version.start_line, version.end_line, version.language,
        version.visibility, version.is_test, version.signature, version.doc
    from graph_symbol symbol join graph_symbolversion version on version.symbol_id = symbol.id
    where symbol.repository_id = %s and symbol.qualified_name = %s
        and version.layer = 0 and version.valid_to is null
"""
# Measured by the server's own clock, one call after the other, each answer counted and dropped.
_TIMER: Final[LiteralString] = """
    create function pg_temp.time_dependents(seeds bigint[], depth int, node_limit int)
    returns table (milliseconds float8, nodes bigint) language plpgsql as $body$
    declare
        seed bigint;
        started timestamptz;
    begin
        foreach seed in array seeds loop
            started := clock_timestamp();
            select count(id) into nodes from {}.dependents(array[seed], depth, node_limit);
            milliseconds := extract(epoch from clock_timestamp() - started) * 1000;
            return next;
        end loop;
    end
    $body$
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeds:
    """Symbols to ask about: any with a dependent, drawn by in-degree, and the top .1 percent."""

    name: str
    vertices: tuple[int, ...]


def graph_figures(data: Dataset) -> Iterator[Figure]:
    with bare_connection() as bare:
        yield _lookup(data, bare)
        bare.execute(sql.SQL(_TIMER).format(sql.Identifier(data.graph)))
        for seeds in all_seeds(data):
            for depth in (1, 2, 3):
                yield _dependents_in_postgres(bare, seeds, depth)
                yield _dependents(data, bare, seeds, depth)


def all_seeds(data: Dataset) -> list[Seeds]:
    rng = np.random.default_rng(_SEED)
    degrees = data.code.in_degrees
    used = np.nonzero(degrees > 0)[0]
    hubs = np.argsort(-degrees)[: max(len(degrees) // 1000, 1)]
    drawn = {
        "typical": rng.choice(used, _SEEDS["typical"]),
        "weighted": rng.choice(len(degrees), _SEEDS["weighted"], p=degrees / degrees.sum()),
        "hub": rng.choice(hubs, _SEEDS["hub"]),
    }
    return [
        Seeds(name=name, vertices=tuple(map(data.loaded.vertex_of_symbol, chosen.tolist())))
        for name, chosen in drawn.items()
    ]


def _lookup(data: Dataset, bare: "psycopg.Connection[tuple[object, ...]]") -> Figure:
    rng = np.random.default_rng(_SEED)
    chosen = rng.integers(0, data.code.symbol_count, _LOOKUPS).tolist()
    arguments = [
        (
            data.loaded.repository_ids[data.code.repository_of(symbol)],
            data.code.symbol_fact(symbol).qualified_name,
        )
        for symbol in chosen
    ]
    pair = timed_beside(
        lambda named: len(graph.find_nodes(repository_id=named[0], text=named[1])),
        lambda named: len(bare.execute(_BARE_LOOKUP, named).fetchall()),
        arguments,
    )
    return Figure(
        group="graph", name="find_nodes by qualified name", taken=pair.taken, bare=pair.bare,
        results=pair.results,
    )  # fmt: skip


def _dependents_in_postgres(
    bare: "psycopg.Connection[tuple[object, ...]]", seeds: Seeds, depth: int
) -> Figure:
    rows = bare.execute(
        "select milliseconds, nodes from pg_temp.time_dependents(%s, %s, %s)",
        [list(seeds.vertices), depth, NODE_LIMIT],
    ).fetchall()
    return Figure(
        group="graph",
        name=f"dependents inside Postgres, {depth} hops, {seeds.name}",
        taken=Timings.of(float(str(milliseconds)) for milliseconds, _ in rows),
        results=sum(int(str(nodes)) for _, nodes in rows) / len(rows),
        target_ms=_TARGETS_MS.get((seeds.name, depth)),
    )


def _dependents(
    data: Dataset, bare: "psycopg.Connection[tuple[object, ...]]", seeds: Seeds, depth: int
) -> Figure:
    statement = sql.SQL("select id, depth from {}.dependents(array[%s::bigint], %s, %s)").format(
        sql.Identifier(data.graph)
    )

    def through_django(vertex: int) -> int:
        found = graph.dependents(
            namespace_id=data.namespace_id,
            vertices=[vertex],
            max_depth=depth,
            node_limit=NODE_LIMIT,
        )
        return len(found.dependents)

    pair = timed_beside(
        through_django,
        lambda vertex: len(bare.execute(statement, [vertex, depth, NODE_LIMIT]).fetchall()),
        seeds.vertices,
    )
    return Figure(
        group="graph", name=f"queries.dependents, {depth} hops, {seeds.name}",
        taken=pair.taken, bare=pair.bare, results=pair.results,
    )  # fmt: skip


def positions(data: Dataset, vertices: Sequence[int]) -> list[int]:
    """Return the positions in the synthetic graph of some symbols' vertices."""
    assert all(label_of(vertex) is VertexLabel.SYMBOL for vertex in vertices)
    first = data.loaded.vertex_of_symbol(0)
    return [vertex - first for vertex in vertices]
