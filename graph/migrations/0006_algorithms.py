from typing import ClassVar

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    """Keep what the shape of a graph says: bridges, layers, groups, ranks among repositories."""

    dependencies: ClassVar = [
        ("accounts", "0002_audit_events_only_added"),
        ("graph", "0005_history"),
    ]
    operations: ClassVar = [
        migrations.AddField(
            model_name="nodescore",
            name="betweenness",
            field=models.FloatField(db_default=0.0),
        ),
        migrations.AddField(
            model_name="nodescore",
            name="layer",
            field=models.IntegerField(db_default=0),
        ),
        migrations.CreateModel(
            name="Analysis",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("commit", models.CharField(blank=True, max_length=64)),
                ("revision", models.BigIntegerField(default=0)),
                (
                    "computed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("nodes", models.IntegerField()),
                ("edges", models.IntegerField()),
                ("layers", models.IntegerField()),
                ("cyclic_files", models.IntegerField()),
                ("modularity", models.FloatField()),
                ("seconds", models.JSONField(default=dict)),
                ("network", models.BinaryField(null=True)),
                (
                    "namespace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.namespace",
                    ),
                ),
                (
                    "repository",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="graph.repository",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "analyses",
            },
        ),
        migrations.CreateModel(
            name="Community",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("resolution", models.FloatField()),
                ("number", models.IntegerField()),
                ("name", models.CharField(max_length=500)),
                ("cohesion", models.FloatField()),
                ("rank", models.FloatField()),
                (
                    "members",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), size=None
                    ),
                ),
                (
                    "neighbors",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), default=list, size=None
                    ),
                ),
                (
                    "analysis",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="communities",
                        to="graph.analysis",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "communities",
            },
        ),
        migrations.CreateModel(
            name="NamespaceScore",
            fields=[
                ("node", models.BigIntegerField(primary_key=True, serialize=False)),
                ("rank", models.FloatField()),
                ("percentile", models.FloatField()),
                ("in_degree", models.IntegerField()),
                (
                    "namespace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.namespace",
                    ),
                ),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="graph.repository",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="analysis",
            index=models.Index(
                condition=models.Q(("repository__isnull", False)),
                fields=["repository", "-id"],
                name="graph_analysis_repository",
            ),
        ),
        migrations.AddIndex(
            model_name="analysis",
            index=models.Index(
                condition=models.Q(("repository", None)),
                fields=["namespace", "-id"],
                name="graph_analysis_namespace",
            ),
        ),
        migrations.AddConstraint(
            model_name="community",
            constraint=models.UniqueConstraint(
                fields=("analysis", "resolution", "number"), name="graph_community_once"
            ),
        ),
        migrations.AddIndex(
            model_name="namespacescore",
            index=models.Index(fields=["namespace", "-rank"], name="graph_namespace_score_rank"),
        ),
    ]
