from django.db import migrations, models


class Migration(migrations.Migration):
    """Both readers of a scope, whole or newest part, find it in order."""

    dependencies = [("memory", "0003_lexemes")]

    operations = [
        migrations.RemoveIndex(model_name="memory", name="memory_active_scope"),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("state", "active")),
                fields=["namespace", "-id"],
                name="memory_newest_of_namespace",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("state", "active")),
                fields=["namespace", "repository", "-id"],
                name="memory_newest_of_repository",
            ),
        ),
    ]
