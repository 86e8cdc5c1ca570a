"""The table of errors: one mistake reads the same on every surface, and only faults are 500s."""

import pytest
import redis
from django.core.exceptions import ImproperlyConfigured
from django.db import (
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    connection,
    connections,
    transaction,
)
from django.http import Http404
from django.test import Client
from rest_framework import exceptions as rest_exceptions

from codemem.accounts.services import LastOwner, NamespaceNameTaken, TokenInvalid
from codemem.gateway import errors
from codemem.gateway.errors import ErrorReport, GatewayError, NotFound, translate
from graph.services import RemoteTaken
from workers.queue import QueueUnavailable


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (TokenInvalid("x"), "invalid_token", 401),
        (NamespaceNameTaken("x"), "name_taken", 409),
        (RemoteTaken("x"), "remote_taken", 409),
        (LastOwner("x"), "last_owner", 409),
        (QueueUnavailable("x"), "queue_unavailable", 503),
        (NotFound("x"), "not_found", 404),
        (errors.ArgumentsInvalid("x"), "invalid_arguments", 422),
        (errors.BodyTooLarge("x"), "body_too_large", 413),
        (errors.RightMissing("x"), "right_missing", 403),
    ],
)
def test_an_anticipated_error_keeps_its_sentence(error, code, status):
    report = translate(error)

    assert report == ErrorReport(code, status, "x")
    assert report.body == {"error": {"code": code, "message": "x"}}


def test_a_hint_comes_along():
    report = translate(GatewayError("x", hint="y"))

    assert report is not None
    assert report.body["error"]["hint"] == "y"


def test_an_error_is_known_by_its_parents(monkeypatch):
    class Special(LastOwner):
        pass

    report = translate(Special("x"))

    assert report is not None
    assert report.code == "last_owner"


def test_an_app_adds_its_own_errors(monkeypatch):
    class Odd(Exception):
        pass

    monkeypatch.setattr(errors, "_TABLE", dict(errors._TABLE))
    assert translate(Odd("x")) is None
    errors.register({Odd: ("odd", 418)})

    assert translate(Odd("x")) == ErrorReport("odd", 418, "x")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        KeyError("x"),
        ImproperlyConfigured("x"),
        IntegrityError("x"),
        DataError("bad connection string"),
        DatabaseError("x"),
    ],
)
def test_what_nobody_anticipated_stays_a_fault(error):
    assert translate(error) is None


def test_redis_away_is_said_to_pass():
    report = translate(redis.ConnectionError("secret address"))

    assert report is not None
    assert (report.code, report.status) == ("queue_unavailable", 503)
    assert "secret" not in str(report.body)


# --- Postgres, for real -------------------------------------------------------------------------
def unavailable(error: Exception) -> None:
    report = translate(error)
    assert report is not None
    assert (report.code, report.status) == ("database_unavailable", 503)
    assert report.hint.startswith("Try again")


@pytest.fixture
def other():
    """Return a second connection, so that the first one may be killed."""
    other = connections.create_connection("default")
    yield other
    other.close()


@pytest.mark.django_db(transaction=True)
def test_a_connection_killed_between_queries_is_the_database_away(other):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 2000)", [backend])

    with pytest.raises(OperationalError) as first, connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    unavailable(first.value)
    # Until the request ends the connection stays dead; then the health check replaces it.
    with pytest.raises((OperationalError, InterfaceError)) as second:
        connection.cursor().execute("SELECT 1")
    unavailable(second.value)

    connection.close_if_unusable_or_obsolete()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)


@pytest.mark.django_db(transaction=True)
def test_a_connection_killed_in_its_own_query_is_the_database_away():
    with pytest.raises(OperationalError) as killed, connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid(), 2000), pg_sleep(2)")
    connection.close()

    unavailable(killed.value)


@pytest.mark.django_db(transaction=True)
def test_a_closed_connection_is_the_database_away():
    connection.ensure_connection()
    connection.connection.close()

    with pytest.raises((OperationalError, InterfaceError)) as closed:
        connection.cursor().execute("SELECT 1")
    connection.close()

    unavailable(closed.value)


@pytest.mark.django_db
def test_a_server_that_is_not_there_is_the_database_away(other):
    other.settings_dict = {**other.settings_dict, "PORT": 1}

    with pytest.raises(OperationalError) as nobody:
        other.ensure_connection()

    unavailable(nobody.value)


@pytest.mark.django_db
def test_a_query_over_its_time_is_told_apart_from_a_database_that_is_away():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 20")
        with pytest.raises(OperationalError) as slow, transaction.atomic():
            cursor.execute("SELECT pg_sleep(2)")

    report = translate(slow.value)
    assert report is not None
    assert (report.code, report.status) == ("too_slow", 503)


# --- DRF ----------------------------------------------------------------------------------------
NOT_FOUND = "There is no such thing here, or not for you."


@pytest.mark.parametrize(
    ("error", "status", "code", "message"),
    [
        (Http404("secret"), 404, "not_found", NOT_FOUND),
        (rest_exceptions.NotFound("secret"), 404, "not_found", NOT_FOUND),
        (
            rest_exceptions.ValidationError({"name": ["Too long.", "Odd."]}),
            422,
            "invalid_arguments",
            "name: Too long. Odd.",
        ),
        (rest_exceptions.NotAuthenticated(), 401, "invalid_token", errors.HOW_TO_SIGN_IN),
        (
            rest_exceptions.MethodNotAllowed("PUT"),
            405,
            "method_not_allowed",
            'Method "PUT" not allowed.',
        ),
        (rest_exceptions.PermissionDenied("No."), 403, "permission_denied", "No."),
    ],
)
def test_errors_of_drf_take_our_shape(error, status, code, message):
    response = errors.rest_framework_handler(error, {})

    assert response is not None
    assert response.status_code == status
    assert response.data == {"error": {"code": code, "message": message}}
    assert ("WWW-Authenticate" in response.headers) is (status == 401)


def test_drf_raises_what_nobody_anticipated():
    assert errors.rest_framework_handler(ValueError("x"), {}) is None


# --- Addresses and faults -----------------------------------------------------------------------
@pytest.mark.parametrize("path", ["/api/nothing", "/api/namespaces/", "/mcp/nothing"])
def test_an_address_that_nothing_serves_is_answered_in_json(client, path):
    response = client.get(path)

    assert response.status_code == 404
    assert response.json()["error"]["message"] == "There is no such address."


def test_people_get_a_page(client):
    response = client.get("/nothing")

    assert response.status_code == 404
    assert response["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    ("path", "kind"), [("/api/v1/me", "application/json"), ("/readyz", "text/html")]
)
def test_a_fault_of_ours_says_so_without_its_details(db, monkeypatch, path, kind):
    def broken(*_, **__):
        raise RuntimeError("a secret detail")

    monkeypatch.setattr("codemem.gateway.rest.authenticate", broken)
    monkeypatch.setattr("codemem.gateway.health.parts", broken)

    response = Client(raise_request_exception=False).get(path)

    assert response.status_code == 500
    assert response["Content-Type"].startswith(kind)
    assert b"secret" not in response.content
