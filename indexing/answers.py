"""What a compiler says of one file's content: the compact value kept per (path, blob).

Pure: knows positions and text ids of nodes, neither the index it came from nor rows.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

OUTSIDE: Final = ""
"""The target of what is known to lie outside the repository, without a node of its own."""

_MAX_BYTES = 64 << 20


class AnswersMalformed(ValueError):
    """The bytes are not the answers about a file."""


class Place(NamedTuple):
    """Where a name stands: 1-based line, column in bytes, as in `indexing.facts.Reference`."""

    line: int
    column: int


class Relation(NamedTuple):
    """What a definition of the file is to another one: `kind` is the name of an edge's kind."""

    kind: str
    source: str
    target: str
    line: int


class Hover(NamedTuple):
    """What the compiler shows for a definition: its signature and its documentation."""

    signature: str
    documentation: str


class ExternalSymbol(NamedTuple):
    """A symbol of somebody else's package that the file refers to."""

    name: str
    package: str
    documentation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The compiler's answers about one file.

    `targets` has the text id of what each name means (`sym:`, `ext:` or OUTSIDE), `hovers` is by
    text id of the file's definitions, `externals` by text id. `truncated` counts references that
    were left out because the file refers to one symbol too often.
    """

    targets: Mapping[Place, str] = field(default_factory=dict)
    relations: tuple[Relation, ...] = ()
    hovers: Mapping[str, Hover] = field(default_factory=dict)
    externals: Mapping[str, ExternalSymbol] = field(default_factory=dict)
    truncated: int = 0

    def to_bytes(self) -> bytes:
        """Serialize as compressed JSON, each target written once."""
        numbers = {
            target: number for number, target in enumerate(dict.fromkeys(self.targets.values()))
        }
        values = {
            "targets": list(numbers),
            "places": [
                (place.line, place.column, numbers[target])
                for place, target in sorted(self.targets.items())
            ],
            "relations": self.relations,
            "hovers": self.hovers,
            "externals": self.externals,
            "truncated": self.truncated,
        }
        text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
        return zlib.compress(text.encode("utf-8", "backslashreplace"), level=6)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote; raises AnswersMalformed for anything else."""
        try:
            return cls._from_values(json.loads(_inflated(data)))
        except (zlib.error, ValueError, TypeError, KeyError, IndexError) as error:
            raise AnswersMalformed(str(error)) from error

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        targets = values["targets"]
        return cls(
            targets={
                Place(line, column): targets[number] for line, column, number in values["places"]
            },
            relations=tuple(Relation(*row) for row in values["relations"]),
            hovers={key: Hover(*row) for key, row in values["hovers"].items()},
            externals={key: ExternalSymbol(*row) for key, row in values["externals"].items()},
            truncated=values["truncated"],
        )


def _inflated(data: bytes) -> bytes:
    inflater = zlib.decompressobj()
    text = inflater.decompress(data, _MAX_BYTES)
    if inflater.unconsumed_tail:
        raise AnswersMalformed("answers are larger than any file's")
    return text
