from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("indexing", "0005_findings"), ("graph", "0007_services")]
    operations: ClassVar = []
