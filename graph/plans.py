"""Plans that a connection keeps: for hot statements that take longer to plan than to run."""

import contextlib
from collections.abc import Iterator

from django.db import connection


@contextlib.contextmanager
def kept_plans() -> Iterator[None]:
    """Have Postgres keep the plans of the statements executed inside, where that is worth it.

    Only for statements of a fixed text whose best plan does not depend on their parameters, such
    as look-ups by key. psycopg keeps the hundred that a connection used last.
    """
    connection.ensure_connection()
    link = connection.connection
    before, link.prepare_threshold = link.prepare_threshold, 0
    try:
        yield
    finally:
        link.prepare_threshold = before
