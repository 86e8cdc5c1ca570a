"""Which code a task concerns: what its words, the past and the memories that answer it point to."""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from uuid import UUID

import structlog

from codemem import embedding
from codemem.accounts.values import Action, Caller
from codemem.embedding import EmbeddingUnavailable
from graph import file_search
from graph import queries as graph
from graph.file_search import Told
from graph.search import QueryVector
from graph.values import Edge, Node, VertexLabel, file_id, key_of, label_of
from memory.links import vertex_of
from memory.services.anchoring import AnchorValue, anchors_of
from memory.values import RecallHit, RecallQuery

_LINKS_READ = 500
_SYMBOLS_FOR_EACH_FILE = 2

logger = structlog.get_logger(__name__)


def likely_code(
    *, caller: Caller, query: RecallQuery, hits: Sequence[RecallHit]
) -> tuple[str, ...]:
    """Return the ids of files and then of symbols that a task would touch, likeliest first.

    `query.k` symbols and half as many files of the question's repository, where the caller may read
    it. What memories (`hits`) are tied to or anchored at counts more the better they answer. As
    many queries as `rank_places`, and four.
    """
    if query.repository_id is None or not _may_read_code(caller, query):
        return ()
    places = file_search.rank_places(
        repository_id=query.repository_id,
        query=query.text,
        embedded=_embedded(query.text),
        files=math.ceil(query.k / _SYMBOLS_FOR_EACH_FILE),
        symbols=query.k,
        told=_told(query.repository_id, query, hits),
    )
    return (
        *(file_id(hit.path) for hit in places.files),
        *(hit.node.id for hit in places.symbols),
    )


def _may_read_code(caller: Caller, query: RecallQuery) -> bool:
    """Tell whether the caller may be led to the code of the question's namespaces."""
    return all(caller.can(Action.READ_GRAPH, key) for key in query.namespace_ids)


def _embedded(text: str) -> QueryVector | None:
    try:
        model = embedding.from_settings()
        vector = model.embed([text], kind="query")[0]
    except EmbeddingUnavailable as error:
        logger.warning("places_without_vectors", reason=str(error))
        return None
    return QueryVector(vector=vector.tolist(), fingerprint=model.fingerprint)


def _told(repository_id: UUID, query: RecallQuery, hits: Sequence[RecallHit]) -> Told:
    """Return what memories speak for: each its score, shared by all that it is about."""
    about = _about(query, hits)
    known = graph.vertices_by_id(repository_id=repository_id, ids=set(chain.from_iterable(about)))
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    votes: dict[VertexLabel, dict[int, float]] = {VertexLabel.FILE: {}, VertexLabel.SYMBOL: {}}
    for hit, ids in zip(hits, about, strict=True):
        vertices = [known[one].vertex for one in ids if one in known]
        for label, its_votes in votes.items():
            mine = [key_of(vertex) for vertex in vertices if label_of(vertex) is label]
            for key in mine:
                share = (hit.score / best) ** 2 / math.sqrt(len(mine))
                its_votes[key] = its_votes.get(key, 0.0) + share
    return Told(files=votes[VertexLabel.FILE], symbols=votes[VertexLabel.SYMBOL])


def _about(query: RecallQuery, hits: Sequence[RecallHit]) -> list[frozenset[str]]:
    """Return, for each memory, the ids of the symbols and files that it is tied to or cites."""
    anchors = anchors_of([hit.memory.id for hit in hits])
    vertices = [vertex_of(hit.memory) for hit in hits]
    links = [
        link
        for namespace_id in query.namespace_ids
        for link in graph.links_of(namespace_id=namespace_id, vertices=vertices, limit=_LINKS_READ)
    ]
    ends = {end for link in links for end in (link.source, link.target)}
    nodes = {
        vertex: node
        for namespace_id in query.namespace_ids
        for vertex, node in graph.nodes_of(namespace_id=namespace_id, vertices=ends).items()
        if node.repository_id == query.repository_id
    }
    return [
        frozenset(
            (
                *_linked(vertex, links, nodes),
                *_cited(query, anchors.get(hit.memory.id, ())),
            )
        )
        for hit, vertex in zip(hits, vertices, strict=True)
    ]


def _linked(vertex: int, links: Iterable[Edge], nodes: dict[int, Node]) -> Iterable[str]:
    for link in links:
        ends = {link.source, link.target}
        if vertex in ends:
            for end in ends.intersection(nodes):
                yield nodes[end].id
                yield file_id(nodes[end].path or "")


def _cited(query: RecallQuery, anchors: Iterable[AnchorValue]) -> Iterable[str]:
    for anchor in anchors:
        if anchor.repository_id == query.repository_id and anchor.path:
            yield file_id(anchor.path)
            if anchor.symbol:
                yield anchor.symbol
