"""Makers of rows and facts for tests: plain functions with plain defaults."""

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import count

from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace, User
from codemem.accounts.services import IssuedToken
from codemem.accounts.values import Caller, Role, TokenKind, TokenScope
from graph import services as graph
from graph.models import Repository
from graph.values import (
    EdgeFact,
    EdgeKind,
    FileFact,
    NodeKind,
    Snapshot,
    SymbolFact,
    Visibility,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

_numbers = count(1)


def make_user(username: str | None = None, *, password: str | None = None) -> User:
    """Make a user; hashing a password takes half a second, so there is none unless given."""
    return User.objects.create_user(username or f"user-{next(_numbers)}", password=password)


def make_administrator() -> User:
    """Make the person who runs the server, named admin, without a password."""
    user = make_user("admin")
    user.is_staff = user.is_superuser = True
    user.save()
    return user


def make_namespace(
    name: str | None = None, *, owner: User | None = None, **members: User
) -> Namespace:
    """Make a namespace; `members` are users by role: reader=..., writer=..., maintainer=..."""
    namespace = accounts.create_namespace(
        name=name or f"team-{next(_numbers)}", owner=owner or make_user(), actor="tests"
    )
    for role, user in members.items():
        accounts.set_role(namespace=namespace, user=user, role=Role[role.upper()], actor="tests")
    return namespace


def make_token(
    user: User,
    *,
    name: str = "tests",
    scopes: Iterable[TokenScope] | None = None,
    kind: TokenKind = TokenKind.USER,
    namespaces: Iterable[Namespace] = (),
    expires_at: datetime | None = None,
    now: datetime = NOW,
) -> IssuedToken:
    return accounts.issue_token(
        user=user,
        name=name,
        actor=user,
        now=now,
        kind=kind,
        scopes=None if scopes is None else list(scopes),
        namespaces=list(namespaces),
        expires_at=expires_at,
    )


def caller_of(user: User, *, scopes: Iterable[TokenScope] = TokenScope) -> Caller:
    """Return the caller that a token of this user with these scopes would be."""
    token = make_token(user, scopes=scopes)
    return accounts.authenticate_token(secret=token.secret, now=NOW, ip=None)


def make_repository(
    namespace: Namespace,
    name: str | None = None,
    *,
    url: str | None = None,
    created_by: User | None = None,
    default_branch: str = "main",
) -> Repository:
    name = name or f"repository-{next(_numbers)}"
    return graph.register_repository(
        namespace=namespace,
        name=name,
        url=url or f"https://git.example/{namespace.name}/{name}.git",
        created_by=created_by or make_user(),
        default_branch=default_branch,
    )


def file_fact(
    path: str, *, blob: str = "1", lines: int = 100, language: str = "python"
) -> FileFact:
    return FileFact(
        path=path, blob=_hash(path, blob), size=1000, lines=lines, language=language, skipped=None
    )


def symbol_fact(
    path: str,
    local_name: str,
    *,
    line: int = 1,
    kind: NodeKind = NodeKind.FUNCTION,
    ordinal: int = 0,
    body: str = "return 1",
    doc: str = "",
    language: str = "python",
    is_test: bool = False,
) -> SymbolFact:
    """Return a definition of five lines from `line` on, in the module that its path names."""
    name = local_name.rpartition(".")[2]
    signature = f"def {name}()"
    return SymbolFact(
        path=path,
        name=name,
        local_name=local_name,
        qualified_name=f"{path.rpartition('.')[0].replace('/', '.')}.{local_name}",
        kind=kind,
        ordinal=ordinal,
        language=language,
        parent=None,
        start_line=line,
        end_line=line + 4,
        signature=signature,
        doc=doc,
        visibility=Visibility.PUBLIC,
        is_test=is_test,
        body_hash=_hash(signature, body),
        source_text=f"{signature}:\n    {body}\n",
    )


def edge_fact(
    source: str,
    target: str,
    kind: EdgeKind = EdgeKind.CALLS,
    *,
    confidence: float = 0.9,
    rule: str = "import",
    line: int = 1,
) -> EdgeFact:
    return EdgeFact(kind, source, target, confidence, rule, line)


def snapshot(
    *symbols: SymbolFact,
    edges: Iterable[EdgeFact] = (),
    files: Iterable[FileFact] | None = None,
    commit: str = "1",
    at: int = 1_000,
) -> Snapshot:
    """Return a snapshot of some symbols; their files come along unless `files` names all files."""
    paths = dict.fromkeys(symbol.path for symbol in symbols)
    return Snapshot(
        commit=commit * 40 if len(commit) == 1 else commit,
        committed_at=at,
        files=tuple(file_fact(path) for path in paths) if files is None else tuple(files),
        symbols=symbols,
        edges=tuple(edges),
    )


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]
