"""Memories and what is known about them: rows and constraints.

Canonical, except words, vectors and entities, which are derived from the text and can be made
again at any time. A memory's links to code and to other memories are edges of the namespace's AGE
graph (label RELATES_TO), where the memory is the vertex `number`.
"""

from memory.models.anchors import Anchor, AnchorsChecked, MemoryBranch
from memory.models.consolidation import ConsolidationChange, ConsolidationRun
from memory.models.context import MemoryContext, RecallVisit
from memory.models.entities import MemoryEntity
from memory.models.language import LanguageUse
from memory.models.memory import Memory
from memory.models.review import ReviewItem
from memory.models.use import Feedback, MemoryUse
from memory.models.versions import MemoryVersion

__all__ = [
    "Anchor",
    "AnchorsChecked",
    "ConsolidationChange",
    "ConsolidationRun",
    "Feedback",
    "LanguageUse",
    "Memory",
    "MemoryBranch",
    "MemoryContext",
    "MemoryEntity",
    "MemoryUse",
    "MemoryVersion",
    "RecallVisit",
    "ReviewItem",
]
