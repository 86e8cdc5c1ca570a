"""Where a change would go: by what files hold, and by what commits said and did."""

from collections.abc import Sequence
from typing import Any

import pytest

from graph import past_changes
from graph.file_search import FileHit, Told, Witnesses, rank_places
from graph.models import Repository, SourceFile, Symbol
from graph.queries.history import landed_changes, newest_landed
from graph.search import QueryVector
from graph.values import NodeKind
from tests.gateway import surfaces
from tests.indexing.checkout import Checkout, bring_up, index

pytestmark = pytest.mark.django_db

RETRY = 'def again(times):\n    """Try once more."""\n    return backoff * times\n'
MAIL = 'def send(message):\n    """Send a message."""\n    return smtp.deliver(message)\n'
COOKIE = 'def parse(header):\n    """Read a cookie."""\n    return header.split(";")\n'


def ranked(repository: Repository, query: str, **changes) -> list[FileHit]:
    given: dict[str, Any] = {"repository_id": repository.pk, "query": query, "embedded": None}
    return list(rank_places(**(given | changes)).files)


def paths(hits: Sequence[FileHit]) -> list[str]:
    return [hit.path for hit in hits]


@pytest.fixture
def shop(mirrored: Repository, source: Checkout) -> Repository:
    source.commit({"net.py": RETRY, "mail.py": MAIL, "jar.py": COOKIE}, subject="Begin")
    return mirrored


def test_words_of_the_text_find_a_file_that_names_nothing_so(shop: Repository):
    bring_up(shop)
    (best, *_) = ranked(shop, "the smtp server refuses what we deliver")
    assert best.path == "mail.py"
    assert best.witnesses.text == 1.0
    assert best.witnesses.meaning == 0.0


def test_a_commit_that_said_something_like_it_speaks_for_what_it_changed(
    shop: Repository, source: Checkout
):
    sha = source.commit({"jar.py": COOKIE + "\n\nLIMIT = 4\n"}, subject="Harden against giraffes")
    source.commit({"mail.py": MAIL + "\n\nLIMIT = 5\n"}, subject="Send more")
    bring_up(shop)
    (best, *_) = ranked(shop, "giraffes get in again")
    assert (best.path, best.commits) == ("jar.py", (sha,))
    assert best.witnesses.commits == 1.0


def test_what_a_file_went_through_follows_it_to_its_new_place(shop: Repository, source: Checkout):
    source.commit({"jar.py": COOKIE + "\n\nLIMIT = 4\n"}, subject="Harden against giraffes")
    source.git("mv", "jar.py", "cookies.py")
    source.commit({}, subject="Move")
    bring_up(shop)
    assert paths(ranked(shop, "giraffes"))[0] == "cookies.py"
    assert "jar.py" not in paths(ranked(shop, "giraffes cookie header"))


def test_a_commit_of_many_files_says_less_of_each(shop: Repository, source: Checkout):
    source.commit({"jar.py": COOKIE + "\n\nA = 1\n"}, subject="Feed giraffes")
    everything = {"net.py": RETRY + "\n\nA = 1\n", "mail.py": MAIL + "\n\nA = 1\n"}
    source.commit(everything | {"x.py": "A = 1\n", "y.py": "A = 1\n"}, subject="Feed giraffes")
    bring_up(shop)
    assert paths(ranked(shop, "feed giraffes"))[0] == "jar.py"


def test_a_file_that_changes_often_goes_before_one_that_never_did(
    shop: Repository, source: Checkout
):
    for number in range(3):
        source.commit({"net.py": RETRY + f"\n\nA = {number}\n"}, subject=f"Step {number}")
    bring_up(shop)
    only_churn = Witnesses(churn=1.0)
    assert paths(ranked(shop, "nothing of it", weights=only_churn))[0] == "net.py"


def test_filters_hold(shop: Repository, source: Checkout):
    source.commit({"docs/mail.md": "# Mail\n\nHow to deliver by smtp.\n"}, subject="Explain mail")
    bring_up(shop)
    assert "docs/mail.md" in paths(ranked(shop, "deliver smtp mail"))
    assert set(paths(ranked(shop, "deliver smtp mail", language="python"))) <= {
        "mail.py",
        "net.py",
        "jar.py",
    }
    assert paths(ranked(shop, "deliver smtp mail", path_prefix="docs/")) == ["docs/mail.md"]
    assert len(ranked(shop, "deliver smtp mail", files=1)) == 1


def test_a_new_commit_is_heard_at_once_and_an_old_answer_is_not_read_again(
    shop: Repository, source: Checkout, monkeypatch
):
    bring_up(shop)
    ranked(shop, "giraffes")
    known = newest_landed(repository_id=shop.pk)
    monkeypatch.setattr(past_changes, "landed_changes", lambda **_: pytest.fail("read again"))
    ranked(shop, "giraffes")
    monkeypatch.setattr(past_changes, "landed_changes", landed_changes)
    source.commit({"jar.py": COOKIE + "\n\nLIMIT = 4\n"}, subject="Harden against giraffes")
    bring_up(shop)
    assert newest_landed(repository_id=shop.pk) != known
    assert paths(ranked(shop, "giraffes"))[0] == "jar.py"


def test_a_repository_without_history_or_words_answers_with_what_there_is(shop: Repository):
    index(shop)
    assert paths(ranked(shop, "smtp deliver"))[0] == "mail.py"
    assert ranked(shop, "") == []
    foreign = QueryVector(vector=[1.0] * 5, fingerprint="unknown")
    assert ranked(shop, "?!", embedded=foreign) == []


def names(repository: Repository, query: str, **changes) -> list[str]:
    given: dict[str, Any] = {
        "repository_id": repository.pk,
        "query": query,
        "embedded": None,
        "symbols": 10,
    }
    return [hit.node.name for hit in rank_places(**(given | changes)).symbols]


def test_a_body_speaks_for_its_function_as_its_name_does(shop: Repository, source: Checkout):
    source.commit({"mail.py": MAIL + "\n\ndef count(box):\n    return len(box)\n"})
    bring_up(shop)
    assert names(shop, "smtp refuses")[0] == "send"
    assert names(shop, "count")[0] == "count"


def test_a_commit_that_said_something_like_it_speaks_for_the_function_it_changed(
    shop: Repository, source: Checkout
):
    two = MAIL + "\n\ndef count(box):\n    return len(box)\n"
    source.commit({"mail.py": two})
    changed = two.replace("len(box)", "len(box) + 1")
    source.commit({"mail.py": changed}, subject="Harden against giraffes")
    bring_up(shop)
    assert names(shop, "giraffes get in again")[0] == "count"


def test_tests_come_after_what_they_test_unless_the_question_is_about_tests(
    shop: Repository, source: Checkout
):
    source.commit({"tests/test_mail.py": "def test_send():\n    assert smtp.deliver('')\n"})
    bring_up(shop)
    assert names(shop, "smtp deliver")[0] == "send"
    assert names(shop, "tests of smtp deliver")[0] == "test_send"


def test_fields_and_variables_are_no_places_unless_they_are_asked_for(
    shop: Repository, source: Checkout
):
    source.commit({"mail.py": MAIL + "\n\nSMTP_PORT = 25\n"})
    bring_up(shop)
    assert "SMTP_PORT" not in names(shop, "smtp port")
    assert names(shop, "smtp port", kind=NodeKind.VARIABLE) == ["SMTP_PORT"]


def test_what_somebody_else_speaks_for_goes_ahead_of_its_equals(shop: Repository, source: Checkout):
    feed = "def feed(giraffe):\n    return giraffe.eat()\n"
    source.commit({"one.py": feed, "two.py": feed})
    bring_up(shop)
    two = SourceFile.objects.get(repository=shop, path="two.py")
    function = Symbol.objects.get(repository=shop, path="two.py", name="feed")
    told = Told(files={two.pk: 1.0}, symbols={function.pk: 1.0})
    places = rank_places(
        repository_id=shop.pk,
        query="feed the giraffe",
        embedded=None,
        symbols=2,
        told=told,
    )
    assert [hit.path for hit in places.files][:2] == ["two.py", "one.py"]
    assert [hit.node.path for hit in places.symbols] == ["two.py", "one.py"]


def test_with_files_an_agent_gets_the_symbols_that_a_change_would_touch(shop: Repository, writer):
    from tests.factories import make_token

    bring_up(shop)
    scope = {"namespace": shop.namespace.name, "repository": shop.name}
    ask = {"query": "refused by smtp", "language": "python"}
    plain, change = (
        surfaces.over_rest(
            token=make_token(writer).secret, tool="search_code", arguments={**scope, **ask, **more}
        ).content
        for more in ({"mode": "text"}, {"files": 1})
    )
    assert plain["results"] == []
    assert change["results"][0]["id"] == "sym:mail.py#send"


def test_an_agent_asks_for_files_beside_symbols(shop: Repository, writer):
    from tests.factories import make_token

    bring_up(shop)
    answer = surfaces.over_rest(
        token=make_token(writer).secret,
        tool="search_code",
        arguments={
            "namespace": shop.namespace.name,
            "repository": shop.name,
            "query": "smtp deliver",
            "mode": "text",
            "files": 2,
        },
    ).content
    assert answer["files"][0]["path"] == "mail.py"
    assert answer["files"][0]["commits"] == []
