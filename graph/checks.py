"""System checks that say in a sentence what the database lacks, and how to mend it."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as CheckWarning
from django.db import connections
from django.db.utils import OperationalError

_PROVISION = "Run deploy/postgres/provision.sql as a superuser on this database and on template1."
_MINIMUM_POSTGRES = 18_00_00
_REQUIRED = {"age": (1, 7), "vector": (0, 8)}


@register("database")
def check_database(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Check server version, extensions and privileges of each named database."""
    problems: list[CheckMessage] = []
    for alias in databases or ():
        try:
            problems += _check(alias)
        except OperationalError as error:
            problems.append(
                Error(
                    f"Postgres does not answer: {str(error).strip().splitlines()[0]}",
                    hint="Check DATABASE_URL; `make up` starts a server of its own.",
                    id="graph.E001",
                )
            )
    return problems


def _check(alias: str) -> list[CheckMessage]:
    connection = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int")
        version = cursor.fetchone()[0]
        cursor.execute("SELECT extname, extversion FROM pg_extension")
        installed = dict(cursor.fetchall())
        problems = _check_versions(version, installed)
        if "age" in installed:
            problems += _check_age(cursor)
    return problems


def _check_versions(version: int, installed: dict[str, str]) -> list[CheckMessage]:
    problems: list[CheckMessage] = []
    if version < _MINIMUM_POSTGRES:
        problems.append(
            Error(
                f"PostgreSQL {version // 10000} is too old: codemem needs 18 or newer.",
                hint="Earlier AGE versions let a read-only role empty a graph.",
                id="graph.E002",
            )
        )
    for name, minimum in _REQUIRED.items():
        if name not in installed:
            problems.append(
                Error(
                    f"The Postgres extension {name} is missing in this database.",
                    hint=_PROVISION,
                    id="graph.E003",
                )
            )
        elif _parts(installed[name]) < minimum:
            wanted = ".".join(str(part) for part in minimum)
            problems.append(
                Error(
                    f"The Postgres extension {name} {installed[name]} is older than {wanted}.",
                    hint="Upgrade its package, then ALTER EXTENSION ... UPDATE.",
                    id="graph.E004",
                )
            )
    if "pg_textsearch" not in installed:
        problems.append(
            CheckWarning(
                "The Postgres extension pg_textsearch is missing: words are ranked by stock full"
                " text search, which is slower on large namespaces.",
                hint=_PROVISION,
                id="graph.W001",
            )
        )
    return problems


def _check_age(cursor: Any) -> list[CheckMessage]:
    cursor.execute(
        "SELECT has_schema_privilege('ag_catalog', 'USAGE')"
        " AND has_database_privilege(current_database(), 'CREATE')"
    )
    if not cursor.fetchone()[0]:
        # The names below could not even be looked up.
        return [
            Error(
                "This role may not use AGE's catalog or create schemas in this database.",
                hint=_PROVISION,
                id="graph.E005",
            )
        ]
    cursor.execute(
        "SELECT EXISTS (SELECT FROM pg_cast WHERE castsource = 'bigint'::regtype"
        "               AND casttarget = 'ag_catalog.graphid'::regtype),"
        "       EXISTS (SELECT FROM pg_amop JOIN pg_opclass ON amopfamily = opcfamily"
        "               WHERE opcname = 'agtype_ops_btree' AND amopstrategy = 4 AND amopopr ="
        "               'ag_catalog.>(ag_catalog.agtype,ag_catalog.agtype)'::regoperator)"
    )
    has_cast, is_swapped = cursor.fetchone()
    problems: list[CheckMessage] = []
    if not has_cast:
        problems.append(
            Error(
                "The casts between bigint and graphid are missing.",
                hint=_PROVISION,
                id="graph.E006",
            )
        )
    if is_swapped:
        problems.append(
            Error(
                "AGE's b-tree operators > and >= are still swapped in this database, which gives"
                " wrong answers.",
                hint=_PROVISION,
                id="graph.E007",
            )
        )
    return problems


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
