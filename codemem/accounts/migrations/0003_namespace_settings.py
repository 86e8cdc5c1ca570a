from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_audit_events_only_added"),
    ]

    operations = [
        migrations.AddField(
            model_name="namespace",
            name="settings",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
