from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("graph", "0005_history"), ("indexing", "0003_scip")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="History",
            fields=[
                (
                    "repository",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="history",
                        serialize=False,
                        to="graph.repository",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("head", models.CharField(blank=True, max_length=64)),
                ("length", models.IntegerField(default=0)),
                ("spans_until", models.IntegerField(default=0)),
                ("commits_total", models.IntegerField(default=0)),
                ("commits_done", models.IntegerField(default=0)),
                ("shallow", models.IntegerField(default=0)),
                ("seconds", models.FloatField(default=0)),
                ("started_at", models.DateTimeField(null=True)),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("error", models.TextField(blank=True)),
            ],
            options={
                "verbose_name_plural": "histories",
            },
        ),
        migrations.CreateModel(
            name="ManifestText",
            fields=[
                ("blob", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("text", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="TreeSpan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("path", models.TextField()),
                ("blob", models.CharField(max_length=64)),
                ("from_position", models.IntegerField()),
                ("to_position", models.IntegerField(null=True)),
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
                        fields=["repository", "from_position", "to_position"],
                        name="indexing_span_position",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("to_position", None)),
                        fields=("repository", "path"),
                        name="indexing_span_one_open",
                    )
                ],
            },
        ),
    ]
