from typing import ClassVar

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("indexing", "0001_initial"), ("graph", "0004_layers")]
    operations: ClassVar = [
        migrations.AddField(
            model_name="indexrun",
            name="whole_because",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.CreateModel(
            name="KeptResolution",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.CharField(max_length=100)),
                ("whole_since", models.BigIntegerField()),
                (
                    "repository",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="graph.repository",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="FileDependencies",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "consulted",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField()),
                ),
                (
                    "offered",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField()),
                ),
                (
                    "derived",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField()),
                ),
                ("valid_from", models.BigIntegerField()),
                ("valid_to", models.BigIntegerField(null=True)),
                (
                    "file",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="graph.sourcefile",
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
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["consulted"], name="indexing_dependencies_used"
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["offered"], name="indexing_dependencies_offer"
                    ),
                    models.Index(
                        condition=models.Q(("valid_to__isnull", False)),
                        fields=["repository", "valid_to"],
                        name="indexing_dependencies_ended",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("valid_to", None)),
                        fields=("file",),
                        name="indexing_dependencies_one_live",
                    )
                ],
            },
        ),
    ]
