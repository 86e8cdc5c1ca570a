from dataclasses import dataclass
from typing import Any

import pytest

from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller, TokenScope
from graph import queries as graph
from graph.models import Repository
from graph.values import EdgeKind
from indexing.changes import SymbolStatus
from indexing.diffs import ChangeStatus, DiffTooLarge, NotADiff
from indexing.mirrors import mirror_path
from indexing.models import BlobFacts
from indexing.pipeline import run_index
from indexing.review import review_diff
from indexing.services import request_index
from indexing.sides import Limits
from indexing.values import Review, Role
from memory.anchors import AnchorState, citation
from memory.services import store_memory
from tests.factories import NOW, caller_of
from tests.indexing.checkout import Checkout, index, register

pytestmark = pytest.mark.django_db

PRICE = '''\
"""Prices."""

RATE = 0.2


def net(amount: float) -> float:
    """Return the net price."""
    return amount / (1 + RATE)


def _round(amount: float) -> float:
    return round(amount, 2)


class Cart:
    """What a customer buys."""

    size = 0

    def total(self) -> float:
        return _round(net(self.size))

    def clear(self) -> None:
        self.size = 0
'''
ORDER = """\
from shop.price import Cart, net


def place(cart: Cart) -> float:
    return cart.total() + net(1)


def submit(cart: Cart) -> float:
    return place(cart)
"""
TEST = """\
from shop.order import submit
from shop.price import Cart


def test_submit():
    assert submit(Cart()) == 0
"""
FILES = {
    "shop/__init__.py": "",
    "shop/price.py": PRICE,
    "shop/order.py": ORDER,
    "shop/lonely.py": "def lonely() -> int:\n    return 1\n",
    "tests/test_order.py": TEST,
    "README.rst": "Shop\n",
}
BODY = PRICE.replace("amount / (1 + RATE)", "amount / (1.0 + RATE)")
NET = "sym:shop/price.py#net"
ROUND = "sym:shop/price.py#_round"
SIGNATURE = PRICE.replace("net(amount: float)", "net(amount: float, rate: float)")


@dataclass
class Shop:
    """The indexed repository of a shop, and a way to have a diff of it reviewed."""

    checkout: Checkout
    repository: Repository
    caller: Caller
    commit: str

    def review(self, diff: str | bytes, **changes: Any) -> Review:
        arguments: dict[str, Any] = {
            "repository": graph.get_repository(repository_id=self.repository.pk),
            "ref_state": graph.get_ref_state(repository_id=self.repository.pk, ref=None),
            "caller": self.caller,
            "now": NOW,
            "limits": Limits(diff_bytes=1_000_000, file_bytes=1_000_000, processes=1),
        }
        return review_diff(diff=diff, **{**arguments, **changes})

    def review_of(self, files: dict[str, str | bytes | None], **changes: Any) -> Review:
        return self.review(self.checkout.diff(files), **changes)


@pytest.fixture
def shop(source: Checkout, namespace: Namespace, writer: User) -> Shop:
    commit = source.commit(FILES)
    repository = register(namespace, source)
    index(repository)
    return Shop(source, repository, caller_of(writer), commit)


def symbols(review: Review) -> dict[str, SymbolStatus]:
    return {one.id: one.status for one in review.changed_symbols.items}


def ids(listing) -> list[str]:
    return [one.node.id for one in listing.items]


def value(review: Review, name: str) -> float:
    (found,) = [part.value for part in review.risk.parts if part.name == name]
    return found


# --- what changed, and who depends on it --------------------------------------------------------
def test_a_changed_body_names_its_dependents_and_how_they_use_it(shop):
    review = shop.review_of({"shop/price.py": BODY})

    (symbol,) = review.changed_symbols.items
    assert (symbol.id, symbol.status) == ("sym:shop/price.py#net", SymbolStatus.MODIFIED)
    assert symbol.signature_changed is False
    assert symbol.dependents == review.direct_dependents == 2
    assert set(ids(review.dependents)) == {
        "sym:shop/order.py#place",
        "sym:shop/price.py#Cart.total",
        "sym:shop/order.py#submit",
    }
    place = next(one for one in review.dependents.items if one.node.name == "place")
    (use,) = place.uses
    assert (use.changed_id, use.kind, use.line) == (symbol.id, EdgeKind.CALLS, 5)
    assert place.depth == 1
    assert review.notes == ()


def test_tests_are_listed_apart_however_far_away(shop):
    review = shop.review_of({"shop/price.py": BODY}, depth=1)

    assert ids(review.tests) == ["sym:tests/test_order.py#test_submit"]
    assert "sym:shop/order.py#submit" not in ids(review.dependents)
    assert review.changed_symbols.items[0].is_tested


def test_a_changed_signature_weighs_more_than_a_changed_body(shop):
    body = shop.review_of({"shop/price.py": BODY})
    signature = shop.review_of({"shop/price.py": SIGNATURE})

    (symbol,) = signature.changed_symbols.items
    assert symbol.signature_changed
    assert symbol.old_signature == "def net(amount: float) -> float"
    assert value(body, "interface") == 0 < value(signature, "interface")


def test_dependents_outside_of_the_diff_come_first(shop):
    review = shop.review_of({"shop/price.py": SIGNATURE})

    assert [one.is_in_change for one in review.dependents.items if one.depth == 1] == [False, True]


def test_what_nobody_uses_has_no_dependents_and_no_test(shop):
    review = shop.review_of({"shop/lonely.py": "def lonely() -> int:\n    return 2\n"})

    assert review.dependents.total == review.tests.total == 0
    assert review.changed_symbols.items[0].is_tested is False
    assert value(review, "spread") == 0 < value(review, "untested")


def test_a_changed_method_leaves_its_class_out(shop):
    review = shop.review_of({"shop/price.py": PRICE.replace("self.size = 0\n", "self.size = 1\n")})

    assert "sym:shop/price.py#Cart.clear" in symbols(review)
    assert "sym:shop/price.py#Cart" not in symbols(review)
    assert review.containing.items == ("sym:shop/price.py#Cart",)


def test_a_comment_has_no_risk_and_reaches_nobody(shop):
    review = shop.review_of({"shop/price.py": PRICE.replace("net price.", "price without tax.")})

    (symbol,) = review.changed_symbols.items
    assert symbol.is_trivial
    assert symbol.dependents is None
    assert (review.risk.score, review.dependents.total) == (0, 0)


def test_what_happens_to_a_test_is_no_risk_to_other_code(shop):
    review = shop.review_of({"tests/test_order.py": None})

    assert set(symbols(review).values()) == {SymbolStatus.REMOVED}
    assert review.risk.score == 0


def test_an_empty_diff_has_no_risk(shop):
    review = shop.review("")

    assert (review.risk.score, review.files.total, review.notes) == (0, 0, ())


# --- files that come, go and move ---------------------------------------------------------------
def test_a_deleted_file_leaves_its_users_behind(shop):
    review = shop.review_of({"shop/price.py": None})

    assert review.files.items[0].status is ChangeStatus.DELETED
    assert set(symbols(review).values()) == {SymbolStatus.REMOVED}
    assert {"sym:shop/order.py#place", "sym:shop/order.py#submit"} <= set(ids(review.dependents))
    assert "sym:tests/test_order.py#test_submit" in ids(review.tests)
    assert value(review, "interface") > 0


def test_a_new_file_adds_symbols_that_nobody_uses_yet(shop):
    review = shop.review_of({"shop/tax.py": "def tax() -> float:\n    return 0.2\n"})

    assert symbols(review) == {"sym:shop/tax.py#tax": SymbolStatus.ADDED}
    assert value(review, "spread") == 0 < review.risk.score
    assert review.notes == ()


def test_a_renamed_file_is_compared_with_what_it_was(shop):
    review = shop.review_of({"shop/price.py": None, "shop/cost.py": BODY})

    (file,) = review.files.items
    assert (file.path, file.old_path) == ("shop/cost.py", "shop/price.py")
    assert file.status is ChangeStatus.RENAMED
    assert symbols(review) == {"sym:shop/cost.py#net": SymbolStatus.MODIFIED}
    assert review.changed_symbols.items[0].dependents == 2
    assert "sym:shop/order.py#place" in ids(review.dependents)


def test_a_file_that_only_moves_concerns_who_imports_it(shop):
    review = shop.review_of({"shop/price.py": None, "shop/cost.py": PRICE})

    assert symbols(review) == {}
    assert ids(review.dependents) == ["file:shop/order.py"]
    assert ids(review.tests) == ["file:tests/test_order.py"]
    assert value(review, "interface") > 0


def test_code_outside_of_symbols_concerns_who_imports_the_file(shop):
    review = shop.review_of({"shop/lonely.py": "print('hi')\n" + str(FILES["shop/lonely.py"])})

    assert review.files.items[0].changes_module
    assert symbols(review) == {}
    assert review.risk.parts


# --- what a diff may look like ------------------------------------------------------------------
def test_a_file_with_carriage_returns_is_reviewed_like_any_other(shop):
    crlf = PRICE.replace("\n", "\r\n")
    shop.checkout.commit({"shop/price.py": crlf})
    index(shop.repository)

    review = shop.review_of({"shop/price.py": crlf.replace("(1 + RATE)", "(1.0 + RATE)")})

    assert symbols(review) == {"sym:shop/price.py#net": SymbolStatus.MODIFIED}
    assert review.notes == ()


def test_a_diff_saved_with_carriage_returns_is_reviewed_like_any_other(shop):
    diff = shop.checkout.diff({"shop/price.py": BODY}).replace("\n", "\r\n")

    review = shop.review(diff)

    assert symbols(review) == {"sym:shop/price.py#net": SymbolStatus.MODIFIED}
    assert review.notes == ()


def test_a_binary_file_is_named_and_not_read(shop):
    review = shop.review_of({"logo.png": b"\x89PNG\x00\x01\x02"})

    (file,) = review.files.items
    assert file.is_binary
    assert (review.risk.score, symbols(review)) == (0, {})


def test_a_language_nobody_reads_is_said(shop):
    review = shop.review_of({"README.rst": "Shop!\n"})

    assert review.risk.score == 0
    assert any("not in a language" in note for note in review.notes)


def test_a_path_outside_of_the_repository_is_left_out(shop):
    diff = "--- a/../../etc/passwd.py\n+++ b/../../etc/passwd.py\n@@ -1 +1 @@\n-a\n+b\n"

    review = shop.review(diff)

    assert review.files.total == 0
    assert any("outside the repository" in note for note in review.notes)


def test_text_that_is_no_diff_is_refused(shop):
    with pytest.raises(NotADiff):
        shop.review("Please review my change.")


def test_a_diff_above_the_limit_is_refused(shop):
    small = Limits(diff_bytes=10, file_bytes=1_000, processes=1)

    with pytest.raises(DiffTooLarge):
        shop.review(shop.checkout.diff({"shop/price.py": BODY}), limits=small)


def test_more_files_than_are_compared_are_all_counted(shop):
    files: dict[str, str | bytes | None] = {f"new/n{n}.py": "A = 1\n" for n in range(4)}
    files["shop/price.py"] = BODY.replace("net price", "price without tax")
    limits = Limits(diff_bytes=1_000_000, file_bytes=1_000_000, processes=1, files=1)

    review = shop.review_of(files, limits=limits)

    assert review.files.total == 5
    assert set(symbols(review)) == {"sym:shop/price.py#net"}
    assert any("5 files" in note for note in review.notes)


def test_the_commits_of_a_series_are_not_mixed_up(shop):
    first = shop.checkout.diff({"shop/price.py": BODY})
    second = shop.checkout.diff({"shop/price.py": SIGNATURE})

    review = shop.review(first + second)

    assert review.files.total == 1
    assert any("one diff from base to head" in note for note in review.notes)


# --- the old side -------------------------------------------------------------------------------
def test_a_base_older_than_the_index_is_compared_with_its_own_content(shop):
    diff = shop.checkout.diff({"shop/price.py": BODY})
    shop.checkout.commit({"shop/price.py": "# moved down\n" * 30 + PRICE})
    index(shop.repository)

    review = shop.review(diff, base=shop.commit)

    assert symbols(review) == {"sym:shop/price.py#net": SymbolStatus.MODIFIED}
    assert review.base_commit == shop.commit
    assert len(review.notes) == 1
    assert "1 commit behind the indexed commit" in review.notes[0]


def test_without_a_base_the_content_that_the_diff_names_is_used(shop):
    diff = shop.checkout.diff({"shop/price.py": BODY})
    shop.checkout.commit({"shop/price.py": "# moved down\n" * 30 + PRICE})
    index(shop.repository)

    review = shop.review(diff)

    assert symbols(review) == {"sym:shop/price.py#net": SymbolStatus.MODIFIED}
    assert review.notes == ()


def test_a_base_may_be_named_as_a_branch(shop):
    review = shop.review_of({"shop/price.py": BODY}, base="main")

    assert review.base_commit == shop.commit
    assert review.notes == ()


def test_an_unknown_base_is_said_and_the_index_stands_for_it(shop):
    review = shop.review_of({"shop/price.py": BODY}, base="f" * 40)

    assert symbols(review) == {"sym:shop/price.py#net": SymbolStatus.MODIFIED}
    assert review.base_commit is None
    assert any("not known here" in note for note in review.notes)


def test_a_diff_that_does_not_fit_is_judged_by_its_lines(shop):
    diff = shop.checkout.diff({"shop/price.py": BODY}).replace("net price", "gross price")

    review = shop.review(diff)

    (symbol,) = review.changed_symbols.items
    assert symbol.id == "sym:shop/price.py#net"
    assert symbol.signature_changed is None
    assert any("does not fit" in note for note in review.notes)


def test_a_server_without_the_mirror_judges_by_the_lines(shop):
    mirror_path(shop.repository.pk).rename(mirror_path(shop.repository.pk).with_suffix(".away"))

    review = shop.review_of({"shop/price.py": SIGNATURE})

    (symbol,) = review.changed_symbols.items
    assert (symbol.id, symbol.dependents) == ("sym:shop/price.py#net", 2)
    assert symbol.signature_changed is None
    assert any("no copy of the content" in note for note in review.notes)


def test_a_file_that_this_server_never_saw_is_said(shop):
    review = shop.review("--- a/other.py\n+++ b/other.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n")

    assert symbols(review) == {}
    assert any("not known here" in note for note in review.notes)


def test_content_of_another_repository_is_not_to_be_had_by_naming_it(shop, namespace, tmp_path):
    secret = "def secret(key: str) -> str:\n    return key\n"
    other = Checkout(tmp_path / "other")
    other.commit({"vault.py": secret})
    index(register(namespace, other, "vault"))
    blob = other.git("rev-parse", "HEAD:vault.py").strip()
    assert BlobFacts.objects.filter(blob=blob).exists()

    review = shop.review(
        f"diff --git a/vault.py b/vault.py\nindex {blob}..{'b' * 40} 100644\n"
        "--- a/vault.py\n+++ b/vault.py\n@@ -1,2 +1,2 @@\n-a\n-b\n+c\n+d\n"
    )

    assert symbols(review) == {}
    assert "secret" not in repr(review)


# --- memories -----------------------------------------------------------------------------------
@pytest.fixture
def remembered(shop: Shop) -> str:
    content = "net() rounds half down because the tax office does."
    store_memory(
        caller=shop.caller,
        namespace_id=shop.repository.namespace_id,
        repository_id=shop.repository.pk,
        content=content,
        memory_type="decision",
        links=["sym:shop/price.py#net"],
        now=NOW,
    )
    return content


def test_memories_about_what_changes_are_shown(shop, remembered):
    review = shop.review_of({"shop/price.py": BODY})

    assert [memory.content for memory in review.memories.items] == [remembered]


def test_memories_about_other_code_are_not_shown(shop, remembered):
    assert shop.review_of({"shop/lonely.py": "x = 1\n"}).memories.total == 0


def test_memories_are_left_out_without_the_right_to_read_them(shop, remembered, reader):
    caller = caller_of(reader, scopes=[TokenScope.REVIEW_RUN])

    review = shop.review_of({"shop/price.py": BODY}, caller=caller)

    assert review.memories.total == 0
    assert remembered not in repr(review)
    assert any("Memories are left out" in note for note in review.notes)


def test_an_outsiders_right_to_read_memories_is_for_elsewhere(shop, remembered, outsider):
    review = shop.review_of({"shop/price.py": BODY}, caller=caller_of(outsider))

    assert review.memories.total == 0


def _remember(shop: Shop, content: str, memory_type: str, **more: Any) -> None:
    store_memory(
        caller=shop.caller,
        namespace_id=shop.repository.namespace_id,
        repository_id=shop.repository.pk,
        content=content,
        memory_type=memory_type,
        now=NOW,
        **more,
    )


def test_a_decision_whose_code_changes_may_be_contradicted(shop):
    _remember(
        shop, "net divides by one plus the rate.", "decision", citations=[citation(symbol=NET)]
    )

    (memory,) = shop.review_of({"shop/price.py": BODY}).memories.items

    assert memory.role is Role.DECISION
    assert memory.contradiction.startswith("The diff changes what this decision cites")
    assert [(one.cites, one.state) for one in memory.broken] == [
        ("shop/price.py#net", AnchorState.DRIFTED)
    ]


def test_a_decision_is_contradicted_by_what_it_decided_against(shop):
    _remember(
        shop,
        "Prices are floats.",
        "decision",
        alternatives=[{"option": "decimal everywhere", "reason": "slow"}],
        links=[NET],
    )
    diff = {"shop/price.py": PRICE.replace("return amount /", "return decimal.Decimal(amount) /")}

    (memory,) = shop.review_of(diff).memories.items

    assert "decimal" in memory.contradiction


def test_a_decision_about_what_stays_as_it_is_is_not_contradicted(shop):
    _remember(shop, "_round has two digits.", "decision", citations=[citation(symbol=ROUND)])

    (memory,) = shop.review_of({"shop/price.py": BODY}).memories.items

    assert (memory.contradiction, memory.broken) == ("", ())


@pytest.mark.parametrize(
    ("anchor", "files", "state"),
    [
        ({"symbol": NET}, {"shop/price.py": None}, AnchorState.MISSING),
        ({"symbol": NET}, {"shop/price.py": BODY.replace("def net", "def gross")}, None),
        ({"path": "shop/price.py"}, {"shop/price.py": None}, AnchorState.MISSING),
        ({"path": "shop/price.py", "start_line": 6, "end_line": 8}, "body", AnchorState.DRIFTED),
        ({"path": "shop/price.py", "start_line": 11, "end_line": 12}, "body", None),
        ({"path": "shop/price.py", "pattern": r"amount / \(1 \+"}, "body", AnchorState.DRIFTED),
        ({"path": "shop/price.py", "pattern": "class Cart"}, "body", None),
    ],
)
def test_anchors_that_a_diff_breaks_are_said(shop, anchor, files, state):
    _remember(shop, "Something about prices.", "insight", citations=[citation(**anchor)])

    review = shop.review_of({"shop/price.py": BODY} if files == "body" else files)

    found = [one.state for memory in review.memories.items for one in memory.broken]
    assert [one for one in found if one is not AnchorState.OK] == ([state] if state else [])


def test_rules_and_failures_of_the_files_come_before_notes(shop):
    _remember(shop, "Prices were floats once.", "insight", links=[NET], importance=0.9)
    _remember(shop, "Round at the end only.", "rule", links=[NET], importance=0.2)

    review = shop.review_of({"shop/price.py": BODY})

    assert [one.role for one in review.memories.items] == [Role.RULE, Role.NOTE]


def test_a_private_memory_of_somebody_else_is_not_shown(shop, owner):
    _remember(
        shop, "Nobody may know.", "decision", citations=[citation(symbol=NET)], visibility="private"
    )

    assert shop.review_of({"shop/price.py": BODY}).memories.total == 1
    review = shop.review_of({"shop/price.py": BODY}, caller=caller_of(owner))
    assert review.memories.total == 0
    assert "Nobody may know" not in repr(review)


# --- owners -------------------------------------------------------------------------------------
def test_owners_are_those_of_the_base(shop):
    shop.checkout.commit({"CODEOWNERS": "*.py @prices\n"})
    index(shop.repository)
    diff = shop.checkout.diff({"shop/price.py": BODY, "CODEOWNERS": "*.py @attacker\n"})

    named = [one.name for one in shop.review(diff).owners.items if one.source == "CODEOWNERS"]

    assert named == ["@prices"]


# --- branches -----------------------------------------------------------------------------------
def test_dependents_are_those_of_the_branch(shop):
    shop.checkout.git("switch", "--quiet", "--create", "feature")
    shop.checkout.commit(
        {"shop/extra.py": "from shop.price import net\n\n\ndef extra():\n    return net(3)\n"}
    )
    run = request_index(repository_id=shop.repository.pk, ref="feature", requested_by="tests")
    run_index(run_id=run, now=NOW)
    state = graph.get_ref_state(repository_id=shop.repository.pk, ref="feature")

    on_branch = shop.review_of({"shop/price.py": BODY}, ref_state=state)
    shop.checkout.git("switch", "--quiet", "main")

    assert "sym:shop/extra.py#extra" in ids(on_branch.dependents)
    assert "sym:shop/extra.py#extra" not in ids(shop.review_of({"shop/price.py": BODY}).dependents)


# --- the budget ---------------------------------------------------------------------------------
def test_a_small_budget_cuts_lists_and_not_totals(shop):
    users = "".join(
        f"\n\ndef use_{number}() -> float:\n    return net({number})\n" for number in range(60)
    )
    shop.checkout.commit({"shop/many.py": f"from shop.price import net\n{users}"})
    index(shop.repository)
    diff = shop.checkout.diff({"shop/price.py": BODY})

    whole, cut = shop.review(diff, budget_tokens=50_000), shop.review(diff, budget_tokens=600)

    assert whole.dependents.omitted == 0
    assert whole.dependents.total == cut.dependents.total == 63
    assert 0 < len(cut.dependents.items) < 10
    assert cut.dependents.omitted == 63 - len(cut.dependents.items)
    assert cut.direct_dependents == whole.direct_dependents == 62
    assert cut.risk == whole.risk
    assert ids(cut.dependents) == ids(whole.dependents)[: len(cut.dependents.items)]


def test_affected_places_count_their_dependents(shop):
    review = shop.review_of({"shop/price.py": BODY})

    assert [(one.path, one.dependents) for one in review.affected_files.items] == [
        ("shop/order.py", 2),
        ("shop/price.py", 1),
    ]
    assert [(one.path, one.dependents) for one in review.affected_modules.items] == [("shop", 3)]
