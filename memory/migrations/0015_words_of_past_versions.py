from django.db import migrations

from memory.wording import words_of

_AT_ONCE = 500
_TOLD = ("tags", "rationale", "alternatives", "acceptance_criteria")


def give_words(apps, _schema_editor):
    """Give the versions that there are the words by which questions about then find them."""
    versions = apps.get_model("memory", "MemoryVersion").objects.filter(tokens="")
    chunk = []
    for version in versions.only("snapshot").order_by("pk").iterator(_AT_ONCE):
        version.tokens = _words(version.snapshot)
        chunk.append(version)
        if len(chunk) == _AT_ONCE:
            versions.bulk_update(chunk, ["tokens"])
            chunk = []
    versions.bulk_update(chunk, ["tokens"])


def _words(said):
    """Return a version's words; none of one that was imported and is nothing we would write."""
    told = {name: said[name] for name in _TOLD if name in said}
    try:
        return words_of(said.get("content", ""), **told)
    except (AttributeError, TypeError):
        return ""


class Migration(migrations.Migration):
    """Words for versions that were kept before 0014."""

    dependencies = [("memory", "0014_words_of_versions")]

    operations = [migrations.RunPython(give_words, migrations.RunPython.noop)]
