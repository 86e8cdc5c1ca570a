from django.db import migrations, models
from django.db.models.functions import Cast, Right


class Migration(migrations.Migration):
    """Memories are found by the end of their id, which is how texts name them."""

    dependencies = [("memory", "0020_context_in_session")]

    operations = [
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                Right(Cast("id", models.TextField()), 8),
                name="memory_cited",
            ),
        ),
    ]
