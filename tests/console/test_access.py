import pytest
from django.urls import reverse

PAGES = ["namespace", "repositories"]
REPOSITORY_PAGES = ["repository"]


def _address(page, **names):
    return reverse(f"console:{page}", kwargs=names)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_a_namespace_is_for_its_members(page, as_reader, as_outsider, repository):
    address = _address(page, namespace="team")

    assert as_reader.get(address).status_code == 200
    assert as_outsider.get(address).status_code == 404


@pytest.mark.parametrize("page", REPOSITORY_PAGES)
def test_a_page_of_a_repository_is_for_members_of_its_namespace(
    page, as_reader, as_outsider, repository
):
    address = _address(page, namespace="team", repository="app")

    assert as_reader.get(address).status_code == 200
    assert as_outsider.get(address).status_code == 404
    assert as_reader.get(_address(page, namespace="team", repository="none")).status_code == 404


def test_who_is_not_signed_in_is_led_to_the_door_and_back(client, owner, namespace):
    owner.set_password("correct horse battery")
    owner.save()

    door = client.get("/console/n/team/repositories?page=1")
    inside = client.post(
        door["Location"].partition("?")[0],
        {
            "username": "olga",
            "password": "correct horse battery",
            "next": "/console/n/team/repositories?page=1",
        },
    )

    assert (
        door["Location"] == "/console/sign-in?next=%2Fconsole%2Fn%2Fteam%2Frepositories%3Fpage%3D1"
    )
    assert inside["Location"] == "/console/n/team/repositories?page=1"
    assert client.get(inside["Location"]).status_code == 200


def test_the_first_page_of_the_server_is_the_console(client, db):
    assert client.get("/")["Location"] == "/console/"


def test_the_dashboard_shows_only_what_its_visitor_may_see(as_outsider, repository):
    page = as_outsider.get("/console/").content.decode()

    assert "elsewhere" in page
    assert "team" not in page
