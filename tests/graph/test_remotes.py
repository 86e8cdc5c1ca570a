import pytest

from graph.remotes import normalize_remote, redact_credentials


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/org/repo",
        "https://github.com/org/repo.git",
        "https://github.com/org/repo/",
        "https://github.com/org/repo.git/",
        "https://GitHub.COM/org/repo.git",
        "https://github.com:443/org/repo",
        "https://github.com./org/repo",
        "https://ada:s3cret@github.com/org/repo.git",
        "https://ghp_token@github.com/org/repo.git",
        "https://github.com//org//repo.git",
        "https://github.com/org/repo.git?access_token=x#main",
        "http://github.com:80/org/repo",
        "git://github.com:9418/org/repo.git",
        "ssh://git@github.com/org/repo.git",
        "ssh://git@github.com:22/org/repo.git",
        "ssh://git@ssh.github.com:443/org/repo.git",
        "git+ssh://git@github.com/org/repo.git",
        "ssh+git://git@github.com/org/repo.git",
        "git+https://github.com/org/repo.git",
        "git@github.com:org/repo.git",
        "git@github.com:/org/repo.git",
        "github.com:org/repo",
        "  git@github.com:org/repo.git\n",
        "github.com/org/repo",
    ],
)
def test_every_spelling_of_one_remote_has_the_same_normal_form(url):
    assert normalize_remote(url) == "github.com/org/repo"


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://git.lan:8443/org/repo.git", "git.lan:8443/org/repo"),
        ("ssh://git@git.lan:2222/Org/Repo.git", "git.lan:2222/Org/Repo"),
        ("http://git.lan:443/org/repo", "git.lan:443/org/repo"),
        ("ssh://git@[2001:db8::1]:22/org/repo.git", "[2001:db8::1]/org/repo"),
        ("https://[2001:db8::1]:8443/org/repo.git", "[2001:db8::1]:8443/org/repo"),
        ("git@host:~ada/repo", "host/~ada/repo"),
        ("https://git.lan/%7Eada/my%20repo.git", "git.lan/~ada/my repo"),
        ("git@git.lan:123/repo.git", "git.lan/123/repo"),
        ("https://gitlab.com/a/b/c/d.git", "gitlab.com/a/b/c/d"),
        ("https://git.lan/org/repo/.git", "git.lan/org/repo"),
    ],
)
def test_what_tells_repositories_apart_is_kept(url, normal):
    assert normalize_remote(url) == normal


@pytest.mark.parametrize(
    "url",
    ["https://git.lan:8443/org/repo.git", "git@host.lan:org/repo", "ssh://[2001:db8::1]:23/a/b"],
)
def test_normalizing_twice_changes_nothing(url):
    once = normalize_remote(url)
    assert once is not None
    assert normalize_remote(once) == once


@pytest.mark.parametrize(
    "url",
    [
        "",
        "   ",
        "/srv/git/repo.git",
        "./repo",
        "../repo",
        "~/repo",
        "repo",
        "src/repo",
        "file:///srv/git/repo.git",
        "file://localhost/srv/git/repo.git",
        "C:\\work\\repo",
        "C:/code/repo",
        "ext::sh -c touch% /tmp/x",
        "hg::https://host/repo",
        "--upload-pack=touch /tmp/x",
        "https://github.com",
        "https://github.com/",
        "https://github.com/.git",
        "https://github.com/../repo",
        "https://github.com:99999/org/repo",
        "https://[::1/org/repo",
        "https:///org/repo",
        "ftp://host/org/repo",
        "https://git.lan/a\x00b/c",
        "https://git.lan/a%00b/c",
    ],
)
def test_what_names_no_remote_has_no_normal_form(url):
    assert normalize_remote(url) is None


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("https://ada:s3cret@host/org/repo", "https://host/org/repo"),
        ("https://ghp_token@host/org/repo", "https://host/org/repo"),
        ("https://ada:p@ss@host/org/repo", "https://host/org/repo"),
        ("ssh://git@host/org/repo", "ssh://git@host/org/repo"),
        ("ssh://git:s3cret@host/org/repo", "ssh://git@host/org/repo"),
        ("https://host/r?ref=main&private_token=abc", "https://host/r?ref=main&private_token=***"),
        (
            "fatal: unable to access 'https://ada:s3cret@host/r/': Could not resolve host",
            "fatal: unable to access 'https://host/r/': Could not resolve host",
        ),
        ("https://host/@scope/pkg", "https://host/@scope/pkg"),
        ("git@host:org/repo", "git@host:org/repo"),
    ],
)
def test_redaction_leaves_the_address_and_takes_the_secret(text, redacted):
    assert redact_credentials(text) == redacted
