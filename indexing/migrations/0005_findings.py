from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("indexing", "0004_history")]
    operations: ClassVar = []
