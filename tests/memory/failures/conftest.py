"""A session whose tool uses are written as capture writes them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count

import pytest

from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller
from codemem.embedding import Provider
from graph.models import Repository
from memory import failures
from memory.failures import Learned
from memory.models import Observation, Session
from tests import factories

FAILED_RUN = """
=========================== short test summary info ============================
FAILED tests/test_money.py::test_total - TypeError: unsupported operand for 'total'
1 failed, 3 passed in 0.10s
"""
_numbers = count(1)


@dataclass(kw_only=True)
class Played:
    """One session, and what its agent did."""

    session: Session
    provider: Provider
    now: datetime = factories.NOW
    ids: list[int] = field(default_factory=list)

    def edit(self, *paths: str, content: str = "", failed: str = "") -> None:
        self._observe(
            tool="Edit",
            paths=list(paths),
            content=failed or content,
            tier="S" if failed else "M",
            is_failure=bool(failed),
        )

    def run(self, command: str, output: str = "", *, exit_code: int = 0) -> None:
        self._observe(
            tool="Bash",
            command=command,
            content=output,
            tier="S" if exit_code else "M",
            is_failure=exit_code != 0,
            exit_code=exit_code,
        )

    def prompt(self, text: str) -> None:
        self._observe(kind="prompt", tool="", content=text, tier="S")
        self.session.prompts += 1
        self.session.save()

    def answer(self, text: str) -> None:
        self._observe(kind="stop", tool="", content=text, tier="S")

    def learn(self, now: datetime | None = None) -> Learned:
        return failures.learn(
            session_id=self.session.pk, now=now or self.now, provider=self.provider
        )

    def _observe(self, *, kind: str = "", is_failure: bool = False, **fields: object) -> None:
        self.now += timedelta(seconds=30)
        row = Observation.objects.create(
            session=self.session,
            namespace_id=self.session.namespace_id,
            key=f"key-{next(_numbers)}",
            kind=kind or ("tool_failure" if is_failure else "tool_use"),
            is_failure=is_failure,
            happened_at=self.now,
            received_at=self.now,
            **fields,
        )
        self.ids.append(row.pk)


Play = Callable[..., Played]


@pytest.fixture
def play(namespace: Namespace, repository: Repository, writer: User, model: Provider) -> Play:
    """Return a function that begins a session, of the writer in the repository unless said."""

    def play(*, at: datetime = factories.NOW, **changes: object) -> Played:
        fields: dict[str, object] = {
            "namespace": namespace,
            "repository": repository,
            "user": writer,
            "agent": "claude-code",
            "client_session_id": f"session-{next(_numbers)}",
            "directory": "/home/jane/app",
            "started_at": at,
            "last_event_at": at,
        }
        session = Session.objects.create(**(fields | changes))
        return Played(session=session, provider=model, now=at)

    return play


@pytest.fixture
def reading(reader: User, namespace: Namespace) -> Caller:
    return factories.caller_of(reader)


def fail(played: Played, output: str = FAILED_RUN, command: str = "pytest -q") -> None:
    """Have an edit be followed by a test run that fails, and learn from it."""
    played.edit("src/money.py", content="def total(values):\n    return sum(values)")
    played.run(command, output, exit_code=1)
    played.learn()
