"""Overlays and deltas show exactly what a fresh graph of the same facts would show."""

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction

from graph import cypher, queries
from graph.models import Entity, Repository
from graph.search import Mode, search_symbols
from graph.services import (
    BaseRevisionGone,
    OverlayUnknown,
    SnapshotInconsistent,
    put,
    put_delta,
)
from graph.staging import desired_state
from graph.values import (
    LIVE,
    Delta,
    EdgeFact,
    EdgeKind,
    EntityFact,
    FileFact,
    NodeKind,
    Snapshot,
    SymbolFact,
    VertexLabel,
    View,
    file_id,
)
from tests.factories import edge_fact, file_fact, make_repository, snapshot, symbol_fact
from tests.graph.views import shown

pytestmark = pytest.mark.django_db

_KINDS = (EdgeKind.CALLS, EdgeKind.REFERENCES, EdgeKind.INHERITS, EdgeKind.OVERRIDES)


class Code:
    """An imagined code base that is edited at random: files of symbols that mention each other."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.number = 0
        self.files: dict[str, dict[str, SymbolFact]] = {}
        self.mentions: dict[tuple[str, str], list[EdgeFact]] = {}
        for _ in range(8):
            self.add_file()
        for path, symbols in self.files.items():
            for name in symbols:
                self._mention(path, name)
                self._mention(path, name)

    def copy(self, seed: int) -> "Code":
        other = Code.__new__(Code)
        other.random = random.Random(seed)
        other.number = self.number + 1_000 * seed
        other.files = {path: dict(symbols) for path, symbols in self.files.items()}
        other.mentions = {key: list(edges) for key, edges in self.mentions.items()}
        return other

    def edit(self, times: int) -> None:
        for _ in range(times):
            edit = self.random.choice(
                [self.add_file, self.remove_file, self.rename_file, *[self.change] * 4]
            )
            edit()

    def add_file(self) -> None:
        path = f"pkg{self.random.randrange(3)}/file{self._next()}.py"
        self.files[path] = {}
        for _ in range(self.random.randrange(2, 5)):
            self._add_symbol(path)

    def remove_file(self) -> None:
        if len(self.files) > 2:
            del self.files[self._a_path()]

    def rename_file(self) -> None:
        path = self._a_path()
        symbols = self.files.pop(path)
        new = f"moved/{path.rpartition('/')[2]}"
        self.files[new] = {
            name: symbol_fact(new, name, line=symbol.start_line, kind=symbol.kind)
            for name, symbol in symbols.items()
        }
        for name in symbols:
            if (path, name) in self.mentions:
                self.mentions[new, name] = self.mentions.pop((path, name))

    def change(self) -> None:
        """Change a body, a line, a kind, a mention; add or remove a symbol."""
        path = self._a_path()
        symbols = self.files[path]
        if not symbols or self.random.random() < 0.3:
            self._add_symbol(path)
            return
        name = self.random.choice(sorted(symbols))
        match self.random.randrange(5):
            case 0:
                symbols[name] = replace(symbols[name], doc=f"Says {self._next()}.")
            case 1:
                shift = self.random.randrange(1, 9)
                symbols[name] = replace(
                    symbols[name],
                    start_line=symbols[name].start_line + shift,
                    end_line=symbols[name].end_line + shift,
                )
            case 2:
                symbols[name] = replace(symbols[name], kind=NodeKind.CLASS)
            case 3:
                del symbols[name]
            case _:
                self._mention(path, name)

    def snapshot(self, commit: str) -> Snapshot:
        symbols = {symbol.id: symbol for file in self.files.values() for symbol in file.values()}
        names = {file_id(path) for path in self.files} | set(symbols)
        edges = [
            edge._replace(source=symbol.id, line=symbol.start_line + 1)
            for path, file in self.files.items()
            for name, symbol in file.items()
            for edge in self.mentions.get((path, name), ())
            if edge.target in names
        ]
        return Snapshot(
            commit=commit.ljust(40, "0"),
            committed_at=1_000,
            files=tuple(self._file(path) for path in self.files),
            symbols=tuple(symbols.values()),
            edges=tuple(edges),
        )

    def _file(self, path: str) -> FileFact:
        return file_fact(path, blob=repr(sorted(map(repr, self.files[path].values()))))

    def _add_symbol(self, path: str) -> None:
        name = f"name{self._next()}"
        self.files[path][name] = symbol_fact(path, name, line=self.random.randrange(1, 90))
        for _ in range(self.random.randrange(3)):
            self._mention(path, name)

    def _mention(self, path: str, name: str) -> None:
        target_path = self._a_path()
        targets = [symbol.id for symbol in self.files[target_path].values()]
        target = self.random.choice([*targets, file_id(target_path)])
        edge = EdgeFact(
            self.random.choice(_KINDS), "", target, self.random.choice([0.3, 0.9]), "rule", 1
        )
        self.mentions.setdefault((path, name), []).append(edge)

    def _a_path(self) -> str:
        return self.random.choice(sorted(self.files))

    def _next(self) -> int:
        self.number += 1
        return self.number


def difference(before: Snapshot, after: Snapshot) -> Delta:
    """Return what a resolver would say of the change: files with another row of any kind."""
    old, new = desired_state(before), desired_state(after)
    restated = {
        path
        for path, rows in new.files.items()
        if path not in old.files
        or (rows.fact, rows.symbols_digest, rows.edges_digest)
        != (old.files[path].fact, old.files[path].symbols_digest, old.files[path].edges_digest)
    }
    return delta_of(after, restated, removed=old.files.keys() - new.files.keys())


def delta_of(
    after: Snapshot,
    restated: Iterable[str],
    *,
    removed: Iterable[str],
    returned: Iterable[str] = (),
) -> Delta:
    paths = set(restated)
    symbols = tuple(symbol for symbol in after.symbols if symbol.path in paths)
    sources = {symbol.id for symbol in symbols}
    return Delta(
        commit=after.commit,
        committed_at=after.committed_at,
        files=tuple(fact for fact in after.files if fact.path in paths),
        symbols=symbols,
        edges=tuple(edge for edge in after.edges if edge.source in sources),
        removed=tuple(removed),
        returned=tuple(returned),
    )


def put_main(repository: Repository, wanted: Snapshot) -> None:
    put(repository_id=repository.pk, ref_name="main", snapshot=wanted)


def newest(repository: Repository) -> int:
    revision = queries.newest_revision(repository_id=repository.pk)
    assert revision is not None
    return revision.id


def view_of(repository: Repository, branch: str) -> View:
    return queries.get_ref_state(repository_id=repository.pk, ref=branch).view


@pytest.fixture
def fresh(namespace):
    """Return a function that says what a graph made from nothing shows of a snapshot."""
    other = make_repository(namespace, "fresh")

    def shown_of(wanted: Snapshot) -> dict[str, object]:
        put_main(other, wanted)
        return shown(other)

    return shown_of


@pytest.mark.parametrize("seed", range(4))
def test_deltas_leave_the_graph_that_whole_snapshots_leave(repository, fresh, seed):
    code = Code(seed)
    before = code.snapshot("0")
    put_main(repository, before)

    for step in range(5):
        code.edit(4)
        after = code.snapshot(f"{step + 1}")
        delta = difference(before, after)
        put_delta(repository_id=repository.pk, ref_name="main", delta=delta)
        assert shown(repository) == fresh(after)
        before = after

    again = put(repository_id=repository.pk, ref_name="main", snapshot=before)
    assert again.is_unchanged


@pytest.mark.parametrize("seed", range(4))
def test_an_overlay_shows_its_branch_whatever_happens_to_the_default_branch(
    repository, fresh, seed
):
    main = Code(seed)
    base = main.snapshot("base")
    put_main(repository, base)
    revision = newest(repository)
    branch = main.copy(seed + 100)

    for step in range(4):
        branch.edit(3)
        wanted = branch.snapshot(f"b{step}")
        put_delta(
            repository_id=repository.pk,
            ref_name="topic",
            delta=difference(base, wanted),
            base_revision=revision,
        )
        main.edit(3)
        put_main(repository, main.snapshot(f"m{step}"))

        assert shown(repository, view_of(repository, "topic")) == fresh(wanted)
        assert shown(repository) == fresh(main.snapshot("again"))


@pytest.mark.parametrize("seed", range(3))
def test_an_overlay_advances_by_what_its_branch_changed(repository, fresh, seed):
    main = Code(seed)
    base = main.snapshot("base")
    put_main(repository, base)
    branch = main.copy(seed + 50)
    branch.edit(4)
    before = branch.snapshot("b0")
    put_delta(
        repository_id=repository.pk,
        ref_name="topic",
        delta=difference(base, before),
        base_revision=newest(repository),
    )

    for step in range(4):
        branch.edit(3)
        after = branch.snapshot(f"b{step + 1}")
        put_delta(repository_id=repository.pk, ref_name="topic", delta=advance(base, before, after))
        assert shown(repository, view_of(repository, "topic")) == fresh(after)
        before = after


def advance(base: Snapshot, before: Snapshot, after: Snapshot) -> Delta:
    """Return the step from one state of a branch to the next, as its overlay must take it."""
    step = difference(before, after)
    whole = difference(base, after)
    restated = {fact.path for fact in whole.files}
    touched = {fact.path for fact in step.files} | set(step.removed)
    return delta_of(
        after,
        touched & restated,
        removed=touched & set(whole.removed),
        returned=touched - restated - set(whole.removed),
    )


@pytest.mark.parametrize("seed", range(3))
def test_an_overlay_can_be_set_on_a_newer_base(repository, fresh, seed):
    main = Code(seed)
    base = main.snapshot("base")
    put_main(repository, base)
    branch = main.copy(seed + 50)
    branch.edit(4)
    put_branch(repository, base, branch.snapshot("b0"))
    main.edit(4)
    newer = main.snapshot("newer")
    put_main(repository, newer)

    rebased = branch.snapshot("b1")
    put_branch(repository, newer, rebased)

    assert shown(repository, view_of(repository, "topic")) == fresh(rebased)


def put_branch(
    repository: Repository, base: Snapshot, wanted: Snapshot, name: str = "topic"
) -> None:
    put_delta(
        repository_id=repository.pk,
        ref_name=name,
        delta=difference(base, wanted),
        base_revision=newest(repository),
    )


def test_every_question_is_answered_through_the_overlay(repository, namespace, fresh):
    main = Code(7)
    base = main.snapshot("base")
    put_main(repository, base)
    branch = main.copy(8)
    branch.edit(12)
    wanted = branch.snapshot("b0")
    put_branch(repository, base, wanted)
    view = view_of(repository, "topic")
    assert fresh(wanted)["edges"].total() > 20
    other = Repository.objects.get(name="fresh")

    told, expected = answers(repository, wanted, view), answers(other, wanted, LIVE)

    assert told == expected


def answers(repository: Repository, wanted: Snapshot, view: View) -> dict[str, object]:
    """Return what every query says of every symbol and word, without numbers of the database."""
    place: dict[str, Any] = {"namespace_id": repository.namespace_id, "view": view}
    told: dict[str, object] = {"tree": queries.tree(repository_id=repository.pk, view=view)}
    for symbol in wanted.symbols:
        node = queries.get_node(repository_id=repository.pk, id=symbol.id, view=view)
        (same,) = queries.find_nodes(
            repository_id=repository.pk, text=symbol.qualified_name, view=view
        )
        assert same == node
        near = queries.neighbors(vertices=[node.vertex], **place)
        walk = queries.traverse(starts=[node.vertex], max_depth=3, **place)
        users = queries.dependents(vertices=[node.vertex], **place).dependents
        found = search_symbols(
            repository_ids=[repository.pk],
            query=symbol.name,
            mode=Mode.TEXT,
            embedded=None,
            limit=200,
            view=view,
        )
        told[symbol.id] = (
            (node.kind, node.start_line, node.qualified_name, node.doc),
            sorted((n.edge.kind, n.edge.line or 0, n.node.id) for n in near.neighbors if n.node),
            sorted((visit.depth, visit.node.id) for visit in walk.visits if visit.node),
            sorted((user.depth, user.node.id) for user in users),
            {hit.node.id for hit in found},
        )
    return told


def test_words_find_what_an_overlay_says_and_not_what_it_shadows(repository):
    old = symbol_fact("a.py", "charge", doc="Settles an invoice.")
    new = symbol_fact("a.py", "charge", doc="Refunds a customer.")
    gone = symbol_fact("b.py", "forget", doc="Settles nothing at all.")
    base = snapshot(old, gone)
    put_main(repository, base)
    put_branch(repository, base, snapshot(new, commit="2"))
    put_main(repository, snapshot(replace(old, doc="Ships a parcel."), gone, commit="3"))

    assert words(repository, "settles", "topic") == set()
    assert words(repository, "refunds", "topic") == {"sym:a.py#charge"}
    assert words(repository, "parcel", "topic") == set()
    assert words(repository, "parcel", "main") == {"sym:a.py#charge"}
    assert words(repository, "refunds", "main") == set()


def test_words_find_what_ended_on_the_default_branch_since(repository):
    symbol = symbol_fact("a.py", "charge", doc="Settles an invoice.")
    base = snapshot(symbol, symbol_fact("b.py", "other"))
    put_main(repository, base)
    put_branch(repository, base, snapshot(symbol, commit="2"))
    put_main(repository, snapshot(symbol_fact("b.py", "other"), commit="3"))

    assert words(repository, "invoice", "topic") == {"sym:a.py#charge"}
    assert words(repository, "invoice", "main") == set()


def words(repository: Repository, query: str, branch: str) -> set[str]:
    hits = search_symbols(
        repository_ids=[repository.pk],
        query=query,
        mode=Mode.TEXT,
        embedded=None,
        view=view_of(repository, branch),
    )
    return {hit.node.id for hit in hits}


def test_a_delta_may_not_end_what_another_file_leads_to(repository):
    foo, bar = symbol_fact("a.py", "foo"), symbol_fact("b.py", "bar")
    base = snapshot(foo, bar, edges=[edge_fact(bar.id, foo.id)])
    put_main(repository, base)
    before = shown(repository)
    gone = Delta(commit="2" * 40, committed_at=2_000, removed=("a.py",))

    for base_revision in (None, newest(repository)):
        with pytest.raises(SnapshotInconsistent, match="must be restated"), transaction.atomic():
            put_delta(
                repository_id=repository.pk,
                ref_name="topic" if base_revision else "main",
                delta=gone,
                base_revision=base_revision,
            )

    assert shown(repository) == before
    assert queries.list_layers(repository_id=repository.pk) == []


def test_an_edge_into_a_file_that_the_delta_removes_is_refused(repository):
    foo, bar = symbol_fact("a.py", "foo"), symbol_fact("b.py", "bar")
    put_main(repository, snapshot(foo, bar))
    wrong = Delta(
        commit="2" * 40,
        committed_at=2_000,
        files=(file_fact("b.py", blob="2"),),
        symbols=(bar,),
        edges=(edge_fact(bar.id, foo.id),),
        removed=("a.py",),
    )

    with pytest.raises(SnapshotInconsistent, match="one of them is missing"):
        put_delta(repository_id=repository.pk, ref_name="main", delta=wrong)


def test_a_branch_without_an_overlay_needs_a_base(repository):
    put_main(repository, snapshot(symbol_fact("a.py", "foo")))
    delta = Delta(commit="2" * 40, committed_at=2_000)

    with pytest.raises(OverlayUnknown):
        put_delta(repository_id=repository.pk, ref_name="topic", delta=delta)
    with pytest.raises(BaseRevisionGone):
        put_delta(repository_id=repository.pk, ref_name="topic", delta=delta, base_revision=10**9)


def test_what_only_an_overlay_has_says_nothing_to_cypher(repository):
    base = snapshot(symbol_fact("a.py", "foo"))
    put_main(repository, base)
    secret = symbol_fact("secret.py", "plan")
    put_branch(repository, base, snapshot(*base.symbols, secret, commit="2"))

    rows = cypher.run(
        graph=cypher.graph_name(repository.namespace_id),
        query="MATCH (n) RETURN n",
        columns=("node",),
    )

    told = [dict(vertex.properties) for (vertex,) in rows]
    assert [properties for properties in told if not properties["head"]] == [{"head": False}] * 2
    assert "plan" not in repr(told)


def test_entities_are_shared_and_shown_where_edges_lead_to_them(repository, namespace):
    foo = symbol_fact("a.py", "foo")
    session = EntityFact(
        label=VertexLabel.EXTERNAL, key="ext:pypi:requests:Session", name="Session"
    )
    wanted = replace(snapshot(foo, edges=[edge_fact(foo.id, session.id)]), entities=(session,))
    other = make_repository(namespace)

    for each in (repository, other):
        put_main(each, wanted)

    (node,) = queries.find_nodes(repository_id=repository.pk, text="foo")
    near = queries.neighbors(namespace_id=namespace.pk, vertices=[node.vertex])
    ((kind, uid, name),) = [(n.node.kind, n.node.id, n.node.name) for n in near.neighbors if n.node]
    assert (kind, uid, name) == (NodeKind.EXTERNAL, "ext:pypi:requests:Session", "Session")
    assert Entity.objects.filter(namespace=namespace).count() == 1
    # Two repositories that use the same package are not two steps from each other.
    walk = queries.traverse(namespace_id=namespace.pk, starts=[node.vertex], max_depth=4)
    assert [visit.node.id for visit in walk.visits if visit.node] == [foo.id, session.id]
