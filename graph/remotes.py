"""Remote addresses: one normal form per repository, however a clone spells its remote.

Pure text. Knows nothing of the network: two servers that hold the same repository stay two.
"""

import re
from urllib.parse import unquote, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}

# Hosts that serve SSH on port 443 under a second name, for networks that block port 22.
_HOSTS_BY_SSH_ALIAS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}

_SCHEME = re.compile(r"(?i)[a-z][a-z0-9+.-]*://")
# Git reads host:path as SSH only where no slash stands before the colon. One letter before the
# colon is a Windows drive, two colons name a transport helper (ext::, hg::).
_SCP_LIKE = re.compile(
    r"(?:(?P<user>[^@/:\s]+)@)?(?P<host>[A-Za-z0-9][A-Za-z0-9.-]+|\[[^\]\s/]+\]):(?!:)(?P<path>.+)"
)
# The normal form itself, so that normalizing twice changes nothing: a dotted host, perhaps with
# a port, and a path of two parts or more. A local directory is hardly ever called like this.
_NORMAL_FORM = re.compile(
    r"(?P<host>(?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]+|\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+(?=:\d))"
    r"(?::(?P<port>\d{1,5}))?/(?P<path>[^/]+/.+)"
)
_HOST_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|[0-9a-f:]+(?:%[a-z0-9]+)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_USER_IN_URL = re.compile(r"(?i)\b(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<user>[^/\s'\"<>]*)@")
_SECRET_IN_QUERY = re.compile(
    r"(?i)(?P<name>[?&](?:access_token|private_token|oauth_token|token|password|api_key)=)[^&#\s'\"]+"
)


def normalize_remote(url: str) -> str | None:
    """Return the normal form of a remote, `host/path`, or None for what names no remote repository.

    HTTPS, SSH, `user@host:path` and Git addresses of one repository give the same form: host in
    lower case, neither user nor password, no default port, no `.git`. The case of the path stays,
    because only some hosts ignore it. A local path and a `file:` address give None: they identify
    nothing on another machine.
    """
    url = url.strip()
    if not url or url.startswith("-") or _CONTROL.search(url):
        return None
    if _SCHEME.match(url):
        return _from_url(url)
    if match := _NORMAL_FORM.fullmatch(url):
        return _joined(match["host"], int(match["port"] or 0) or None, match["path"])
    if match := _SCP_LIKE.fullmatch(url):
        return _joined(match["host"], None, match["path"])
    return None


def redact_credentials(text: str) -> str:
    """Return the text with every user, password and token taken out of the addresses in it.

    Serves a whole sentence of Git's as well as one address. The bare user of an SSH address
    (`git@`) is no secret and stays.
    """
    return _SECRET_IN_QUERY.sub(r"\g<name>***", _USER_IN_URL.sub(_without_secret, text))


def _without_secret(match: re.Match[str]) -> str:
    scheme, user = match["scheme"], match["user"]
    if "ssh" in scheme.lower() and "@" not in user:
        return f"{scheme}://{user.partition(':')[0]}@"
    return f"{scheme}://"


def _from_url(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # an impossible port or an unclosed IPv6 bracket
        return None
    # Package files write git+ssh:// and git+https://; Git itself once took ssh+git://.
    schemes = [part for part in parts.scheme.split("+") if part in _DEFAULT_PORTS]
    if not schemes or parts.hostname is None:
        return None
    scheme = next((part for part in schemes if part != "git"), "git")
    is_default = port == _DEFAULT_PORTS[scheme]
    return _joined(parts.hostname, None if is_default else port, unquote(parts.path))


def _joined(host: str, port: int | None, path: str) -> str | None:
    host = host.lower().strip("[]").rstrip(".")
    if host in _HOSTS_BY_SSH_ALIAS:
        host, port = _HOSTS_BY_SSH_ALIAS[host], None
    names = [name for name in path.split("/") if name not in {"", "."}]
    if not _HOST_NAME.fullmatch(host) or not names or ".." in names or _CONTROL.search(path):
        return None
    names[-1] = names[-1].removesuffix(".git")
    if not names[-1]:
        names.pop()  # host/path/.git is the repository inside host/path
    if not names:
        return None
    authority = f"[{host}]" if ":" in host else host
    return "/".join([f"{authority}:{port}" if port else authority, *names])
