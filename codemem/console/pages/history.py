"""History: what landed when, the code as it was, and what came and went between two points."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.http import HttpResponse
from django.utils import timezone

from codemem.console import charts, refusals
from codemem.console.access import Visit
from graph import queries as graph
from graph.queries import history
from indexing.history.drift import drift
from indexing.history.past import Moment, MomentUnknown, PastUnavailable, graph_at, moment
from indexing.history.scenes import difference
from indexing.history.state import known_history

refusals.register(refused=(MomentUnknown, PastUnavailable))

_COMMITS: Final = 50
_TOUCHED: Final = 12
_WEEKS: Final = 52
_SHOWN: Final = 60
_STATIONS: Final = 120
_USUAL_DAYS: Final = 90


def show(visit: Visit) -> HttpResponse:
    """List what landed on the default branch, newest first, and how busy the last year was."""
    number = visit.number("page", 1, minimum=1, maximum=100)
    until = visit.now
    commits, total = history.commits_in_time(
        repository_ids=[visit.repository_id],
        since=datetime.min.replace(tzinfo=timezone.get_default_timezone()),
        until=until + timedelta(days=1),
        limit=number * _COMMITS,
    )
    shown = commits[(number - 1) * _COMMITS :]
    touched = history.touched_by(
        namespace_id=visit.namespace_id, commits=[one.key for one in shown], limit=_TOUCHED
    )
    busy = graph.activity(repository_id=visit.repository_id, until=_busy_until(commits, until))
    context = {
        "state": visit.ref_state(),
        "tab": "commits",
        "known": known_history(repository_ids=[visit.repository_id]),
        "commits": [(one, touched.get(one.key, ())) for one in shown],
        "total": total,
        "activity": busy,
        "chart": week_chart(busy),
        "listing": {
            "number": number,
            "previous": number - 1,
            "next": number + 1,
            "has_next": number * _COMMITS < total,
            "has_other": total > _COMMITS,
        },
    }
    return visit.render("history/commits.html", context, title="History")


def past(visit: Visit) -> HttpResponse:
    """Show the graph of a commit or date, with a slider along the main line."""
    stations = graph.stations(repository_id=visit.repository_id, limit=_STATIONS)
    at = visit.parameter("at")
    when = moment(repository_id=visit.repository_id, text=at) if at else None
    context = {
        "state": visit.ref_state(),
        "tab": "past",
        "known": known_history(repository_ids=[visit.repository_id]),
        "stations": stations,
        "stop": _stop(stations, when),
        "when": when,
        "at": at,
        "source": visit.url("graph-columns", query={"at": _asked(at, stations)}),
        "counts": graph_at(when).counts() if when else None,
    }
    return visit.render("history/past.html", context, title="History")


def compare(visit: Visit) -> HttpResponse:
    """Show what appeared, vanished and changed between two commits or dates."""
    since, until = visit.parameter("from"), visit.parameter("to")
    context: dict[str, Any] = {
        "state": visit.ref_state(),
        "tab": "drift",
        "known": known_history(repository_ids=[visit.repository_id]),
        "since": since,
        "until": until,
        "usual": (visit.now - timedelta(days=_USUAL_DAYS)).strftime("%Y-%m-%d"),
        "stations": graph.stations(repository_id=visit.repository_id, limit=_STATIONS),
    }
    if since:
        context |= _compared(visit, since, until or visit.now.strftime("%Y-%m-%dT%H:%M:%SZ"))
    return visit.render("history/drift.html", context, title="History")


def week_chart(busy: graph.Activity) -> charts.Columns:
    """Return the chart of commits by week, months named below it."""
    ticks = [
        (number, f"{week.begins:%b}")
        for number, week in enumerate(busy.weeks)
        if week.begins.day <= 7  # noqa: PLR2004  the first week of a month
    ]
    return charts.columns(
        [week.commits for week in busy.weeks],
        [
            f"Week of {week.begins:%d %b %Y}, commits: {week.commits}, authors: {week.authors}"
            for week in busy.weeks
        ],
        ticks=ticks,
    )


def _busy_until(commits: list[Any], now: datetime) -> datetime:
    """Return the end of the year that is drawn: the newest commit's, of what rests for long."""
    newest: datetime = max((one.committed_at for one in commits), default=now)
    return now if now - newest < timedelta(days=_USUAL_DAYS) else newest


def _compared(visit: Visit, since: str, until: str) -> dict[str, Any]:
    start = moment(repository_id=visit.repository_id, text=since)
    end = moment(repository_id=visit.repository_id, text=until)
    if start.committed_at > end.committed_at:
        start, end = end, start
    before, after = graph_at(start), graph_at(end)
    found, structure = difference(before, after), drift(before, after)
    return {
        "start": start,
        "end": end,
        "found": found,
        "structure": structure,
        "appeared": [after.by_id[key] for key in found.appeared[:_SHOWN]],
        "vanished": [before.by_id[key] for key in found.vanished[:_SHOWN]],
        "changed": [after.by_id[key] for key in found.changed[:_SHOWN]],
        "couplings": structure.couplings[:20],
        "hotspots": history.changes_in_time(
            namespace_id=visit.namespace_id,
            repository_id=visit.repository_id,
            since=start.committed_at,
            until=end.committed_at,
            limit=10,
        ),
        "source": visit.url("graph-columns", query={"from": start.commit, "to": end.commit}),
    }


def _asked(at: str, stations: list[graph.Station]) -> str:
    return at or (stations[-1].sha if stations else "")


def _stop(stations: list[graph.Station], when: Moment | None) -> int:
    """Return at which station the slider stands: the last one that is not younger."""
    if when is None:
        return max(len(stations) - 1, 0)
    earlier = [number for number, one in enumerate(stations) if one.at <= when.committed_at]
    return max(earlier, default=0)
