"""Declaring and running tools: strict arguments, errors that say what to mend, nothing a 500."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from codemem import metrics
from codemem.accounts.values import TokenScope
from codemem.gateway import tool
from codemem.gateway.tool import Address, Arguments, Call, Result, Tool, Toolset
from tests import factories
from tests.factories import NOW
from tests.gateway import surfaces
from tests.gateway.examples import EXAMPLES
from tests.gateway.surfaces import Answer
from tests.gateway.team import Team

TOOLS = list(tool.registry())
REFUSED = ("invalid_arguments", "not_a_diff")
# None of these is a string, a number in range, a list of either or a truth value throughout.
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    "3",
    " ",
    1.5,
    10**400,
    [],
    [[]],
    {"a": {"b": []}},
    "x" * 30_000,
    "\u202e\ufeff\ufffe'; DROP TABLE memory_memory; -- %s %(limit)s \\ {'{'}",
)


@pytest.fixture
def token(team: Team) -> str:
    return team.token(team.owner)


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("name", TOOLS)
def test_no_value_of_any_argument_is_a_defect(name: str, team: Team, token: str) -> None:
    works = EXAMPLES[name].works(team)
    for parameter in tool.find_tool(name).arguments.model_fields:
        for value in ODD_VALUES:
            answer = _tried(token, name, {**works, parameter: value})
            assert answer.code != "internal_error", (parameter, str(value)[:50], answer.text)
            assert not answer.is_error or answer.content["error"]["message"]


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_text_that_postgres_cannot_hold_is_refused(
    name: str, text: str, team: Team, token: str
) -> None:
    works = EXAMPLES[name].works(team)
    for parameter in tool.find_tool(name).arguments.model_fields:
        for value in (text, [text], {"a": text}, {text: 1}):
            answer = _tried(token, name, {**works, parameter: value})
            assert answer.code == "invalid_arguments"
            assert parameter in answer.content["error"]["message"]


@pytest.mark.parametrize("name", TOOLS)
def test_an_argument_that_does_not_exist_is_never_ignored(
    name: str, team: Team, token: str
) -> None:
    works = EXAMPLES[name].works(team)
    for unknown in ("namespase", "", "limit\0", "\ud800", "__class__"):
        answer = _tried(token, name, {**works, unknown: 1})
        assert answer.code == "invalid_arguments", (unknown, answer.text)


@pytest.mark.parametrize("name", TOOLS)
def test_nesting_without_end_is_refused(name: str, team: Team, token: str) -> None:
    works = EXAMPLES[name].works(team)
    for depth in (20, 100, 900):
        for arguments in ({**works, "namespace": nested(depth)}, nested(depth), {"x": works}):
            assert _tried(token, name, arguments).code == "invalid_arguments"


@pytest.mark.parametrize("name", TOOLS)
def test_a_missing_argument_is_named(name: str, team: Team, token: str) -> None:
    declared = tool.find_tool(name).arguments.model_fields
    required = [field.alias or key for key, field in declared.items() if field.is_required()]
    works = EXAMPLES[name].works(team)
    for parameter in required:
        left = {key: value for key, value in works.items() if key != parameter}
        answer = _tried(token, name, left)
        assert answer.code == "invalid_arguments"
        assert parameter in answer.content["error"]["message"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("3", "integer"),
        (0, "greater than or equal to 1"),
        (51, "less than or equal to 50"),
        (None, "integer"),
        (2.5, "integer"),
        (True, "integer"),
    ],
)
def test_a_wrong_number_is_told_what_is_right(value: object, words: str, token: str) -> None:
    answer = _tried(token, "recall", {"query": "rounding", "k": value})
    assert answer.code == "invalid_arguments"
    assert words in answer.content["error"]["message"]


def test_several_mistakes_are_told_at_once(token: str) -> None:
    message = _tried(token, "recall", {"k": "3", "tags": 7}).content["error"]["message"]
    assert all(name in message for name in ("query", "k", "tags"))


def test_a_time_needs_a_zone_and_a_uuid_its_form(team: Team, token: str) -> None:
    works = EXAMPLES["store_memory"].works(team)
    for moment in ("2027-01-01T00:00:00", "tomorrow", "2027-13-01T00:00:00Z"):
        answer = _tried(token, "store_memory", {**works, "expires_at": moment})
        assert answer.code == "invalid_arguments"
    assert _tried(token, "delete_memory", {"id": "not-an-id"}).code == "invalid_arguments"


class _Asked(Arguments):
    way: str


class _Told(Result):
    way: str


@pytest.fixture
def breaking() -> Iterator[Tool]:
    """Declare a tool that does what its caller says."""

    def break_something(call: Call, arguments: _Asked) -> _Told:
        """Break something."""
        if arguments.way == "defect":
            raise ZeroDivisionError("A secret of the server.")
        return _Told(way=arguments.way)

    tool.tool(Toolset.CODE, reads_only=True)(break_something)
    yield tool.find_tool("break_something")
    tool._REGISTRY.pop("break_something")


def test_an_error_that_nobody_anticipated_is_counted_and_keeps_its_secrets(
    breaking: Tool, team: Team
) -> None:
    call = Call(
        caller=factories.caller_of(team.reader, scopes=TokenScope), address=Address(), now=NOW
    )
    outcome = tool.run(breaking, arguments={"way": "defect"}, call=call)
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.status) == ("internal_error", 500)
    assert "secret" not in outcome.text
    counted = metrics.TOOL_CALLS.labels("break_something", "internal_error")
    assert counted._sum.get() > 0
    assert tool.run(breaking, arguments={"way": "fine"}, call=call).content == {"way": "fine"}


def test_a_tool_is_declared_once_and_with_a_docstring(breaking: Tool) -> None:
    with pytest.raises(TypeError, match="twice"):
        tool.tool(Toolset.CODE, reads_only=True)(breaking.function)

    def silent(call: Call, arguments: _Asked) -> _Told:
        raise NotImplementedError

    with pytest.raises(TypeError, match="docstring"):
        tool.tool(Toolset.CODE, reads_only=True)(silent)


def _tried(token: str, name: str, arguments: object) -> Answer:
    """Call a tool and undo what it did."""
    with transaction.atomic():
        answer = surfaces.over_rest(token=token, tool=name, arguments=arguments)
        transaction.set_rollback(True)
    return answer
