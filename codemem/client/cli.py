"""The `codemem` command: reads its arguments and hands over to one module per command.

Imports next to nothing itself, so that `--help`, `--version` and usage errors come at once. For
the same reason the client's values are named tuples where the house has dataclasses, which cost
12 ms at every start (they import inspect).
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from codemem.client.failure import ExitStatus, Failure
from codemem.client.terminal import explain, note, prepare_streams
from codemem.client.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemem.client.configuration import Configuration
    from codemem.client.scope import Scope
    from codemem.client.transport import Server

_CYCLES = ("decay", "cluster", "creative", "summarize", "forget")
_FORMATS = ("jsonl", "json", "csv", "markdown")
_INSTEAD = ("runs", "show", "undo", "cancel")
_DESCRIPTION = """\
The team's memory and code graph, from your shell.
"""

_EPILOG = """\
first steps:
  codemem login --url https://codemem.example.com
  codemem init
  codemem doctor
  codemem search how do we retry uploads
  git diff main...HEAD | codemem review --fail-on high

environment (wins over the file that `codemem login` writes):
  CODEMEM_URL, CODEMEM_TOKEN             the server, and who you are
  CODEMEM_NAMESPACE, CODEMEM_REPOSITORY  what calls are about, where the checkout does not say
  HTTP_PROXY, HTTPS_PROXY, NO_PROXY      as everywhere
  NO_COLOR                               no colors
  CODEMEM_DEBUG=1                        tracebacks

exit status:
  0  ok
  1  review reached --fail-on, doctor found a problem, or import left something out
  2  usage: wrong arguments or settings, or a request that the server cannot fulfill
  3  the server is not reachable or not able to answer
  4  not authorized: no token, a wrong or expired one, or one that may not do this
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    prepare_streams()
    options = _parse(arguments)
    try:
        status = _run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        return _leave_closed_pipe()
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    except Failure as failure:
        if _is_debugging():
            raise
        return _fail(failure, options)
    except Exception as error:
        if _is_debugging():
            raise
        defect = Failure(
            f"This is a defect of the client: {type(error).__name__}: {error}",
            hint="CODEMEM_DEBUG=1 shows where; please report it.",
            code="client_defect",
        )
        return _fail(defect, options)
    return status


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command == "search":
        if options.mode and not options.code:
            parser.error("--mode says how to search code: add --code")
        if options.type and options.code:
            parser.error("--type is about memories, --code is not")
    if options.command == "config":
        wanted = {"list": 0, "get": 1, "unset": 1, "set": 2}[options.action]
        given = sum(part is not None for part in (options.key, options.value))
        if given != wanted:
            parts = ("", " KEY", " KEY VALUE")[wanted]
            parser.error(f"it is: codemem config {options.action}{parts}")
    if options.command == "consolidate":
        instead = next((name for name in _INSTEAD if getattr(options, name)), None)
        if instead and (options.cycles or options.dry_run):
            parser.error(f"--{instead} takes no cycles and no --dry-run")
    if options.command == "review" and options.format == "json":
        options.json = True
    return options


def _run(options: argparse.Namespace) -> ExitStatus:
    match options.command:
        case "login" | "init" | "uninstall" | "completion" | "ui" | "doctor":
            return _commands_for_oneself(options)
        case "status":
            from codemem.client import status

            server, scope = _server_and_scope(options)
            return status.run(server=server, scope=scope, as_json=options.json)
        case "serve":
            return _serve(options)
        case "search" | "index" | "analyze" | "watch" | "hooks":
            return _code_commands(options)
        case "export" | "import" | "config" | "consolidate" | "sessions" | "bootstrap":
            return _namespace_commands(options)
        case _:
            from codemem.client import review

            server, scope = _server_and_scope(options)
            return review.run(
                server=server,
                scope=scope,
                base=options.base,
                title=options.title,
                depth=options.depth,
                fail_on=options.fail_on,
                shape="json" if options.json else options.format,
            )


def _commands_for_oneself(options: argparse.Namespace) -> ExitStatus:
    match options.command:
        case "login":
            from codemem.client import login

            return login.run(
                url=options.url, token_from_stdin=options.token_stdin, as_json=options.json
            )
        case "completion":
            from codemem.client import completion

            return completion.run(shell=options.shell, parser=_parser(), as_json=options.json)
        case "doctor":
            from codemem.client import doctor

            return doctor.run(
                namespace=options.namespace,
                repository=options.repository,
                ref=options.ref,
                as_json=options.json,
            )
        case "ui":
            from codemem.client import ui
            from codemem.client.configuration import read_configuration

            url, _ = _credentials(read_configuration())
            return ui.run(url=url, only_prints=options.print, as_json=options.json)
        case _:
            return _installation(options)


def _installation(options: argparse.Namespace) -> ExitStatus:
    from codemem.client.configuration import read_configuration
    from codemem.client.install import commands
    from codemem.client.scope import find_scope

    configuration = read_configuration()
    scope = find_scope(configuration=configuration)
    if options.command == "uninstall":
        return commands.uninstall(scope=scope, options=options)
    url, _ = _credentials(configuration)
    return commands.init(url=url, scope=scope, options=options)


def _serve(options: argparse.Namespace) -> ExitStatus:
    from codemem.client import bridge
    from codemem.client.configuration import read_configuration
    from codemem.client.scope import find_scope

    configuration = read_configuration()
    url, token = _credentials(configuration)
    configuration = configuration._replace(
        namespace=options.namespace or configuration.namespace,
        repository=options.repository or configuration.repository,
    )
    scope = find_scope(configuration=configuration)
    return bridge.run(url=url, token=token, configuration=configuration, scope=scope)


def _code_commands(options: argparse.Namespace) -> ExitStatus:
    match options.command:
        case "search":
            return _search(options)
        case "watch":
            return _watch(options)
        case "hooks":
            return _hooks(options)
        case _:
            return _index(options)


def _namespace_commands(options: argparse.Namespace) -> ExitStatus:
    server, scope = _server_and_scope(options)
    match options.command:
        case "bootstrap":
            from codemem.client import bootstrap

            return bootstrap.run(server=server, options=options)
        case "export":
            from codemem.client import export

            return export.run(server=server, scope=scope, options=options)
        case "import":
            from codemem.client import import_

            return import_.run(server=server, scope=scope, options=options)
        case "consolidate":
            from codemem.client import consolidation

            return consolidation.run(server=server, scope=scope, options=options)
        case "sessions":
            from codemem.client import sessions

            return sessions.run(server=server, scope=scope, options=options)
        case _:
            from codemem.client import config

            return config.run(server=server, scope=scope, options=options)


def _index(options: argparse.Namespace) -> ExitStatus:
    from codemem.client import indexing

    server, scope = _server_and_scope(options)
    ref = options.branch or options.ref
    if options.command == "analyze":
        return indexing.analyze(server=server, scope=scope, ref=ref, as_json=options.json)
    return indexing.run(
        server=server, scope=scope, ref=ref, waits=not options.no_wait, as_json=options.json
    )


def _watch(options: argparse.Namespace) -> ExitStatus:
    from codemem.client import watch

    server, scope = _server_and_scope(options)
    if options.stop:
        return watch.stop(server=server, scope=scope, as_json=options.json)
    return watch.run(server=server, scope=scope, once=options.once, as_json=options.json)


def _hooks(options: argparse.Namespace) -> ExitStatus:
    from codemem.client import hooks
    from codemem.client.configuration import read_configuration
    from codemem.client.scope import find_scope

    scope = find_scope(configuration=read_configuration())
    if options.action == "install":
        return hooks.install(scope=scope, as_json=options.json)
    return hooks.remove(scope=scope, as_json=options.json)


def _search(options: argparse.Namespace) -> ExitStatus:
    from codemem.client import search

    server, _ = _server_and_scope(options)
    query = " ".join(options.query)
    if options.code:
        return search.search_code(
            server=server, query=query, limit=options.k, mode=options.mode, as_json=options.json
        )
    return search.recall(
        server=server, query=query, limit=options.k, memory_type=options.type, as_json=options.json
    )


def _server_and_scope(options: argparse.Namespace) -> tuple[Server, Scope]:
    from codemem.client.configuration import read_configuration
    from codemem.client.scope import find_scope

    configuration = read_configuration()
    for warning in configuration.warnings:
        note(warning)
    url, token = _credentials(configuration)
    scope = find_scope(
        configuration=configuration,
        namespace=options.namespace,
        repository=options.repository,
        ref=options.ref,
    )
    if scope.git_problem:
        note(f"{scope.git_problem} Going on without a repository.")
    # After the checks that need no network: this import is the costly one.
    from codemem.client.transport import Server

    return Server(url=url, token=token, scope_headers=scope.headers()), scope


def _credentials(configuration: Configuration) -> tuple[str, str]:
    from codemem.client.configuration import NotLoggedIn

    if configuration.url is None:
        raise NotLoggedIn(
            "No server is configured.", hint="Run `codemem login`, or set CODEMEM_URL."
        )
    if configuration.token is None:
        raise NotLoggedIn(
            f"There is no token for {configuration.url}.",
            hint="Run `codemem login`, or set CODEMEM_TOKEN.",
        )
    return configuration.url, configuration.token


def _is_debugging() -> bool:
    return os.environ.get("CODEMEM_DEBUG", "").lower() not in {"", "0", "false", "no", "off"}


def _fail(failure: Failure, options: argparse.Namespace) -> int:
    try:
        explain(failure, as_json=options.json)
        sys.stdout.flush()
    except BrokenPipeError:
        return _leave_closed_pipe()
    return failure.status


def _leave_closed_pipe() -> int:
    # The reader (head, less) has seen enough. What is still buffered would raise once more when
    # the interpreter flushes at exit, so it goes nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitStatus.PIPE_CLOSED


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="codemem", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"codemem {VERSION}")
    commands = parser.add_subparsers(
        # With `prog` given, argparse does not format a usage line at every start.
        prog="codemem",
        dest="command",
        metavar="COMMAND",
        required=True,
        title="commands",
    )
    _declare_login(commands)
    _declare_init(commands)
    _declare_uninstall(commands)
    _declare_status(commands)
    _declare_search(commands)
    _declare_review(commands)
    _declare_index(commands)
    _declare_watch(commands)
    _declare_hooks(commands)
    _declare_export(commands)
    _declare_import(commands)
    _declare_bootstrap(commands)
    _declare_consolidate(commands)
    _declare_sessions(commands)
    _declare_config(commands)
    _declare_doctor(commands)
    _declare_serve(commands)
    _declare_ui(commands)
    _declare_completion(commands)
    return parser


class _Parser(argparse.ArgumentParser):
    def __init__(self, **settings: object) -> None:
        settings["formatter_class"] = argparse.RawDescriptionHelpFormatter
        settings["allow_abbrev"] = False
        super().__init__(**settings)  # type: ignore[arg-type]


_Commands = argparse._SubParsersAction  # noqa: SLF001 - argparse has no public name for it


def _declare_login(commands: _Commands[_Parser]) -> None:
    login = _command(commands, "login", "verify a token and remember it with its server")
    login.add_argument("--url", help="address of the server; asked for when it is not known")
    login.add_argument(
        "--token-stdin", action="store_true", help="read the token from standard input"
    )


def _declare_init(commands: _Commands[_Parser]) -> None:
    init = _command(
        commands,
        "init",
        "connect the coding agents on this machine: tools, hooks, and what they are told",
        epilog="Shows every change and asks. Your files keep their comments and order, and a\n"
        "backup. The token stays where `codemem login` put it.",
    )
    _add_installation(init)
    init.add_argument(
        "--transport",
        choices=("auto", "http", "stdio"),
        default="auto",
        help="how clients reach the tools: over http with CODEMEM_TOKEN of their environment,\n"
        "or through `codemem serve` (default: what works without a token in a second place)",
    )


def _declare_uninstall(commands: _Commands[_Parser]) -> None:
    uninstall = _command(
        commands,
        "uninstall",
        "take codemem out of the coding agents on this machine",
        epilog="A file that nobody has touched since `init` becomes what it was to the byte;\n"
        "from others only ours is taken out. Login and spool stay.",
    )
    _add_installation(uninstall)


def _add_installation(command: _Parser) -> None:
    command.add_argument("--only", metavar="NAMES", help="clients, with commas between them")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for you, everywhere (default)")
    where.add_argument(
        "--project", action="store_true", help="for everybody, in this checkout's own files"
    )
    command.add_argument(
        "--instructions",
        action="store_true",
        help="also the block in AGENTS.md, CLAUDE.md and the like",
    )
    command.add_argument("--dry-run", action="store_true", help="show it and write nothing")
    command.add_argument("--yes", action="store_true", help="do not ask")


def _declare_status(commands: _Commands[_Parser]) -> None:
    status = _command(commands, "status", "show what the server knows here, and how fresh it is")
    _add_scope(status)


def _declare_search(commands: _Commands[_Parser]) -> None:
    search = _command(commands, "search", "recall what the team knows, or find code (--code)")
    search.add_argument("query", nargs="+", metavar="QUERY", type=_nonblank, help="words to find")
    search.add_argument(
        "-k", type=_count, default=10, metavar="N", help="at most N results (default: 10)"
    )
    search.add_argument("--type", metavar="T", help="memories of this type only")
    search.add_argument("--code", action="store_true", help="search code instead of memories")
    search.add_argument(
        "--mode", choices=("text", "semantic", "hybrid"), help="how to search code (with --code)"
    )
    _add_scope(search)


def _declare_review(commands: _Commands[_Parser]) -> None:
    review = _command(
        commands,
        "review",
        "show what a diff touches, what depends on it, and how risky that is",
        epilog="The diff comes from standard input. On a terminal, or with --base and nothing on\n"
        "standard input, it is `git diff BASE...HEAD` of this checkout.",
    )
    review.add_argument(
        "--base",
        metavar="REV",
        help="what the diff is against (default: where HEAD left the default branch)",
    )
    review.add_argument(
        "--title",
        metavar="TEXT",
        help="what the change does: helps to tell what is missing (default: what its commits say)",
    )
    review.add_argument("--depth", type=_count, metavar="N", help="follow dependents N steps")
    review.add_argument(
        "--format",
        choices=("text", "markdown", "json", "sarif", "codequality"),
        default="text",
        help="default: text",
    )
    review.add_argument(
        "--fail-on", choices=("low", "medium", "high"), help="exit with 1 from this risk on"
    )
    _add_scope(review)


def _declare_index(commands: _Commands[_Parser]) -> None:
    index = _command(commands, "index", "have the server fetch and index a branch")
    _add_branch(index)
    index.add_argument("--no-wait", action="store_true", help="do not wait until it is done")
    _add_scope(index)
    analyze = _command(commands, "analyze", "index a branch, and show what was found in the code")
    _add_branch(analyze)
    _add_scope(analyze)


def _add_branch(command: _Parser) -> None:
    command.add_argument(
        "branch",
        nargs="?",
        metavar="BRANCH",
        type=_nonblank,
        help="default: the branch of this checkout",
    )


def _declare_watch(commands: _Commands[_Parser]) -> None:
    watch = _command(
        commands,
        "watch",
        "show what is not committed to your own questions, as you edit",
        epilog="Only you see it: ask with the ref that is printed, or connect with it as\n"
        "Codemem-Ref. Ignored files are never sent.",
    )
    how = watch.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="show it as it is now, and end")
    how.add_argument("--stop", action="store_true", help="have the server forget it")
    _add_scope(watch)


def _declare_hooks(commands: _Commands[_Parser]) -> None:
    hooks = _command(commands, "hooks", "run `watch --once` after commits and switches of branch")
    hooks.add_argument("action", choices=("install", "remove"))


def _declare_export(commands: _Commands[_Parser]) -> None:
    export = _command(
        commands,
        "export",
        "write what a namespace knows to a file, or to a folder for Obsidian",
        epilog="jsonl and json lose nothing and come back the same. csv and markdown are for\n"
        "people: edited and imported again, what they changed becomes new versions.",
    )
    export.add_argument("--format", choices=_FORMATS, default="jsonl", help="default: jsonl")
    export.add_argument(
        "-o", "--output", metavar="PATH", help="a file or, for markdown, a folder; - for stdout"
    )
    export.add_argument("--force", action="store_true", help="write over what is there")
    export.add_argument("--type", action="append", default=[], metavar="T", help="only this type")
    export.add_argument(
        "--active-only", action="store_true", help="leave out what does not hold any more"
    )
    export.add_argument(
        "--only-repository", metavar="NAME", type=_nonblank, help="only memories of this one"
    )
    export.add_argument(
        "--vectors", action="store_true", help="with vectors, and the model they are of"
    )
    _add_namespace(export)


def _declare_bootstrap(commands: _Commands[_Parser]) -> None:
    bootstrap = _command(
        commands,
        "bootstrap",
        "begin a repository's memory with what it says of itself",
        epilog="Reads README, guides for contributors, decision records, instruction files\n"
        "(CLAUDE.md, AGENTS.md, Cursor rules ...) and history at the indexed branch, without a\n"
        "language model unless --with-model. Shows what it would store; again, only what is new.",
    )
    bootstrap.add_argument("--yes", action="store_true", help="store what is shown")
    bootstrap.add_argument(
        "--with-model",
        action="store_true",
        help="also have the namespace's language model read the documents; what it finds is"
        " proposed",
    )
    bootstrap.add_argument(
        "--limit", type=_count, default=200, metavar="N", help="the N most telling (default: 200)"
    )
    _add_scope(bootstrap)


def _declare_import(commands: _Commands[_Parser]) -> None:
    imported = _command(
        commands,
        "import",
        "bring memories in from a file, or from an edited folder of Markdown",
        epilog="Safe to repeat: what is there already stays as it is. Lines that cannot be taken\n"
        "are named, everything else is kept; then the exit status is 1.",
    )
    imported.add_argument("path", metavar="PATH", type=_nonblank, help="a file, a folder, or -")
    imported.add_argument("--format", choices=_FORMATS, help="default: by the name of the file")
    imported.add_argument("--dry-run", action="store_true", help="say what would be done")
    imported.add_argument(
        "--skip-duplicates", action="store_true", help="pass over what a memory says already"
    )
    imported.add_argument(
        "--retire-missing",
        action="store_true",
        help="retire memories whose files were deleted from an exported folder",
    )
    _add_namespace(imported)


def _declare_config(commands: _Commands[_Parser]) -> None:
    config = _command(
        commands,
        "config",
        "show and change what a namespace decides for itself, on the server",
        epilog="Your own settings (server, token, place) are not here: they are in the\n"
        "environment and in the file that `codemem login` writes.",
    )
    config.add_argument("action", choices=("list", "get", "set", "unset"))
    config.add_argument("key", nargs="?", type=_nonblank, metavar="KEY")
    config.add_argument("value", nargs="?", metavar="VALUE")
    _add_namespace(config)


def _declare_consolidate(commands: _Commands[_Parser]) -> None:
    consolidate = _command(
        commands,
        "consolidate",
        "have the server tidy a namespace's memories, see what that did, or take it back",
        epilog="Cycles: decay (how well kept in mind), cluster (near duplicates), creative\n"
        "(ties), summarize, forget (archive what faded). Without names all five run,\n"
        "forget last. It takes the role maintainer; what was asked for goes on when this command\n"
        "is stopped.",
    )
    consolidate.add_argument(
        "cycles", nargs="*", metavar="CYCLE", type=_cycle, help=f"{', '.join(_CYCLES)}"
    )
    consolidate.add_argument("--dry-run", action="store_true", help="say what would be done")
    consolidate.add_argument("--no-wait", action="store_true", help="do not wait until it is done")
    instead = consolidate.add_mutually_exclusive_group()
    instead.add_argument("--runs", action="store_true", help="list the newest runs instead")
    instead.add_argument(
        "--show", metavar="RUN", type=_nonblank, help="show one run and what it changed instead"
    )
    instead.add_argument("--undo", metavar="RUN", type=_nonblank, help="undo this run instead")
    instead.add_argument("--cancel", metavar="RUN", type=_nonblank, help="stop this run instead")
    _add_namespace(consolidate)


def _declare_sessions(commands: _Commands[_Parser]) -> None:
    sessions = _command(
        commands, "sessions", "show what was captured of agents' sessions, begin or end one"
    )
    sessions.add_argument("action", choices=("list", "show", "start", "end"))
    sessions.add_argument(
        "session", nargs="?", type=_nonblank, metavar="ID", help="of the session; for start: yours"
    )
    sessions.add_argument("--open", action="store_true", help="list those that have not ended")
    sessions.add_argument(
        "-n", type=_count, default=20, metavar="N", help="list at most N (default: 20)"
    )
    sessions.add_argument(
        "--capture",
        choices=("full", "metadata", "off"),
        default="full",
        help="what to keep of the session that starts (default: full)",
    )
    _add_scope(sessions)


def _declare_doctor(commands: _Commands[_Parser]) -> None:
    doctor = _command(commands, "doctor", "check every link from this directory to the server")
    _add_scope(doctor)


def _declare_serve(commands: _Commands[_Parser]) -> None:
    serve = _command(
        commands, "serve", "speak MCP over standard streams, for clients that start a command"
    )
    serve.add_argument("--namespace", metavar="NAME", type=_nonblank)
    serve.add_argument("--repository", metavar="NAME", type=_nonblank)


def _declare_ui(commands: _Commands[_Parser]) -> None:
    ui = _command(commands, "ui", "open the server's pages in a browser")
    ui.add_argument("--print", action="store_true", help="print the address and open nothing")


def _declare_completion(commands: _Commands[_Parser]) -> None:
    completion = _command(commands, "completion", "print a script that completes commands")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))


def _command(
    commands: _Commands[_Parser], name: str, summary: str, *, epilog: str | None = None
) -> _Parser:
    command = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=epilog
    )
    command.add_argument("--json", action="store_true", help="print JSON, for programs")
    return command


def _add_scope(command: _Parser) -> None:
    scope = command.add_argument_group(
        "scope", "What the call is about. Without these: the checkout of the current directory."
    )
    scope.add_argument("--namespace", metavar="NAME", type=_nonblank)
    scope.add_argument("--repository", metavar="NAME", type=_nonblank)
    scope.add_argument("--ref", metavar="REF", type=_nonblank, help="branch or tag")


def _add_namespace(command: _Parser) -> None:
    command.add_argument("--namespace", metavar="NAME", type=_nonblank)
    command.set_defaults(repository=None, ref=None)


def _count(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")


def _cycle(text: str) -> str:
    if text in _CYCLES:
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is not a cycle; there are: {', '.join(_CYCLES)}")


def _nonblank(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    if not text.isprintable():
        raise argparse.ArgumentTypeError("must not contain control characters")
    return text
