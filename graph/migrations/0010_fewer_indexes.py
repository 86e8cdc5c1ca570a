from pathlib import Path
from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

SCHEMA = Path(__file__).parent.parent / "sql" / "schema.sql"

UPGRADE = """
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


def _key(to: str, related_name: str = "+", *, db_index: bool = True) -> models.ForeignKey:
    return models.ForeignKey(
        to=to,
        on_delete=django.db.models.deletion.CASCADE,
        related_name=related_name,
        db_constraint=False,
        db_index=db_index,
    )


class Migration(migrations.Migration):
    """Drop indexes that others cover, and checks of keys row by row: they made writing slow."""

    dependencies: ClassVar = [("graph", "0009_edges_functions")]

    operations: ClassVar = [
        migrations.RemoveConstraint("symbolversion", "graph_symbol_version_one_live"),
        migrations.RemoveIndex("symbolversion", "graph_symbol_version_file"),
        migrations.RemoveIndex("symbolversion", "graph_symbol_version_live"),
        migrations.RemoveIndex("symbolversion", "graph_symbol_version_model"),
        migrations.AlterField("fileversion", "file", _key("graph.sourcefile", "versions")),
        migrations.AlterField("fileversion", "repository", _key("graph.repository")),
        migrations.AlterField(
            "sourcefile", "repository", _key("graph.repository", "files", db_index=False)
        ),
        migrations.AlterField(
            "symbol", "repository", _key("graph.repository", "symbols", db_index=False)
        ),
        migrations.AlterField("symbolversion", "file", _key("graph.sourcefile", db_index=False)),
        migrations.AlterField(
            "symbolversion", "repository", _key("graph.repository", db_index=False)
        ),
        migrations.AlterField(
            "symbolversion", "symbol", _key("graph.symbol", "versions", db_index=False)
        ),
        migrations.AddIndex(
            "symbolversion",
            models.Index(fields=["file", "layer"], name="graph_symbol_version_of_file"),
        ),
        migrations.AddIndex(
            "symbolversion",
            models.Index(
                fields=["repository", "layer", "embedding_fingerprint"],
                condition=models.Q(("valid_to", None)),
                name="graph_symbol_version_live",
            ),
        ),
        migrations.AddConstraint(
            "symbolversion",
            models.UniqueConstraint(
                fields=["symbol", "layer", "valid_to"],
                nulls_distinct=False,
                name="graph_symbol_version_once",
            ),
        ),
        migrations.RunSQL(SCHEMA.read_text(), migrations.RunSQL.noop),
        migrations.RunSQL(UPGRADE, migrations.RunSQL.noop),
    ]
