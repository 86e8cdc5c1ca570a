import pytest

from codemem.client.gitscope import (
    BaseUnknown,
    GitMissing,
    GitRefused,
    count_commits,
    default_base,
    diff,
    find_checkout,
    merge_base,
    resolve_commit,
    without_credentials,
)


@pytest.fixture(autouse=True)
def plain_git(monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://git.example.com/a/b.git", "https://git.example.com/a/b.git"),
        ("https://ada:s3cret@git.example.com/a/b", "https://git.example.com/a/b"),
        ("https://oauth2:x@y@git.example.com/a/b", "https://git.example.com/a/b"),
        ("https://ghp_token@github.com/a/b", "https://github.com/a/b"),
        ("https://h/a?private_token=x#y", "https://h/a"),
        ("ssh://git:pw@h:2222/a/b.git", "ssh://git@h:2222/a/b.git"),
        ("git@github.com:a/b.git", "git@github.com:a/b.git"),
        ("/srv/git/b.git", "/srv/git/b.git"),
        ("file:///srv/git/b.git", "file:///srv/git/b.git"),
    ],
)
def test_a_remote_goes_out_without_credentials(url, clean):
    assert without_credentials(url) == clean


def test_a_checkout_knows_where_it_stands(repository):
    root = repository.commit()
    head = repository.commit("b.py")
    repository.git("remote", "add", "origin", "git@example.com:team/api.git")
    (repository.directory / "deep").mkdir()
    checkout = find_checkout(directory=repository.directory / "deep")
    assert checkout is not None
    assert checkout.toplevel == repository.directory.resolve()
    assert checkout.remote == "git@example.com:team/api.git"
    assert checkout.root_commit == root
    assert (checkout.branch, checkout.head) == ("main", head)
    assert not checkout.is_linked_worktree


def test_a_directory_outside_of_git_is_no_checkout(tmp_path):
    assert find_checkout(directory=tmp_path) is None


def test_an_empty_repository_has_a_branch_and_no_commit(repository):
    checkout = find_checkout(directory=repository.directory)
    assert checkout is not None
    assert checkout.branch == "main"
    assert checkout.head is None
    assert checkout.root_commit is None
    assert checkout.remote is None


def test_a_detached_head_has_no_branch(repository):
    first = repository.commit()
    repository.commit("b.py")
    repository.git("checkout", "-q", first)
    checkout = find_checkout(directory=repository.directory)
    assert checkout is not None
    assert checkout.branch is None
    assert checkout.head == first


def test_a_linked_worktree_is_the_same_repository(repository, tmp_path):
    root = repository.commit()
    repository.git("remote", "add", "origin", "https://example.com/team/api")
    repository.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    checkout = find_checkout(directory=tmp_path / "side")
    assert checkout is not None
    assert checkout.is_linked_worktree
    assert checkout.branch == "side"
    assert checkout.root_commit == root
    assert checkout.remote == "https://example.com/team/api"


def test_a_bare_repository_has_no_work_tree(repository, tmp_path):
    head = repository.commit()
    repository.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    checkout = find_checkout(directory=tmp_path / "bare.git")
    assert checkout is not None
    assert checkout.toplevel is None
    assert checkout.head == head


def test_a_shallow_clone_does_not_know_its_root(repository, tmp_path):
    repository.commit()
    repository.commit("b.py")
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.directory}",
                   str(tmp_path / "shallow"))  # fmt: skip
    checkout = find_checkout(directory=tmp_path / "shallow")
    assert checkout is not None
    assert checkout.head
    assert checkout.root_commit is None


def test_merged_histories_are_known_by_the_older_root(repository):
    older = repository.commit()
    repository.git("checkout", "-q", "--orphan", "vendor")
    repository.commit("vendored.py")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--allow-unrelated-histories", "-m", "Vendor", "vendor")
    checkout = find_checkout(directory=repository.directory)
    assert checkout is not None
    assert checkout.root_commit == older


def test_an_only_remote_serves_whatever_its_name(repository):
    repository.git("remote", "add", "upstream", "https://example.com/a/b")
    checkout = find_checkout(directory=repository.directory)
    assert checkout is not None
    assert (checkout.remote_name, checkout.remote) == ("upstream", "https://example.com/a/b")


def test_of_several_remotes_none_is_guessed(repository):
    repository.git("remote", "add", "one", "https://example.com/a/b")
    repository.git("remote", "add", "two", "https://example.com/c/d")
    checkout = find_checkout(directory=repository.directory)
    assert checkout is not None
    assert checkout.remote is None


def test_a_missing_git_is_named(repository, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(GitMissing):
        find_checkout(directory=repository.directory)


def test_a_refusal_of_git_is_passed_on(repository):
    (repository.directory / ".git" / "config").write_text("[broken")
    with pytest.raises(GitRefused, match="config"):
        find_checkout(directory=repository.directory)


def test_a_branch_name_in_any_script_survives(repository):
    repository.commit()
    repository.git("switch", "-q", "-c", "größe/記憶")
    checkout = find_checkout(directory=repository.directory)
    assert checkout is not None
    assert checkout.branch == "größe/記憶"


def test_a_revision_becomes_its_commit(repository):
    first = repository.commit()
    repository.commit("b.py")
    assert resolve_commit("HEAD~1", directory=repository.directory) == first


@pytest.mark.parametrize("revision", ["nowhere", "--output=pwned", "HEAD~99", "", "a b"])
def test_what_is_no_revision_is_refused(repository, revision):
    repository.commit()
    with pytest.raises(BaseUnknown):
        resolve_commit(revision, directory=repository.directory)
    assert not (repository.directory / "pwned").exists()


def test_the_base_is_where_head_left_the_default_branch(repository):
    shared = repository.commit()
    repository.git("switch", "-q", "-c", "side")
    repository.commit("b.py")
    repository.git("switch", "-q", "main")
    repository.commit("c.py")
    repository.git("switch", "-q", "side")
    checkout = find_checkout(directory=repository.directory)
    assert checkout is not None
    assert default_base(checkout=checkout, directory=repository.directory) == shared
    assert merge_base("main", directory=repository.directory) == shared


def test_the_default_branch_is_the_one_the_remote_names(repository, tmp_path):
    repository.git("checkout", "-q", "-b", "trunk")
    shared = repository.commit()
    repository.git("clone", "-q", ".", str(tmp_path / "clone"))
    clone = type(repository)(tmp_path / "clone")
    clone.git("switch", "-q", "-c", "side")
    clone.commit("b.py")
    checkout = find_checkout(directory=clone.directory)
    assert checkout is not None
    assert default_base(checkout=checkout, directory=clone.directory) == shared


def test_without_a_default_branch_there_is_no_base(repository):
    repository.commit()
    repository.git("branch", "-q", "-m", "elsewhere")
    checkout = find_checkout(directory=repository.directory)
    assert checkout is not None
    with pytest.raises(BaseUnknown):
        default_base(checkout=checkout, directory=repository.directory)


def test_the_diff_ignores_what_the_user_set(repository):
    base = repository.commit()
    repository.commit("deep/b.py", "y = 1\n")
    for setting in ("diff.noprefix=true", "color.ui=always", "diff.external=false",
                    "diff.relative=true", "diff.mnemonicPrefix=true"):  # fmt: skip
        repository.git("config", *setting.split("="))
    (repository.directory / "deep").mkdir(exist_ok=True)
    text = diff(base=base, directory=repository.directory / "deep").decode()
    assert "diff --git a/deep/b.py b/deep/b.py" in text
    assert "\x1b" not in text


def test_commits_between_are_counted_if_both_are_here(repository):
    first = repository.commit()
    last = repository.commit("b.py")
    assert count_commits(older=first, newer=last, directory=repository.directory) == 1
    assert count_commits(older=last, newer=first, directory=repository.directory) == 0
    assert count_commits(older="f" * 40, newer=last, directory=repository.directory) is None
