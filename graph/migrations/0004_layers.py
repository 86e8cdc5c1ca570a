from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("graph", "0003_embedding_in_row")]
    operations: ClassVar = []
