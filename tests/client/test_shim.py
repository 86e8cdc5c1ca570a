"""The hook shim as agents run it: a process with a payload on its standard input."""

import json
import os
import shutil
import signal
import stat
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock

import pytest

from tests.client.server_double import Canned, ServerDouble
from tests.servers import free_port

SHIM = Path(__file__).parents[2] / "codemem" / "client" / "install" / "codemem-hook"
ANSWER = b'{"hookSpecificOutput": {"additionalContext": "the team knows"}}'
TOKEN = "cm_good"


class HookServer(ServerDouble):
    """Takes any event and keeps it; answers what it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.reply = Canned(body=ANSWER)
        self.slow_seconds = 0.0
        self.lock = Lock()

    def answer(self, request):
        time.sleep(self.slow_seconds)
        return self.reply

    @property
    def events(self):
        return [one.json["n"] for one in list(self.received)]


class Shim:
    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self.state = home / ".local" / "state" / "codemem"
        self.spool = self.state / "spool"
        self.directory = home
        self.script = SHIM
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "CODEMEM_URL": url,
            "CODEMEM_TOKEN": TOKEN,
            "GIT_CONFIG_GLOBAL": os.devnull,
        }

    def __call__(self, mode, number=1, event="PostToolUse", **payload):
        body = json.dumps({"session_id": "s", "n": number, **payload}).encode()
        return self.run(mode, "claude-code", event, body=body)

    def run(self, *arguments, body=b"{}"):
        finished = subprocess.run(
            ["sh", str(self.script), *arguments],
            input=body,
            env=self.environment,
            cwd=self.directory,
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert finished.returncode == 0
        assert finished.stderr == b""
        return finished.stdout

    @property
    def waiting(self):
        return sorted(self.spool.glob("*.event"))

    def end_drain(self) -> None:
        with suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int((self.state / "draining").readlink().name), signal.SIGKILL)


@pytest.fixture
def server():
    with HookServer() as double:
        yield double


@pytest.fixture
def shim(tmp_path, server):
    home = tmp_path / "home"
    home.mkdir()
    shim = Shim(home, server.url)
    yield shim
    shim.end_drain()


@pytest.fixture
def nowhere(shim):
    """The shim of somebody whose server is down; `rises` starts one there."""
    shim.environment["CODEMEM_URL"] = f"http://127.0.0.1:{free_port()}"
    return shim


def wait_until(condition, *, seconds=15.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_asked_server_answers_the_agent(shim, server):
    assert shim("ask", event="UserPromptSubmit") == ANSWER
    request = server.received[0]
    assert request.path == "/hooks/claude-code?event=UserPromptSubmit"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.json == {"session_id": "s", "n": 1}
    assert shim.waiting == []


def test_a_told_event_arrives_in_the_background_and_says_when_it_happened(shim, server):
    assert shim("tell") == b""
    wait_until(lambda: server.events == [1])
    moment = server.received[0].headers["codemem-happened-at"]
    assert moment.startswith(time.strftime("%Y-%m-%dT%H:", time.gmtime()))
    assert moment.endswith("Z")
    wait_until(lambda: shim.waiting == [])


@pytest.mark.parametrize("mode", ["ask", "tell"])
def test_nothing_is_printed_when_an_agent_stops(shim, mode):
    assert shim(mode, event="Stop") == b""


def test_what_is_no_json_is_not_shown_to_the_agent(shim, server):
    server.reply = Canned(body=b"<html>Please log in</html>", content_type="text/html")
    assert shim("ask") == b""


def test_a_session_says_which_checkout_it_is_in(shim, server, repository):
    head = repository.commit()
    repository.git("remote", "add", "origin", "https://ada:secret@git.example.com/team/api?x=1")
    shim("open", event="SessionStart", cwd=str(repository.directory))
    # The root commit is looked for beside the first session and told from the second on.
    wait_until(lambda: any((shim.state / "roots").glob("*+")))
    shim("open", event="SessionStart", cwd=str(repository.directory))
    headers = server.received[-1].headers
    assert headers["codemem-remote"] == "https://git.example.com/team/api"
    assert headers["codemem-ref"] == "main"
    assert headers["codemem-head"] == head
    assert headers["codemem-root-commit"] == head
    assert headers["codemem-directory"] == str(repository.directory)
    assert "secret" not in str(server.received)


def test_the_folder_is_read_from_the_event_however_it_is_written(shim, server, repository):
    repository.commit()
    repository.git("tag", "main")  # Git calls the branch heads/main from now on
    folder = str(repository.directory)
    bodies = (
        b'{"cwd":"%s"}' % folder.encode(),
        b'{\n "cwd" :\t"%s"\n}' % folder.encode(),
        b'{"workspace_roots": [ "%s", "/else"], "cwd": "/nowhere"}' % folder.encode(),
    )
    for body in bodies:
        shim.run("open", "cursor", "sessionStart", body=body)
        headers = server.received[-1].headers
        assert (headers["codemem-directory"], headers["codemem-ref"]) == (folder, "main")


def test_a_branch_without_a_commit_and_a_commit_without_a_branch_are_told(shim, server, repository):
    shim("open", event="SessionStart", cwd=str(repository.directory))
    headers = server.received[-1].headers
    assert headers["codemem-ref"] == "main"
    assert "codemem-head" not in headers
    head = repository.commit()
    repository.git("checkout", "-q", "--detach")
    shim("open", event="SessionStart", cwd=str(repository.directory))
    headers = server.received[-1].headers
    assert "codemem-ref" not in headers
    assert headers["codemem-head"] == head


def test_a_checkout_without_a_remote_is_known_by_its_first_commit(shim, server, repository):
    root = repository.commit()
    repository.commit("b.py")
    shim.directory = repository.directory
    shim("open", event="SessionStart")
    assert server.received[0].headers["codemem-root-commit"] == root


@pytest.mark.parametrize(
    ("remote", "told"),
    [
        ("git@git.example.com:team/api.git", "git@git.example.com:team/api.git"),
        ("ssh://git:secret@git.example.com/api", "ssh://git@git.example.com/api"),
        ("https://tok@en@git.example.com/api#x", "https://git.example.com/api"),
    ],
)
def test_no_password_of_a_remote_leaves_the_machine(shim, server, repository, remote, told):
    repository.git("remote", "add", "upstream", remote)
    shim.directory = repository.directory
    shim("open", event="SessionStart")
    assert server.received[0].headers["codemem-remote"] == told


def test_later_events_carry_no_checkout(shim, server, repository):
    repository.commit()
    shim.directory = repository.directory
    shim("ask")
    assert "codemem-head" not in server.received[0].headers


def test_a_folder_cannot_smuggle_in_a_header(shim, server, tmp_path, repository):
    sly = tmp_path / 'x"\nAuthorization: Bearer cm_evil'
    repository.directory.rename(sly)
    shim.directory = sly
    shim("open", event="SessionStart")
    headers = server.received[0].headers
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert "codemem-directory" not in headers


def test_settings_come_from_the_file_that_login_writes(shim, server):
    del shim.environment["CODEMEM_URL"], shim.environment["CODEMEM_TOKEN"]
    folder = shim.home / ".config" / "codemem"
    folder.mkdir(parents=True)
    stored = {"url": server.url, "token": TOKEN, "namespace": "platform", "repository": "api"}
    (folder / "config.json").write_text(json.dumps(stored, indent=2))
    assert shim("open", event="SessionStart") == ANSWER
    headers = server.received[0].headers
    assert (headers["codemem-namespace"], headers["codemem-repository"]) == ("platform", "api")


def test_a_stored_token_is_never_shown_to_another_server(shim, server):
    del shim.environment["CODEMEM_TOKEN"]
    folder = shim.home / ".config" / "codemem"
    folder.mkdir(parents=True)
    stored = {"url": "https://codemem.example.com", "token": TOKEN}
    (folder / "config.json").write_text(json.dumps(stored))
    assert shim("ask") == b""
    assert server.received == []


def test_the_options_of_the_plugin_are_read(shim, server):
    del shim.environment["CODEMEM_URL"], shim.environment["CODEMEM_TOKEN"]
    shim.environment |= {
        "CLAUDE_PLUGIN_OPTION_SERVER_URL": f"{server.url}/",
        "CLAUDE_PLUGIN_OPTION_TOKEN": TOKEN,
    }
    assert shim("ask") == ANSWER


def test_without_a_login_nothing_happens(shim, server):
    del shim.environment["CODEMEM_TOKEN"]
    assert shim("ask") == b""
    assert server.received == []
    assert not shim.state.exists()


def test_a_token_cannot_become_an_option_of_curl(shim, server):
    shim.environment["CODEMEM_TOKEN"] = 'x"\noutput = "/tmp/evil'
    assert shim("ask") == b""
    assert server.received == []


def test_a_private_session_says_so_on_every_event(shim, server):
    shim.environment["CODEMEM_CAPTURE"] = "metadata"
    shim("ask")
    shim("tell")
    wait_until(lambda: len(server.received) == 2)
    assert [one.headers["codemem-capture"] for one in server.received] == ["metadata"] * 2


def test_a_session_that_is_off_sends_nothing(shim, server):
    shim.environment["CODEMEM_CAPTURE"] = "off"
    shim("ask")
    shim("tell")
    assert server.received == []
    assert not shim.state.exists()


def test_the_token_is_not_to_be_seen_among_the_processes(shim, server):
    server.slow_seconds = 0.8
    with ThreadPoolExecutor() as pool:
        running = pool.submit(shim, "ask")
        wait_until(lambda: server.received)
        seen = subprocess.run(["ps", "-A", "-ww", "-o", "args"], capture_output=True, check=True)
        running.result()
    assert b"codemem-hook" in seen.stdout
    assert TOKEN.encode() not in seen.stdout


def test_a_server_that_is_down_costs_nothing_and_loses_nothing(nowhere):
    shim = nowhere
    port = int(shim.environment["CODEMEM_URL"].rpartition(":")[2])
    started = time.monotonic()
    for number in range(40):
        assert shim(("ask", "tell")[number % 2], number) == b""
    assert time.monotonic() - started < 10
    assert len(shim.waiting) == 40
    assert stat.S_IMODE(shim.spool.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in shim.waiting} == {0o600}
    with risen(port) as server:
        wait_until(lambda: len(server.received) == 40, seconds=40)
        assert server.events == list(range(40))
        wait_until(lambda: not (shim.state / "away").exists())
        assert shim("ask", 41) == ANSWER


def test_a_session_that_began_while_the_server_was_down_keeps_its_checkout(nowhere, repository):
    repository.commit()
    port = int(nowhere.environment["CODEMEM_URL"].rpartition(":")[2])
    nowhere.directory = repository.directory
    nowhere("open", event="SessionStart")
    with risen(port) as server:
        wait_until(lambda: server.events == [1])
        assert server.received[0].headers["codemem-ref"] == "main"
        assert server.received[0].headers["codemem-happened-at"]


def test_a_slow_server_holds_nobody_up_for_longer_than_the_deadline(shim, server):
    server.slow_seconds = 3
    started = time.monotonic()
    assert shim("ask", 1) == b""
    assert time.monotonic() - started < 1.6
    # From then on nobody waits at all.
    started = time.monotonic()
    for number in range(2, 7):
        assert shim("ask", number) == b""
    assert time.monotonic() - started < 1
    assert len(shim.waiting) == 6


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
@pytest.mark.parametrize("mode", ["ask", "tell"])
def test_what_the_server_will_never_want_is_dropped(shim, server, status, mode):
    server.reply = Canned(status=status, body=b'{"error": {"code": "no"}}')
    assert shim(mode) == b""
    wait_until(lambda: server.received and shim.waiting == [])
    assert list(shim.spool.iterdir()) == []


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_what_the_server_cannot_take_now_is_sent_again(shim, server, status):
    server.reply = Canned(status=status)
    assert shim("ask") == b""
    server.reply = Canned(body=ANSWER)
    wait_until(lambda: len(server.received) >= 2 and shim.waiting == [])
    assert set(server.events) == {1}


def test_one_event_that_the_server_stumbles_over_does_not_hold_up_the_others(shim, server):
    # The pauses between its five tries add up to half a minute; here they are cut out.
    shim.script = shim.home / "codemem-hook"
    shim.script.write_text(SHIM.read_text().replace("sleep $pause", "sleep 0.05"))
    server.answer = lambda request: Canned(status=500 if request.json["n"] == 1 else 200)
    shim("tell", 1)
    shim("tell", 2)
    wait_until(lambda: server.events == [1] * 5 + [2])
    assert (shim.state / "dropped").exists()


def test_two_hundred_at_once_all_arrive_once(shim, server):
    with ThreadPoolExecutor(40) as pool:
        list(pool.map(lambda number: shim("tell", number), range(200)))
    wait_until(lambda: len(server.received) >= 200, seconds=60)
    wait_until(lambda: shim.waiting == [] and not (shim.state / "draining").is_symlink())
    assert sorted(server.events) == list(range(200))


def test_the_spool_is_bounded(nowhere):
    nowhere.script = nowhere.home / "codemem-hook"
    nowhere.script.write_text(SHIM.read_text().replace("KEPT_EVENTS=5000", "KEPT_EVENTS=20"))
    for number in range(30):
        nowhere("tell", number)
    assert len(nowhere.waiting) == 20
    assert json.loads(nowhere.waiting[0].read_bytes())["n"] == 0
    assert (nowhere.state / "dropped").exists()


def test_the_spool_is_bounded_in_bytes(nowhere):
    nowhere.script = nowhere.home / "codemem-hook"
    text = SHIM.read_text().replace("KEPT_KILOBYTES=65536", "KEPT_KILOBYTES=300")
    nowhere.script.write_text(text)
    for number in range(8):
        nowhere("ask", number, content="x" * 100_000)
    assert 1 <= len(nowhere.waiting) <= 3


def test_a_drain_that_was_killed_is_taken_over(nowhere):
    nowhere("tell", 1)
    wait_until((nowhere.state / "draining").is_symlink)
    nowhere.end_drain()
    port = int(nowhere.environment["CODEMEM_URL"].rpartition(":")[2])
    with risen(port) as server:
        nowhere("tell", 2)
        # What the killed one was just sending may arrive as well: the server counts it once.
        wait_until(lambda: list(dict.fromkeys(server.events)) == [1, 2])


def test_a_hook_that_was_killed_half_way_leaves_its_event_to_the_next(shim, server):
    shim.spool.mkdir(parents=True, mode=0o700)
    orphan = shim.spool / ".20261122T101112.000000001+0000007+claude-code+PostToolUse.event"
    orphan.write_text('{"n": 1}')
    long_ago = time.time() - 300
    os.utime(orphan, (long_ago, long_ago))
    shim("tell", 2)
    wait_until(lambda: server.events == [1, 2])
    assert server.received[0].headers["codemem-happened-at"] == "2026-11-22T10:11:12.000000001Z"


def test_a_hook_that_its_agent_ends_keeps_the_event(shim, server):
    server.slow_seconds = 0.9
    process = subprocess.Popen(
        ["sh", str(SHIM), "ask", "claude-code", "UserPromptSubmit"],
        stdin=subprocess.PIPE,
        env=shim.environment,
    )
    assert process.stdin is not None
    process.stdin.write(b'{"n": 1}')
    process.stdin.close()
    wait_until(lambda: server.received)
    process.terminate()
    assert process.wait(5) == 0
    wait_until(lambda: len(server.received) == 2)


def test_without_curl_events_wait(shim, tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "date", "cat", "mv", "rm", "mkdir", "ln", "readlink", "find", "sleep", "du"):
        (folder / name).symlink_to(shutil.which(name))
    shim.environment["PATH"] = str(folder)
    assert shim("ask") == b""
    assert len(shim.waiting) == 1


def test_a_spool_that_cannot_be_written_is_done_without(shim, tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    shim.environment["XDG_STATE_HOME"] = str(blocked)
    assert shim("ask") == b""
    assert shim("tell") == b""


def test_five_megabytes_pass(shim, server):
    assert shim("ask", content="x" * 5_000_000) == ANSWER


@pytest.mark.parametrize("arguments", [(), ("ask",), ("ask", "../x"), ("dance", "codex")])
def test_a_wrong_call_does_nothing(shim, server, arguments):
    assert shim.run(*arguments) == b""
    assert server.received == []


def test_headers_are_printed_for_agents_that_ask_a_command(shim, repository):
    repository.git("remote", "add", "origin", "https://x:y@git.example.com/team/api")
    shim.directory = repository.directory
    assert json.loads(shim.run("headers")) == {
        "Authorization": f"Bearer {TOKEN}",
        "Codemem-Remote": "https://git.example.com/team/api",
    }


def risen(port):
    """Return a server at a port where nothing listened."""
    from http.server import ThreadingHTTPServer
    from threading import Thread

    from tests.client.server_double import _handler_for

    class Risen(HookServer):
        def __enter__(self):
            self.http = ThreadingHTTPServer(("127.0.0.1", port), _handler_for(self))
            Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
            return self

    return Risen()
