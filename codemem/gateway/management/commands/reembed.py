"""Change to the embedding model that the settings name: start, watch, cancel.

manage.py reembed            start, and print how far it is until it is done
manage.py reembed --no-wait  start only
manage.py reembed --status   print how far it is
manage.py reembed --cancel   leave it at the model that answers
manage.py reembed --here     do the work in this process, where no worker runs
"""

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from codemem.embedding import EmbeddingUnavailable, reembedding
from codemem.embedding.reembedding import Progress, ReembeddingNeedless, ReembeddingUnderWay
from indexing.reembedding import advance
from workers import queue

_LOOK_SECONDS = 2.0


class Command(BaseCommand):
    help = "Embed everything by the configured model, which then takes over."

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--no-wait", action="store_true", help="start only")
        what.add_argument("--status", action="store_true", help="print how far it is")
        what.add_argument("--cancel", action="store_true", help="leave it at the model before")
        what.add_argument("--here", action="store_true", help="do the work in this process")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["status"] or options["cancel"]:
            cancel = options["cancel"]
            change = reembedding.cancel(now=timezone.now()) if cancel else reembedding.latest()
            self._say(change)
            return
        try:
            change = reembedding.start(requested_by="manage.py", now=timezone.now())
        except ReembeddingNeedless as error:
            self.stdout.write(str(error))
            return
        except (EmbeddingUnavailable, ReembeddingUnderWay) as error:
            raise CommandError(str(error)) from error
        if not options["here"]:
            queue.reembed()
        if not options["no_wait"]:
            self._watch(change, is_here=options["here"])

    def _watch(self, change: Progress | None, *, is_here: bool) -> None:
        while change is not None and change.finished_at is None:
            self._say(change)
            if not is_here or not advance(now=timezone.now):
                time.sleep(0 if is_here and change.done == change.total else _LOOK_SECONDS)
            change = reembedding.latest()
        self._say(change)

    def _say(self, change: Progress | None) -> None:
        if change is None:
            self.stdout.write("The model was never changed.")
            return
        left = "" if change.seconds_left is None else f", {change.seconds_left:.0f} s left"
        rate = "" if change.per_second is None else f", {change.per_second} texts a second"
        trouble = f" ({change.trouble})" if change.trouble else ""
        self.stdout.write(
            f"{change.state}: {change.done} of {change.total} texts{rate}{left}; to"
            f" {change.model}{trouble}"
        )
