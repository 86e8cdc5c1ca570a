"""What a tool's output says went wrong: the message, the file and line, the test or function. Pure.

One reader for each form that compilers, type checkers and test runners write; the first ones that
find something win, and a plain error line is what is left. `NOISE` is what is no lesson about the
code: a text that an editor did not find, a person who stopped the agent, a service that was busy.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from memory.entities import error_class, error_signatures, signature

MAXIMUM_DIAGNOSTICS: Final = 20
_MOST_LINES: Final = 3_000
_LONGEST_LINE: Final = 600
_LONGEST_MESSAGE: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One thing that went wrong. `path` is as the tool wrote it."""

    message: str
    path: str = ""
    line: int | None = None
    symbol: str = ""  # the test, else the function
    paths: tuple[str, ...] = ()  # the other files on the way there, nearest to the error first

    @property
    def signature(self) -> str:
        return signature(self.message)

    @property
    def error_class(self) -> str:
        return error_class(self.message)


def diagnostics_of(output: str) -> list[Diagnostic]:
    """Return what went wrong, each once, at most 20; empty for noise and for what says nothing."""
    plain = _COLORS.sub("", output)
    lines = [line[:_LONGEST_LINE].rstrip() for line in plain.splitlines()]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES // 2], *lines[-_MOST_LINES // 2 :]]
    found: dict[tuple[str, str, str], Diagnostic] = {}
    for reader in _READERS:
        for diagnostic in reader(lines):
            tidy = replace(diagnostic, message=_tidy(diagnostic.message))
            if tidy.signature and not is_noise(tidy.message):
                found.setdefault((tidy.signature, tidy.path, tidy.symbol), tidy)
        if found:
            break
    return list(islice(found.values(), MAXIMUM_DIAGNOSTICS))


def is_noise(text: str) -> bool:
    """Tell whether an error says nothing about the code."""
    return NOISE.search(text) is not None


def names_in(message: str) -> list[str]:
    """Return the names that a message quotes, such as the attribute that is not there."""
    quoted = (match.group("name") for match in _QUOTED.finditer(message))
    return list(dict.fromkeys(name for name in quoted if not name.isdigit()))


def is_common(name: str) -> bool:
    """Tell whether a name says too little to recognize anything by."""
    return name.lower() in _COMMON


def shown(message: str) -> str:
    """Return a message as others may read it: values that are no names of code are left out.

    What an error quotes may be anybody's data; names, numbers of few digits and files are not.
    """
    kept = _VALUE.sub(_value_or_dots, message)
    kept = _FOLDERS.sub("", kept)
    kept = re.sub(r"\b[\w.+-]+@[\w-]+\.[\w.]+\b", "…", kept)
    return re.sub(r"(?<![\w.])\d{5,}(?![\w.])", "…", kept)


def is_foreign(path: str) -> bool:
    """Tell whether a file is a library's or the runtime's rather than the repository's."""
    return _FOREIGN.search(path) is not None


def _value_or_dots(match: re.Match[str]) -> str:
    mark, value = match.group("mark"), match.group("value")
    is_name = re.fullmatch(r"[A-Za-z_$][\w.$:/<>\[\]-]{0,79}", value) and "@" not in value
    return f"{mark}{value if is_name else '…'}{mark}"


def _tidy(message: str) -> str:
    return " ".join(message.split())[:_LONGEST_MESSAGE].strip()


# --- Test runners ---------------------------------------------------------------------------------
def _pytest(lines: Sequence[str]) -> Iterator[Diagnostic]:
    """Read the short summary; of tests without a message there, the E lines in their order."""
    summary = [match for line in lines if (match := _PYTEST_SUMMARY.match(line))]
    if not summary:
        return
    places = _pytest_places(lines)
    for number, match in enumerate(summary):
        place = places[number] if number < len(places) else ("", [])
        message = match["message"] or place[0]
        if not message or message.endswith("..."):
            message = place[0] or message
        path, _, test = match["node"].partition("::")
        yield Diagnostic(
            message=message or f"error: {match['what'].lower()}",
            path=path,
            symbol=re.sub(r"\[.*", "", test.rpartition("::")[2]),
            paths=tuple(one for one in reversed(place[1]) if one != path),
        )


def _pytest_places(lines: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the message and the files of each failure section, in order."""
    sections: list[tuple[str, list[str]]] = []
    for line in lines:
        if re.match(r"_{3,} .+ _{3,}$", line):
            sections.append(("", []))
        elif sections:
            message, paths = sections[-1]
            if not message and (match := re.match(r"E\s{2,}(\S.*)", line)):
                sections[-1] = (match[1], paths)
            elif (match := re.match(r"([\w./\\-]+\.py):\d+:", line)) and match[1] not in paths:
                paths.append(match[1])
        if line.startswith("===") and "short test summary" in line:
            break
    return sections


def _unittest(lines: Sequence[str]) -> Iterator[Diagnostic]:
    for number, line in enumerate(lines):
        if match := re.match(r"(?:FAIL|ERROR): (?P<test>\w+) \((?P<where>[\w.]+)\)", line):
            for diagnostic in islice(_tracebacks(lines[number + 1 : number + 80]), 1):
                yield replace(diagnostic, symbol=match["test"])


def _jest(lines: Sequence[str]) -> Iterator[Diagnostic]:
    """Read jest's and vitest's: the file in FAIL, the test behind ● or >, then what was thrown."""
    path = test = ""
    for number, line in enumerate(lines):
        if match := re.match(
            r"\s*(?:FAIL|\u276f|\u00d7)\s+(?P<path>[\w./@\\-]+\.[mc]?[jt]sx?)\b(?P<rest>.*)", line
        ):
            path = match["path"]
            test = match["rest"].rpartition(">")[2].strip() if ">" in match["rest"] else ""
            if test and (thrown := _thrown(lines[number + 1 : number + 12])):
                yield _in_javascript(thrown, path, test, lines[number + 1 : number + 40])
        elif match := re.match(r"\s*● (?P<test>.+)", line):
            test = match["test"].rpartition("\u203a")[2].strip()
            if thrown := _thrown(lines[number + 1 : number + 12]):
                yield _in_javascript(thrown, path, test, lines[number + 1 : number + 40])


def _thrown(lines: Sequence[str]) -> str:
    """Return what a JavaScript test threw; of an expectation, also what came instead."""
    said = [line.strip() for line in lines if line.strip()]
    for number, line in enumerate(said):
        if line.startswith("expect("):
            parts = [one for one in said[number + 1 :] if re.match(r"(?:Expected|Received)\b", one)]
            return f"AssertionError: {line} {'; '.join(parts[:2])}"
        if _THROWN.match(line):
            return line
    return said[0] if said else ""


def _in_javascript(message: str, path: str, test: str, lines: Sequence[str]) -> Diagnostic:
    frames = [match["path"] for line in lines if (match := _JS_FRAME.search(line))]
    own = [frame for frame in frames if _is_own(frame) and not frame.endswith(path)]
    head = message if re.match(r"[\w.]*(?:Error|Exception)", message) else f"Error: {message}"
    return Diagnostic(message=head, path=path, symbol=test, paths=tuple(dict.fromkeys(own)))


def _go_test(lines: Sequence[str]) -> Iterator[Diagnostic]:
    """Read tests by their FAIL lines, and panics by their frames."""
    test = ""
    for number, line in enumerate(lines):
        if match := re.match(r"\s*--- FAIL: (?P<test>[\w/]+)", line):
            test = match["test"]
        elif match := re.match(
            r"\s{4,}(?P<path>[\w./-]+\.go):(?P<line>\d+): (?P<message>.+)", line
        ):
            yield Diagnostic(
                message=f"error: {match['message']}",
                path=match["path"],
                line=int(match["line"]),
                symbol=test.partition("/")[0],
            )
        elif line.startswith("panic: "):
            frames = [
                match["path"]
                for later in lines[number + 1 : number + 60]
                if (match := re.match(r"\s+(?P<path>\S+\.go):\d+", later))
                and _is_own(match["path"])
            ]
            yield Diagnostic(
                message=line,
                path=frames[0] if frames else "",
                symbol=test,
                paths=tuple(frames[1:4]),
            )


def _rust(lines: Sequence[str]) -> Iterator[Diagnostic]:
    """Read rustc's errors with their arrows, and panics of tests."""
    for number, line in enumerate(lines):
        if match := re.match(
            r"error(?:\[E\d+\])?: (?!could not compile|aborting)(?P<message>.+)", line
        ):
            arrow = next(
                filter(
                    None, (_RUST_ARROW.match(later) for later in lines[number + 1 : number + 6])
                ),
                None,
            )
            if arrow:
                yield Diagnostic(message=line, path=arrow["path"], line=int(arrow["line"]))
        elif match := re.match(r"thread '(?P<test>[^']+)'.* panicked at (?P<where>.+)", line):
            where = re.search(r"(?P<path>[\w./-]+\.rs):(?P<line>\d+)", match["where"])
            inline = re.match(r"'(?P<message>.+)',", match["where"])
            later = lines[number + 1] if number + 1 < len(lines) else ""
            yield Diagnostic(
                message=f"panic: {inline['message'] if inline else later}",
                path=where["path"] if where else "",
                line=int(where["line"]) if where else None,
                symbol=match["test"].rpartition("::")[2],
            )


# --- Compilers and checkers -----------------------------------------------------------------------
def _compilers(lines: Sequence[str]) -> Iterator[Diagnostic]:
    """Read `path:line: error: message` in its variants: tsc, gcc, clang, go, javac, mypy, ruff."""
    for line in lines:
        for pattern in _COMPILERS:
            if match := pattern.match(line):
                parts = match.groupdict()
                code = (parts.get("code") or "").strip()
                prefix = f"error {code}: " if code else "error: "
                yield Diagnostic(
                    message=prefix + parts["message"],
                    path=parts["path"].removeprefix("./"),
                    line=int(parts["line"]),
                )
                break


def _eslint(lines: Sequence[str]) -> Iterator[Diagnostic]:
    """Read what stands under the path of its file, and ruff's newer form with an arrow."""
    path = ""
    for number, line in enumerate(lines):
        if re.fullmatch(r"(?:/|\w:\\|[\w.-]+/)?[\w./\\@-]+\.\w{1,6}", line):
            path = line
        elif path and (match := _ESLINT.match(line)):
            yield Diagnostic(
                message=f"error {match['rule']}: {match['message']}",
                path=path,
                line=int(match["line"]),
            )
        elif match := re.match(r"(?P<code>[A-Z]{1,4}\d{2,4}) (?:\[\*\] )?(?P<message>.+)", line):
            arrow = _RUST_ARROW.match(lines[number + 1]) if number + 1 < len(lines) else None
            if arrow:
                yield Diagnostic(
                    message=f"error {match['code']}: {match['message']}",
                    path=arrow["path"],
                    line=int(arrow["line"]),
                )


# --- Stacks and plain lines -----------------------------------------------------------------------
def _tracebacks(lines: Sequence[str]) -> Iterator[Diagnostic]:
    """Read Python's tracebacks: the last line, and the innermost frame of the repository."""
    frames: list[re.Match[str]] = []
    is_inside = False
    for line in lines:
        if line.startswith("Traceback (most recent call last)"):
            frames, is_inside = [], True
        elif is_inside and (match := _FRAME.match(line)):
            frames.append(match)
        elif is_inside and (match := re.match(r"(?P<message>[\w.]+(?::\s.*)?)$", line)):
            own = [frame for frame in frames if _is_own(frame["path"])]
            last = own[-1] if own else (frames[-1] if frames else None)
            others = [frame["path"] for frame in reversed(own[:-1])]
            yield Diagnostic(
                message=match["message"],
                path=last["path"] if last else "",
                line=int(last["line"]) if last else None,
                symbol=last["name"].strip("<>") if last else "",
                paths=tuple(
                    path for path in dict.fromkeys(others) if last and path != last["path"]
                ),
            )
            is_inside = False


def _node(lines: Sequence[str]) -> Iterator[Diagnostic]:
    """Read an error with frames below it: `at name (path:line:column)`."""
    for number, line in enumerate(lines):
        match = _THROWN.match(line.strip())
        if match is None or number + 1 >= len(lines):
            continue
        frames = [
            frame
            for later in lines[number + 1 : number + 20]
            if (frame := _JS_FRAME.search(later)) and _is_own(frame["path"])
        ]
        if frames:
            yield Diagnostic(
                message=line.strip(),
                path=frames[0]["path"],
                line=int(frames[0]["line"]),
                symbol=(frames[0]["name"] or "").rpartition(".")[2],
                paths=tuple(dict.fromkeys(frame["path"] for frame in frames[1:4])),
            )


def _plain(lines: Sequence[str]) -> Iterator[Diagnostic]:
    """Read lines that tell of a failure in whatever form; the first three."""
    for line in islice((line for line in lines if error_signatures(line)), 3):
        place = _PLACE.search(line)
        yield Diagnostic(
            message=line.strip(),
            path=place["path"] if place else "",
            line=int(place["line"]) if place else None,
        )


def _is_own(path: str) -> bool:
    return not is_foreign(path)


_READERS: Final[tuple[Callable[[Sequence[str]], Iterator[Diagnostic]], ...]] = (
    _pytest,
    _unittest,
    _jest,
    _go_test,
    _rust,
    _compilers,
    _eslint,
    _tracebacks,
    _node,
    _plain,
)
NOISE: Final = re.compile(
    r"""string\ to\ replace\ (?:was\ )?not\ found | has\ not\ been\ read\ yet
      | matches\ of\ the\ string\ to\ replace | old_string\ and\ new_string | no\ changes\ to\ make
      | user\ (?:doesn't|does\ not|didn't)\ want | interrupted\ by\ user | request\ interrupted
      | rejected\ by\ (?:the\ )?user | (?:tool|permission)\ (?:use\ )?(?:was\ )?(?:denied|rejected)
      | hook\ (?:blocked|denied) | KeyboardInterrupt | SIGINT
      | exit(?:ed)?\ (?:with\ )?(?:code|status)\ 130
      | file\ content\ .*exceeds\ maximum | file\ does\ not\ exist\.(?:\ Did\ you\ mean)?
      | sibling\ tool\ call | rate\ limit | overloaded_error | \b429\b | not\ a\ git\ repository
      | (?:merge\ )?conflict\ in\ | could\ not\ resolve\ host | temporary\ failure\ in\ name
      | network\ is\ unreachable | command\ timed\ out\ after | ^exit\ code\ 1$
      | ^error:\ (?:process\ )?exit(?:ed)?\ (?:with\ )?code\ \d+$ | unknown\ (?:option|flag)\ for
      | input\ ?validation\ ?error""",
    re.VERBOSE | re.IGNORECASE,
)
"""What is no lesson about the code."""

_COLORS = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_PYTEST_SUMMARY = re.compile(
    r"(?P<what>FAILED|ERROR) (?P<node>[\w./\\-]+\.py(?:::[^\s]+(?: \w+\])?)*)"
    r"(?: - (?P<message>.+))?$"
)
_FRAME = re.compile(r'\s+File "(?P<path>[^"]+)", line (?P<line>\d+), in (?P<name>.+)')
_JS_FRAME = re.compile(
    r"(?:\bat (?:async )?(?:(?P<name>[\w.<>$ ]+) \()?(?:file://)?|\u276f (?:[\w.$]+ )?)"
    r"(?P<path>[\w./@\\-]+\.[mc]?[jt]sx?):(?P<line>\d+):\d+"
)
_THROWN = re.compile(
    r"(?:Uncaught |Unhandled )?(?P<kind>[A-Z]\w*(?:Error|Exception)(?: \[\w+\])?): \S.*"
)
_RUST_ARROW = re.compile(r"\s*--> (?P<path>[\w./\\-]+):(?P<line>\d+):\d+")
_AT = r"(?P<path>[^\s:()][^:()]*)"
_COMPILERS: Final = tuple(
    re.compile(pattern + r"(?P<message>.+)")
    for pattern in (
        _AT + r"\((?P<line>\d+),\d+\): error (?P<code>[A-Z]+\d+): ",
        _AT + r":(?P<line>\d+):\d+ - error (?P<code>[A-Z]+\d+): ",
        _AT + r":(?P<line>\d+):(?:\d+:)? (?:fatal )?error: ",
        r"(?P<path>[^\s:][^:]*\.pyi?):(?P<line>\d+):\d+: (?P<code>[A-Z]{1,4}\d{2,4}) ",
        r"(?P<path>[^\s:][^:]*\.go):(?P<line>\d+):\d+: ",
        r"\[ERROR\] (?P<path>[^\s:][^:]*\.(?:java|kt)):\[(?P<line>\d+),\d+\] ",
        r"(?:.*ld: )?(?P<path>[^\s:][^:]*\.(?:c|cc|cpp|o)):(?P<line>\d+): (?=undefined reference)",
    )
)
_ESLINT = re.compile(r"\s+(?P<line>\d+):\d+\s+error\s+(?P<message>.+?)\s{2,}(?P<rule>[\w@/-]+)\s*$")
_PLACE = re.compile(r"(?P<path>(?:[\w.@-]+/)*[\w.@-]+\.[a-z]{1,5}):(?P<line>\d+)")
_FOREIGN = re.compile(
    r"(?:site-packages|dist-packages|node_modules|/lib/python\d|<frozen|<string>|^node:|internal/"
    r"|/rustc/|\.cargo/|/usr/lib|/usr/local/go/|/pkg/mod/|vendor/)"
)
_QUOTED = re.compile(r"['\"`\u2018\u201c](?P<name>[A-Za-z_$][\w.$:]{1,79})['\"`\u2019\u201d]")
_VALUE = re.compile(r"(?P<mark>['\"`])(?P<value>(?:(?!(?P=mark)).){1,300})(?P=mark)")
_FOLDERS = re.compile(
    r"(?:(?<=^)|(?<=[\s('\"`=]))(?:[A-Za-z]:)?[/\\](?:[\w.@+-]+[/\\])+(?=[\w.@+-])"
)
_COMMON: Final = frozenset(
    "nonetype none null undefined object string number integer float bool boolean list dict tuple"
    " self this test tests main module error exception result value values data items index name"
    " type types response request return print import assert assertionerror typeerror valueerror"
    " keyerror attributeerror indexerror runtimeerror array function class const"
    " async await".split()
)
