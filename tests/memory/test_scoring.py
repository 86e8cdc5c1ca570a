"""How candidates become scores: stretching, floors, words, tags, links."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from codemem.words import code_tokens, query_terms, tokens_text
from memory import scoring
from memory.scoring import Evidence, Placed, WordStatistics

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def evidence(**changes: Any) -> Evidence:
    defaults: dict[str, Any] = {
        "vector": 0.5,
        "text": 1.0,
        "coverage": 0.5,
        "exact": 0.0,
        "tags": 0.0,
        "scope": 0.0,
        "importance": 0.5,
        "confidence": 1.0,
        "recency": 1.0,
    }
    return Evidence(**(defaults | changes))


def test_an_empty_pool_has_no_scores():
    assert scoring.scores([]) == []
    assert scoring.above_floor([], floors=[]) == []


def test_a_single_candidate_has_a_score_within_bounds():
    [(score, parts)] = scoring.scores([evidence()])
    assert 0 < score <= 1
    assert scoring.parts(parts).vector == 1
    assert scoring.parts(parts).graph == 0


def test_equal_candidates_have_equal_scores():
    first, second, third = scoring.scores([evidence()] * 3)
    assert first == second == third


def test_scores_stay_within_bounds_and_follow_the_evidence():
    pool = [evidence(vector=value, text=max(value, 0.0)) for value in (0.1, 0.9, -0.3)]
    values = [score for score, _ in scoring.scores(pool)]
    assert all(0 <= value <= 1 for value in values)
    assert values[1] > values[0] > values[2]


def test_priors_decide_only_between_equals():
    pool = [
        evidence(vector=0.6, text=0.4, importance=0.0, confidence=0.0, recency=0.0),
        evidence(vector=0.5, text=0.2, importance=1.0, confidence=1.0, recency=1.0),
    ]
    (relevant, _), (important, _) = scoring.scores(pool)
    assert relevant > important


def test_without_vectors_the_other_weights_share_the_score():
    pool = [evidence(vector=None, text=value, exact=value) for value in (0.0, 1.0)]
    (_, _), (best, parts) = scoring.scores(pool)
    assert scoring.parts(parts).vector == 0
    assert best > 0.5


def test_relevance_comes_from_likeness_words_and_names_alone():
    assert scoring.relevance(evidence(vector=0.0, coverage=0.0)) == 0
    assert scoring.relevance(evidence(vector=-1.0, coverage=0.0)) == 0
    assert scoring.relevance(evidence(vector=0.4, coverage=0.2)) == pytest.approx(0.5)
    assert scoring.relevance(evidence(vector=None, coverage=0.3)) == pytest.approx(0.45)
    assert scoring.relevance(evidence(vector=0.0, coverage=0.0, exact=1.0)) == 1
    assert scoring.relevance(evidence(vector=0.9, coverage=1.0)) == 1
    word_by_word = evidence(alone=0.2, together=0.4, vector=0.5, coverage=0.2)
    assert scoring.relevance(word_by_word) == pytest.approx(1.14 * (0.35 + 0.2 + 0.05))


def test_nobody_passes_when_the_best_is_below_the_floor():
    assert scoring.above_floor([0.44, 0.4], floors=[0.45] * 2) == [False, False]
    assert scoring.above_floor([0.45, 0.23, 0.22], floors=[0.45] * 3) == [True, True, False]


def test_each_namespace_has_its_own_floor():
    assert scoring.above_floor([0.2, 0.3], floors=[0.45, 0.2]) == [False, True]


def test_likeness_word_by_word_counts_before_the_cosine():
    pool = [
        evidence(vector=0.2, alone=0.5, together=0.6),
        evidence(vector=0.9, alone=0.4, together=0.4),
    ]
    (first, parts), (second, _) = scoring.scores(pool)
    assert first > second
    assert scoring.parts(parts).vector == 1


def test_a_candidate_without_words_stands_where_its_cosine_stands():
    pool = [
        evidence(vector=0.9, alone=0.6, together=0.6),
        evidence(vector=0.5),
        evidence(vector=0.1, alone=0.3, together=0.3),
    ]
    best, middle, last = [scoring.parts(parts).vector for _, parts in scoring.scores(pool)]
    assert best > middle > last


def test_what_asks_is_ranked_behind_what_says_the_same():
    (asking, parts), (saying, _) = scoring.scores([evidence(asks=True), evidence()])
    assert 0 < asking < saying
    assert scoring.parts(parts).vector < 1


@pytest.mark.parametrize(
    "text",
    ["Why?", "It rained. Where were you? ", 'He asked "where?"', "Look! Who is it? [Image: a cat]"],
)
def test_a_text_that_ends_in_a_question_asks(text: str):
    assert scoring.asks(text)


@pytest.mark.parametrize(
    "text", ["", "Why? Because.", "a ? b : c", "What a day! [Image: who?] Yes."]
)
def test_a_text_that_goes_on_does_not_ask(text: str):
    assert not scoring.asks(text)


A, B, C = (UUID(int=number) for number in (1, 2, 3))


def placed(key: UUID, score: float, session: str = "s", beside: tuple[UUID, ...] = ()) -> Placed:
    return Placed(id=key, score=score, session=session, beside=beside)


def test_what_stands_beside_an_answer_gives_way_to_another_session():
    ranked = [placed(A, 0.9, beside=(B,)), placed(B, 0.805, beside=(A,)), placed(C, 0.8, "other")]
    assert [place for place, _ in scoring.spread_out(ranked, most=3)] == [0, 2, 1]


def test_much_better_answers_give_way_to_nobody():
    ranked = [placed(A, 0.9, beside=(B,)), placed(B, 0.89, beside=(A,)), placed(C, 0.8, "other")]
    assert [place for place, _ in scoring.spread_out(ranked, most=2)] == [0, 1]


def test_memories_of_no_session_stay_as_they_are():
    ranked = [placed(A, 0.9, ""), placed(B, 0.8999, "")]
    assert scoring.spread_out(ranked, most=5) == [(0, 0.9), (1, 0.8999)]
    assert scoring.spread_out([], most=5) == []


def test_a_link_counts_less_than_being_tied_to_the_named_code():
    (_, named), (_, linked) = scoring.scores([evidence(exact=1.0), evidence(linked=1.0)])
    assert scoring.parts(named).graph > scoring.parts(linked).graph > 0


def test_rare_words_weigh_more_than_common_ones():
    statistics = WordStatistics(documents=100, frequencies={"the": 90, "rare": 1})
    assert statistics.weight("unseen") > statistics.weight("rare") > statistics.weight("the") > 0


def test_a_small_scope_has_no_common_words():
    assert not WordStatistics(documents=49, frequencies={"a": 49}).is_common("a")
    assert WordStatistics(documents=50, frequencies={"a": 8}).is_common("a")
    assert not WordStatistics(documents=50, frequencies={"a": 7}).is_common("a")


def score_of(tokens: str) -> float:
    return scoring.bm25(
        scoring.occurrences(["cache"], tokens),
        weights={"cache": 1.0},
        length=scoring.length(tokens),
        mean_length=4,
    )


def test_bm25_counts_whole_words_and_their_repetitions():
    assert score_of("cache cache miss x") > score_of("cache hit miss x") > 0
    assert score_of("cached cachet xcache y") == 0
    assert score_of("") == 0


def test_shorter_texts_with_the_same_word_score_higher():
    assert score_of("cache miss") > score_of("cache " + "filler " * 40)


def test_coverage_is_the_weighted_share_of_the_question():
    terms = ["deploy", "ingress"]
    weights = {"deploy": 1.0, "ingress": 4.0}

    def covered(tokens: str) -> float:
        return scoring.coverage(terms, scoring.occurrences(terms, tokens), weights=weights)

    assert covered("deploy on tuesday") == pytest.approx(0.2)
    assert covered("deploy ingress") == 1
    assert covered("nothing") == 0
    assert scoring.coverage([], {}, weights={}) == 0


def test_a_tag_matches_by_the_share_of_its_words():
    terms = query_terms("who owns the auth module")
    assert scoring.tag_match(terms, [code_tokens("auth")]) == 1
    assert scoring.tag_match(terms, [code_tokens("auth flow")]) == pytest.approx(0.5)
    assert scoring.tag_match(terms, []) == 0


def test_recency_halves_in_ninety_days_and_never_exceeds_one():
    assert scoring.recency(NOW - timedelta(days=90), NOW) == pytest.approx(0.5)
    assert scoring.recency(NOW + timedelta(days=1), NOW) == 1


def test_untelling_words_leave_the_question_but_never_all_of_it():
    left_out = frozenset(code_tokens("Caroline"))
    text = "What bicycle did Caroline buy?"
    kept = scoring.without_words(text, words_of=code_tokens, left_out=left_out)
    assert kept == "What bicycle did buy?"
    only = scoring.without_words("Caroline?", words_of=code_tokens, left_out=left_out)
    assert only == "Caroline?"


def test_a_link_lends_the_relevance_of_the_neighbor_not_its_own():
    code = 99
    gains = scoring.linked_relevance(
        [(1, code, 1.0), (2, code, 0.5), (3, 1, 1.0)], {1: 0.8, 2: 0.4, 3: 0.1}
    )
    assert gains[2] == pytest.approx(0.8 * 0.5)
    assert gains[1] == pytest.approx(0.4 * 0.5)
    assert gains[3] == pytest.approx(0.8)


def test_stored_words_are_single_spaced_as_bm25_expects():
    assert "  " not in tokens_text("a\n\n b\t\tc   graph/queries.py  ")
