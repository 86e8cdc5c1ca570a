"""The five cycles on real rows: what each changes, what it leaves alone, and the way back."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.db import connection

from codemem.accounts.models import User
from graph import services as graph
from graph.values import VertexLabel, graph_id
from memory import summaries
from memory.consolidation import runs
from memory.models import (
    ConsolidationChange,
    ConsolidationRun,
    Memory,
    MemoryUse,
    MemoryVersion,
    ReviewItem,
)
from memory.services import restore_memory, review
from memory.services.purging import purge_memory
from memory.services.standing import move
from memory.values import Visibility
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(hours=1)


def vertex(memory: Memory) -> int:
    return graph_id(label=VertexLabel.MEMORY, key=memory.number)


def links(memory: Memory) -> set[tuple[int, str, int]]:
    rows = graph.link_rows(namespace_id=memory.namespace_id, vertices=[vertex(memory)])
    return {(row.source, row.kind, row.target) for row in rows}


def shared(row: ConsolidationRun) -> dict[str, Any]:
    return row.report["circles"]["shared"]


def set_policy(namespace, **changes):
    namespace.settings = namespace.settings | {
        f"consolidation.{key.replace('__', '.')}": value for key, value in changes.items()
    }
    namespace.save()


def make_private(memory: Memory, author: User) -> Memory:
    Memory.objects.filter(pk=memory.pk).update(
        visibility="private", author=author, author_name=author.username
    )
    return Memory.objects.get(pk=memory.pk)


class TestDecay:
    def test_it_writes_retention_and_never_importance(self, remember, run):
        memory = remember("Old and unused.", days=200)
        report = shared(run("decay"))
        use = MemoryUse.objects.get(memory=memory)
        assert use.retention is not None
        assert use.retention < 0.2
        assert use.retention_at == NOW
        memory.refresh_from_db()
        assert (memory.importance, memory.version) == (0.5, 1)
        assert report["changed"] == 1
        assert report["after"]["below_0.2"] == 1

    def test_twice_is_once(self, remember, run, everything):
        remember("Old and unused.", days=200)
        run("decay")
        once = everything()
        assert shared(run("decay"))["changed"] == 0
        assert everything() == once

    def test_a_rehearsal_writes_nothing(self, remember, run, everything):
        remember("Old and unused.", days=200)
        before = everything()
        row = run("decay", is_dry=True)
        assert shared(row)["changed"] == 1
        assert everything() == before
        assert not row.changes.exists()

    def test_undo_restores_exactly(self, remember, run, undo, everything):
        remember("Old and unused.", days=200)
        remember("Old and used.", days=200, use={"recalled": 2, "retention": 0.9})
        before = everything()
        row = run("decay")
        assert everything() != before
        assert undo(row)["kept"] == []
        assert everything() == before
        row.refresh_from_db()
        assert row.state == "undone"

    def test_counts_of_reads_since_survive_the_undo(self, remember, run, undo):
        memory = remember("Old and unused.", days=200)
        row = run("decay")
        MemoryUse.objects.filter(memory=memory).update(recalled=3, recalled_at=LATER)
        undo(row)
        use = MemoryUse.objects.get(memory=memory)
        assert (use.recalled, use.retention, use.retention_at) == (3, None, None)


class TestForget:
    def test_what_faded_unused_is_archived_and_can_be_restored(self, remember, run, maintainer):
        faded = remember("The old printer is on floor two.", days=300, memory_type="context")
        fresh = remember("The new printer is on floor three.", days=1, memory_type="context")
        assert shared(run("forget"))["changed"] == 1
        faded.refresh_from_db()
        fresh.refresh_from_db()
        assert (faded.state, faded.retired_by, fresh.state) == (
            "retired",
            "consolidation",
            "active",
        )
        assert MemoryVersion.objects.get(memory=faded).changed_by_name == "consolidation"
        restore_memory(caller=factories.caller_of(maintainer), memory_id=faded.pk, now=NOW)
        faded.refresh_from_db()
        assert faded.state == "active"

    @pytest.mark.parametrize(
        "kept",
        [
            {"is_pinned": True},
            {"memory_type": "rule"},
            {"memory_type": "decision"},
            {"memory_type": "requirement"},
            {"memory_type": "failure"},
            {"memory_type": "question"},
        ],
    )
    def test_what_a_team_lives_by_is_exempt(self, remember, run, kept):
        memory = remember(
            "Never to be forgotten.", days=3000, **({"memory_type": "context"} | kept)
        )
        assert shared(run("forget"))["changed"] == 0
        memory.refresh_from_db()
        assert memory.state == "active"

    def test_what_was_used_lately_is_exempt(self, remember, run):
        remember(
            "Small but used.",
            days=300,
            memory_type="context",
            importance=0.05,
            use={"recalled": 1, "recalled_at": NOW - timedelta(days=20)},
        )
        assert shared(run("forget"))["left_out"] == {"used lately": 1}

    def test_what_is_unclear_is_asked(self, remember, run, maintainer):
        memory = remember(
            "Somebody liked this.", days=3000, memory_type="context", use={"helpful": 1}
        )
        report = shared(run("forget"))
        assert (report["changed"], report["proposed"]) == (0, 1)
        item = ReviewItem.objects.get()
        assert item.proposal["operation"] == "retire"
        caller = factories.caller_of(maintainer)
        review.decide(caller=caller, item_id=item.pk, approve=True, now=NOW)
        memory.refresh_from_db()
        assert memory.state == "retired"

    def test_one_run_archives_a_share_at_most(self, remember, run):
        for number in range(25):
            remember(f"Old thing {number}.", days=3000, memory_type="context")
        report = shared(run("forget"))
        assert report["changed"] == 2
        assert report["left_out"] == {"more than one run may archive": 23}

    def test_undo_restores_rows_and_links_exactly(self, remember, run, undo, everything, namespace):
        set_policy(namespace, forget__maximum_share=1.0)
        one = remember("The old printer is on floor two.", days=300, memory_type="context")
        other = remember("The old scanner is beside it.", days=300, memory_type="context")
        kept = remember("Floors are counted from zero.", days=300, memory_type="rule")
        for target in (other, kept):
            graph.link(
                namespace_id=namespace.pk,
                source=vertex(one),
                target=vertex(target),
                kind="RELATES_TO",
                actor="walter",
                now=NOW - timedelta(days=9),
                weight=0.3,
            )
        before = everything()
        row = run("forget", now=LATER)
        assert not links(one)
        assert undo(row, now=LATER)["kept"] == []
        assert everything() == before
        changes = MemoryVersion.objects.filter(memory=one).values_list("change", flat=True)
        assert list(changes) == ["retired", "undone"]

    def test_undo_leaves_what_people_changed_since(
        self, remember, run, undo, namespace, maintainer
    ):
        set_policy(namespace, forget__maximum_share=1.0)
        one = remember("The old printer is on floor two.", days=300, memory_type="context")
        other = remember("The old scanner is beside it.", days=300, memory_type="context")
        row = run("forget")
        restore_memory(caller=factories.caller_of(maintainer), memory_id=one.pk, now=LATER)
        Memory.objects.filter(pk=one.pk).update(version=9, importance=0.9)
        undone = undo(row, now=LATER)
        assert undone["kept"] == [str(one.pk)]
        assert "1 memories stay as they are" in undone["note"]
        one.refresh_from_db()
        other.refresh_from_db()
        assert (one.importance, other.state) == (0.9, "active")

    def test_undo_is_refused_where_the_same_was_stored_again(self, remember, run, undo, store):
        one = remember("The old printer is on floor two.", days=300, memory_type="context")
        row = run("forget")
        store("The old printer is on floor two.")
        assert undo(row)["kept"] == [str(one.pk)]


class TestCluster:
    SAME = (
        "Deploys to production happen on Tuesdays after the stand-up in room blue.",
        "Deploys to production happen on Tuesdays after the stand-up in room blue!",
    )

    def test_near_duplicates_are_proposed_and_merged_on_approval(self, remember, run, maintainer):
        stays = remember(self.SAME[0], importance=0.9, tags=["deploy"])
        goes = remember(self.SAME[1], tags=["ritual"], use={"recalled": 4})
        assert shared(run("cluster"))["proposed"] == 1
        item = ReviewItem.objects.get()
        assert item.memory_ids == [str(stays.pk), str(goes.pk)]
        caller = factories.caller_of(maintainer)
        review.decide(caller=caller, item_id=item.pk, approve=True, now=NOW)
        stays.refresh_from_db()
        goes.refresh_from_db()
        assert (goes.state, goes.superseded_by_id) == ("superseded", stays.pk)
        assert stays.tags == ["deploy", "ritual"]
        assert MemoryUse.objects.get(memory=stays).recalled == 4
        assert (vertex(stays), "SUPERSEDES", vertex(goes)) in links(stays)

    def test_the_same_is_not_proposed_twice(self, remember, run):
        for text in self.SAME:
            remember(text)
        run("cluster")
        assert shared(run("cluster"))["proposed"] == 0
        assert ReviewItem.objects.count() == 1

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (
                "Release notes of the payment service for version 1.1.1 are in the wiki",
                "Release notes of the payment service for version 1.1.2 are in the wiki",
            ),
            (
                "The nightly export job may write to the archive bucket of the team",
                "The nightly export job may not write to the archive bucket of the team",
            ),
            (
                "Totals are rounded in `Invoice.total` before the mail goes out",
                "Totals are rounded in `Receipt.total` before the mail goes out",
            ),
        ],
    )
    def test_other_numbers_names_or_negations_are_not_the_same(
        self, remember, run, one, other, model
    ):
        Memory.objects.filter(pk=remember(one).pk).update(embedding=np.ones(384, np.float32))
        Memory.objects.filter(pk=remember(other).pk).update(embedding=np.ones(384, np.float32))
        report = shared(run("cluster"))
        assert report["proposed"] == 0
        assert report["left_out"] == {"with other numbers, names or negations": 1}

    def test_scopes_and_types_are_kept_apart(self, remember, run, repository):
        remember(self.SAME[0])
        remember(self.SAME[1], visibility="repository", repository=repository)
        remember(self.SAME[0] + "..", memory_type="rule")
        assert shared(run("cluster"))["proposed"] == 0

    def test_merging_at_once_can_be_undone_exactly(
        self, remember, run, undo, everything, namespace
    ):
        set_policy(namespace, cluster__policy="merge")
        stays = remember(self.SAME[0], importance=0.9, use={"recalled": 1})
        goes = remember(self.SAME[1], tags=["ritual"], use={"recalled": 4})
        other = remember("Room blue is on floor two.")
        graph.link(
            namespace_id=namespace.pk,
            source=vertex(goes),
            target=vertex(other),
            kind="DEPENDS_ON",
            actor="walter",
            now=NOW,
        )
        before = everything()
        row = run("cluster")
        assert (vertex(stays), "DEPENDS_ON", vertex(other)) in links(stays)
        undo(row)
        assert everything() == before

    def test_nothing_is_chained(self, remember, run):
        """A is near B and B near C, but A is not near C: C stays out of A's group."""
        angle = np.arccos(0.96)
        for number, name in enumerate(("alpha", "alpha!", "alpha?")):
            memory = remember(f"{name}", importance=0.5 + (number == 0) * 0.4)
            vector = np.zeros(384, np.float32)
            vector[:2] = np.cos(number * angle), np.sin(number * angle)
            Memory.objects.filter(pk=memory.pk).update(embedding=vector)
        run("cluster")
        (item,) = ReviewItem.objects.all()
        assert len(item.memory_ids) == 2


class TestCreative:
    def test_what_shares_a_theme_is_tied_once(self, remember, run):
        noise = ("apples", "bridges", "clouds", "dragons", "engines", "forests", "glaciers")
        for number, word in enumerate(noise):
            remember(f"{word} {number}{word}")
        one = remember("invoices rounded cents totals mail", days=2)
        other = remember("invoices rounded cents totals fax", memory_type="rule")
        report = shared(run("creative"))
        assert report["changed"] == 1
        assert links(one) == {(vertex(other), "SHARES_THEME", vertex(one))}
        assert shared(run("creative"))["changed"] == 0

    def test_what_somebody_tied_is_left_alone(self, remember, run, namespace):
        for word in ("apples", "bridges", "clouds", "dragons", "engines"):
            remember(f"{word} {word}xyz")
        one = remember("invoices rounded cents totals mail")
        other = remember("invoices rounded cents totals fax")
        graph.link(
            namespace_id=namespace.pk,
            source=vertex(one),
            target=vertex(other),
            kind="CONTRADICTS",
            actor="walter",
            now=NOW,
        )
        report = shared(run("creative"))
        assert report["changed"] == 0
        assert report["left_out"] == {"tied already": 1}

    def test_nobody_is_tied_to_everybody(self, remember, run, namespace):
        set_policy(namespace, creative__maximum_ties=2, creative__quantile=0.5)
        for number in range(12):
            remember(f"invoices rounded cents totals mail paper ink {chr(97 + number) * 5}")
        for number in range(12):
            remember(f"{chr(97 + number) * 7} nothing else")
        run("creative")
        for memory in Memory.objects.all():
            assert len(links(memory)) <= 2

    def test_undo_restores_exactly(self, remember, run, undo, everything):
        for word in ("apples", "bridges", "clouds", "dragons", "engines"):
            remember(f"{word} {word}xyz")
        remember("invoices rounded cents totals mail")
        remember("invoices rounded cents totals fax")
        before = everything()
        row = run("creative")
        assert everything()["links"] != before["links"]
        undo(row)
        assert everything() == before

    def test_a_circle_of_two_is_not_tied_for_being_all_there_is(self, remember, run):
        remember("apples")
        remember("bridges")
        assert shared(run("creative"))["changed"] == 0


class TestSummarize:
    def fill(self, remember, namespace, count=6, **columns):
        made = [
            remember(
                f"Invoices: rule {chr(97 + number)} says that totals are rounded once. It came up"
                f" in case {chr(97 + number) * 3}.",
                days=10 - number,
                **columns,
            )
            for number in range(count)
        ]
        for memory in made[1:]:
            graph.link(
                namespace_id=namespace.pk,
                source=vertex(memory),
                target=vertex(made[0]),
                kind="RELATES_TO",
                actor="walter",
                now=NOW,
            )
        return made

    def test_a_topic_gets_one_summary_with_citations(self, remember, run, namespace, writer):
        made = self.fill(remember, namespace)
        report = shared(run("summarize"))
        assert report["changed"] == 1
        summary = Memory.objects.get(source="consolidation")
        assert (summary.memory_type, summary.model) == ("summary", "extractive-1")
        assert set(summaries.sources_of(summary)) == {memory.pk for memory in made}
        assert {kind for _, kind, _ in links(summary)} == {"SUMMARIZES"}
        marks = {memory.pk.hex[-8:] for memory in made}
        assert any(f"[{mark}]" in summary.content for mark in marks)
        nodes, is_whole = summaries.expand(
            caller=factories.caller_of(writer), memory_id=summary.pk, now=NOW
        )
        assert is_whole
        assert [node.memory.content for node in nodes[1:]] == [memory.content for memory in made]

    def test_twice_is_once_and_new_words_mend_it(self, remember, run, namespace, everything):
        made = self.fill(remember, namespace)
        run("summarize")
        once = everything()
        assert shared(run("summarize", now=LATER))["changed"] == 0
        assert everything() == once
        Memory.objects.filter(pk=made[0].pk).update(
            content="Totals are never rounded any more.", content_hash=b"new"
        )
        assert shared(run("summarize", now=LATER))["changed"] == 1
        assert Memory.objects.filter(source="consolidation").count() == 1
        assert MemoryVersion.objects.get().change == "consolidated"

    def test_undo_takes_a_new_summary_away_exactly(
        self, remember, run, namespace, undo, everything
    ):
        self.fill(remember, namespace)
        before = everything()
        row = run("summarize")
        undo(row)
        assert everything() == before

    def test_undo_leaves_a_summary_that_somebody_tied(self, remember, run, namespace, undo):
        made = self.fill(remember, namespace)
        row = run("summarize")
        summary = Memory.objects.get(source="consolidation")
        graph.link(
            namespace_id=namespace.pk,
            source=vertex(summary),
            target=vertex(made[0]),
            kind="EXPLAINS",
            actor="walter",
            now=NOW,
        )
        assert undo(row)["kept"] == [str(summary.pk)]
        assert Memory.objects.filter(pk=summary.pk, state="active").exists()

    def test_a_long_session_folds_into_a_tree_and_unfolds_again(
        self, remember, run, namespace, reader, everything
    ):
        set_policy(
            namespace,
            summarize__session_tokens=500,
            summarize__leaf_tokens=200,
            summarize__leaf_summary_tokens=60,
            summarize__condensed_summary_tokens=100,
        )
        made = [
            remember(
                f"Step {number}: the {chr(97 + number % 26) * 6} parser was changed and its"
                f" tests of part {number} pass; the reason was case {number} of the list."
                + " More words follow."
                * 8,
                days=60 - number,
                session_id="s-1",
            )
            for number in range(48)
        ]
        report = shared(run("summarize"))
        leaves = Memory.objects.filter(tags__contains=["leaf"])
        condensed = Memory.objects.filter(tags__contains=["condensed"])
        assert leaves.count() >= 8
        assert condensed.count() >= 2
        assert report["changed"] == leaves.count() + condensed.count()
        assert all(row.session_id == "s-1" for row in (*leaves, *condensed))
        top = max(condensed, key=lambda row: row.idempotency_key)
        nodes, _ = summaries.expand(
            caller=factories.caller_of(reader), memory_id=top.pk, now=NOW, depth=8
        )
        unfolded = {node.memory.id for node in nodes}
        assert unfolded & {memory.pk for memory in made}
        once = everything()
        # What expires is still told, and nothing is made again.
        Memory.objects.filter(pk=made[0].pk).update(state="expired", ended_at=NOW)
        assert shared(run("summarize", now=LATER))["changed"] == 0
        Memory.objects.filter(pk=made[0].pk).update(state="active", ended_at=None)
        assert everything() == once

    def test_a_summary_of_what_became_private_is_withdrawn(self, remember, run, namespace, writer):
        made = self.fill(remember, namespace)
        run("summarize")
        old = Memory.objects.get(source="consolidation")
        make_private(made[0], writer)
        report = shared(run("summarize", now=LATER))
        assert report["left_out"]["withdrawn: a source left its scope"] == 1
        assert not Memory.objects.filter(pk=old.pk).exists()
        assert not ConsolidationChange.objects.filter(memory_id=old.pk).exists()
        for summary in Memory.objects.filter(source="consolidation", state="active"):
            assert made[0].pk not in summaries.sources_of(summary)

    def test_a_summary_goes_with_a_memory_that_is_purged_or_made_private(
        self, remember, run, namespace, writer
    ):
        made = self.fill(remember, namespace, count=7)
        caller = factories.caller_of(writer)
        run("summarize")
        private = Visibility.PRIVATE

        def purge(key):
            purge_memory(caller=caller, memory_id=key, confirm=str(key), now=NOW)

        def hide(key):
            move(caller=caller, memory_id=key, visibility=private, now=NOW)

        for gone, step in ((made[0], purge), (made[1], hide)):
            told = Memory.objects.get(source="consolidation")
            mark = f"[{gone.pk.hex[-8:]}]"
            step(gone.pk)
            assert not Memory.objects.filter(pk=told.pk).exists()
            for table in ("memory", "memoryversion", "consolidationchange"):
                with connection.cursor() as cursor:
                    statement = f"SELECT count(*) FROM memory_{table} t WHERE t::text LIKE %s"
                    cursor.execute(statement, [f"%{mark}%"])
                    assert cursor.fetchone() == (0,), table
            for memory in Memory.objects.filter(pk__in=[row.pk for row in made[1:-1]]):
                graph.link(
                    namespace_id=namespace.pk,
                    source=vertex(memory),
                    target=vertex(made[-1]),
                    kind="RELATES_TO",
                    actor="walter",
                    now=NOW,
                )
            run("summarize", now=LATER)


class TestCircles:
    def test_private_memories_are_put_together_with_their_authors_own_only(
        self, remember, run, people
    ):
        for author in (people.writer, people.owner, None):
            for mark in ("", "!"):
                memory = remember(f"{author and author.username}: {TestCluster.SAME[0]}{mark}")
                vector = np.ones(384, np.float32)
                Memory.objects.filter(pk=memory.pk).update(embedding=vector)
                if author:
                    make_private(memory, author)
        run("cluster")
        items = list(ReviewItem.objects.all())
        assert len(items) == 3
        by_author = {item.private_to_id: item for item in items}
        assert set(by_author) == {people.writer.pk, people.owner.pk, None}
        for author_id, item in by_author.items():
            rows = Memory.objects.filter(pk__in=item.memory_ids)
            private = {row.author_id for row in rows if row.visibility == "private"}
            assert private == ({author_id} if author_id else set())

    def test_a_report_shows_private_work_to_its_author_alone(
        self, remember, run, writer, owner, outsider
    ):
        make_private(remember("Mine alone.", days=300), writer)
        row = run("decay")
        mine = runs.view_of(row, caller=factories.caller_of(writer)).report
        theirs = runs.view_of(row, caller=factories.caller_of(owner)).report
        assert mine["private"]["changed"] == 1
        assert "private" not in theirs
        assert theirs["shared"]["before"]["memories"] == 0
        assert not runs.visible_runs(caller=factories.caller_of(outsider)).exists()

    def test_a_private_summary_is_its_authors_alone(self, remember, run, namespace, people):
        made = TestSummarize().fill(remember, namespace)
        for memory in made:
            make_private(memory, people.writer)
        run("summarize")
        summary = Memory.objects.get(source="consolidation")
        assert (summary.visibility, summary.author_id) == ("private", people.writer.pk)
        for user in (people.owner, people.reader, people.outsider):
            with pytest.raises(Exception, match="not for you"):
                summaries.expand(caller=factories.caller_of(user), memory_id=summary.pk, now=NOW)

    def test_a_summary_opens_nothing_that_became_private_since(
        self, remember, run, namespace, writer, reader
    ):
        made = TestSummarize().fill(remember, namespace)
        run("summarize")
        summary = Memory.objects.get(source="consolidation")
        make_private(made[0], writer)
        nodes, _ = summaries.expand(
            caller=factories.caller_of(reader), memory_id=summary.pk, now=NOW
        )
        assert nodes[0].hidden == 1
        assert made[0].pk not in {node.memory.id for node in nodes}

    def test_no_namespace_reaches_into_another(self, remember, run, everything, outsider, store):
        other = factories.make_namespace("other", owner=outsider)
        caller = factories.caller_of(outsider)
        foreign = {
            remember(
                f"{TestCluster.SAME[0]}{mark}",
                days=3000,
                memory_type="context",
                store_as={"caller": caller, "namespace_id": other.pk},
            ).pk
            for mark in ("", "!", "?")
        }
        for mark in ("", "!", "?"):
            remember(f"{TestCluster.SAME[0]}{mark}", days=3000, memory_type="context")
        for cycle in runs.CYCLES:
            run(cycle)
        touched = set(ConsolidationChange.objects.values_list("memory_id", flat=True))
        assert not touched & foreign
        assert not Memory.objects.filter(pk__in=foreign).exclude(state="active").exists()
        for item in ReviewItem.objects.all():
            assert not {UUID(key) for key in item.memory_ids} & foreign
