"""What indexing keeps: facts by content, spans of history, and a record of every run.

Facts are derived (rebuilt by parsing the blob again); runs are a log.
"""

from indexing.models.dependencies import FileDependencies, KeptResolution
from indexing.models.erasure import Erasure
from indexing.models.facts import BlobFacts
from indexing.models.findings import Analysis, AnalyzedFile, FileChange, Finding, Metric
from indexing.models.history import History, ManifestText, TreeSpan
from indexing.models.reviews import ForgeConnection, ReviewRecord
from indexing.models.runs import IndexRun
from indexing.models.scip import CompilerAnswers, ScipRun
from indexing.models.services import (
    CrossingEdge,
    CrossingFile,
    CrossingState,
    Endpoint,
    HttpRequest,
    OuterPackage,
    PackageDependency,
    PackageManifest,
    TopicUse,
)

__all__ = [
    "Analysis",
    "AnalyzedFile",
    "BlobFacts",
    "CompilerAnswers",
    "CrossingEdge",
    "CrossingFile",
    "CrossingState",
    "Endpoint",
    "Erasure",
    "FileChange",
    "FileDependencies",
    "Finding",
    "ForgeConnection",
    "History",
    "HttpRequest",
    "IndexRun",
    "KeptResolution",
    "ManifestText",
    "Metric",
    "OuterPackage",
    "PackageDependency",
    "PackageManifest",
    "ReviewRecord",
    "ScipRun",
    "TopicUse",
    "TreeSpan",
]
