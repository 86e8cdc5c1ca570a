from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("graph", "0004_layers")]
    operations: ClassVar = []
