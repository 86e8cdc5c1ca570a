"""Make a first team on an empty server: namespace, admin, developer, token, one repository.

Safe to run again: what exists stays, a lost credentials file gets new secrets.
"""

import secrets
import subprocess
import sys
import time
from argparse import ArgumentParser
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from codemem.accounts import queries as accounts
from codemem.accounts import services as account_services
from codemem.accounts.values import Role
from graph import queries as graph
from graph import services as graph_services
from indexing import queries as indexing
from indexing import services as indexing_services
from memory import services as memory
from memory.values import MemoryType
from workers import queue

_NAMESPACE = "team"
_ADMIN = "admin"
_DEVELOPER = "developer"

# What a stranger can ask about right away; each is true of this repository.
_FIRST_MEMORIES = (
    (
        MemoryType.DECISION,
        (
            "All edges of the code graph live in Apache AGE only; Django tables hold symbol"
            " versions, text, vectors and scores. A second copy of the edges gains at most 1.6"
            " times and would be a second truth. See graph/services/snapshots.py."
        ),
    ),
    (
        MemoryType.RULE,
        (
            "Only workers/queue.py starts background work, and it sends after commit. Domain code"
            " never enqueues."
        ),
    ),
    (
        MemoryType.FAILURE,
        (
            "AGE's b-tree operator class has > and >= swapped, so range conditions over agtype"
            " indexes lose rows. deploy/postgres/provision.sql repairs the catalog; run it again"
            " after every restore."
        ),
    ),
)


class Command(BaseCommand):
    help = "Make a first namespace, admin, developer, token and repository, and index it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--checkout", type=Path, required=True, help="A Git work tree.")
        parser.add_argument("--credentials", type=Path, required=True, help="File to write.")
        parser.add_argument("--wait", action="store_true", help="Show progress until indexed.")

    def handle(self, *_args: Any, **options: Any) -> None:
        self._found(credentials=options["credentials"])
        repository_id = self._register(checkout=options["checkout"])
        self._remember(repository_id=repository_id)
        run_id = self._index(repository_id=repository_id)
        if options["wait"]:
            self._watch(run_id=run_id)

    def _found(self, *, credentials: Path) -> None:
        """Create people and namespace, and write the secrets that are shown once to a file."""
        known = _read(credentials)
        admin = accounts.find_user(username=_ADMIN)
        if admin is None or "CODEMEM_ADMIN_PASSWORD" not in known:
            known["CODEMEM_ADMIN_PASSWORD"] = secrets.token_urlsafe(12)
            admin = account_services.save_administrator(
                username=_ADMIN, password=known["CODEMEM_ADMIN_PASSWORD"]
            )
        developer = accounts.find_user(username=_DEVELOPER) or account_services.create_user(
            username=_DEVELOPER, actor="make up"
        )
        namespace = accounts.find_namespace_by_name(name=_NAMESPACE)
        if namespace is None:
            namespace = account_services.create_namespace(
                name=_NAMESPACE, owner=admin, actor="make up", description="Made by make up."
            )
        account_services.set_role(
            namespace=namespace, user=developer, role=Role.MAINTAINER, actor="make up"
        )
        if not account_services.is_usable(
            secret=known.get("CODEMEM_DEVELOPER_TOKEN", ""), now=timezone.now()
        ):
            known["CODEMEM_DEVELOPER_TOKEN"] = account_services.issue_token(
                user=developer,
                name="make up",
                actor=admin,
                now=timezone.now(),
                expires_at=timezone.now() + timedelta(days=settings.TOKEN_DEFAULT_DAYS),
            ).secret
        known["CODEMEM_ADMIN_USER"] = _ADMIN
        _write(credentials, known)

    def _register(self, *, checkout: Path) -> UUID:
        namespace = accounts.find_namespace_by_name(name=_NAMESPACE)
        assert namespace is not None
        url = str(checkout.resolve())
        known = [
            repository
            for repository in graph.list_repositories(namespace_ids=(namespace.pk,))
            if repository.url == url
        ]
        if known:
            return known[0].id
        remote = _git(checkout, "remote", "get-url", "origin")
        repository = graph_services.register_repository(
            namespace=namespace,
            name=_slug(checkout.resolve().name),
            url=url,
            aliases=[remote] if remote else [],
            created_by=accounts.get_user_named(username=_ADMIN),
        )
        return repository.pk

    def _remember(self, *, repository_id: UUID) -> None:
        developer = accounts.find_user(username=_DEVELOPER)
        namespace = accounts.find_namespace_by_name(name=_NAMESPACE)
        assert developer is not None
        assert namespace is not None
        caller = account_services.caller_of_user(user=developer)
        for memory_type, content in _FIRST_MEMORIES:
            memory.store_memory(
                caller=caller,
                namespace_id=namespace.pk,
                repository_id=repository_id,
                content=content,
                memory_type=memory_type,
                importance=0.8,
                now=timezone.now(),
            )

    def _index(self, *, repository_id: UUID) -> UUID:
        with transaction.atomic():
            run_id = indexing_services.request_index(
                repository_id=repository_id, requested_by="make up"
            )
            queue.index(run_id=run_id)
        return run_id

    def _watch(self, *, run_id: UUID) -> None:
        """Print a line that moves on a terminal, and one line a step elsewhere."""
        shown = ""
        while True:
            run = indexing.get_run(run_id=run_id)
            line = f"Indexing: {run.step}"
            if run.files_total:
                line += f" {run.files_done}/{run.files_total} files"
            if line != shown:
                self._show(line)
                shown = line
            if run.finished_at is not None:
                break
            time.sleep(0.2)
        if sys.stderr.isatty():
            self.stderr.write("")
        if run.state != "done":
            raise CommandError(f"Indexing failed: {run.error}")
        counts = run.counts
        self.stderr.write(
            f"Indexed {counts['files']} files, {counts['symbols']} symbols and"
            f" {counts['edges']} edges at {run.commit[:12]} in {sum(run.seconds.values()):.1f} s."
        )

    def _show(self, line: str) -> None:
        if sys.stderr.isatty():
            self.stderr.write(f"\r\033[K{line}", ending="")
            self.stderr.flush()
        else:
            self.stderr.write(line)


def _read(credentials: Path) -> dict[str, str]:
    if not credentials.exists():
        return {}
    lines = credentials.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _write(credentials: Path, values: dict[str, str]) -> None:
    credentials.touch(mode=0o600)
    credentials.write_text("".join(f"{name}={value}\n" for name, value in sorted(values.items())))


def _git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(checkout), *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def _slug(name: str) -> str:
    kept = "".join(char if char.isalnum() and char.isascii() else "-" for char in name.lower())
    return kept.strip("-")[:63] or "repository"
