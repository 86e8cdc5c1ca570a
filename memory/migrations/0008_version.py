"""Which version of a memory the row is: what two who change it at once are told apart by."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0007_memory_that_earns_its_place")]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="version",
            field=models.PositiveIntegerField(default=1),
        ),
    ]
