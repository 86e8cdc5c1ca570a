"""Measure what recall finds of LoCoMo's evidence: `make bench-memory`.

Weights were chosen on conversations 1 to 5; 6 to 10 are reported apart and only with --held-out.
The unit is stated with every figure: ten turns are about a quarter of what ten chunks of four are.
Whether the gold answer's words came is asked of what a reader is shown: hits with what was said
around them, for every way to rank the same, so random memories stand beside recall's.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING, Final
from uuid import UUID

import django

from memory.times import told_times
from tests.bench.locomo_data import (
    Category,
    Conversation,
    Question,
    Unit,
    as_chunks,
    as_turns,
    find_data,
    read_conversations,
)
from tests.bench.locomo_scores import EvidenceRecall, answers, evidence_recall, shown

if TYPE_CHECKING:
    from codemem.accounts.values import Caller
    from codemem.embedding import Provider
    from memory.values import Neighbor
    from tests.bench.locomo_rows import Beside, Loaded

_ASKED_AT: Final = datetime(2024, 1, 1, tzinfo=UTC)
_TEN: Final = 10
_MOST: Final = 50
# How many memories the reference's published run read: its README says ten, its file fifty.
# Adversarial questions have no answer, and are asked once.
_PUBLISHED: Final = {Category.TEMPORAL: 10, Category.OPEN_DOMAIN: 10, Category.ADVERSARIAL: 10}
_FOREIGN_ASKED: Final = 50


def main() -> None:
    """Load, ask, print."""
    arguments = _arguments()
    path = find_data()
    if path is None:
        _say("LoCoMo is not here: name locomo10.json in LOCOMO to measure with it.")
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    from codemem import embedding
    from tests.bench.locomo_rows import CachedProvider

    provider = CachedProvider(embedding.from_settings(), arguments.cache)
    conversations = read_conversations(path)
    for name, units_of in (("turns", as_turns), ("chunks", as_chunks)):
        if arguments.unit in (None, name):
            _measure(name, conversations, units_of, provider, arguments)
    provider.keep()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.bench.locomo", description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="Where vectors are kept.")
    parser.add_argument("--unit", choices=["turns", "chunks"])
    parser.add_argument("--held-out", action="store_true", help="Also conversations 6 to 10.")
    parser.add_argument("--only-held-out", action="store_true", help="Not 1 to 5.")
    parser.add_argument("--no-rivals", action="store_true", help="The product's recall alone.")
    return parser.parse_args()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back, best first: memories, and each as a reader is shown it.

    `characters` is what all of it takes: what is told once is read by several hits.
    """

    ids: tuple[UUID, ...] = ()
    texts: tuple[str, ...] = ()
    characters: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question, what ten memories say to it, and what those of the published limits say."""

    question: Question
    is_held_out: bool
    turns: tuple[tuple[str, ...], ...]
    ten: Reply
    limits: Reply


def _measure(
    unit: str,
    conversations: Sequence[Conversation],
    units_of: "Callable[[Conversation], list]",  # type: ignore[type-arg]
    provider: "Provider",
    arguments: argparse.Namespace,
) -> None:
    from tests.bench import locomo_rows
    from tests.bench.locomo_rivals import Rivals

    started = perf_counter()
    # All ten are loaded, also when five are asked: the filters are to have something to filter.
    everything = locomo_rows.load(
        conversations, namespace=f"bench-{unit}", units_of=units_of, provider=provider
    )
    _say(f"{unit}: loaded in {perf_counter() - started:.0f} s")
    caller = locomo_rows.caller()
    asking = [one for one in everything if _is_asked(one.conversation, arguments)]
    systems: dict[str, list[Asked]] = {}
    for data in asking:
        rivals = Rivals(data=data, caller=caller, provider=provider, now=_ASKED_AT)
        beside = locomo_rows.Beside.of(data, caller, now=_ASKED_AT)
        ways: dict[str, Callable[[str, int], Reply]] = {
            "recall": partial(_recalled, data, caller, provider),
            **{
                name: partial(_ranked, data, beside, way)
                for name, way in rivals.all(only_empty=arguments.no_rivals).items()
            },
        }
        for name, way in ways.items():
            systems.setdefault(name, []).extend(_ask_all(data, way))
        _say(f"{unit}: {data.conversation.name} asked, {perf_counter() - started:.0f} s")
    for is_held_out, half in ((False, "conversations 1-5 (tuned on)"), (True, "6-10 (held out)")):
        if any(one.conversation.is_held_out is is_held_out for one in asking):
            _print_half(f"{unit}, {half}", systems, is_held_out)
    _print_foreign(unit, asking, caller, provider)


def _is_asked(conversation: Conversation, arguments: argparse.Namespace) -> bool:
    if conversation.is_held_out:
        return bool(arguments.held_out or arguments.only_held_out)
    return not arguments.only_held_out


def _recalled(data: "Loaded", caller: "Caller", provider: "Provider", text: str, k: int) -> Reply:
    from memory.recall import recall
    from memory.values import RecallQuery

    query = RecallQuery(
        text=text,
        namespace_ids=(data.namespace_id,),
        repository_id=data.repository_id,
        k=k,
        neighbors=True,
    )
    hits = recall(caller=caller, query=query, now=_ASKED_AT, provider=provider).hits
    return _reply(data, {hit.memory.id: hit.neighbors for hit in hits})


def _ranked(
    data: "Loaded",
    beside: "Beside",
    way: Callable[[str, int], list[UUID]],
    text: str,
    k: int,
) -> Reply:
    return _reply(data, beside.of_hits(way(text, k)))


def _reply(data: "Loaded", hits: "Mapping[UUID, Sequence[Neighbor]]") -> Reply:
    """Return memories with what was said around them as a reader reads both.

    What a hit only names, because it is told elsewhere, is read with it and counted once.
    """
    units = data.by_id
    told = {one.id: one.content for mine in hits.values() for one in mine if one.content}
    told |= {key: units[key].text for key in hits}
    own = {key: _own(units[key]) for key in hits}
    texts = []
    for key, mine in hits.items():
        lines = {one.steps: _line(units[one.id], told[one.id]) for one in mine}
        texts.append("\n".join(line for _, line in sorted({**lines, 0: own[key]}.items())))
    around = sum(len(one.content) for mine in hits.values() for one in mine)
    return Reply(
        ids=tuple(hits),
        texts=tuple(texts),
        characters=sum(map(len, own.values())) + around,
    )


def _own(unit: Unit) -> str:
    author = unit.authors[0] if len(unit.turn_ids) == 1 else ""
    times = [f"[{time.words}: {time.meant}]" for time in told_times(unit.text, at=unit.at)]
    text = " ".join([unit.text, *times])
    return shown(text, session=unit.session, at=unit.at, author=author)


def _line(unit: Unit, text: str) -> str:
    return f"{unit.authors[0]}: {text}" if len(unit.turn_ids) == 1 else text


def _ask_all(data: "Loaded", way: Callable[[str, int], Reply]) -> list[Asked]:
    units = data.by_id
    asked = []
    for question in data.conversation.questions:
        ten = way(question.text, _TEN)
        most = _PUBLISHED.get(question.category, _MOST)
        asked.append(
            Asked(
                question=question,
                is_held_out=data.conversation.is_held_out,
                turns=tuple(units[key].turn_ids for key in ten.ids),
                ten=ten,
                limits=ten if most == _TEN else way(question.text, most),
            )
        )
    return asked


def _print_half(title: str, systems: dict[str, list[Asked]], is_held_out: bool) -> None:
    print(f"\n== {title} ==")
    print("Evidence recall: share of the cited turns / all / any; shares by category")
    for name, every in systems.items():
        asked = [one for one in every if one.is_held_out is is_held_out]
        print(f"  {name:20s}", end="")
        for k in (5, 10):
            print(f"  @{k:<2d} {_recall_text(asked, k)}", end="")
        print(f"  @10 {_categories_text(asked)}")
    print("Gold answer's words in what is shown, with what was said around it, categories 1-4, %:")
    for name, every in systems.items():
        asked = [
            one
            for one in every
            if one.is_held_out is is_held_out and one.question.category is not Category.ADVERSARIAL
        ]
        print(f"  {name:20s}", end="")
        for label, replies in (
            ("k=10", [(one.question, one.ten) for one in asked]),
            ("published limits", [(one.question, one.limits) for one in asked]),
        ):
            right = 100 * fmean(answers(question, reply.texts) for question, reply in replies)
            size = fmean(reply.characters for _, reply in replies)
            print(f"  {label} {right:5.1f} ({size:,.0f} characters shown)", end="")
        print()


def _recall_text(asked: Iterable[Asked], k: int) -> str:
    every = [one for one in asked if one.question.evidence]
    answerable = [one for one in every if one.question.category is not Category.ADVERSARIAL]
    return " | ".join(
        f"{label} {mean.fraction:.3f}/{mean.all:.3f}/{mean.any:.3f}"
        for label, some in (("1-5", every), ("1-4", answerable))
        for mean in [_mean(some, k)]
    )


def _categories_text(asked: Iterable[Asked]) -> str:
    every = [one for one in asked if one.question.evidence]
    return " ".join(
        f"{category.name.lower().replace('_', '-')} {_mean(some, 10).fraction:.3f}"
        for category in Category
        if (some := [one for one in every if one.question.category is category])
    )


def _mean(asked: Iterable[Asked], k: int) -> EvidenceRecall:
    return EvidenceRecall.mean(
        [evidence_recall(one.question.evidence, one.turns[:k]) for one in asked]
    )


def _print_foreign(
    unit: str, asking: "Sequence[Loaded]", caller: "Caller", provider: "Provider"
) -> None:
    """Ask each conversation another one's questions: nothing there answers them."""
    empty = total = 0
    for data, other in zip(asking, [*asking[1:], asking[0]], strict=True):
        for question in other.conversation.questions[:_FOREIGN_ASKED]:
            empty += not _recalled(data, caller, provider, question.text, _TEN).ids
            total += 1
    print(f"{unit}: {empty / total:.1%} of {total} questions of another conversation get nothing")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
