"""Indexes the samples with the real indexers; run as a program, keeps the indexes beside them.

python -m tests.samples.indexing TOOLS        TOOLS is a folder like .local/indexers/bin
"""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from indexing.git import BlobContent
from indexing.languages import language_of
from indexing.parsing import extract
from indexing.scip.binding import SourceFile
from indexing.scip.indexers import INDEXERS, Indexer, find_installed
from indexing.scip.running import Report, Surroundings, run_indexer
from indexing.scip.sandbox import Limits, find_wall
from indexing.scip.trees import SourceEntry, visible

SAMPLES = Path(__file__).parent
LANGUAGES = ("python", "typescript", "go", "rust", "java")
_LIMITS = Limits(seconds=300, memory_bytes=4 << 30, output_bytes=64 << 20)


def indexer_of(language: str) -> Indexer:
    return next(row for row in INDEXERS if row.name == language)


def sources_of(language: str) -> dict[str, bytes]:
    """Return a sample's files by path, without its index."""
    folder = SAMPLES / language
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".scip"
    }


def parsed(sources: Mapping[str, bytes]) -> dict[str, SourceFile]:
    return {
        path: SourceFile(extract(language, text), partial(bytes, text))
        for path, text in sources.items()
        if (language := language_of(path))
    }


def index_sample(language: str, *, tools: Path, scratch: Path, wall: str | None) -> Report | None:
    """Run the real indexer on a sample; None where it is not installed."""
    indexer = indexer_of(language)
    installed = find_installed(indexer, tools=tools, commands={})
    if installed is None:
        return None
    sources = sources_of(language)
    contents = {_blob(text): text for text in sources.values()}

    def read(blobs: Iterable[str]) -> Iterator[tuple[str, BlobContent]]:
        return ((blob, contents[blob]) for blob in blobs)

    return run_indexer(
        installed,
        project="shop",
        entries=visible(
            SourceEntry(path, _blob(text)) for path, text in sources.items() if indexer.wants(path)
        ),
        read=read,
        manifests={p: t for p, t in sources.items() if Path(p).name in indexer.manifests},
        scratch=scratch,
        surroundings=Surroundings(tools=tools, wall=wall, limits=_LIMITS),
    )


def _blob(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def main(tools: Path) -> None:
    for language in LANGUAGES:
        with tempfile.TemporaryDirectory() as scratch:
            report = index_sample(
                language, tools=tools, scratch=Path(scratch), wall=find_wall(tools)
            )
            if report is None or not report.indexes:
                sys.exit(f"{language}: {report.reason if report else 'the indexer is not here'}")
            (index,) = report.indexes
            shutil.copy(index.path, SAMPLES / language / "index.scip")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
