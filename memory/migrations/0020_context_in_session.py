"""Recall reads the contexts of sessions without those that have none."""

from typing import ClassVar

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies: ClassVar = [("memory", "0019_failures_seen_and_learned")]

    operations: ClassVar = [
        AddIndexConcurrently(
            model_name="memorycontext",
            index=models.Index(
                condition=models.Q(tokens__gt=""),
                fields=["namespace"],
                name="memory_context_in_session",
            ),
        ),
    ]
