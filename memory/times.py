"""What a question and a memory say of time: which days are meant, whether a time is asked or told.

Pure, English, and no more than patterns: a wrong guess moves a memory in the ranking, never in or
out of it by itself. What happened is mostly told on its day or soon after, so the days after a
named time count in part.
"""

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

ASKED_AND_TOLD: Final = 0.55
"""How much it aligns that a time is asked for and some time told, beside a named one that fits."""

_MONTHS: Final = (
    "january february march april may june july august september october november december".split()
)
_DAYS: Final = "monday tuesday wednesday thursday friday saturday sunday".split()
_SEASONS: Final = "spring summer fall autumn winter".split()
_NUMBERS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "few": 3, "couple of": 2}
_UNITS: Final = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}

_COUNTED: Final = "one two three four five six seven eight nine ten".split()
_COUNT: Final = "|".join(_COUNTED)
_FROM_TODAY: Final = {"yesterday": -1, "last night": -1, "tomorrow": 1}
_MOST_TOLD: Final = 5
_EARLIEST, _LATEST = 1900, 9000  # what is told stays within what a date can be

_MONTH: Final = "|".join(_MONTHS)
_NAMED: Final = re.compile(
    rf"\b(?:(?P<before>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?(?P<month>{_MONTH})\b"
    rf"(?:,? (?P<after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:))?(?:,? ?(?P<year>(?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b")
_YEAR: Final = re.compile(r"\b(?:in|during|since|of) ((?:19|20)\d\d)\b", re.IGNORECASE)
_AGO: Final = re.compile(
    r"\b(\d{1,3}|an?|one|two|three|few|couple of) (day|week|month|year)s? ago\b", re.IGNORECASE
)
_RECENT: Final = re.compile(
    r"\b(today|yesterday|(?:this|last|past) (?:day|week|month|year))\b", re.IGNORECASE
)
_SAID: Final = re.compile(
    rf"\b(?:(?P<day>yesterday|last night|tomorrow)"
    rf"|(?P<which>last|next) (?P<unit>month|year)|last (?P<weekday>{'|'.join(_DAYS)})"
    rf"|(?P<often>\d{{1,3}}|an?|{_COUNT}) (?P<units>day|week|month|year)s? ago"
    rf"|for (?:the )?(?:last|past) (?P<past>\d{{1,2}}|{_COUNT}) years"
    rf"|for (?P<now>\d{{1,2}}|{_COUNT}) years now)\b",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(
    r"^\W*(?:when|since when|how long|how recently"
    r"|(?:in |on |at |since |by )?(?:what|which) (?:date|day|week|month|year|time)"
    r"|how many (?:hours|days|weeks|months|years))\b",
    re.IGNORECASE,
)
_TELLS: Final = re.compile(
    rf"\b(?:yesterday|today|tonight|tomorrow|recently|ago|since|years?"
    rf"|the other day|(?:19|20)\d\d"
    rf"|(?:last|next|this) (?:night|morning|weekend|week|month|year|{'|'.join(_SEASONS + _DAYS)})"
    rf"|(?:{'|'.join(_NUMBERS)}|\d+) (?:day|week|weekend|month|year)s?"
    rf"|on (?:{'|'.join(_DAYS)})|(?:in|on|by|until) (?:{_MONTH}))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time that a question names; `end` is the first moment after it."""

    start: datetime
    end: datetime

    def alignment(self, at: datetime) -> float:
        """Return 1 inside and shortly after the span, less in the weeks behind it, then 0."""
        length = self.end - self.start
        late = at - self.end
        if -length - timedelta(days=1) <= late < min(timedelta(days=2), length * 2):
            return 1.0
        if timedelta() <= late < max(timedelta(days=14), min(length * 2 / 3, timedelta(days=60))):
            return 0.6
        return 0.2 if timedelta() <= late < timedelta(days=30) else 0.0


@dataclass(frozen=True, slots=True)
class AskedTime:
    """What a question says of time."""

    spans: tuple[Span, ...]
    is_asked_for: bool

    def alignment(self, at: datetime, text: str) -> float:
        """Return how well a memory of that moment with that text fits, 0..1."""
        best = max((span.alignment(at) for span in self.spans), default=0.0)
        told = ASKED_AND_TOLD if self.is_asked_for and tells_time(text) else 0.0
        return max(best, told)


def asked_time(question: str, *, now: datetime) -> AskedTime:
    """Read a question; `now` is what "yesterday" is said of."""
    spans = [*_named(question, now), *_relative(question, now)]
    return AskedTime(spans=tuple(spans), is_asked_for=bool(_ASKS.search(question)))


def tells_time(text: str) -> bool:
    """Tell whether a text says when something is or was."""
    return bool(_TELLS.search(text))


@dataclass(frozen=True, slots=True)
class ToldTime:
    """A time as a memory says it, and the day (2030-01-31), month or year that it meant then."""

    words: str
    meant: str


def told_times(text: str, *, at: datetime) -> tuple[ToldTime, ...]:
    """Return what a text of that moment says of times that only its moment explains.

    At most five, none twice. What has no certain meaning ("recently", "on Friday", "next Friday")
    is left out.
    """
    told: dict[str, str] = {}
    if not _EARLIEST < at.year < _LATEST:
        return ()
    for found in _SAID.finditer(text):
        told.setdefault(" ".join(found.group().lower().split()), _meant(found, at))
        if len(told) == _MOST_TOLD:
            break
    return tuple(ToldTime(words=words, meant=meant) for words, meant in told.items())


def _meant(found: re.Match[str], at: datetime) -> str:
    if found["day"]:
        return _day(at, _FROM_TODAY[found["day"].lower()])
    if found["weekday"]:
        # Said on a Friday, "last Friday" is a week ago.
        return _day(at, (_DAYS.index(found["weekday"].lower()) - at.weekday()) % 7 - 7)
    if found["often"]:
        return _before(at, _count(found["often"]), found["units"].lower())
    if found["unit"]:
        step = -1 if found["which"].lower() == "last" else 1
        return _year(at, step) if found["unit"].lower() == "year" else _month(at, step)
    return f"since {_year(at, -_count(found['past'] or found['now']))}"


def _before(at: datetime, often: int, unit: str) -> str:
    if unit == "year":
        return _year(at, -often)
    return _month(at, -often) if unit == "month" else _day(at, -often * _UNITS[unit])


def _count(word: str) -> int:
    word = word.lower()
    if word in _COUNTED:
        return _COUNTED.index(word) + 1
    return 1 if word in {"a", "an"} else int(word)


def _day(at: datetime, days: int) -> str:
    return f"{at + timedelta(days=days):%Y-%m-%d}"


def _month(at: datetime, months: int) -> str:
    years, month = divmod(at.month - 1 + months, 12)
    return f"{at.year + years:04}-{month + 1:02}"


def _year(at: datetime, years: int) -> str:
    return f"{at.year + years:04}"


def _named(question: str, now: datetime) -> Iterator[Span]:
    for year, month, day in _ISO.findall(question):
        yield from _span(int(year), int(month), int(day) if day else None)
    named = False
    for found in _NAMED.finditer(question):
        day, year = found["before"] or found["after"], found["year"]
        if found["month"] == "may" and not (day or year):
            continue  # the verb
        named = True
        month = _MONTHS.index(found["month"].lower()) + 1
        years = [int(year)] if year else _years_until(now)
        for one in years:
            yield from _span(one, month, int(day) if day else None)
    if not named:
        for year in _YEAR.findall(question):
            yield Span(_moment(int(year), 1, 1), _moment(int(year) + 1, 1, 1))


def _relative(question: str, now: datetime) -> Iterator[Span]:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for number, unit in _AGO.findall(question):
        often = _NUMBERS.get(number.lower()) or int(number)
        days = _UNITS[unit.lower()]
        start = today - timedelta(days=often * days + days // 2)
        yield Span(start, start + timedelta(days=max(days, 1)))
    for text in _RECENT.findall(question):
        words = text.lower().split()
        if words == ["today"]:
            yield Span(today, today + timedelta(days=1))
        elif words == ["yesterday"]:
            yield Span(today - timedelta(days=1), today)
        else:
            days = _UNITS[words[1]] * (1 if words[0] == "this" else 2)
            yield Span(today - timedelta(days=days), today + timedelta(days=1))


def _years_until(now: datetime) -> Sequence[int]:
    """Return the years that a month without one may be of: memories are younger than these."""
    return range(now.year - 4, now.year + 1)


def _span(year: int, month: int, day: int | None) -> Iterator[Span]:
    try:
        start = _moment(year, month, day or 1)
    except ValueError:
        return
    days = 1 if day else monthrange(year, month)[1]
    yield Span(start, start + timedelta(days=days))


def _moment(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)
