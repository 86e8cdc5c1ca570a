from django.db import migrations


class Migration(migrations.Migration):
    """Keep the vector (776 bytes) in the row: an exact scan must not fetch it from elsewhere."""

    dependencies = [("graph", "0002_graph_schema")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE graph_symbolversion ALTER COLUMN embedding SET STORAGE PLAIN",
            "ALTER TABLE graph_symbolversion ALTER COLUMN embedding SET STORAGE EXTERNAL",
        )
    ]
