"""Memories and what is known about them, and what agents did: rows and constraints.

Canonical, except words, vectors and entities, which are derived from the text and can be made
again at any time. A memory's links to code and to other memories are edges of the namespace's AGE
graph (label RELATES_TO), where the memory is the vertex `number`.
"""

from memory.models.anchors import Anchor, AnchorsChecked, MemoryBranch
from memory.models.consolidation import ConsolidationChange, ConsolidationRun
from memory.models.context import MemoryContext, RecallVisit
from memory.models.entities import MemoryEntity
from memory.models.failures import Failure, FixAttempt
from memory.models.language import LanguageUse
from memory.models.memory import Memory
from memory.models.review import ReviewItem
from memory.models.sessions import CaptureRule, Checkpoint, Injection, Observation, Session
from memory.models.use import Feedback, MemoryUse
from memory.models.versions import MemoryVersion
from memory.models.work import Handoff, WorkItem

__all__ = [
    "Anchor",
    "AnchorsChecked",
    "CaptureRule",
    "Checkpoint",
    "ConsolidationChange",
    "ConsolidationRun",
    "Failure",
    "Feedback",
    "FixAttempt",
    "Handoff",
    "Injection",
    "LanguageUse",
    "Memory",
    "MemoryBranch",
    "MemoryContext",
    "MemoryEntity",
    "MemoryUse",
    "MemoryVersion",
    "Observation",
    "RecallVisit",
    "ReviewItem",
    "Session",
    "WorkItem",
]
