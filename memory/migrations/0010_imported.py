"""What we know of a memory that came in an archive, beside what the archive claims."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0009_consolidation_runs_and_language_use"),
        ("memory", "0009_vectors_of_any_model"),
    ]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="imported",
            field=models.JSONField(blank=True, default=dict, editable=False),
        ),
    ]
