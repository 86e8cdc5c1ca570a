from typing import ClassVar

import pgvector.django
from django.db import migrations

# The old indexes were not of one model and one length; maintenance builds the new ones beside.
DROP_INDEXES = """
do $do$
declare
    found text;
begin
    for found in select indexrelid::regclass::text from pg_index join pg_class on pg_class.oid = indexrelid
        where indrelid = 'graph_symbolversion'::regclass and starts_with(relname, 'graph_vectors_')
    loop
        execute 'drop index ' || found;
    end loop;
end
$do$;
"""


class Migration(migrations.Migration):
    """Let vectors have any length. No row is written anew: only the column's limit goes."""

    dependencies: ClassVar = [("graph", "0010_fewer_indexes")]

    operations: ClassVar = [
        migrations.RunSQL(DROP_INDEXES, migrations.RunSQL.noop),
        migrations.AlterField(
            "symbolversion", "embedding", pgvector.django.HalfVectorField(null=True)
        ),
        # In the row as long as it fits into a page; PLAIN would refuse 4,000 numbers.
        migrations.RunSQL(
            "ALTER TABLE graph_symbolversion ALTER COLUMN embedding SET STORAGE MAIN",
            "ALTER TABLE graph_symbolversion ALTER COLUMN embedding SET STORAGE PLAIN",
        ),
    ]
