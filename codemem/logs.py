"""Structured logs and error reports: how they look and where they go, not what is logged."""

from typing import Any

import structlog

_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


def configuration(*, level: str, form: str) -> dict[str, Any]:
    """Return Django's LOGGING and set structlog up to write through it.

    `form` is "json" (one object a line, with the request's or the task's id) or "text" for eyes.
    """
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer: Any = (
        structlog.dev.ConsoleRenderer() if form == "text" else structlog.processors.JSONRenderer()
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _SHARED,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    renderer,
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Requests and tasks are logged by django_structlog; these would repeat it.
            "django.server": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
            "httpx": {"level": "WARNING"},
        },
    }


def start_sentry(*, dsn: str, environment: str, traces_sample_rate: float) -> None:
    """Send what needs a code change to Sentry; do nothing without a DSN.

    Bodies and local variables may hold a team's memories or tokens: neither is ever sent.
    """
    if not dsn:
        return
    import sentry_sdk
    from sentry_sdk.integrations.celery import CeleryIntegration
    from sentry_sdk.integrations.django import DjangoIntegration
    from sentry_sdk.integrations.logging import LoggingIntegration

    sentry_sdk.init(
        dsn=dsn,
        environment=environment,
        traces_sample_rate=traces_sample_rate,
        integrations=[
            DjangoIntegration(),
            CeleryIntegration(),
            # Faults come by themselves; what is logged beside them (or instead: a database that is
            # away) would be a second report, or none that needs a code change.
            LoggingIntegration(event_level=None),
        ],
        send_default_pii=False,
        max_request_body_size="never",
        include_local_variables=False,
    )
