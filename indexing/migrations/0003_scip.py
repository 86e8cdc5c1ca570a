from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("graph", "0003_embedding_in_row"), ("indexing", "0002_dependencies")]
    operations: ClassVar = [
        migrations.CreateModel(
            name="CompilerAnswers",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("path", models.TextField()),
                ("blob", models.CharField(max_length=64)),
                ("indexer", models.CharField(max_length=30)),
                ("answers", models.BinaryField()),
                ("digest", models.BinaryField(max_length=16)),
                ("is_applied", models.BooleanField(default=False)),
                ("seen_at", models.DateTimeField()),
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
                        condition=models.Q(("is_applied", False)),
                        fields=["repository"],
                        name="indexing_answers_to_apply",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("repository", "path", "blob"), name="indexing_answers_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ScipRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("indexer", models.CharField(max_length=30)),
                ("version", models.CharField(blank=True, max_length=250)),
                ("commit", models.CharField(max_length=64)),
                ("digest", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("done", "Done"),
                            ("partial", "Partial"),
                            ("failed", "Failed"),
                            ("absent", "Absent"),
                        ],
                        max_length=10,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("is_walled", models.BooleanField(default=False)),
                ("started_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                ("seconds", models.FloatField(default=0)),
                ("peak_bytes", models.BigIntegerField(default=0)),
                ("counts", models.JSONField(default=dict)),
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
                "ordering": ["-started_at"],
                "indexes": [
                    models.Index(
                        fields=["repository", "indexer", "-started_at"],
                        name="indexing_scip_recent",
                    )
                ],
            },
        ),
    ]
