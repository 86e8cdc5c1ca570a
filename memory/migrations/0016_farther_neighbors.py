from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0015_words_of_past_versions"),
    ]

    operations = [
        migrations.AddField(
            model_name="memorycontext",
            name="before",
            field=models.PositiveSmallIntegerField(default=0),
        ),
    ]
