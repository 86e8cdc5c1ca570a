from pathlib import Path
from typing import ClassVar

from django.db import migrations

SCHEMA = Path(__file__).parent.parent / "sql" / "schema.sql"

UPGRADE = """
drop function if exists codegraph.edges_through(text, text, text);
do $do$
declare
    graph text;
begin
    for graph in select name::text from ag_catalog.ag_graph where name::text ~ '^ns_[0-9a-f]{32}$' loop
        perform codegraph.upgrade_graph(graph);
    end loop;
end
$do$;
"""


class Migration(migrations.Migration):
    """Functions that return the edges at some vertices, so that their plans are kept."""

    dependencies: ClassVar = [("graph", "0008_search")]

    operations: ClassVar = [
        migrations.RunSQL(SCHEMA.read_text(), migrations.RunSQL.noop),
        migrations.RunSQL(UPGRADE, migrations.RunSQL.noop),
    ]
