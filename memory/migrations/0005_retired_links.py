from django.db import migrations, models


class Migration(migrations.Migration):
    """A retired memory keeps its links beside it, so that restoring it brings them back."""

    dependencies = [("memory", "0004_newest_first")]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="retired_links",
            field=models.JSONField(blank=True, default=list, editable=False),
        ),
    ]
