"""By which content an anchor was judged, up to where anchors are checked, branches of memories."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0010_imported")]

    operations = [
        migrations.AddField(
            model_name="anchor",
            name="blob",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.CreateModel(
            name="AnchorsChecked",
            fields=[
                (
                    "repository",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="anchors_checked",
                        serialize=False,
                        to="graph.repository",
                    ),
                ),
                ("commit", models.CharField(max_length=64)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="MemoryBranch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=255)),
                ("head", models.CharField(blank=True, max_length=64)),
                ("gone_at", models.DateTimeField(blank=True, null=True)),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memory_branches",
                        to="graph.repository",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("repository"), models.F("name"), name="memory_branch_once"
                    )
                ],
            },
        ),
    ]
