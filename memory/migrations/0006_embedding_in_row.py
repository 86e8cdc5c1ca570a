from django.db import migrations


class Migration(migrations.Migration):
    """Keep the vector (776 bytes) in the row: an exact scan must not fetch it from elsewhere."""

    dependencies = [("memory", "0005_retired_links")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE memory_memory ALTER COLUMN embedding SET STORAGE PLAIN",
            "ALTER TABLE memory_memory ALTER COLUMN embedding SET STORAGE EXTERNAL",
        )
    ]
