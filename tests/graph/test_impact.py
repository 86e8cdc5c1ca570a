import pytest

from graph.impact import Reach, priority


def reach(**changes) -> Reach:
    return Reach(**{"depth": 1, "confidence": 1.0, "percentile": 0.5, **changes})


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
