"""The column by which Postgres finds rows by their words."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Value


def lexemes_of_tokens() -> Any:
    """Return a generated tsvector of the column `tokens`, words with single spaces between.

    Exactly our tokens: Postgres' own parser would cut `a/b_c.py` again, in its own way.
    """
    return models.GeneratedField(
        expression=Func(
            Func(
                F("tokens"),
                Value(" "),
                function="string_to_array",
                output_field=ArrayField(models.TextField()),
            ),
            function="array_to_tsvector",
            output_field=SearchVectorField(),
        ),
        output_field=SearchVectorField(),
        db_persist=True,
    )
