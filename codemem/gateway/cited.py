"""Memories by the name that texts give them: the end of an id, as in "[c25b2be7]".

What a session is shown and what summaries cite says only that much, to be short; an agent may say
it back wherever a tool takes a memory's id.
"""

import re
from typing import Annotated, Any
from uuid import UUID

from django.utils import timezone
from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema

from codemem.gateway.tool import Call
from memory import queries

_CITED = re.compile(r"\[?(?P<ending>[0-9a-f]{8})\]?", re.IGNORECASE)


def _named(value: Any, info: ValidationInfo) -> Any:
    found = _CITED.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or not isinstance(info.context, Call):
        return value
    # Only what the caller may see is looked through, so an ending tells nothing of the rest.
    caller = info.context.caller
    return queries.cited_id(caller=caller, ending=found["ending"].lower(), now=timezone.now())


MemoryId = Annotated[UUID, BeforeValidator(_named), WithJsonSchema({"type": "string"})]
