"""Probes and scrapes: up, ready, and which part is missing."""

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from prometheus_client.parser import text_string_to_metric_families

from workers import health, queue

READY = {"status": "ok", "database": "ok", "migrations": "ok", "redis": "ok"}


@pytest.fixture
def redis_away(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"


@pytest.fixture
def database_away():
    """Have the next connection go to a port where nobody listens."""
    port = connection.settings_dict["PORT"]
    connection.close()
    connection.settings_dict["PORT"] = 1
    yield
    connection.settings_dict["PORT"] = port
    connection.close()


def gauges(body: str) -> dict[tuple[str, str], float]:
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in text_string_to_metric_families(body)
        for sample in family.samples
        if sample.name in {"codemem_up", "codemem_queue_waiting"}
    }


# --- Probes -------------------------------------------------------------------------------------
def test_a_process_is_up_without_asking_anybody(client, redis_away):
    # Without the `db` mark a query would fail the test.
    response = client.get("/healthz")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_a_server_with_all_its_parts_is_ready(client, db, django_assert_num_queries):
    health.our_migrations()
    with django_assert_num_queries(3):
        response = client.get("/readyz")

    assert (response.status_code, response.json()) == (200, READY)


def test_a_server_without_redis_is_ready_to_read(client, db, redis_away):
    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json() == {**READY, "redis": "does not answer"}


@pytest.mark.django_db(transaction=True)
def test_a_server_without_its_database_is_not_ready(client, database_away):
    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json() == {
        "status": "not ready",
        "database": "does not answer",
        "migrations": "does not answer",
        "redis": "ok",
    }


def test_a_server_with_an_old_schema_is_not_ready(client, db):
    MigrationRecorder.Migration.objects.filter(app="graph", name="0001_initial").delete()

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["migrations"] == "1 missing: run manage.py migrate"
    assert response.json()["database"] == "ok"


def test_a_schema_that_is_ahead_is_ready(client, db):
    # While a deploy rolls out, old processes serve on the new schema.
    MigrationRecorder.Migration.objects.create(app="graph", name="9999_from_the_future")

    assert client.get("/readyz").status_code == 200


# --- Scrapes ------------------------------------------------------------------------------------
def test_a_scrape_shows_counters_and_what_is_now(client, db):
    client.get("/healthz")

    response = client.get("/metrics")

    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/plain")
    body = response.content.decode()
    assert 'codemem_http_request_seconds_count{method="GET",route="healthz",status="200"}' in body
    assert gauges(body) == {
        ("codemem_up", "database"): 1,
        ("codemem_up", "redis"): 1,
        **{("codemem_queue_waiting", depth.queue.value): depth.waiting for depth in queue.depths()},
    }


def test_a_scrape_without_redis_shows_no_depth_rather_than_zero(client, db, redis_away):
    assert gauges(client.get("/metrics").content.decode()) == {
        ("codemem_up", "database"): 1,
        ("codemem_up", "redis"): 0,
    }


@pytest.mark.django_db(transaction=True)
def test_a_scrape_without_the_database_still_answers(client, database_away):
    response = client.get("/metrics")

    assert response.status_code == 200
    assert gauges(response.content.decode())["codemem_up", "database"] == 0


@pytest.mark.parametrize("sent", [None, "", "Bearer", "Bearer wrong", "scrape-me", "Bearer ä"])
def test_with_a_metrics_token_only_its_holders_may_scrape(client, db, settings, sent):
    settings.METRICS_TOKEN = "scrape-me"

    response = client.get("/metrics", headers={} if sent is None else {"Authorization": sent})

    assert response.status_code == 401
    assert b"CODEMEM_METRICS_TOKEN" in response.content
    assert b"codemem_up" not in response.content


def test_the_metrics_token_admits_its_holder(client, db, settings):
    settings.METRICS_TOKEN = "scrape-me"

    response = client.get("/metrics", headers={"Authorization": "Bearer scrape-me"})

    assert response.status_code == 200
