from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Do not check the keys of what files depend on row by row, as those of the graph's rows."""

    dependencies: ClassVar = [
        ("graph", "0010_fewer_indexes"),
        ("indexing", "0006_services"),
    ]

    operations: ClassVar = [
        migrations.AlterField(
            "filedependencies",
            "file",
            models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="graph.sourcefile",
            ),
        ),
        migrations.AlterField(
            "filedependencies",
            "repository",
            models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="graph.repository",
            ),
        ),
    ]
