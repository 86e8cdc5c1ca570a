from typing import ClassVar

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Keep what crosses repositories: packages, traffic between services, edges."""

    dependencies: ClassVar = [("indexing", "0005_findings"), ("graph", "0007_services")]
    operations: ClassVar = [
        migrations.CreateModel(
            name="CrossingState",
            fields=[
                (
                    "repository",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="graph.repository",
                    ),
                ),
                ("manifests_digest", models.CharField(blank=True, max_length=64)),
                ("refreshed_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("path", models.TextField()),
                ("line", models.IntegerField()),
                ("symbol", models.TextField(blank=True)),
                ("certainty", models.FloatField()),
                ("is_test", models.BooleanField(default=False)),
                ("text", models.CharField(blank=True, max_length=300)),
                ("method", models.CharField(max_length=10)),
                ("route", models.CharField(max_length=500)),
                ("template", models.CharField(max_length=500)),
                ("framework", models.CharField(max_length=20)),
                ("handler_path", models.TextField(blank=True)),
                ("handler_name", models.TextField(blank=True)),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="graph.repository",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="HttpRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("path", models.TextField()),
                ("line", models.IntegerField()),
                ("symbol", models.TextField(blank=True)),
                ("certainty", models.FloatField()),
                ("is_test", models.BooleanField(default=False)),
                ("text", models.CharField(blank=True, max_length=300)),
                ("method", models.CharField(max_length=10)),
                ("url", models.CharField(max_length=500)),
                ("host", models.CharField(blank=True, max_length=255)),
                ("template", models.CharField(max_length=500)),
                ("library", models.CharField(max_length=20)),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="graph.repository",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="TopicUse",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("path", models.TextField()),
                ("line", models.IntegerField()),
                ("symbol", models.TextField(blank=True)),
                ("certainty", models.FloatField()),
                ("is_test", models.BooleanField(default=False)),
                ("text", models.CharField(blank=True, max_length=300)),
                ("bus", models.CharField(max_length=20)),
                ("topic", models.CharField(blank=True, max_length=300)),
                ("is_publishing", models.BooleanField()),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="graph.repository",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="CrossingEdge",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("source", models.BigIntegerField()),
                ("target", models.BigIntegerField()),
                ("source_id", models.TextField()),
                ("target_id", models.TextField()),
                ("path", models.TextField(blank=True)),
                ("confidence", models.FloatField()),
                ("rule", models.CharField(max_length=30)),
                ("line", models.IntegerField(default=0)),
                ("text", models.CharField(blank=True, max_length=300)),
                (
                    "other",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="graph.repository",
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
            options={
                "indexes": [models.Index(fields=["target"], name="indexing_crossing_target")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("repository", "kind", "source", "target"),
                        name="indexing_crossing_edge",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CrossingFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("path", models.TextField()),
                ("blob", models.CharField(max_length=64)),
                ("version", models.CharField(max_length=20)),
                ("has_traffic", models.BooleanField(default=False)),
                ("traffic", models.JSONField(default=dict)),
                ("has_imports", models.BooleanField(default=False)),
                ("imports", models.JSONField(default=list)),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="graph.repository",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("has_traffic", True)),
                        fields=["repository"],
                        name="indexing_crossing_traffic",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("repository", "path"), name="indexing_crossing_file"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="OuterPackage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("manager", models.CharField(max_length=20)),
                ("name", models.CharField(max_length=214)),
                ("imports", models.IntegerField()),
                ("uses", models.IntegerField()),
                ("resolved", models.IntegerField()),
                ("unresolved", models.JSONField(default=list)),
                (
                    "other",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="graph.repository",
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
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("repository", "manager", "name"), name="indexing_outer_package"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PackageDependency",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("path", models.TextField()),
                ("manager", models.CharField(max_length=20)),
                ("name", models.CharField(max_length=214)),
                ("range", models.CharField(blank=True, max_length=200)),
                ("scope", models.CharField(max_length=10)),
                ("alias", models.CharField(blank=True, max_length=214)),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="graph.repository",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["manager", "name"], name="indexing_dependency_package")
                ],
            },
        ),
        migrations.CreateModel(
            name="PackageManifest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("path", models.TextField()),
                ("manager", models.CharField(max_length=20)),
                ("name", models.CharField(blank=True, max_length=214)),
                ("version", models.CharField(blank=True, max_length=200)),
                (
                    "namespaces",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), default=list, size=None
                    ),
                ),
                (
                    "members",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), null=True, size=None
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
            options={
                "indexes": [
                    models.Index(fields=["manager", "name"], name="indexing_manifest_package")
                ],
            },
        ),
    ]
