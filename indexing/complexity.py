"""How hard a function is to test and to follow: cyclomatic and cognitive complexity.

Computed from steps of control flow that the queries mark, in any language:

- `branch` (if, for, while, catch, ?:): a path, and harder to follow the deeper it stands;
- `chain` (elif, else if): a path, no deeper than the branch that it continues;
- `else`: no path of its own, but something more to keep in mind;
- `switch`: one decision however many cases; `case`: a path, read at a glance;
- `path`: a path that costs no thought (a comprehension's clauses);
- `and`, `or`: a path; a run of the same operator is one thought;
- `jump` (goto, a labeled break): no path, but a thought.

The cognitive measure is G. Ann Campbell's "Cognitive Complexity" (SonarSource, 2018) without its
increment for recursion. Anonymous functions count for the definition that they stand in, one
level deeper.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from indexing.capturing import Flow, Found
from indexing.facts import MODULE_SCOPE
from indexing.scopes import scopes_at

_PATHS = frozenset({"branch", "chain", "case", "path", "and", "or"})
_DEEPER = frozenset({"branch", "switch"})
_PLAIN = frozenset({"chain", "else", "jump"})
_LONGEST_ELSE = len("else        ")
_OPERATORS = frozenset({"and", "or"})


@dataclass(slots=True)
class Complexity:
    """Both measures of one definition, and the open branches while it is measured."""

    cyclomatic: int = 1
    cognitive: int = 0


def complexities(found: Sequence[Found], flows: Sequence[Flow]) -> dict[int, Complexity]:
    """Return the complexity of every definition that holds control flow, by its number."""
    steps = _distinct(flows)
    measured: dict[int, Complexity] = {}
    open_steps: list[tuple[Flow, int]] = []
    scopes = scopes_at([step.start for step in steps], found)
    for step, scope in zip(steps, scopes, strict=True):
        owner, lambdas = _owner(found, scope)
        if owner == MODULE_SCOPE:
            continue
        while open_steps and open_steps[-1][0].end <= step.start:
            open_steps.pop()
        own = measured.setdefault(owner, Complexity())
        own.cyclomatic += step.kind in _PATHS
        own.cognitive += _cognitive(step, owner, lambdas, open_steps)
        open_steps.append((step, owner))
    return measured


def _distinct(flows: Sequence[Flow]) -> list[Flow]:
    """Sort the steps; `else if` is one step, which continues the branch before it."""
    chains = {(flow.start, flow.end) for flow in flows if flow.kind == "chain"}
    chain_starts = {end: start for start, end in sorted(chains, reverse=True)}
    kept = {
        flow
        for flow in flows
        if not (flow.kind == "branch" and (flow.start, flow.end) in chains)
        and not (flow.kind == "else" and _begins_chain(flow, chain_starts))
    }
    return sorted(kept, key=lambda flow: (flow.start, -flow.end, flow.kind))


def _begins_chain(step: Flow, chain_starts: dict[int, int]) -> bool:
    """Tell the `else` of an `else if` from one that holds a whole chain."""
    start = chain_starts.get(step.end)
    return start is not None and 0 <= start - step.start <= _LONGEST_ELSE


def _owner(found: Sequence[Found], scope: int) -> tuple[int, int]:
    """Return the innermost definition with a name, and how many anonymous functions deep."""
    lambdas = 0
    while scope != MODULE_SCOPE and found[scope].kind is None:
        lambdas += 1
        scope = found[scope].parent
    return scope, lambdas


def _cognitive(step: Flow, owner: int, lambdas: int, open_steps: list[tuple[Flow, int]]) -> int:
    if step.kind in _DEEPER:
        depth = sum(outer.kind in _DEEPER for outer, place in open_steps if place == owner)
        return 1 + depth + lambdas
    if step.kind in _OPERATORS:
        outer = open_steps[-1][0] if open_steps else None
        is_run = outer is not None and outer.kind == step.kind and outer.start == step.start
        return 0 if is_run else 1
    return int(step.kind in _PLAIN)
