"""The connection to Postgres: Django's own, but for ROLLBACK, and for how much is sent at once.

Postgres analyzes a ROLLBACK that arrives as text, and AGE (1.5 to 1.8) takes part in that: when
somebody else's DDL has emptied its caches meanwhile, it reads pg_extension, which a failed
transaction must not. The ROLLBACK then fails, too, and the lock that AGE took outlives the
connection: every later one that gets the same slot of the server fails with "failed to re-find
shared lock object" or "lock ... is already held". What was analyzed before is not analyzed again.
"""

from collections.abc import Sequence
from typing import Any, Final

from django.db.backends.postgresql import base, features, operations
from psycopg.pq import TransactionStatus

from codemem.postgres.lists import MOST_PARAMETERS

_ROLLBACK: Final = b"codemem_rollback"


class _Features(features.DatabaseFeatures):
    max_query_params = MOST_PARAMETERS


class _Operations(operations.DatabaseOperations):
    def bulk_batch_size(self, fields: Sequence[Any], objs: Sequence[Any]) -> int:
        """Return how many rows one statement may write (or delete by their keys)."""
        return min(len(objs), MOST_PARAMETERS // max(len(fields), 1))


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that has its ROLLBACK prepared, and breaks no limit of the protocol."""

    features_class = _Features
    ops_class = _Operations

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        connection.pgconn.prepare(_ROLLBACK, b"ROLLBACK")
        return connection

    def _rollback(self) -> None:
        if self.connection is not None:
            server = self.connection.pgconn
            # Also one that has not failed: psycopg's own rollback would have Postgres forget every
            # prepared statement, this one and those of codemem.plans.
            if server.transaction_status in {TransactionStatus.INERROR, TransactionStatus.INTRANS}:
                # Behind a pooler this may be another session than the one it was prepared in: it
                # then fails, changes nothing, and the text below does it.
                server.exec_prepared(_ROLLBACK, [])
        super()._rollback()  # type: ignore[misc]  # the stubs leave it out
