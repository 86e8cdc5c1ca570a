"""What every test may use: a namespace with a member of each role, and someone outside."""

import pytest
from celery import Celery

from codemem.accounts.models import Namespace, User
from graph.models import Repository
from tests import factories
from workers import queue


@pytest.fixture
def owner(db: None) -> User:
    return factories.make_user("olga")


@pytest.fixture
def maintainer(db: None) -> User:
    return factories.make_user("mary")


@pytest.fixture
def writer(db: None) -> User:
    return factories.make_user("walter")


@pytest.fixture
def reader(db: None) -> User:
    return factories.make_user("rita")


@pytest.fixture
def outsider(db: None) -> User:
    """Return someone who owns another namespace and must see nothing of this one."""
    user = factories.make_user("otto")
    factories.make_namespace("elsewhere", owner=user)
    return user


@pytest.fixture
def namespace(owner: User, maintainer: User, writer: User, reader: User) -> Namespace:
    return factories.make_namespace(
        "team", owner=owner, maintainer=maintainer, writer=writer, reader=reader
    )


@pytest.fixture
def repository(namespace: Namespace, maintainer: User) -> Repository:
    return factories.make_repository(namespace, "app", created_by=maintainer)


@pytest.fixture
def queue_without_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have messages go to a port where no Redis listens; use it with transaction=True."""
    away = Celery("codemem")
    away.config_from_object("django.conf:settings", namespace="CELERY")
    away.conf.update(broker_url="redis://127.0.0.1:1/0")
    monkeypatch.setattr(queue, "app", away)
