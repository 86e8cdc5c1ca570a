"""The longest names, paths, words and titles that can be, without a space to break them at."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from django.utils import timezone

from codemem.accounts.models import Namespace, User
from codemem.accounts.values import TokenKind
from graph import services as graph
from graph.models import Repository
from indexing.findings import analysis
from indexing.history import backfill
from indexing.models import IndexRun
from memory.models import Failure, Memory
from memory.services import propose, store_memory
from tests import factories
from tests.browser.demo import Demo, ids_of
from tests.browser.pages import pages
from tests.console.library import extremes, tell
from tests.indexing.checkout import Checkout, index

FOUND = ("memories-found", "sessions-found", "symbols-found", "graph-focus", "graph-table")
_WORD = "x" * 300
_NAME = "n" * 63  # a namespace's and a repository's longest
_FOLDER, _METHOD = "d" * 250, "m" * 300
_SYMBOL = f"C{_WORD[:199]}.{_METHOD[:200]}"  # as much of the names as the graph keeps
_FILE = f"{_FOLDER}/{'f' * 100}.py"
_SOURCE = f'''class C{_WORD}:
    """{_WORD}"""

    def {_METHOD}(self, a{_WORD}):
        return f{_WORD}(a{_WORD})


def f{_WORD}(b{_WORD}):
    """{_WORD}"""
    return "{_WORD}"
'''
_TEST = f"""from {_FOLDER}.{"f" * 100} import f{_WORD}


def test_{_WORD}():
    assert f{_WORD}(1)
"""


@dataclass(frozen=True, slots=True)
class Longest:
    """Who may see the pages, and the pages' addresses by name."""

    owner: User
    addresses: dict[str, str]


def make_longest(folder: Path) -> Longest:
    owner, maintainer = factories.make_user("o" * 150), factories.make_user("p" * 150)
    namespace = factories.make_namespace(_NAME, owner=owner, maintainer=maintainer)
    Namespace.objects.filter(pk=namespace.pk).update(description="x" * 500)
    repository = _indexed(namespace, folder, owner)
    told = tell(namespace, repository, owner, maintainer)
    texts = extremes(namespace, repository, owner)
    memories = tuple(_remember(namespace, repository, owner, letter) for letter in "abc")
    propose(
        namespace_id=namespace.pk,
        kind="merge",
        memory_ids=memories[:2],
        proposal={"operation": "associate", "arguments": {"kind": "EXPLAINS"}},
        reason=_WORD,
        confidence=0.8,
        proposed_by="cluster",
        now=timezone.now(),
    )
    _fail(namespace, repository, owner)
    factories.make_token(owner, kind=TokenKind.USER, name="t" * 100, now=timezone.now())
    demo = Demo(
        owner=owner,
        maintainer=maintainer,
        reader=maintainer,
        outsider=maintainer,
        namespace=namespace,
        repository=repository,
        broken=_broken(namespace, owner),
        memories=memories,
        file=_FILE,
        symbol=f"sym:{_FILE}#{_SYMBOL}",
    )
    told = replace(told, shared=texts.memory, shared_session=texts.session, review=texts.review)
    addresses = pages(demo=demo, told=told, ids=ids_of(demo, gone="g" * 63))
    return Longest(owner, {**addresses, **_found(addresses, demo)})


def _found(addresses: dict[str, str], demo: Demo) -> dict[str, str]:
    """Return the addresses of what is found by a long word, by the names of FOUND."""
    symbol = demo.symbol.replace("#", "%23")
    return {
        "find": f"/console/find?q={_WORD}&namespace={_NAME}&repository={_NAME}",
        "memories-found": f"{addresses['memories']}?q={'a' * 300}",
        "sessions-found": f"{addresses['sessions']}?q={_WORD}",
        "symbols-found": f"{addresses['symbols']}?q={_METHOD}",
        "graph-focus": f"{addresses['graph']}?focus={symbol}",
        "graph-table": f"{addresses['graph']}?as=table",
    }


def _indexed(namespace: Namespace, folder: Path, owner: User) -> Repository:
    checkout = Checkout(folder / "longest")
    begun = datetime.now(tz=UTC) - timedelta(days=40)
    for number, source in enumerate(("", _SOURCE, f"{_SOURCE}\n\nvalue = f{_WORD}(2)\n")):
        at = (begun + timedelta(days=10 * number)).isoformat()
        checkout.commit({_FILE: source, f"tests/test_{'t' * 200}.py": _TEST}, subject=_WORD, at=at)
        author = f"{'w' * 200} <{'w' * 100}@example.org>"
        checkout.git("commit", "--amend", "--quiet", "--no-edit", f"--author={author}", at=at)
    checkout.git("branch", f"b/{'b' * 200}")
    repository = factories.make_repository(
        namespace, _NAME, url=str(checkout.path), created_by=owner
    )
    index(repository)
    graph.rank_repository(repository_id=repository.pk)
    backfill.advance(repository_id=repository.pk, seconds=20)
    graph.lay_out_repository(repository_id=repository.pk)
    analysis.analyze(repository_id=repository.pk, now=timezone.now())
    return repository


def _broken(namespace: Namespace, owner: User) -> Repository:
    repository = factories.make_repository(
        namespace, "q" * 63, url=f"https://git.example/{'u' * 400}", created_by=owner
    )
    IndexRun.objects.create(
        repository=repository,
        requested_by=owner.username,
        ref="r" * 255,
        state=IndexRun.State.FAILED,
        step=IndexRun.Step.FETCHING,
        finished_at=timezone.now(),
        error=_WORD,
    )
    return repository


def _remember(namespace: Namespace, repository: Repository, owner: User, letter: str) -> UUID:
    outcome = store_memory(
        caller=factories.caller_of(owner),
        namespace_id=namespace.pk,
        repository_id=repository.pk,
        content=letter * 300,
        memory_type="decision",
        rationale=letter.upper() * 300,
        tags=[letter * 60],
        now=timezone.now(),
        is_distinct=True,
    )
    return outcome.memory.id


def _fail(namespace: Namespace, repository: Repository, owner: User) -> None:
    outcome = store_memory(
        caller=factories.caller_of(owner),
        namespace_id=namespace.pk,
        repository_id=repository.pk,
        content=f"E{_WORD}",
        memory_type="failure",
        now=timezone.now(),
    )
    Failure.objects.create(
        memory=Memory.objects.get(pk=outcome.memory.id),
        namespace=namespace,
        signature=_WORD,
        error_class="E" * 60,
        tool="Bash",
        command_prefix="c" * 200,
        paths=[_FILE],
        symbols=[_METHOD],
        command="c" * 500,
        message="m" * 400,
        first_seen_at=timezone.now(),
        last_seen_at=timezone.now(),
    )
