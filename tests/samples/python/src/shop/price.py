class Price:
    def __init__(self, amount: int) -> None:
        self.amount = amount

    def net(self) -> int:
        """Return the price without tax."""
        return self.amount


class Reduced(Price):
    def net(self) -> int:
        return super().net() // 2
