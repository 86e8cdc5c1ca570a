"""Is the process up, and can it serve: for probes and for `codemem doctor`."""

from django.http import HttpRequest, JsonResponse

from workers.health import OK, parts

__all__ = ["alive", "parts", "ready"]


def alive(_request: HttpRequest) -> JsonResponse:
    """Answer /healthz: the process answers.

    Nothing else is asked, or a database that is away would have every process restarted.
    """
    return JsonResponse({"status": OK})


def ready(_request: HttpRequest) -> JsonResponse:
    """Answer /readyz: 200 when the database serves and its schema is ours.

    Redis being away is reported but leaves us ready: reads work without it.
    """
    report = parts()
    is_ready = report["database"] == report["migrations"] == OK
    status = OK if is_ready else "not ready"
    return JsonResponse({"status": status, **report}, status=200 if is_ready else 503)
