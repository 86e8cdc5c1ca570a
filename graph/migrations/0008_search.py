from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Find what lacks a vector of today's model without reading what has one."""

    dependencies: ClassVar = [("graph", "0007_services")]
    operations: ClassVar = [
        migrations.AddIndex(
            model_name="symbolversion",
            index=models.Index(
                condition=models.Q(("valid_to", None)),
                fields=["repository", "embedding_fingerprint"],
                name="graph_symbol_version_model",
            ),
        )
    ]
