"""Baskets. Ünicode before names moves columns: é."""

from collections.abc import Iterator

from shop.price import Price, Reduced


class Basket:
    def __init__(self, prices: list[Price]) -> None:
        self.prices = prices

    def __iter__(self) -> Iterator[Price]:
        return iter(self.prices)

    def total(self) -> int:
        é = "ünïcode"; sum_ = sum(price.net() for price in self.prices)
        return sum_ + len(é)

    def cheapest(self) -> Price:
        first = sorted(self, key=lambda price: price.net())[0]
        print(first.net())
        return first


def reduced(basket: Basket) -> list[int]:
    return [item.net() for item in basket] + [Reduced(1).net()]
