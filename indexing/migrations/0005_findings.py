import codemem.accounts.models
from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("graph", "0005_history"),
        ("indexing", "0004_history"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Analysis",
            fields=[
                (
                    "repository",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="analysis",
                        serialize=False,
                        to="graph.repository",
                    ),
                ),
                ("commit", models.CharField(max_length=64)),
                ("analyzed_at", models.DateTimeField()),
                ("history_commit", models.CharField(blank=True, max_length=64)),
                ("rules_version", models.IntegerField(default=0)),
                ("files_to_blame", models.IntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="AnalyzedFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("path", models.TextField()),
                ("blob", models.CharField(max_length=64)),
                ("rules_version", models.IntegerField()),
                ("blamed_blob", models.CharField(blank=True, max_length=64)),
                ("lines_by_author", models.JSONField(default=dict)),
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
                        fields=("repository", "path"), name="indexing_analyzed_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FileChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("commit", models.CharField(max_length=64)),
                ("author", models.CharField(max_length=320)),
                ("committed_at", models.DateTimeField()),
                ("path", models.TextField()),
                ("lines_added", models.IntegerField()),
                ("lines_removed", models.IntegerField()),
                ("files_in_commit", models.IntegerField()),
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
                    models.Index(fields=["repository", "path"], name="indexing_change_path"),
                    models.Index(
                        fields=["repository", "committed_at"], name="indexing_change_time"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("repository", "commit", "path"), name="indexing_change_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Finding",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=codemem.accounts.models.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("rule", models.CharField(max_length=60)),
                (
                    "severity",
                    models.CharField(
                        choices=[
                            ("info", "Info"),
                            ("low", "Low"),
                            ("medium", "Medium"),
                            ("high", "High"),
                            ("critical", "Critical"),
                        ],
                        max_length=10,
                    ),
                ),
                ("weight", models.SmallIntegerField()),
                ("confidence", models.FloatField()),
                ("path", models.TextField()),
                ("line", models.IntegerField()),
                ("end_line", models.IntegerField()),
                ("symbol", models.TextField(blank=True)),
                ("message", models.TextField()),
                ("fingerprint", models.BinaryField(max_length=32)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("resolved", "Resolved"),
                            ("dismissed", "Dismissed"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("first_seen_commit", models.CharField(max_length=64)),
                ("first_seen_at", models.DateTimeField()),
                ("last_seen_commit", models.CharField(max_length=64)),
                ("last_seen_at", models.DateTimeField()),
                ("resolved_commit", models.CharField(blank=True, max_length=64)),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
                ("dismissed_by", models.CharField(blank=True, max_length=150)),
                ("dismissed_reason", models.CharField(blank=True, max_length=1000)),
                ("dismissed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="findings",
                        to="graph.repository",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "open")),
                        fields=["repository", "-weight", "rule", "path", "line", "id"],
                        name="indexing_finding_open",
                    ),
                    models.Index(fields=["repository", "path"], name="indexing_finding_path"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("repository", "fingerprint"), name="indexing_finding_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Metric",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("node", models.TextField(blank=True)),
                ("name", models.CharField(max_length=40)),
                ("value", models.FloatField()),
                ("since_commit", models.CharField(max_length=64)),
                ("since_at", models.DateTimeField()),
                ("until_commit", models.CharField(blank=True, max_length=64)),
                ("until_at", models.DateTimeField(null=True)),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="metrics",
                        to="graph.repository",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("until_at", None)),
                        fields=["repository", "name", "-value"],
                        name="indexing_metric_highest",
                    ),
                    models.Index(
                        condition=models.Q(("until_at", None)),
                        fields=["repository", "node"],
                        name="indexing_metric_node",
                    ),
                    models.Index(
                        condition=models.Q(("until_at", None), _negated=True),
                        fields=["until_at"],
                        name="indexing_metric_ended",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("until_at", None)),
                        fields=("repository", "name", "node"),
                        name="indexing_metric_one_live",
                    )
                ],
            },
        ),
    ]
