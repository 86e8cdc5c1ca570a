"""Everything that changes memories: storing, retiring, associating, review, upkeep."""

from memory.indexes import ensure_vector_indexes
from memory.queries import MemoryUnknown
from memory.services.linking import LinkUnknown, NodesApart, WeightInvalid, associate
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
from memory.services.storing import RepositoryUnknown, store_memory
from memory.services.upkeep import embed_missing, expire_due
from memory.services.versioning import Change, MemoryChanged, record_version, record_versions
from memory.wording import MemoryInvalid

__all__ = [
    "Change",
    "Decision",
    "LinkUnknown",
    "MemoryChanged",
    "MemoryInvalid",
    "MemoryTaken",
    "MemoryUnknown",
    "NamespaceUnknown",
    "NodesApart",
    "ProposalDecided",
    "ProposalInvalid",
    "ProposalOvertaken",
    "ProposalUnknown",
    "RepositoryUnknown",
    "RightMissing",
    "WeightInvalid",
    "associate",
    "close_overtaken",
    "decide",
    "delete_memory",
    "embed_missing",
    "ensure_vector_indexes",
    "expire_due",
    "get_proposal",
    "propose",
    "record_version",
    "record_versions",
    "restore_memory",
    "store_memory",
    "visible_proposals",
]
