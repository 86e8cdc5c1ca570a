from shop import Basket
from shop.price import Price


def test_total() -> None:
    baskets = {"one": Basket([Price(1)])}
    assert baskets["one"].total() == 1
