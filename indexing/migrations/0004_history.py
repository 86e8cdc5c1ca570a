from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("indexing", "0003_scip"), ("graph", "0005_history")]
    operations: ClassVar = []
