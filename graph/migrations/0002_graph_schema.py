from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).parent.parent / "sql" / "schema.sql"


class Migration(migrations.Migration):
    """The functions that make and walk AGE graphs; graphs that exist are left alone."""

    dependencies = [("graph", "0001_initial")]

    operations = [migrations.RunSQL(SCHEMA.read_text(), "DROP SCHEMA codegraph CASCADE")]
