"""Plays sessions of agents through the hooks and asks later ones for what was planted in them.

    python -m tests.bench.replay_sessions [--show]      (make bench-replay)

Every scenario of `replay_scenarios.py` becomes the events that Claude Code's hooks send, with
ordinary work between them (drawn, seeded), and goes through `POST /hooks/claude-code`, the tasks
that follow, and the tools of MCP, with the bundled embedding model. Whatever is proposed is
approved: a reviewer who reads nothing. Measured in the later sessions:

- recall: of the planted facts that a session needs, how many come: in the opening context, as a
  warning before a tool, as an answer of `recall` (five at most) or `check_prior_failures`, or in
  the handoff that is claimed;
- precision: of what was put before the agent without being asked for (memories in the opening
  context, warnings), how much concerns it: rules and preferences that were planted for this
  repository, and failures of what is being touched;
- tokens of each start, the frame and the scope line included.

The half that is held out is other scenarios in other repositories. Use a database of its own.
"""

import argparse
import json
import os
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import django

from tests.bench.replay_scenarios import (
    SCENARIOS,
    Answer,
    Ask,
    Claim,
    Edit,
    Fact,
    Mark,
    Played,
    Prompt,
    Run,
    Scenario,
    Step,
)

_SEED: Final = 8
_USERS: Final = {"olga": "owner", "mary": "maintainer", "walter": "writer", "rita": "writer"}
_TARGETS: Final = {"recall": 0.85, "precision": 0.70, "tokens": 600}
_LINE = re.compile(r"^- \[[0-9a-f]{8}\] ")
_ORDINARY: Final = (
    "Have a look at the file and tell me what it does.",
    "Can you rename that variable to something clearer?",
    "Add a docstring to the function above.",
    "That is not what I meant, undo the last edit.",
    "Looks good. Continue with the next file.",
    "The test always fails on my laptop, is it slow there?",
    "Why does this function return a tuple?",
    "Print the first ten rows so that I can see them.",
    "Never mind, I found it myself.",
    "Explain the difference between the two helpers.",
)


@dataclass(slots=True)
class Figures:
    """What one half of the scenarios gave."""

    sessions: int = 0
    events: int = 0
    needed: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    injected: list[bool] = field(default_factory=list)
    asked_for: int = 0  # of those, what the session itself was made to need
    warned: list[bool] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    proposals: int = 0
    planted_proposals: int = 0
    missed: list[str] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        found = [one for answers in self.needed.values() for one in answers]
        return sum(found) / max(len(found), 1)

    @property
    def precision(self) -> float:
        told = self.injected + self.warned
        return sum(told) / max(len(told), 1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.bench.replay_sessions", description=__doc__)
    parser.add_argument("--show", action="store_true", help="What was missed, and what was noise.")
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    from django.test.utils import setup_test_environment

    setup_test_environment()
    halves = {"tuned": Figures(), "held out": Figures()}
    stage = Stage(random.Random(_SEED))
    for scenario in SCENARIOS:
        half = halves["held out" if scenario.is_held_out else "tuned"]
        for number, played in enumerate(scenario.sessions):
            stage.play(scenario, played, half, is_last=number == len(scenario.sessions) - 1)
    for name, half in halves.items():
        _report(name, half, is_shown=arguments.show)


class Stage:
    """A team with its repositories, and the sessions that are played in it."""

    def __init__(self, chance: random.Random) -> None:
        from django.test import Client

        from tests import factories

        self._chance = chance
        self._client = Client()
        self._number = 0
        now = datetime.now(tz=UTC)
        tag = f"{now:%Y%m%d%H%M%S}"
        users = {name: factories.make_user(f"{name}-{tag}") for name in _USERS}
        self._namespace = factories.make_namespace(f"replay-{tag}", owner=users["olga"])
        self._add_members(users)
        self._users = users
        self._tokens = {
            name: factories.make_token(user, now=now).secret for name, user in users.items()
        }
        names = dict.fromkeys(scenario.repository for scenario in SCENARIOS)
        self._repositories = {
            name: factories.make_repository(self._namespace, name, created_by=users["olga"])
            for name in names
        }
        self._planted: dict[str, list[Fact]] = defaultdict(list)

    def play(self, scenario: Scenario, played: Played, half: Figures, *, is_last: bool) -> None:
        """Play one session from its start to its end, and what follows from it."""
        if not is_last:
            later = scenario.sessions[-1]
            self._planted[scenario.repository] += _facts_of(later)
        self._number += 1
        session = _Session(self, scenario.repository, played.user, f"replay-{self._number}", half)
        session.start(played.opening)
        for step in self._with_ordinary_work(played.steps, scenario.repository):
            session.step(step)
        session.end()
        half.sessions += 1
        self._approve(half, scenario)

    def hook(self, user: str, repository: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Send one event as the shim does; return the hook's JSON."""
        place = self._repositories[repository]
        response = self._client.post(
            "/hooks/claude-code",
            json.dumps(payload),
            content_type="application/json",
            headers={
                "Authorization": f"Bearer {self._tokens[user]}",
                "Codemem-Remote": place.url,
                "Codemem-Directory": f"/srv/{repository}",
                "Codemem-Ref": "main",
            },
        )
        if response.status_code != 200:
            raise RuntimeError(f"{response.status_code}: {response.content[:300]!r}")
        return dict(json.loads(response.content or b"{}"))

    def tool(self, user: str, repository: str, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool as an agent does over MCP; return what its model reads."""
        from tests.gateway import surfaces

        place = {"namespace": self._namespace.name, "repository": repository}
        answer = surfaces.over_mcp(token=self._tokens[user], tool=name, arguments=place | arguments)
        return answer.text

    def planted(self, repository: str) -> list[Fact]:
        return self._planted[repository]

    def _with_ordinary_work(self, steps: tuple[Step, ...], repository: str) -> Iterator[Step]:
        for step in steps:
            yield step
            if isinstance(step, Edit | Run) and self._chance.random() < 0.6:
                yield Prompt(self._chance.choice(_ORDINARY))
            if self._chance.random() < 0.5:
                yield Run(self._chance.choice(("git status", "ls", "git diff --stat")), "...")

    def _approve(self, half: Figures, scenario: Scenario) -> None:
        """Approve all that was proposed: what a person would throw out counts as noise."""
        from codemem.accounts import services as accounts
        from memory.models import Memory, ReviewItem
        from memory.services import review

        now = datetime.now(tz=UTC)
        for item in ReviewItem.objects.filter(
            namespace=self._namespace, state=ReviewItem.State.OPEN
        ):
            reviewer = item.private_to or self._users["mary"]
            caller = accounts.caller_of_user(user=reviewer)
            if item.kind == ReviewItem.Kind.NEW:
                text = Memory.objects.get(pk=item.memory_ids[0]).content.lower()
                half.proposals += 1
                half.planted_proposals += any(
                    _tells(text, fact) for fact in self.planted(scenario.repository)
                )
            review.decide(caller=caller, item_id=item.pk, approve=True, now=now)

    def _add_members(self, users: dict[str, Any]) -> None:
        from codemem.accounts import services as accounts
        from codemem.accounts.values import Role

        for name, role in _USERS.items():
            if role != "owner":
                accounts.set_role(
                    namespace=self._namespace,
                    user=users[name],
                    role=Role[role.upper()],
                    actor="bench",
                )


class _Session:
    """One session that is played."""

    def __init__(
        self, stage: Stage, repository: str, user: str, client_id: str, half: Figures
    ) -> None:
        self._stage, self._repository, self._user = stage, repository, user
        self._client_id, self._half = client_id, half
        self._uses = 0
        self._opening = ""

    def start(self, needed: tuple[Fact, ...]) -> None:
        from memory.extracting import tokens_of

        self._opening = _context(self._tell("SessionStart", source="startup", model="opus"))
        self._half.tokens.append(tokens_of(self._opening))
        for fact in needed:
            self._note("opening", fact, self._opening)
        for line in self._opening.splitlines():
            if _LINE.match(line):
                facts = self._stage.planted(self._repository)
                is_relevant = any(
                    _tells(line, fact) for fact in facts if fact.kind in {"rule", "preference"}
                )
                self._half.injected.append(is_relevant)
                self._half.asked_for += any(_tells(line, fact) for fact in needed)
                if not is_relevant:
                    self._half.noise.append(line)

    def step(self, step: Step) -> None:
        match step:
            case Prompt(text):
                self._tell("UserPromptSubmit", prompt=text)
            case Answer(text):
                self._tell("Stop", last_assistant_message=text)
            case Edit():
                given = {
                    "file_path": f"/srv/{self._repository}/{step.path}",
                    "old_string": "",
                    "new_string": step.new,
                }
                self._use("Edit", given, warns=step.warns)
            case Run():
                self._use(
                    "Bash",
                    {"command": step.command},
                    output=step.output,
                    is_failed=step.is_failed,
                    warns=step.warns,
                )
            case Mark():
                self._stage.tool(self._user, self._repository, step.tool, step.arguments)
            case Ask():
                arguments = dict(step.arguments)
                if step.tool == "recall":
                    arguments["k"] = 5
                answer = self._stage.tool(self._user, self._repository, step.tool, arguments)
                self._note(step.tool, step.fact, answer)
            case Claim(fact):
                self._note("handoff", fact, self._claimed())

    def end(self) -> None:
        from memory.models import Session
        from workers.tasks import sessions as tasks

        self._tell("Stop", last_assistant_message="Done.")
        self._tell("SessionEnd", reason="exit")
        row = Session.objects.get(client_session_id=self._client_id, user__username=self._name)
        tasks.end(session_id=str(row.pk))

    @property
    def _name(self) -> str:
        return str(self._stage._users[self._user].username)

    def _use(
        self,
        tool: str,
        given: dict[str, Any],
        *,
        output: str = "",
        is_failed: bool = False,
        warns: Fact | None = None,
    ) -> None:
        self._uses += 1
        use = {"tool_name": tool, "tool_input": given, "tool_use_id": f"use-{self._uses}"}
        told = _context(self._tell("PreToolUse", **use))
        if warns is not None:
            self._note("warning", warns, told)
        for warning in re.findall(r"<known-failure.*?</known-failure>", told, re.DOTALL):
            is_relevant = warns is not None and _tells(warning, warns)
            self._half.warned.append(is_relevant)
            if not is_relevant:
                self._half.noise.append(f"{given}: {warning}")
        if is_failed:
            self._tell("PostToolUseFailure", error=f"Exit code 1\n{output}", **use)
        else:
            response = {"stdout": output, "stderr": "", "interrupted": False}
            self._tell("PostToolUse", tool_response=response, **use)

    def _claimed(self) -> str:
        """Claim the newest offer that the opening context tells of; return what it says."""
        line = next((one for one in self._opening.splitlines() if "Handoffs that wait" in one), "")
        ids = re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", line)
        if not ids:
            return ""
        arguments = {"operation": "claim", "id": str(UUID(ids[0]))}
        return self._stage.tool(self._user, self._repository, "handoff", arguments)

    def _tell(self, event: str, **payload: Any) -> dict[str, Any]:
        self._half.events += 1
        base = {
            "hook_event_name": event,
            "session_id": self._client_id,
            "cwd": f"/srv/{self._repository}",
        }
        answer = self._stage.hook(self._user, self._repository, base | payload)
        self._follow(event)
        return answer

    def _follow(self, event: str) -> None:
        """Do at once what the worker does some seconds after a tool."""
        from memory.models import Session
        from workers.tasks import sessions as tasks

        if event in {"PostToolUse", "PostToolUseFailure"}:
            row = Session.objects.get(client_session_id=self._client_id, user__username=self._name)
            tasks.learn(session_id=str(row.pk))

    def _note(self, how: str, fact: Fact, text: str) -> None:
        is_told = _tells(text, fact)
        self._half.needed[how].append(is_told)
        if not is_told:
            self._half.missed.append(f"{fact.name} ({fact.kind}) by {how}: {text[:400]}")


def _facts_of(played: Played) -> list[Fact]:
    facts = [*played.opening]
    for step in played.steps:
        match step:
            case Ask(fact=fact) | Claim(fact):
                facts.append(fact)
            case Edit(warns=Fact() as fact) | Run(warns=Fact() as fact):
                facts.append(fact)
    return list(dict.fromkeys(facts))


def _tells(text: str, fact: Fact) -> bool:
    plain = " ".join(text.lower().split())
    return all(sign in plain for sign in fact.signs)


def _context(answer: dict[str, Any]) -> str:
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def _report(name: str, half: Figures, *, is_shown: bool) -> None:
    tokens = sorted(half.tokens)
    needs = sum(map(len, half.needed.values()))
    opening = f"opening {sum(half.injected)} of {len(half.injected)}"
    warnings = f"warnings {sum(half.warned)} of {len(half.warned)}"
    half_way, most = tokens[len(tokens) // 2], tokens[-1]
    by_way = [f"    {how}: {sum(found)} of {len(found)}" for how, found in half.needed.items()]
    lines = [
        f"{name}: {half.sessions} sessions, {half.events} events",
        f"  recall {half.recall:.3f} (target {_TARGETS['recall']}) of {needs} needs",
        *sorted(by_way),
        f"  precision {half.precision:.3f} (target {_TARGETS['precision']}): {opening}, {warnings}",
        f"    of the opening's, {half.asked_for} were needed by the very session",
        f"  tokens a start: median {half_way}, most {most} (target {_TARGETS['tokens']})",
        f"  proposals: {half.proposals}, of which {half.planted_proposals} tell what was planted",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    if is_shown:
        for missed in half.missed:
            sys.stdout.write(f"  missed: {missed}\n")
        for noise in half.noise:
            sys.stdout.write(f"  noise: {noise}\n")


if __name__ == "__main__":
    main()
