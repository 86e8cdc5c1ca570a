"""Everything that changes memories: storing, retiring and restoring, associating, upkeep."""

from memory.indexes import ensure_vector_indexes
from memory.queries import MemoryUnknown
from memory.services.linking import LinkUnknown, NodesApart, WeightInvalid, associate
from memory.services.retirement import MemoryTaken, delete_memory, restore_memory
from memory.services.rights import NamespaceUnknown, RightMissing
from memory.services.storing import RepositoryUnknown, store_memory
from memory.services.upkeep import embed_missing, expire_due
from memory.services.versioning import Change, MemoryChanged, record_version, record_versions
from memory.wording import MemoryInvalid

__all__ = [
    "Change",
    "LinkUnknown",
    "MemoryChanged",
    "MemoryInvalid",
    "MemoryTaken",
    "MemoryUnknown",
    "NamespaceUnknown",
    "NodesApart",
    "RepositoryUnknown",
    "RightMissing",
    "WeightInvalid",
    "associate",
    "delete_memory",
    "embed_missing",
    "ensure_vector_indexes",
    "expire_due",
    "record_version",
    "record_versions",
    "restore_memory",
    "store_memory",
]
