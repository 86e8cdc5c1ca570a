"""The edges that leave one repository across files, packages and services, and their difference.

    handler -HANDLES-> endpoint <-HTTP_CALLS- caller
    publisher -PUBLISHES_TO-> topic <-SUBSCRIBES_TO- subscriber
    package or manifest -DEPENDS_ON-> package <-IMPORTS- file
    file or symbol -IMPORTS, CALLS, REFERENCES-> symbol of a sibling

Test code is left out of services' edges. What several endpoints would answer is kept as rows, as
candidates, and not in the graph.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction

from graph import services as graph
from graph.models import Repository
from graph.queries import OuterTarget, uses_of_externals
from graph.values import (
    LEAST_CONFIDENCE_OF_A_CALL,
    EdgeKind,
    EntityFact,
    VertexLabel,
    file_id,
)
from indexing.crossing import queries
from indexing.crossing.imports import OuterImport, OuterUse
from indexing.crossing.linking import (
    Attributed,
    Attribution,
    OwnPackage,
    SiblingSymbols,
    meant_by_compiler,
    modules_of_siblings,
)
from indexing.crossing.matching import Endpoints, Server, topic_hears
from indexing.crossing.surroundings import Vertices
from indexing.crossing.values import Manager, package_key
from indexing.models import (
    CrossingEdge,
    Endpoint,
    HttpRequest,
    OuterPackage,
    PackageDependency,
    PackageManifest,
    TopicUse,
)

_BATCH: Final = 1_000
_MAXIMUM_UNRESOLVED: Final = 50
_DECLARED, _GUESSED = 0.95, 0.7


def write_edges(repository: Repository) -> int:
    """Make the edges that leave a repository what its rows and its siblings say; count the written.

    One transaction for the difference; what is the same is not touched.
    """
    return _Edges(repository).write()


@dataclass(frozen=True, slots=True)
class _End:
    """One end of an edge: text id, and vertex or what is to become one."""

    id: str
    vertex: int | None = None
    entity: EntityFact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """An edge before its ends are vertices."""

    kind: EdgeKind
    source: _End
    target: _End
    confidence: float
    rule: str
    path: str
    line: int
    text: str = ""
    other: UUID | None = None


@dataclass(slots=True)
class _Outer:
    """Counts of how one package is used."""

    other: UUID | None
    imports: int = 0
    uses: int = 0
    resolved: int = 0
    unresolved: list[tuple[str, str, int]] = field(default_factory=list)


class _Edges:
    """Everything that leaves one repository."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._namespace_id = repository.namespace_id
        self._outer: defaultdict[tuple[str, str], _Outer] = defaultdict(lambda: _Outer(None))

    def write(self) -> int:
        endpoints = list(Endpoint.objects.filter(repository=self._repository, is_test=False))
        requests = list(HttpRequest.objects.filter(repository=self._repository, is_test=False))
        uses = list(TopicUse.objects.filter(repository=self._repository, is_test=False))
        outer = list(queries.outer_imports_of(repository_id=self._repository.pk))
        paths = {row.path for rows in (endpoints, requests, uses) for row in rows}
        paths |= {row.handler_path for row in endpoints if row.handler_path}
        paths |= {path for path, _ in outer}
        compiled = self._uses_of_externals()
        paths |= {use.path for uses in compiled.values() for use in uses}
        manifests = list(PackageManifest.objects.filter(repository=self._repository))
        paths |= {row.path for row in manifests}
        self._vertices = Vertices(repository_id=self._repository.pk, paths=paths)
        wanted = [
            *self._handles(endpoints),
            *self._http_calls(requests),
            *self._topics(uses),
            *self._depends(manifests),
            *self._code(outer),
            *self._compiled(compiled),
        ]
        written = self._write_difference(wanted)
        self._write_outer_packages()
        return written

    # --- Services ---------------------------------------------------------------------------------
    def _handles(self, endpoints: Iterable[Endpoint]) -> Iterator[_Wanted]:
        for row in endpoints:
            source = self._handler(row)
            if source is not None:
                yield _Wanted(
                    kind=EdgeKind.HANDLES,
                    source=source,
                    target=_endpoint_end(row, self._repository.name),
                    confidence=row.certainty,
                    rule=row.framework,
                    path=row.path,
                    line=row.line,
                    text=row.text,
                )

    def _handler(self, row: Endpoint) -> _End | None:
        if row.handler_path:
            found = self._vertices.handler(row.handler_path, row.handler_name)
            if found is not None:
                local_name, vertex = found
                return _End(f"sym:{row.handler_path}#{local_name}", vertex)
        return self._place(row.path, row.symbol)

    def _http_calls(self, requests: list[HttpRequest]) -> Iterator[_Wanted]:
        if not requests:
            return
        servers = list(
            Endpoint.objects.filter(
                repository__namespace_id=self._namespace_id, is_test=False
            ).select_related("repository")
        )
        endpoints = Endpoints(
            [Server(one.method, one.template, one.repository.name) for one in servers],
            aliases=settings.SERVICE_HOSTS,
        )
        for row in requests:
            source = self._place(row.path, row.symbol)
            matches = endpoints.matches(
                method=row.method,
                host=row.host,
                template=row.template,
                caller=self._repository.name,
            )
            for match in matches if source else ():
                server = servers[match.position]
                assert source is not None
                yield _Wanted(
                    kind=EdgeKind.HTTP_CALLS,
                    source=source,
                    target=_endpoint_end(server, server.repository.name),
                    confidence=min(match.confidence, row.certainty, server.certainty),
                    rule=match.rule.value,
                    path=row.path,
                    line=row.line,
                    text=row.text,
                    other=server.repository_id,
                )

    def _topics(self, uses: Iterable[TopicUse]) -> Iterator[_Wanted]:
        known = {
            (bus, topic)
            for bus, topic in TopicUse.objects.filter(
                repository__namespace_id=self._namespace_id, is_publishing=True, is_test=False
            )
            .exclude(topic="")
            .values_list("bus", "topic")
            .distinct()
        }
        for row in uses:
            source = self._place(row.path, row.symbol)
            if not row.topic or source is None:
                continue
            heard = {row.topic}
            if not row.is_publishing:
                heard |= {
                    one for bus, one in known if bus == row.bus and topic_hears(row.topic, one)
                }
            for topic in sorted(heard):
                is_same = topic == row.topic
                yield _Wanted(
                    kind=EdgeKind.PUBLISHES_TO if row.is_publishing else EdgeKind.SUBSCRIBES_TO,
                    source=source,
                    target=_topic_end(row.bus, topic),
                    confidence=row.certainty if is_same else min(row.certainty, 0.8),
                    rule=row.bus if is_same else f"{row.bus}-pattern",
                    path=row.path,
                    line=row.line,
                    text=row.text,
                )

    # --- Packages ---------------------------------------------------------------------------------
    def _depends(self, manifests: Iterable[PackageManifest]) -> Iterator[_Wanted]:
        names = {row.path: package_key(row.manager, row.name) for row in manifests if row.name}
        own = {
            (one.manager, one.name): one.repository_id
            for one in queries.own_packages(namespace_id=self._namespace_id)
        }
        for row in PackageDependency.objects.filter(repository=self._repository):
            key = names.get(row.path)
            source = _package_end(key) if key else self._place(row.path, "")
            target = package_key(row.manager, row.name)
            if source is None or source.id == target:
                continue
            other = own.get((row.manager, row.name))
            yield _Wanted(
                kind=EdgeKind.DEPENDS_ON,
                source=source,
                target=_package_end(target),
                confidence=1.0,
                rule=row.scope,
                path=row.path,
                line=1,
                text=f"{row.name} {row.range}".strip(),
                other=None if other == self._repository.pk else other,
            )

    def _code(self, outer: list[tuple[str, OuterImport]]) -> Iterator[_Wanted]:
        packages = queries.own_packages(namespace_id=self._namespace_id)
        siblings = [one for one in packages if one.repository_id != self._repository.pk]
        mine = {
            (one.manager, one.name) for one in packages if one.repository_id == self._repository.pk
        }
        declared = list(
            PackageDependency.objects.filter(repository=self._repository)
            .values_list("manager", "name", "alias")
            .distinct()
        )
        tops = {one.module.partition(".")[0] for _, one in outer if one.manager == Manager.PYPI}
        modules = modules_of_siblings(tops=tops, siblings=siblings)
        attribution = Attribution(declared, siblings, modules)
        # An import of its own package that resolution did not find leads nowhere, but not out.
        attributed = [
            found
            for path, one in outer
            if (found := attribution.of(path, one)) is not None
            and (one.manager, found.package) not in mine
        ]
        for one in attributed:
            yield from self._imports_package(one)
        by_sibling: defaultdict[OwnPackage, list[Attributed]] = defaultdict(list)
        for one in attributed:
            if one.sibling is not None:
                by_sibling[one.sibling].append(one)
        for sibling, imports in by_sibling.items():
            yield from self._symbols(sibling, imports)

    def _imports_package(self, one: Attributed) -> Iterator[_Wanted]:
        counts = self._outer[one.outer.manager, one.package]
        counts.other = one.sibling.repository_id if one.sibling else None
        counts.imports += 1
        counts.uses += len(one.outer.uses)
        source = self._place(one.path, "")
        if source is not None:
            is_sure = one.is_declared or one.sibling is not None
            yield _Wanted(
                kind=EdgeKind.IMPORTS,
                source=source,
                target=_package_end(package_key(one.outer.manager, one.package)),
                confidence=_DECLARED if is_sure else _GUESSED,
                rule="package",
                path=one.path,
                line=one.outer.line,
                other=counts.other,
            )

    def _symbols(self, sibling: OwnPackage, imports: list[Attributed]) -> Iterator[_Wanted]:
        uses = [(one.outer, use) for one in imports for use in (None, *one.outer.uses)]
        found = SiblingSymbols(namespace_id=self._namespace_id).find(sibling, uses)
        counts = self._outer[sibling.manager, sibling.name]
        for one in imports:
            for use in (None, *one.outer.uses):
                target = found.get((one.outer, use))
                if target is None:
                    if use is not None and len(counts.unresolved) < _MAXIMUM_UNRESOLVED:
                        parts = (one.outer.module, one.outer.name, use.name)
                        name = ".".join(part for part in parts if part)
                        counts.unresolved.append((name, one.path, use.line))
                    continue
                counts.resolved += use is not None
                source = self._place(one.path, use.symbol if use else "")
                if source is None:
                    continue
                yield _Wanted(
                    kind=_kind_of(use),
                    source=source,
                    target=_End(target.id, target.vertex),
                    confidence=target.confidence,
                    rule=target.rule.value,
                    path=one.path,
                    line=use.line if use else one.outer.line,
                    other=sibling.repository_id,
                )

    # --- What compilers say -----------------------------------------------------------------------
    def _uses_of_externals(self) -> dict[OwnPackage, list[OuterTarget]]:
        """Return what compilers found used of packages that siblings make."""
        siblings = {
            package_key(one.manager, one.name): one
            for one in queries.own_packages(namespace_id=self._namespace_id)
            if one.repository_id != self._repository.pk
        }
        found: defaultdict[OwnPackage, list[OuterTarget]] = defaultdict(list)
        for use in uses_of_externals(
            namespace_id=self._namespace_id,
            repository_id=self._repository.pk,
            packages=siblings.keys(),
        ):
            found[siblings[use.package]].append(use)
        return found

    def _compiled(self, uses: Mapping[OwnPackage, list[OuterTarget]]) -> Iterator[_Wanted]:
        for sibling, targets in uses.items():
            meant = {use.key: meant_by_compiler(sibling, use) for use in targets}
            wanted = [(one, None) for one in meant.values() if one is not None]
            found = SiblingSymbols(namespace_id=self._namespace_id).find(sibling, wanted)
            for use in targets:
                outer, source = meant[use.key], self._place(use.path, use.symbol)
                target = found.get((outer, None)) if outer else None
                if target is None or source is None or source.vertex is None:
                    continue
                yield _Wanted(
                    kind=use.kind,
                    source=source,
                    target=_End(target.id, target.vertex),
                    confidence=target.confidence,
                    rule="scip",
                    path=use.path,
                    line=self._vertices.first_line(source.vertex) + use.line_offset,
                    other=sibling.repository_id,
                )

    # --- Ends -------------------------------------------------------------------------------------
    def _place(self, path: str, symbol: str) -> _End | None:
        vertex = self._vertices.symbol(path, symbol)
        if vertex is None:
            return None
        if vertex == self._vertices.file(path):
            return _End(file_id(path), vertex)
        return _End(f"sym:{path}#{symbol.removesuffix('~0')}", vertex)

    # --- Writing ----------------------------------------------------------------------------------
    def _write_difference(self, wanted: list[_Wanted]) -> int:
        entities = {
            end.entity.key: end.entity
            for one in wanted
            for end in (one.source, one.target)
            if end.entity is not None
        }
        with transaction.atomic():
            vertices = graph.ensure_entities(
                namespace_id=self._namespace_id, entities=list(entities.values())
            )
            rows = self._rows(wanted, vertices)
            stored = {
                (row.kind, row.source, row.target): row
                for row in CrossingEdge.objects.filter(repository=self._repository)
            }
            opened = [row for key, row in rows.items() if not _is_same(stored.get(key), row)]
            opened_keys = {(row.kind, row.source, row.target) for row in opened}
            closed = [row for key, row in stored.items() if key not in rows or key in opened_keys]
            CrossingEdge.objects.filter(pk__in=[row.pk for row in closed]).delete()
            CrossingEdge.objects.bulk_create(opened, batch_size=_BATCH)
            graph.write_crossing_edges(
                namespace_id=self._namespace_id,
                closed=[self._edge(row) for row in closed],
                opened=[self._edge(row) for row in opened if _is_fact(row)],
            )
        return len(opened) + len(closed)

    def _rows(
        self, wanted: Iterable[_Wanted], vertices: Mapping[str, int]
    ) -> dict[tuple[str, int, int], CrossingEdge]:
        """Return one row for each edge: the surest, and of those the first."""
        rows: dict[tuple[str, int, int], CrossingEdge] = {}
        for one in wanted:
            source = one.source.vertex or vertices[one.source.id]
            target = one.target.vertex or vertices[one.target.id]
            key = (one.kind.value, source, target)
            if key in rows and rows[key].confidence >= one.confidence:
                continue
            rows[key] = CrossingEdge(
                repository=self._repository,
                other_id=one.other,
                kind=one.kind.value,
                source=source,
                target=target,
                source_id=one.source.id,
                target_id=one.target.id,
                path=one.path,
                confidence=one.confidence,
                rule=one.rule,
                line=one.line,
                text=one.text[:300],
            )
        return rows

    def _edge(self, row: CrossingEdge) -> graph.CrossingEdge:
        # The line is of the source's file, which for a handler is not where the route stands.
        first = self._vertices.first_line(row.source)
        is_there = row.source_id in (file_id(row.path), "") or f":{row.path}#" in row.source_id
        return graph.CrossingEdge(
            kind=EdgeKind(row.kind),
            source=row.source,
            target=row.target,
            confidence=row.confidence,
            rule=row.rule,
            line_offset=row.line - first if is_there else 0,
            file=self._vertices.file_key(row.path),
        )

    def _write_outer_packages(self) -> None:
        rows = [
            OuterPackage(
                repository=self._repository,
                other_id=counts.other,
                manager=manager,
                name=name[:214],
                imports=counts.imports,
                uses=counts.uses,
                resolved=counts.resolved,
                unresolved=counts.unresolved,
            )
            for (manager, name), counts in self._outer.items()
        ]
        with transaction.atomic():
            OuterPackage.objects.filter(repository=self._repository).exclude(
                name__in=[row.name for row in rows]
            ).delete()
            OuterPackage.objects.bulk_create(
                rows,
                update_conflicts=True,
                unique_fields=["repository", "manager", "name"],
                update_fields=["other", "imports", "uses", "resolved", "unresolved"],
            )


def _endpoint_end(row: Endpoint, repository: str) -> _End:
    key = f"endpoint:{repository}:{row.method} {row.template}"
    return _End(
        key,
        entity=EntityFact(
            label=VertexLabel.ENDPOINT,
            key=key,
            name=f"{row.method} {row.template}",
            data={"repository": repository, "method": row.method, "path": row.template},
        ),
    )


def _topic_end(bus: str, topic: str) -> _End:
    key = f"topic:{bus}:{topic}"
    entity = EntityFact(
        label=VertexLabel.TOPIC, key=key, name=topic, data={"bus": bus, "topic": topic}
    )
    return _End(key, entity=entity)


def _package_end(key: str) -> _End:
    _, manager, name = key.split(":", 2)
    entity = EntityFact(
        label=VertexLabel.PACKAGE, key=key, name=name, data={"manager": manager, "name": name}
    )
    return _End(key, entity=entity)


def _kind_of(use: OuterUse | None) -> EdgeKind:
    if use is None:
        return EdgeKind.IMPORTS
    return EdgeKind.CALLS if use.is_call else EdgeKind.REFERENCES


def _is_fact(row: CrossingEdge) -> bool:
    return row.confidence >= LEAST_CONFIDENCE_OF_A_CALL


def _is_same(known: CrossingEdge | None, row: CrossingEdge) -> bool:
    if known is None:
        return False
    names = ("other_id", "confidence", "rule", "line", "path", "text")
    return all(getattr(known, name) == getattr(row, name) for name in names)
