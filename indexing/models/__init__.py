"""What indexing keeps: facts by content, and a record of every run.

Facts are derived (rebuilt by parsing the blob again); runs are a log.
"""

from indexing.models.facts import BlobFacts
from indexing.models.runs import IndexRun

__all__ = ["BlobFacts", "IndexRun"]
