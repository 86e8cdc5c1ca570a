import django.contrib.postgres.fields
import django.contrib.postgres.search
from django.db import migrations, models


class Migration(migrations.Migration):
    """Words for exact scans of small namespaces; large ones get an index each (see `upkeep`)."""

    dependencies = [("graph", "0001_initial"), ("memory", "0002_number_sequence")]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="lexemes",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func(
                    models.Func(
                        models.F("tokens"),
                        models.Value(" "),
                        function="string_to_array",
                        output_field=django.contrib.postgres.fields.ArrayField(
                            base_field=models.TextField(), size=None
                        ),
                    ),
                    function="array_to_tsvector",
                    output_field=django.contrib.postgres.search.SearchVectorField(),
                ),
                output_field=django.contrib.postgres.search.SearchVectorField(),
            ),
        ),
    ]
