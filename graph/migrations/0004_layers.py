from pathlib import Path
from typing import ClassVar

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

SCHEMA = Path(__file__).parent.parent / "sql" / "schema.sql"

# Validity was told in commit times. One revision for each repository takes their place; rows that
# ended before are of no use to anybody: there are no overlays yet.
REVISIONS = """
insert into graph_revision (repository_id, layer, commit, committed_at, is_whole)
select version.repository_id, 0,
    coalesce((
        select ref.indexed_commit from graph_ref ref
        where ref.repository_id = version.repository_id and ref.layer = 0 and ref.indexed_commit <> ''
        order by ref.indexed_at desc limit 1), ''),
    max(version.valid_from), true
from graph_fileversion version group by version.repository_id;

delete from graph_symbolversion where valid_to is not null;
delete from graph_fileversion where valid_to is not null;
update graph_fileversion version set valid_from = revision.id
from graph_revision revision where revision.repository_id = version.repository_id;
update graph_symbolversion version
set valid_from = revision.id, qualified_name = symbol.qualified_name
from graph_revision revision, graph_symbol symbol
where revision.repository_id = version.repository_id and symbol.id = version.symbol_id;

do $do$
declare
    graph text;
    label text;
begin
    perform set_config('search_path', 'public, ag_catalog', true);
    for graph in select name::text from ag_catalog.ag_graph where name::text ~ '^ns_[0-9a-f]{32}$' loop
        perform codegraph.upgrade_graph(graph);
        foreach label in array codegraph.code_edge_labels() loop
            execute format('delete from %I.%I where %s', graph, label, codegraph.is_aside());
            execute format($update$
                update %1$I.%2$I edge set properties = edge.properties operator(ag_catalog.||)
                    ag_catalog.agtype_build_map('vf'::text, revision.id, 's'::text, 1)
                from graph_sourcefile file
                join graph_revision revision on revision.repository_id = file.repository_id
                where file.id = %3$s $update$, graph, label, replace(codegraph.number_property('f'),
                    'properties', 'edge.properties'));
        end loop;
        foreach label in array array['Symbol', 'File'] loop
            execute format($update$
                update %1$I.%2$I vertex set properties = vertex.properties operator(ag_catalog.||)
                    ag_catalog.agtype_build_map('head'::text, %4$s = 9999999999, 'vf'::text, revision.id,
                        'vt'::text, case when %4$s = 9999999999 then 9999999999 else revision.id end)
                from graph_revision revision
                where revision.repository_id::text = %3$s::text $update$, graph, label,
                    replace(codegraph.property('repo'), 'properties', 'vertex.properties'),
                    replace(codegraph.number_property('vt'), 'properties', 'vertex.properties'));
        end loop;
    end loop;
end
$do$;
"""


class Migration(migrations.Migration):
    """Revisions as the measure of validity, overlays, entities; the graph's later edge labels."""

    dependencies: ClassVar = [
        ("accounts", "0002_audit_events_only_added"),
        ("graph", "0003_embedding_in_row"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Entity",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("label", models.SmallIntegerField()),
                ("key", models.TextField()),
                ("name", models.TextField()),
                ("data", models.JSONField(default=dict)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                (
                    "namespace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.namespace",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "entities",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("namespace", "label", "key"), name="graph_entity_key"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Revision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("layer", models.IntegerField(default=0)),
                ("commit", models.CharField(max_length=64)),
                ("committed_at", models.BigIntegerField()),
                (
                    "made_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("is_whole", models.BooleanField(default=True)),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="revisions",
                        to="graph.repository",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["repository", "layer", "-id"], name="graph_revision_newest"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Layer",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("ref_name", models.CharField(max_length=255)),
                ("commit", models.CharField(max_length=64)),
                (
                    "made_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "used_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("expires_at", models.DateTimeField(null=True)),
                (
                    "base_revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="+",
                        to="graph.revision",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="layers",
                        to="graph.repository",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("owner", None)),
                        fields=("repository", "ref_name"),
                        name="graph_layer_of_branch",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("owner__isnull", False)),
                        fields=("repository", "ref_name", "owner"),
                        name="graph_layer_of_work_tree",
                    ),
                ],
            },
        ),
        migrations.AddField("fileversion", "is_removed", models.BooleanField(default=False)),
        migrations.AddField(
            "symbolversion",
            "qualified_name",
            models.TextField(blank=True, default=""),
            preserve_default=False,
        ),
        migrations.AddField("symbolversion", "cyclomatic", models.IntegerField(default=0)),
        migrations.AddField("symbolversion", "cognitive", models.IntegerField(default=0)),
        migrations.AddField(
            "symbolversion",
            "parameters",
            django.contrib.postgres.fields.ArrayField(models.TextField(), default=list, size=None),
        ),
        migrations.AddField(
            "symbolversion",
            "decorators",
            django.contrib.postgres.fields.ArrayField(models.TextField(), default=list, size=None),
        ),
        migrations.RemoveIndex("symbol", "graph_symbol_qualified"),
        migrations.AddIndex(
            "symbolversion",
            models.Index(
                fields=["repository", "qualified_name"], name="graph_symbol_version_qualified"
            ),
        ),
        migrations.AddIndex(
            "fileversion",
            models.Index(
                fields=["layer"],
                condition=models.Q(("layer__gt", 0)),
                name="graph_file_version_overlay",
            ),
        ),
        migrations.AddIndex(
            "symbolversion",
            models.Index(
                fields=["layer"],
                condition=models.Q(("layer__gt", 0)),
                name="graph_symbol_version_overlay",
            ),
        ),
        migrations.AddIndex(
            "fileversion",
            models.Index(
                fields=["repository", "valid_to"],
                condition=models.Q(("valid_to__isnull", False)),
                name="graph_file_version_ended",
            ),
        ),
        migrations.AddIndex(
            "symbolversion",
            models.Index(
                fields=["repository", "valid_to"],
                condition=models.Q(("valid_to__isnull", False)),
                name="graph_symbol_version_ended",
            ),
        ),
        migrations.RunSQL(SCHEMA.read_text(), migrations.RunSQL.noop),
        migrations.RunSQL(REVISIONS, migrations.RunSQL.noop),
    ]
