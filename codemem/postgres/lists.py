"""Long lists in statements: as one array each, and in rows of batches.

Values are bound by the server here (`server_side_binding`), and its protocol counts a statement's
parameters in 16 bits. Django, whose other way of binding knows no limit, writes one parameter for
each value: a repository of 70,000 files would be refused.
"""

from typing import Any, Final

from django.db.models import Field, ForeignObject
from django.db.models.fields.related_lookups import RelatedIn
from django.db.models.lookups import In

MOST_PARAMETERS: Final = 65_535
# Up to here a statement reads as everybody knows it; from here on an array is sooner planned, too.
_LONGEST_LIST: Final = 1_000


class _AnyOf:
    """`field__in` of a long list: `field = ANY (array)`, which finds the same rows."""

    def as_postgresql(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
        if not self.rhs_is_direct_value() or len(self.rhs) <= _LONGEST_LIST:
            return self.as_sql(compiler, connection)  # type: ignore[no-any-return]
        column, of_column = self.process_lhs(compiler, connection)
        places, values = self.process_rhs(compiler, connection)
        kind = self.lhs.output_field.db_type(connection)
        if kind is None or places.count("%s") != len(values):  # expressions among them
            return self.as_sql(compiler, connection)  # type: ignore[no-any-return]
        # Without its length: what is cast to varchar(40) is cut, and would find what is shorter.
        array = f"{kind.partition('(')[0]}[]"
        return f"{column} = ANY (%s::{array})", [*of_column, list(values)]


@Field.register_lookup
class AnyOf(_AnyOf, In):
    """See `_AnyOf`."""


@ForeignObject.register_lookup
class RelatedAnyOf(_AnyOf, RelatedIn):
    """See `_AnyOf`; of foreign keys."""
