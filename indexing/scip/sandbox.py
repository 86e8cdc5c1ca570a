"""A child process that is not trusted: no network, no secrets, bounded time, memory and output.

Inside bubblewrap where that works (it needs user namespaces, which containers often forbid), else
as a plain child with a cleared environment. RLIMIT_AS breaks JavaScript engines, so memory is
watched instead: of the whole process tree.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

SOURCE: Final = "source"
OUTPUT: Final = "output"
HOME: Final = "home"

_SYSTEM_FOLDERS = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/alternatives",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
)
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_LOG_TAIL_BYTES = 4000
_LOOKS_EVERY_SECONDS = 0.25
_WEIGHS_EVERY_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may use. `output_bytes` holds for each file and for all of them together."""

    seconds: float
    memory_bytes: int
    output_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended; `stopped` says which limit ended it: "", time, memory or output."""

    exit_code: int
    stopped: str
    seconds: float
    peak_bytes: int
    log: str

    @property
    def is_good(self) -> bool:
        return self.exit_code == 0 and not self.stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where a run takes place: a scratch folder with the tree, an output folder and a home.

    `root` is what the child calls the scratch folder: the same path in a plain child.
    """

    scratch: Path
    is_walled: bool
    readable: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return Path("/scratch") if self.is_walled else self.scratch

    def inside(self, *parts: str) -> str:
        """Return what the child calls a path of the scratch folder."""
        return str(self.root.joinpath(*parts))


def make_room(
    scratch: Path,
    *,
    is_walled: bool,
    readable: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
) -> Room:
    """Make the folders of a run below an empty scratch folder."""
    for name in (SOURCE, OUTPUT, HOME, "tmp"):
        (scratch / name).mkdir(parents=True, exist_ok=True)
    return Room(
        scratch=scratch,
        is_walled=is_walled,
        readable=tuple(path for path in readable if path.exists()),
        environment=environment or {},
    )


def run_bounded(
    command: Sequence[str], *, room: Room, limits: Limits, directory: str = ""
) -> Ended:
    """Run a command in the room's source folder (or a folder below it) and wait for its end.

    Whatever it started is killed with it. Never raises for what the child does.
    """
    log_path = room.scratch / "log"
    started = time.monotonic()
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            _wrapped(command, room, limits, directory),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=room.scratch / SOURCE / directory,
            env=_environment(room),
            start_new_session=True,
        )
        peak, stopped = _watched(process, room, limits, started)
    return Ended(
        exit_code=process.returncode,
        stopped=stopped,
        seconds=time.monotonic() - started,
        peak_bytes=peak,
        log=_tail(log_path, room),
    )


@cache
def find_wall(tools: Path) -> str | None:
    """Return bubblewrap if it is here and works, tried once per process."""
    program = shutil.which("bwrap", path=str(tools)) or shutil.which("bwrap")
    if program is None:
        return None
    probe = [
        program,
        "--unshare-all",
        "--die-with-parent",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "true",
    ]
    try:
        subprocess.run(probe, check=True, capture_output=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return program


def _wrapped(command: Sequence[str], room: Room, limits: Limits, directory: str) -> list[str]:
    bounds = [
        "nice",
        "-n",
        "10",
        "prlimit",
        f"--fsize={limits.output_bytes}",
        "--nofile=8192",
        "--core=0",
    ]
    if not room.is_walled:
        return [*bounds, "--", *command]
    wall = room.environment["CODEMEM_WALL"]
    arguments = ["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    for folder in _SYSTEM_FOLDERS:
        arguments += _shown(Path(folder))
    arguments += ["--proc", "/proc", "--dev", "/dev", "--bind", str(room.scratch), str(room.root)]
    arguments += ["--bind", str(room.scratch / "tmp"), "/tmp"]  # noqa: S108
    for path in room.readable:  # after /tmp, which may be above them
        arguments += ["--ro-bind", str(path), str(path)]
    arguments += ["--chdir", room.inside(SOURCE, directory)]
    for name, value in _environment(room).items():
        arguments += ["--setenv", name, value]
    return [*bounds, "--", wall, *arguments, "--", *command]


def _shown(folder: Path) -> list[str]:
    if folder.is_symlink():
        return ["--symlink", str(folder.readlink()), str(folder)]
    return ["--ro-bind", str(folder), str(folder)] if folder.exists() else []


def _environment(room: Room) -> dict[str, str]:
    """Nothing of the worker's own environment, which holds its secrets."""
    base = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": room.inside(HOME),
        "TMPDIR": room.inside("tmp"),
        "LANG": "C.UTF-8",
    }
    extra = {name: value for name, value in room.environment.items() if name != "CODEMEM_WALL"}
    return base | extra


def _watched(
    process: subprocess.Popen[bytes], room: Room, limits: Limits, started: float
) -> tuple[int, str]:
    """Wait for the end or bring it about; return peak memory and which limit was met."""
    peak, stopped, weighed_at = 0, "", started
    try:
        while process.poll() is None and not stopped:
            time.sleep(_LOOKS_EVERY_SECONDS)
            peak = max(peak, _memory_of_tree(process.pid))
            now = time.monotonic()
            if now - started > limits.seconds:
                stopped = "time"
            elif peak > limits.memory_bytes:
                stopped = "memory"
            elif now - weighed_at > _WEIGHS_EVERY_SECONDS:
                weighed_at = now
                stopped = "output" if _is_heavier(room.scratch, limits.output_bytes) else ""
        if not stopped and process.returncode and _has_full_file(room.scratch, limits):
            stopped = "output"
    finally:
        _kill_all(process)
    return peak, stopped


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    children = list(_descendants(process.pid))
    for pid in (process.pid, *children):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _memory_of_tree(pid: int) -> int:
    return sum(_resident_bytes(one) for one in (pid, *_descendants(pid)))


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def _descendants(pid: int) -> Iterator[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return
    for task in tasks:
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _descendants(child)


def _is_heavier(folder: Path, limit: int) -> bool:
    """Tell whether what the child wrote has more bytes than it may; the tree itself is ours."""
    weight = 0
    for name in (OUTPUT, HOME, "tmp"):
        for parent, _folders, files in os.walk(folder / name):
            for file in files:
                with contextlib.suppress(OSError):
                    weight += os.lstat(f"{parent}/{file}").st_size
    return weight > limit


def _has_full_file(folder: Path, limits: Limits) -> bool:
    """Tell whether a file met its limit, of which a child learns in its own way."""
    files = (path for path in (folder / OUTPUT).iterdir() if path.is_file())
    return any(path.stat().st_size >= limits.output_bytes for path in files)


def _tail(path: Path, room: Room) -> str:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LOG_TAIL_BYTES))
        text = file.read().decode("utf-8", "replace")
    return text.replace(str(room.scratch), "").replace("\0", "")
