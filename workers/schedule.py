"""What runs by the clock (Celery beat)."""

from celery.schedules import crontab

SCHEDULE = {
    "recover-runs": {"task": "workers.tasks.maintenance.recover_runs", "schedule": 30.0},
    "expire-memories": {"task": "workers.tasks.maintenance.expire_memories", "schedule": 300.0},
    "embed-missing": {"task": "workers.tasks.maintenance.embed_missing", "schedule": 120.0},
    "vector-indexes": {
        "task": "workers.tasks.maintenance.build_vector_indexes",
        "schedule": crontab(minute=17),
    },
}
