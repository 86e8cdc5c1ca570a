from django.db import migrations


class Migration(migrations.Migration):
    """Vertex numbers come from a sequence, so that a purged memory's number is never reused."""

    dependencies = [("memory", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE memory_memory_number OWNED BY memory_memory.number;"
            "ALTER TABLE memory_memory ALTER COLUMN number"
            " SET DEFAULT nextval('memory_memory_number');",
            "DROP SEQUENCE memory_memory_number CASCADE;",
        )
    ]
