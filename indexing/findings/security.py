"""Dangerous code by what one file says: calls with their arguments, texts that are secrets.

Works on tokens, so that comments and examples inside texts are not mistaken for code. Of tests only
real keys are reported: what a test does to itself endangers nobody.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from indexing.findings.rules import severity, threshold
from indexing.findings.tokens import Token, TokenKind, arguments, scan, statement
from indexing.findings.values import Found, Severity

_ECMASCRIPT: Final = frozenset({"javascript", "typescript", "tsx"})


class _Alarm(NamedTuple):
    """What a rule saw at a token."""

    rule: str
    message: str
    confidence: float
    severity: Severity | None = None
    evidence: str = ""


class _Place(NamedTuple):
    """Where a rule looks: a name in the tokens of a file."""

    language: str
    tokens: Sequence[Token]
    at: int

    @property
    def name(self) -> str:
        return self.tokens[self.at].text

    @property
    def is_called(self) -> bool:
        return _at(self.tokens, self.at + 1) == "(" and not self.is_defined

    @property
    def is_defined(self) -> bool:
        before = _at(self.tokens, self.at - 1)
        return before in {"def", "function", "func", "fn", "fun", "class"}

    @property
    def receiver(self) -> str:
        """The name before the dot, "" without one, "?" when it is no plain name."""
        if _at(self.tokens, self.at - 1) not in {".", "::", "->", "?."}:
            return ""
        before = self.tokens[self.at - 2] if self.at > 1 else None
        return before.text if before is not None and before.is_name else "?"

    @property
    def shown(self) -> str:
        """The call as people write it."""
        return f"{self.receiver}.{self.name}()" if self.receiver else f"{self.name}()"

    def arguments(self) -> list[Sequence[Token]]:
        return arguments(self.tokens, self.at + 1)


def find_dangers(*, path: str, language: str, content: bytes, is_test: bool) -> list[Found]:
    """Return what is dangerous in one file, in the order of its lines."""
    if not _may_hold_dangers(content):
        return []
    text = content.decode("utf-8", "replace")
    tokens = scan(text, language=language)
    alarms = [
        (tokens[index].line, alarm)
        for index, alarm in _alarms(tokens, language, text, is_test=is_test)
    ]
    return [_found(path, line, alarm) for line, alarm in dict.fromkeys(alarms)]


# A file without any of these is not scanned: first the words (C speed), then how they stand there.
_WORDS: Final = (
    *b"eval exec function( shell system popen getoutput getstatusoutput passthru proc_open".split(),
    *b"yaml. pickle dill marshal unserialize readobject md5 sha1 sha-1 verify unverified".split(),
    *b"rejectunauthorized insecureskip cert_none mktemp tmpnam tempnam debug innerhtml".split(),
    *b"outerhtml dangerouslyset document.write unsafe akia ghp_ gho_ ghu_ ghs_ ghr_ glpat".split(),
    *b"xox k_live_ aiza passw pwd passphrase secret token apikey api_key private_key".split(),
    *b"access_key credential select insert update delete".split(),
    b"private key",
)
_SHAPES = re.compile(
    rb"\b(?:eval|exec|execsync|function|system|popen|getoutput|getstatusoutput|passthru|shell_exec"
    rb"|proc_open|unserialize|readobject|mktemp|tmpnam|tempnam)\s*\(|\bshell\s*=|\byaml\.|pickle"
    rb"|\bdill\b|\bmarshal\.|\bmd5|\bsha-?1|\bverify\s*=\s*false|unverified|rejectunauthorized"
    rb"|insecureskip|cert_none|verifypeer|\bdebug\s*=\s*true|(?:inner|outer)html|dangerouslyset"
    rb"|document\.write|\bunsafe\s*\{|private key|akia|gh[pousr]_|glpat|xox[abprs]-"
    rb"|[sr]k_live_|aiza"
    rb"|(?:passw\w*|pwd|passphrase|secret\w*|token|api_?key|private_?key|access_?key|credentials?)"
    rb"\s*(?::\s*\w+\s*)?(?:=|:|:=|=>)\s*\w?[\"'`]"
    rb"|[\"'`]\s*(?:select|insert\s+into|update|delete\s+from)\s"
)
_LONGEST_LINE = 5_000


def _may_hold_dangers(content: bytes) -> bool:
    """Tell whether a file is worth scanning: a rule knows a word of it, and it is not minified."""
    lowered = content.lower()
    if not any(word in lowered for word in _WORDS) or not _SHAPES.search(lowered):
        return False
    return max(map(len, content.split(b"\n"))) <= _LONGEST_LINE


def _alarms(
    tokens: Sequence[Token], language: str, text: str, *, is_test: bool
) -> Iterator[tuple[int, _Alarm]]:
    lines = text.split("\n")
    for at, token in enumerate(tokens):
        if token.is_text:
            for alarm in _known_keys(token):
                yield at, alarm._replace(severity=Severity.LOW if is_test else None)
            if not is_test:
                yield from ((at, alarm) for alarm in _formatted_sql(tokens, at, language))
        elif token.is_name and not is_test:
            yield from ((at, alarm) for alarm in _of_name(_Place(language, tokens, at), lines))


def _of_name(place: _Place, lines: Sequence[str]) -> Iterator[_Alarm]:
    for rule in (*_BY_NAME.get(place.name.lower().lstrip("$@"), ()), _hard_coded_credential):
        if alarm := rule(place):
            yield alarm
    if place.language == "rust" and place.name == "unsafe" and not _is_explained(place, lines):
        message = "No SAFETY comment says why this unsafe block is sound."
        yield _Alarm("security.unsafe-block", message, 0.9)


def _found(path: str, line: int, alarm: _Alarm) -> Found:
    return Found(
        rule=alarm.rule,
        path=path,
        line=line,
        end_line=line,
        message=alarm.message,
        severity=severity(alarm.rule) if alarm.severity is None else alarm.severity,
        confidence=alarm.confidence,
        evidence=alarm.evidence,
    )


# --- Running text as code -------------------------------------------------------------------------
def _eval(place: _Place) -> _Alarm | None:
    languages = _ECMASCRIPT | {"python", "php", "ruby"}
    if place.language not in languages or not place.is_called:
        return None
    # A method called so is a library's (a database's, a frame's), unless it is the global object's.
    if place.receiver not in {"", "builtins", "window", "globalThis", "Kernel"}:
        return None
    given = place.arguments()
    if not given or _is_constant(given[0]) or _is_compiled(given[0]):
        return None
    if place.name == "exec" and place.language != "python":
        return None
    return _Alarm("security.eval", f"{place.name}() runs a text that is not a constant.", 0.85)


def _is_compiled(argument: Sequence[Token]) -> bool:
    """Tell whether the argument is visibly code that was compiled from a constant."""
    return len(argument) > 2 and argument[0].text == "compile" and argument[2].is_text  # noqa: PLR2004


def _new_function(place: _Place) -> _Alarm | None:
    if place.language not in _ECMASCRIPT or not place.is_called:
        return None
    # After a slash it is part of a regular expression.
    if place.name != "Function" or place.receiver or _at(place.tokens, place.at - 1) == "/":
        return None
    given = place.arguments()
    if not given or all(map(_is_constant, given)):
        return None
    return _Alarm("security.eval", "new Function() compiles a text that is not a constant.", 0.8)


def _shell(place: _Place) -> _Alarm | None:
    """Subprocess with shell=True, when the command is not a constant."""
    if place.language != "python" or place.name != "shell":
        return None
    if [_at(place.tokens, place.at + offset) for offset in (1, 2)] != ["=", "True"]:
        return None
    opening = _opening(place.tokens, place.at)
    if opening is None or not place.tokens[opening - 1].is_name:
        return None
    given = arguments(place.tokens, opening)
    if not given or _is_constant(given[0]) or _is_constant_name(given[0]):
        return None
    called = place.tokens[opening - 1].text
    return _Alarm(
        "security.shell-injection",
        f"{called}(shell=True) gets a command that is not a constant.",
        0.8,
    )


_SHELLS: Final = {
    "python": {
        ("os", "system"),
        ("os", "popen"),
        ("commands", "getoutput"),
        ("subprocess", "getoutput"),
        ("subprocess", "getstatusoutput"),
    },
    "php": {
        ("", "system"),
        ("", "exec"),
        ("", "shell_exec"),
        ("", "passthru"),
        ("", "popen"),
        ("", "proc_open"),
    },
    "ruby": {("", "system"), ("Kernel", "system"), ("", "exec")},
}


def _system(place: _Place) -> _Alarm | None:
    if (place.receiver, place.name) not in _SHELLS.get(place.language, ()) or not place.is_called:
        return None
    given = place.arguments()
    if not given or _is_constant(given[0]) or _is_constant_name(given[0]):
        return None
    # Ruby starts the program itself, without a shell, when it gets more than one text.
    if place.language == "ruby" and len(given) > 1:
        return None
    return _Alarm(
        "security.shell-injection", f"{place.name}() gets a command that is not a constant.", 0.8
    )


def _node_exec(place: _Place) -> _Alarm | None:
    if place.language not in _ECMASCRIPT or not place.is_called:
        return None
    if place.receiver not in {"", "child_process", "cp", "childProcess"}:
        return None
    given = place.arguments()
    if not given or not _is_composed(given[0]):
        return None
    return _Alarm(
        "security.shell-injection", f"{place.name}() gets a command with values put into it.", 0.75
    )


# --- SQL ------------------------------------------------------------------------------------------
# All in capitals or in none: "Select one of {names} from the list" is a sentence.
_SQL_WORDS = (
    r"SELECT\s+.*\bFROM\b",
    r"INSERT\s+INTO\s+\S+",
    r"UPDATE\s+\S+\s+SET\s",
    r"DELETE\s+FROM\s+\S+",
)
_LOWER_SQL_WORDS = (
    r"select\s+.*\bfrom\b",
    r"insert\s+into\s+\S+",
    r"update\s+\S+\s+set\s",
    r"delete\s+from\s+\S+",
)
_SQL = re.compile(rf"\s*(?:{'|'.join((*_SQL_WORDS, *_LOWER_SQL_WORDS))})", re.DOTALL)
# Definitions (CREATE, DROP) are left out: they take no parameters, so their values must be put in.
# What is put into SQL through one of these is a quoted name, not a value.
_QUOTING = re.compile(r"(?i)quote|^qn$|^identifier$|^sql$|escape|placeholder|^literal$")
# Names and parts of the statement itself, which no parameter can stand for.
_NAME_WORDS = re.compile(
    r"(?i)(?:^|_|\b|[a-z])(?:sql|query|queries|selects?|params?|parameters|operators?|tables?|columns?|cols?|fields?|db_table|model|schema|index|view|sequence|pk"
    r"|tablename|colname|database|db|name|names|placeholders?|clauses?|where|order_by|limit)s?$"
)


def _formatted_sql(tokens: Sequence[Token], index: int, language: str) -> Iterator[_Alarm]:
    """A text that is SQL, with values put into it."""
    text = tokens[index]
    if len(text.text) > 20_000 or not _SQL.match(text.text[:2_000]) or _is_docstring(tokens, index):  # noqa: PLR2004
        return
    values = _values_put_in(tokens, index, language)
    if not values or any(_QUOTING.search(name) for name in values):
        return
    if all(_NAME_WORDS.search(name) or name.isupper() for name in values):
        return
    verb = text.text.split(None, 1)[0].upper()
    shown = ", ".join(dict.fromkeys(values))[:80]
    yield _Alarm(
        "security.sql-injection",
        f"{verb} is put together with {shown}: pass values as parameters.",
        0.6,
        evidence=verb,
    )


def _values_put_in(tokens: Sequence[Token], index: int, language: str) -> list[str]:
    """Return the names that are put into the text at `index`."""
    text = tokens[index]
    if text.is_filled:
        pattern = r"\$\{([^}]*)\}" if language in _ECMASCRIPT else r"#?\{([^{}]*)\}"
        filled = [part.strip() for part in re.findall(pattern, text.text)]
        return [_last_word(part) for part in filled if part]
    after = index + 1
    while after < len(tokens) and (
        tokens[after].is_text or tokens[after].kind is TokenKind.NEWLINE
    ):
        after += 1
    following = _at(tokens, after)
    if (following == "%" and language == "python") or (
        following in {"+", "."} and language == "php"
    ):
        return _names_after(tokens, after)
    if following == "+":
        return _names_after(tokens, after)
    if following == "." and _at(tokens, after + 1) == "format":
        return _names_after(tokens, after + 1)
    return []


def _names_after(tokens: Sequence[Token], start: int) -> list[str]:
    rest = list(statement(tokens, start + 1, limit=60))
    names: list[str] = []
    for position, token in enumerate(rest):
        following = rest[position + 1].text if position + 1 < len(rest) else ""
        if (token.is_name and following not in {".", "("}) or _QUOTING.search(token.text):
            names.append(token.text)
    return names


def _last_word(expression: str) -> str:
    words = re.findall(r"\w+", expression.split("!", maxsplit=1)[0].split(":", maxsplit=1)[0])
    if _QUOTING.search(expression):
        return "quote"
    return words[-1] if words else ""


# --- Hashes, YAML, serialization ------------------------------------------------------------------
def _weak_hash(place: _Place) -> _Alarm | None:
    name, receiver, language = place.name, place.receiver, place.language
    if not place.is_called:
        return None
    given = place.arguments()
    is_weak = (
        (language == "python" and receiver == "hashlib" and name in {"md5", "sha1"})
        or (language == "php" and receiver == "" and name in {"md5", "sha1"})
        or (language == "go" and receiver in {"md5", "sha1"} and name in {"New", "Sum"})
    )
    if not is_weak or "usedforsecurity" in {token.text for part in given for token in part}:
        return None
    return _Alarm(
        "security.weak-hash",
        f"{place.shown} is broken for security; if it is not for security, say so.",
        0.6,
    )


_WEAK_NAMES = re.compile(r"(?i)^(?:md5|sha-?1)$")


def _weak_hash_by_name(place: _Place) -> _Alarm | None:
    """createHash("md5"), MessageDigest.getInstance("SHA-1"), hashlib.new("md5")."""
    if not place.is_called or (place.name == "new" and place.receiver != "hashlib"):
        return None
    if place.name == "getInstance" and place.receiver != "MessageDigest":
        return None
    given = place.arguments()
    if not given or not given[0][0].is_text or not _WEAK_NAMES.match(given[0][0].text):
        return None
    if "usedforsecurity" in {token.text for part in given for token in part}:
        return None
    return _Alarm("security.weak-hash", f"{given[0][0].text} is broken for security.", 0.6)


_SAFE_LOADERS = re.compile(r"Safe|BaseLoader")


def _yaml(place: _Place) -> _Alarm | None:
    if place.language != "python" or place.receiver != "yaml" or not place.is_called:
        return None
    if place.name not in {"load", "load_all", "unsafe_load", "full_load"}:
        return None
    words = {token.text for part in place.arguments() for token in part if token.is_name}
    if place.name in {"load", "load_all"} and any(map(_SAFE_LOADERS.search, words)):
        return None
    return _Alarm(
        "security.unsafe-yaml",
        f"yaml.{place.name}() makes whatever objects the text asks for; use safe_load.",
        0.9,
    )


def _deserialization(place: _Place) -> _Alarm | None:
    if not place.is_called:
        return None
    name, receiver, language = place.name, place.receiver, place.language
    is_unsafe = (
        (
            language == "python"
            and receiver in {"pickle", "cPickle", "dill", "cloudpickle", "_pickle"}
            and name in {"load", "loads", "Unpickler"}
        )
        or (language == "python" and receiver == "marshal" and name in {"load", "loads"})
        or (language == "php" and receiver == "" and name == "unserialize")
        or (language == "ruby" and receiver == "Marshal" and name == "load")
        or (
            language in {"java", "kotlin", "scala"}
            and name == "readObject"
            and receiver
            and "this" not in receiver
        )
    )
    words = [token.text for part in place.arguments()[:1] for token in part]
    if not is_unsafe or words[:3] == [receiver, ".", "dumps"]:
        return None  # a copy of what is here already
    if language == "php" and "allowed_classes" in {
        token.text for part in place.arguments() for token in part
    }:
        return None
    return _Alarm(
        "security.unsafe-deserialization",
        f"{receiver + '.' if receiver else ''}{name}() runs code that the data brings along.",
        0.75,
    )


# --- Connections ----------------------------------------------------------------------------------
def _unverified(place: _Place) -> _Alarm | None:
    after = [_at(place.tokens, place.at + offset) for offset in (1, 2, 3)]
    message = ""
    match place.name:
        case "verify" if place.language == "python" and after[:2] == ["=", "False"]:
            if after[2] not in {",", ")", "\n"} or not _is_keyword(place):
                return None
            message = "verify=False accepts any certificate."
        case "rejectUnauthorized" if after[0] in {":", "="} and after[1] == "false":
            message = "rejectUnauthorized: false accepts any certificate."
        case "InsecureSkipVerify" if after[0] in {":", "="} and after[1] == "true":
            message = "InsecureSkipVerify accepts any certificate."
        case "_create_unverified_context":
            message = "The context accepts any certificate."
        case "CERT_NONE" if _at(place.tokens, place.at - 3) == "=" or _is_value(place):
            message = "CERT_NONE accepts any certificate."
        case "CURLOPT_SSL_VERIFYPEER" if after[0] in {",", "=>"} and after[1] in {
            "false",
            "0",
            "FALSE",
        }:
            message = "Without CURLOPT_SSL_VERIFYPEER any certificate is accepted."
        case _:
            return None
    return _Alarm("security.tls-verification-off", message, 0.85)


def _is_keyword(place: _Place) -> bool:
    """Tell whether `name=` stands in the parentheses of a call, not of a definition."""
    opening = _opening(place.tokens, place.at)
    if (
        opening is None
        or _at(place.tokens, opening) != "("
        or not place.tokens[opening - 1].is_name
    ):
        return False
    return _at(place.tokens, opening - 2) not in {"def", "class"}


def _is_value(place: _Place) -> bool:
    """Tell whether the name is assigned or passed, not compared or listed."""
    before = place.at - 1
    while before > 0 and (place.tokens[before].is_name or place.tokens[before].text == "."):
        before -= 1
    return place.tokens[before].text == "=" and place.tokens[before - 1].text in {
        "verify_mode",
        "cert_reqs",
    }


# --- Files, servers, pages ------------------------------------------------------------------------
def _temporary_file(place: _Place) -> _Alarm | None:
    is_unsafe = (
        place.language == "python" and place.receiver == "tempfile" and place.name == "mktemp"
    ) or (
        place.language in {"c", "cpp", "php"}
        and place.receiver == ""
        and place.name in {"tmpnam", "mktemp", "tempnam"}
    )
    if not is_unsafe or not place.is_called:
        return None
    return _Alarm(
        "security.insecure-temporary-file",
        f"{place.name}() gives a name that somebody else can take first.",
        0.85,
    )


def _debug_server(place: _Place) -> _Alarm | None:
    if (
        place.language != "python"
        or not place.is_called
        or place.receiver not in {"app", "application", "server"}
    ):
        return None
    words = [token.text for part in place.arguments() for token in part]
    for position, word in enumerate(words[:-2]):
        if word == "debug" and words[position + 1 : position + 3] == ["=", "True"]:
            return _Alarm(
                "security.debug-server", "debug=True lets whoever sees an error page run code.", 0.8
            )
    return None


def _raw_html(place: _Place) -> _Alarm | None:
    if place.language not in _ECMASCRIPT or not _is_put_into_page(place):
        return None
    return _Alarm(
        "security.raw-html", f"{place.name} puts a composed text into the page as HTML.", 0.55
    )


def _is_put_into_page(place: _Place) -> bool:
    following = _at(place.tokens, place.at + 1)
    if place.name == "dangerouslySetInnerHTML":
        return following in {"=", ":"}
    if place.name in {"innerHTML", "outerHTML"} and place.receiver and following in {"=", "+="}:
        return _is_composed(list(statement(place.tokens, place.at + 2)))
    if place.name in {"write", "writeln"} and place.receiver == "document" and place.is_called:
        return _is_composed([token for argument in place.arguments() for token in argument])
    return False


def _is_explained(place: _Place, lines: Sequence[str]) -> bool:
    """Tell whether `unsafe` begins no block, or one that a comment shortly before it speaks of."""
    line = place.tokens[place.at].line
    before = lines[max(0, line - 6) : line + 1]
    return _at(place.tokens, place.at + 1) != "{" or any(
        "safety" in text.lower() for text in before
    )


# --- Credentials ----------------------------------------------------------------------------------
_CREDENTIAL_NAME = re.compile(
    r"(?i)(?:^|_|[a-z])(?:password|passwd|pwd|passphrase|secret|secret_?key|api_?key|apikey|auth_?token"
    r"|access_?token|access_?key|private_?key|bearer_?token|client_?secret|token|credentials?)$"
)
_NOT_A_CREDENTIAL = re.compile(
    r"(?i)example|sample|placeholder|change.?me|replace|your|dummy|fake|test|todo|xxx|\*\*\*|<.*>"
    r"|\$\{|\{\{|%\(|%s|\.\.\.|insert|secret|password|default|none|null|undefined|redacted|masked"
)
_ALPHABET = re.compile(r"[A-Za-z0-9+/=_\-.~:!@#$%^&*]+")
_LONGEST_CREDENTIAL = 512
_SHORTEST_CREDENTIAL = 8
_KNOWN_KEYS: Final = (
    (re.compile(r"\bAKIA[0-9A-Z]{16}\b"), "an AWS access key"),
    (re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b"), "a GitHub token"),
    (re.compile(r"\bglpat-[\w-]{20,}\b"), "a GitLab token"),
    (re.compile(r"\bxox[abprs]-\d{8,}-[\w-]{10,}"), "a Slack token"),
    (re.compile(r"\b[sr]k_live_[A-Za-z0-9]{20,}\b"), "a Stripe key"),
    (re.compile(r"\bAIza[\w-]{35}\b"), "a Google API key"),
    (
        re.compile(
            r"-----BEGIN (?:RSA |EC |DSA |OPENSSH |ENCRYPTED )?PRIVATE KEY-----"
            r"\s*(?:\\n)?\s*[A-Za-z0-9+/=]{32}"
        ),
        "a private key",
    ),
)


def _hard_coded_credential(place: _Place) -> _Alarm | None:
    """A name that says so, and a text with the entropy of a credential.

    Quoted keys of dictionaries are left alone: too often they are labels of forms.
    """
    if not _CREDENTIAL_NAME.search(place.name):
        return None
    position = place.at + 1
    if _at(place.tokens, position) == ":" and _at(place.tokens, position + 2) == "=":
        position += 2  # an annotation
    if _at(place.tokens, position) not in {"=", ":", ":=", "=>"}:
        return None
    if position + 1 >= len(place.tokens) or not place.tokens[position + 1].is_text:
        return None
    value = place.tokens[position + 1]
    after = _at(place.tokens, position + 2)
    if after not in {"\n", ";", ",", ")", "}", "]", ""} or value.is_filled:
        return None
    if not _is_credential(value.text) or _is_same_as_name(place.name, value.text):
        return None
    digest = value.text[:2]
    return _Alarm(
        "security.hard-coded-credential",
        f"{place.name} is set to a credential that stands in the source.",
        0.7,
        evidence=f"{place.name}:{digest}",
    )


def _is_credential(text: str) -> bool:
    if not _SHORTEST_CREDENTIAL <= len(text) <= _LONGEST_CREDENTIAL:
        return False
    if not _ALPHABET.fullmatch(text) or _NOT_A_CREDENTIAL.search(text):
        return False
    if "://" in text or (text.count(".") >= 2 and text.replace(".", "").isalpha()):  # noqa: PLR2004
        return False
    kinds = sum(
        bool(re.search(kind, text)) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^A-Za-z0-9]")
    )
    words = re.split(r"[-_.:/]", text)
    if all(word.isalpha() for word in words if word):
        return False  # words with something between them: a name, a path, a key of a dictionary
    return kinds >= 2 and _entropy(text) >= threshold("security.hard-coded-credential")  # noqa: PLR2004


def _is_same_as_name(name: str, text: str) -> bool:
    plain = re.compile(r"[^a-z0-9]")
    return plain.sub("", name.lower()) == plain.sub("", text.lower())


def _entropy(text: str) -> float:
    """Return Shannon's entropy in bits a character."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)


def _known_keys(text: Token) -> Iterator[_Alarm]:
    for pattern, what in _KNOWN_KEYS:
        if (match := pattern.search(text.text)) and not _is_example_key(match[0]):
            yield _Alarm("security.known-key", f"The source holds {what}.", 0.9, evidence=what)


def _is_example_key(key: str) -> bool:
    return "EXAMPLE" in key.upper() or len(set(key[5:])) < 8  # noqa: PLR2004 - xxxx, 000000, abcabc


# --- Tokens ---------------------------------------------------------------------------------------
def _at(tokens: Sequence[Token], index: int) -> str:
    """Return the text of a token that is none of a source's texts, "" where there is none."""
    if not 0 <= index < len(tokens) or tokens[index].is_text:
        return ""
    return tokens[index].text


def _is_constant(argument: Sequence[Token]) -> bool:
    """Tell whether an argument is written out: texts without values, or a list of such."""
    return all(
        (token.is_text and not token.is_filled)
        or token.kind is TokenKind.NUMBER
        or token.text in {"[", "]", "(", ")", ","}
        for token in argument
    )


def _is_constant_name(argument: Sequence[Token]) -> bool:
    return len(argument) == 1 and argument[0].is_name and argument[0].text.isupper()


def _is_composed(value: Sequence[Token]) -> bool:
    """Tell whether a value is visibly a text with something put into it."""
    if any(token.is_filled for token in value):
        return True
    has_text = any(token.is_text for token in value)
    return has_text and any(token.text == "+" for token in value) and any(t.is_name for t in value)


def _opening(tokens: Sequence[Token], index: int, *, limit: int = 400) -> int | None:
    """Return where the parenthesis around a token opens."""
    depth = 0
    for position in range(index, max(-1, index - limit), -1):
        match tokens[position].text if tokens[position].kind is TokenKind.OPERATOR else "":
            case ")" | "]" | "}":
                depth += 1
            case "(" | "[" | "{":
                if depth == 0:
                    return position
                depth -= 1
    return None


def _is_docstring(tokens: Sequence[Token], index: int) -> bool:
    """Tell whether a text is a statement of its own."""
    before = _at(tokens, index - 1)
    after = _at(tokens, index + 1)
    first = max(0, index - 2)
    is_alone_before = index == 0 or (before == "\n" and (index == 1 or tokens[first].text == ":"))
    return is_alone_before and after in {"\n", ""}


_Rule = Callable[[_Place], _Alarm | None]
_BY_NAME: Final[dict[str, tuple[_Rule, ...]]] = {
    "eval": (_eval,),
    "exec": (_eval, _system, _node_exec),
    "execsync": (_node_exec,),
    "function": (_new_function,),
    "shell": (_shell,),
    **dict.fromkeys(
        ("system", "popen", "getoutput", "getstatusoutput", "shell_exec", "passthru", "proc_open"),
        (_system,),
    ),
    **dict.fromkeys(("md5", "sha1", "sum"), (_weak_hash,)),
    "new": (_weak_hash, _weak_hash_by_name),
    **dict.fromkeys(("createhash", "getinstance"), (_weak_hash_by_name,)),
    "load": (_yaml, _deserialization),
    **dict.fromkeys(("load_all", "unsafe_load", "full_load"), (_yaml,)),
    **dict.fromkeys(("loads", "unpickler", "unserialize", "readobject"), (_deserialization,)),
    **dict.fromkeys(
        (
            "verify",
            "rejectunauthorized",
            "insecureskipverify",
            "_create_unverified_context",
            "cert_none",
            "curlopt_ssl_verifypeer",
        ),
        (_unverified,),
    ),
    **dict.fromkeys(("mktemp", "tmpnam", "tempnam"), (_temporary_file,)),
    "run": (_debug_server,),
    **dict.fromkeys(
        ("innerhtml", "outerhtml", "dangerouslysetinnerhtml", "write", "writeln"), (_raw_html,)
    ),
}
