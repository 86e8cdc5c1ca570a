"""What indexing keeps: facts by content, spans of history, and a record of every run.

Facts are derived (rebuilt by parsing the blob again); runs are a log.
"""

from indexing.models.facts import BlobFacts
from indexing.models.history import History, ManifestText, TreeSpan
from indexing.models.runs import IndexRun

__all__ = ["BlobFacts", "History", "IndexRun", "ManifestText", "TreeSpan"]
