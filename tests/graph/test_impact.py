import pytest

from graph.impact import (
    ChangedNode,
    Extent,
    Reach,
    Risk,
    RiskLevel,
    assess_risk,
    level_of,
    priority,
)


def reach(**changes) -> Reach:
    return Reach(**{"depth": 1, "confidence": 1.0, "percentile": 0.5, **changes})


def changed(**changes) -> ChangedNode:
    usual = {
        "percentile": 0.5,
        "is_interface_change": False,
        "needs_test": True,
        "is_tested": True,
    }
    return ChangedNode(**{**usual, **changes})


def extent(**changes) -> Extent:
    return Extent(**{"dependents": 0, "repository_nodes": 1_000, "files": 1, **changes})


def part(risk: Risk, name: str) -> float:
    (found,) = [one.value for one in risk.parts if one.name == name]
    return found


# --- the order of dependents --------------------------------------------------------------------
@pytest.mark.parametrize(
    ("sooner", "later"),
    [
        ({"depth": 1}, {"depth": 2}),
        ({"confidence": 0.95}, {"confidence": 0.6}),
        ({"percentile": 0.99}, {"percentile": 0.1}),
        ({"percentile": None}, {"percentile": 0.1}),
        ({"uses_interface": True}, {"uses_interface": False}),
        ({"is_in_change": False}, {"is_in_change": True}),
        ({"uses_interface": True, "percentile": 0.0}, {"percentile": 0.9}),
    ],
)
def test_a_dependent_is_looked_at_sooner_when_more_likely_broken(sooner, later):
    assert priority(reach(**sooner)) > priority(reach(**later))


# --- the risk -----------------------------------------------------------------------------------
def test_an_empty_change_has_no_risk_and_no_reasons():
    risk = assess_risk(changed=[], extent=extent(files=3))

    assert (risk.score, risk.level, risk.parts) == (0.0, RiskLevel.NONE, ())


def test_a_tested_body_change_that_nobody_uses_costs_nothing():
    assert assess_risk(changed=[changed()], extent=extent()).score == 0


def test_the_parts_add_up_to_the_score():
    risk = assess_risk(
        changed=[changed(percentile=0.9, is_interface_change=True, is_tested=False)],
        extent=extent(dependents=40, files=4),
    )

    assert risk.score == pytest.approx(sum(one.points for one in risk.parts), abs=0.05)
    assert all(one.value > 0 for one in risk.parts)


def test_the_worst_change_scores_nearly_a_hundred():
    everything = [
        changed(percentile=1.0, is_interface_change=True, is_tested=False) for _ in range(100)
    ]

    risk = assess_risk(changed=everything, extent=extent(dependents=1_000, files=500))

    assert 99 < risk.score <= 100
    assert risk.level is RiskLevel.HIGH


def test_spread_grows_with_dependents_and_shrinks_with_the_repository():
    few, many = (
        assess_risk(changed=[changed()], extent=extent(dependents=count)) for count in (3, 300)
    )
    large = assess_risk(
        changed=[changed()], extent=extent(dependents=300, repository_nodes=1_000_000)
    )

    assert part(few, "spread") < part(many, "spread")
    assert part(large, "spread") < part(many, "spread")


def test_centrality_is_that_of_the_most_central_node_above_the_median():
    ordinary = assess_risk(changed=[changed(percentile=0.4)], extent=extent())
    central = assess_risk(
        changed=[changed(percentile=0.1), changed(percentile=0.95)], extent=extent()
    )

    assert part(ordinary, "centrality") == 0
    assert part(central, "centrality") == pytest.approx(0.9)


def test_an_unranked_node_is_not_central():
    assert part(assess_risk(changed=[changed(percentile=None)], extent=extent()), "centrality") == 0


def test_one_interface_change_counts_half_and_more_add_less():
    values = [
        part(
            assess_risk(changed=[changed(is_interface_change=True)] * count, extent=extent()),
            "interface",
        )
        for count in (1, 2, 3)
    ]

    assert values == pytest.approx([1 / 2, 2 / 3, 3 / 4])


def test_untested_leaves_out_what_needs_no_test():
    risk = assess_risk(
        changed=[
            changed(is_tested=False),
            changed(is_tested=True),
            changed(needs_test=False, is_tested=False),
        ],
        extent=extent(),
    )

    assert part(risk, "untested") == pytest.approx(0.5)


def test_more_dependents_than_the_repository_has_nodes_stay_within_the_scale():
    risk = assess_risk(changed=[changed()], extent=extent(dependents=10, repository_nodes=0))

    assert part(risk, "spread") == pytest.approx(1)


@pytest.mark.parametrize(
    ("score", "level"),
    [
        (0.0, RiskLevel.LOW),
        (29.9, RiskLevel.LOW),
        (30.0, RiskLevel.MEDIUM),
        (59.9, RiskLevel.MEDIUM),
        (60.0, RiskLevel.HIGH),
    ],
)
def test_a_score_has_a_level(score, level):
    assert level_of(score) is level
