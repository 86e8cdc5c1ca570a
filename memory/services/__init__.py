"""Everything that changes memories: storing, retiring, associating, review, upkeep."""

from memory.context import make_contexts
from memory.indexes import ensure_vector_indexes
from memory.queries import MemoryUnknown
from memory.services.anchoring import (
    AnchorValue,
    DraftAnchor,
    anchor_memory,
    anchors_of,
    check_anchors,
    checked_commit,
    count_drifted,
    drafted,
    drafted_on,
    list_drifted,
    memories_anchored_at,
    note_checked,
    recheck,
)
from memory.services.drafting import RepositoryUnknown
from memory.services.editing import (
    Merged,
    Part,
    Refined,
    Refinement,
    Split,
    merge_memories,
    refine_memory,
    split_memory,
)
from memory.services.feedback import Verdicts, give_feedback
from memory.services.linking import LinkUnknown, NodesApart, WeightInvalid, associate, dissociate
from memory.services.promotion import (
    Promotion,
    branches_with_memories,
    expire_branch,
    note_branch_heads,
    promote_branch,
)
from memory.services.purging import Purge, PurgeUnconfirmed, preview_purge, purge_memory
from memory.services.questions import (
    Question,
    answer_question,
    ask_question,
    list_questions,
)
from memory.services.recalled import note_recalled
from memory.services.retirement import MemoryTaken, delete_memory, restore_memory
from memory.services.review import (
    Decision,
    ProposalDecided,
    ProposalInvalid,
    ProposalOvertaken,
    ProposalUnknown,
    close_overtaken,
    decide,
    get_proposal,
    propose,
    visible_proposals,
)
from memory.services.rights import NamespaceUnknown, RightMissing
from memory.services.standing import StateUnfit, move, pin, reopen, resolve
from memory.services.storing import (
    BatchTooLarge,
    KeyReused,
    store_memories,
    store_memory,
    store_new,
)
from memory.services.upkeep import embed_missing, expire_due
from memory.services.vectors import (
    FIRST,
    count_texts_to_embed,
    take_cached_vectors,
    texts_to_embed,
)
from memory.services.versioning import Change, MemoryChanged, record_version, record_versions
from memory.wording import MemoryInvalid

__all__ = [
    "FIRST",
    "AnchorValue",
    "BatchTooLarge",
    "Change",
    "Decision",
    "DraftAnchor",
    "KeyReused",
    "LinkUnknown",
    "MemoryChanged",
    "MemoryInvalid",
    "MemoryTaken",
    "MemoryUnknown",
    "Merged",
    "NamespaceUnknown",
    "NodesApart",
    "Part",
    "Promotion",
    "ProposalDecided",
    "ProposalInvalid",
    "ProposalOvertaken",
    "ProposalUnknown",
    "Purge",
    "PurgeUnconfirmed",
    "Question",
    "Refined",
    "Refinement",
    "RepositoryUnknown",
    "RightMissing",
    "Split",
    "StateUnfit",
    "Verdicts",
    "WeightInvalid",
    "anchor_memory",
    "anchors_of",
    "answer_question",
    "ask_question",
    "associate",
    "branches_with_memories",
    "check_anchors",
    "checked_commit",
    "close_overtaken",
    "count_drifted",
    "count_texts_to_embed",
    "decide",
    "delete_memory",
    "dissociate",
    "drafted",
    "drafted_on",
    "embed_missing",
    "ensure_vector_indexes",
    "expire_branch",
    "expire_due",
    "get_proposal",
    "give_feedback",
    "list_drifted",
    "list_questions",
    "make_contexts",
    "memories_anchored_at",
    "merge_memories",
    "move",
    "note_branch_heads",
    "note_checked",
    "note_recalled",
    "pin",
    "preview_purge",
    "promote_branch",
    "propose",
    "purge_memory",
    "recheck",
    "record_version",
    "record_versions",
    "refine_memory",
    "reopen",
    "resolve",
    "restore_memory",
    "split_memory",
    "store_memories",
    "store_memory",
    "store_new",
    "take_cached_vectors",
    "texts_to_embed",
    "visible_proposals",
]
