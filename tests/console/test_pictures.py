"""Where things stand in the pictures that pages draw."""

from codemem.console.pictures import blast_of
from tests.console.library import ANSWER


def test_the_blast_radius_has_what_changed_in_the_middle_and_its_users_around():
    picture = blast_of(ANSWER)
    assert picture is not None
    rings = {spot.label: spot.ring for spot in picture.spots}
    assert rings == {"total": 0, "invoice": 1, "report": 1, "mail": 2}
    # One line for each direct use; what is farther away hangs on nothing that is drawn.
    assert len(picture.lines) == 2
    for spot in picture.spots:
        assert 0 < spot.x < picture.width
        assert 0 < spot.y < picture.height


def test_a_picture_stays_small_and_says_what_it_leaves_out():
    many = [
        {
            "id": f"sym:src/a.py#f{number}",
            "depth": 1,
            "uses": [{"changed": "sym:src/money.py#total"}],
        }
        for number in range(100)
    ]
    picture = blast_of(ANSWER | {"dependents": many, "totals": {"dependents": 250}})
    assert picture is not None
    assert len(picture.spots) == 41
    assert picture.left_out == 210


def test_nothing_is_drawn_of_nothing():
    assert blast_of({}) is None
    assert blast_of(ANSWER | {"dependents": []}) is None
