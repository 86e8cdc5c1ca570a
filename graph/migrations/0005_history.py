from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("graph", "0004_layers")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="commit",
            name="body",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="commit",
            name="is_bot",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="commit",
            name="landed",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="commit",
            name="mapped_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="commit",
            name="position",
            field=models.IntegerField(null=True),
        ),
        migrations.CreateModel(
            name="PullRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.IntegerField()),
                ("title", models.CharField(blank=True, max_length=500)),
                ("branch", models.CharField(blank=True, max_length=255)),
                ("merged_commit", models.CharField(max_length=64)),
                ("merged_at", models.DateTimeField()),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pull_requests",
                        to="graph.repository",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="commit",
            name="pull_request",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="commits",
                to="graph.pullrequest",
            ),
        ),
        migrations.AddIndex(
            model_name="commit",
            index=models.Index(fields=["repository", "-committed_at"], name="graph_commit_recent"),
        ),
        migrations.AddIndex(
            model_name="commit",
            index=models.Index(fields=["repository", "landed"], name="graph_commit_landed"),
        ),
        migrations.AddIndex(
            model_name="commit",
            index=models.Index(
                condition=models.Q(("landed__isnull", False), ("mapped_at", None)),
                fields=["repository", "-committed_at"],
                name="graph_commit_unmapped",
            ),
        ),
        migrations.AddConstraint(
            model_name="commit",
            constraint=models.UniqueConstraint(
                fields=("repository", "position"), name="graph_commit_one_at_position"
            ),
        ),
        migrations.AddConstraint(
            model_name="pullrequest",
            constraint=models.UniqueConstraint(
                fields=("repository", "number"), name="graph_pull_request_once"
            ),
        ),
    ]
