import uuid

import pytest

from indexing.git import Mirror
from indexing.mirrors import SourceRefused, find_mirror, mirror_path, refuse_foreign_path


@pytest.fixture
def root(tmp_path, settings):
    """The one folder in which repositories may lie; a neighbor has the same beginning."""
    root = tmp_path / "repositories"
    (root / "app").mkdir(parents=True)
    (tmp_path / "repositories-of-others").mkdir()
    (tmp_path / "linked").symlink_to(root)
    settings.LOCAL_REPOSITORY_ROOTS = (root.resolve(),)
    return root


@pytest.mark.parametrize(
    "url",
    [
        "{root}/app",
        "{root}",
        "file://{root}/app",
        "FILE://{root}/app",
        "{root}/../repositories/app",
        "{tmp}/linked/app",
        "file://{root}/a%70p",
    ],
)
def test_a_path_below_a_root_may_be_read(root, tmp_path, url):
    refuse_foreign_path(url.format(root=root, tmp=tmp_path))


@pytest.mark.parametrize(
    "url",
    [
        "/etc",
        "file:///etc",
        "{root}/../repositories-of-others",
        "{root}/out",
        "{root}/loop",
        "file://{root}/%2e%2e/%2e%2e",
        # Git takes what looks like a host for the first folder.
        "file://etc{root}/app",
        # A relative path, and one that Git reads as somebody's home.
        "app",
        "../app",
        "~root/app",
        "{root}/app\0",
        "",
    ],
)
def test_any_other_path_is_refused(root, url, monkeypatch):
    (root / "out").symlink_to("/etc")
    (root / "loop").symlink_to("loop")
    monkeypatch.chdir(root)
    with pytest.raises(SourceRefused, match="CODEMEM_LOCAL_REPOSITORY_ROOTS"):
        refuse_foreign_path(url.format(root=root))


@pytest.mark.parametrize("letter", ["?", "#"])
def test_no_part_of_a_path_is_overlooked(root, letter):
    (root / f"app{letter}").symlink_to("/usr/share")
    with pytest.raises(SourceRefused):
        refuse_foreign_path(f"file://{root}/app{letter}/doc")


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example/team/app.git",
        "ssh://git@git.example/team/app.git",
        "git@git.example:team/app.git",
        "git.example:app",
    ],
)
def test_an_address_of_another_host_is_no_path(root, url):
    refuse_foreign_path(url)


def test_no_path_may_be_read_unless_a_root_is_set(settings, tmp_path):
    settings.LOCAL_REPOSITORY_ROOTS = ()
    with pytest.raises(SourceRefused):
        refuse_foreign_path(str(tmp_path))


def test_a_refusal_shows_no_password(root):
    with pytest.raises(SourceRefused) as refusal:
        refuse_foreign_path("file://robot:hunter2@host/app")
    assert "hunter2" not in str(refusal.value)


def test_a_mirror_is_found_once_it_is_there(settings, tmp_path):
    settings.MIRRORS_DIRECTORY = tmp_path
    repository_id = uuid.uuid4()
    assert find_mirror(repository_id) is None

    made = Mirror.create(mirror_path(repository_id))

    assert find_mirror(repository_id) == made
    assert made.path == tmp_path / f"{repository_id}.git"
