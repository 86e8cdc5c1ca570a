"""VS Code's agent hooks: Claude Code's events with its own tools, and session ids in camel case."""

from typing import Any

from codemem.gateway.adapters import claude_code
from codemem.gateway.adapters.delivery import Delivery
from memory.events import Doing, HookAnswer, HookEvent

_DOING = {
    Doing.READ: "read_file readFile list_dir listDirectory grep_search textSearch file_search"
    " fileSearch semantic_search codebase fetch_webpage fetch get_errors problems"
    " list_code_usages usages",
    Doing.EDIT: "create_file createFile replace_string_in_file multi_replace_string_in_file"
    " insert_edit_into_file apply_patch editFiles edit_notebook_file create_directory",
    Doing.RUN: "run_in_terminal runInTerminal run_task runTests create_and_run_task",
    Doing.DELEGATE: "runSubagent agent",
}
_BY_NAME = {name: doing for doing, names in _DOING.items() for name in names.split()}


def events_of(delivery: Delivery) -> list[HookEvent]:
    """Return the events of a payload."""
    return claude_code.read_events(delivery, kinds=claude_code.KINDS, doing_of=_doing_of)


def answer(answer: HookAnswer, event: str) -> dict[str, Any]:
    """Return the hook's JSON; a prompt's hook cannot add to what the model reads."""
    if event == "UserPromptSubmit":
        return {}
    return claude_code.answer(answer, event)


def _doing_of(name: str) -> Doing:
    return _BY_NAME.get(name) or claude_code.doing_of(name)
