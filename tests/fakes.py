"""Stand-ins for what a test cannot have for real: the clock."""

from datetime import datetime, timedelta


class StoppedClock:
    """A clock that moves only when it is told to; takes the place of `timezone.now`."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, by: timedelta) -> None:
        self.now += by
