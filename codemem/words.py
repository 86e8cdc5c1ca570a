"""Knows how prose and code fall into words; knows nothing of databases, ranking or Django.

Text to be stored and questions about it go through the same functions, so both sides agree:

- A whole identifier, path or version is a token as it stands (`parse_json2`, `graph/queries.py`,
  `1.5.2`), and so is every path, dotted, kebab, snake, camel and digit part of it.
- A plain word (one part, letters only) and a part in letters become their stem and nothing else, so
  "how is it parsed?" meets `parse_json2`. Tried and dropped: parts as they stand beside words with
  their stem (MRR .329 against .353 finding Django's functions by their docstrings), and stems of
  plain words only (.317). The exact spelling is kept by the whole identifier.
- Stop words are dropped, also as parts of an identifier; the whole identifier keeps them.
"""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final

import snowballstemmer

MAX_TOKEN_BYTES: Final = 255
# A tsvector remembers positions up to 16,383; what stands behind them could not be ranked anyway.
MAX_TOKENS: Final = 16_000
MAX_QUERY_TERMS: Final = 128


def code_tokens(text: str, *, limit: int = MAX_TOKENS) -> list[str]:
    """Return the words of a text in reading order, repeated as often as they occur.

    Every token is lower case (NFKC, case-folded), non-empty, without white space and at most 255
    bytes of UTF-8; there are at most `limit` of them.
    """
    tokens: list[str] = []
    for compound in _compounds(text):
        # Of identifiers, which most are, the other questions need not be asked.
        if compound.isidentifier() and len(compound) <= _LONGEST_CACHED:
            tokens += _remembered_word(compound)
        else:
            tokens += _compound_tokens(compound, limit)
        if len(tokens) >= limit:
            break
    return tokens[:limit]


def tokens_text(text: str, *, limit: int = MAX_TOKENS) -> str:
    """Return the words of a text as one line, for a column that full-text search reads."""
    return " ".join(code_tokens(text, limit=limit))


def query_terms(text: str, *, limit: int = MAX_QUERY_TERMS) -> list[str]:
    """Return the distinct words of a question, first mention first, at most `limit`.

    Empty when the question has only stop words and punctuation.
    """
    return list(islice(dict.fromkeys(code_tokens(text)), limit))


def to_or_tsquery(terms: Sequence[str]) -> str:
    """Return a tsquery that matches any of the terms; empty, so matching nothing, without terms.

    The text is right for a cast (`%s::tsquery`), which takes each term as it stands, and for
    `to_tsquery('simple', %s)`, which may read one term as a phrase of several words. Each term is
    quoted, so nothing in it can be read as an operator; one that cannot be stored is left out.
    """
    return " | ".join(_quoted(term) for term in terms if _is_storable(term))


def identifiers(text: str) -> list[str]:
    """Return the names of code that a prose text mentions: distinct, in order, as written.

    Taken are: what stands in backticks when it is one name; paths (`./setup`, `src/user.ts`,
    `a/b/c`; given without `./` in front and a line number behind) and file names with a well-known
    ending; dotted, `::`, CamelCase and snake_case names; calls with empty parentheses. Not taken
    are web and mail addresses, numbers, versions, `and/or`, and abbreviations such as "e.g.".
    """
    return list(dict.fromkeys(_names(unicodedata.normalize("NFKC", text))))


# A run of words held together as one name: `a/b`, `a.b`, `a::b`, `a-b`; but `a->b` and `a#b` are
# two names each. A dot in front belongs to hidden files (`.env`).
_COMPOUND = re.compile(
    r"""[cC]\+\+ | [cCfF]\#(?!\w)
      | (?: (?<![^\s/"'`(\[,]) \.(?=[^\W\d]) )?
        \w+ (?: (?: /\.? | [.-] | :: ) \w+ )*""",
    re.VERBOSE,
)
_BREAKS = (re.compile(r"/|::"), re.compile(r"\."), re.compile("-"))
_BREAK = re.compile("|".join(pattern.pattern for pattern in _BREAKS))
_NUMERIC = re.compile(r"(v?)(\d+(?:[.-]\d+)+\w*(?:[.-]\w+)*)", re.IGNORECASE)
_HASH = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}", re.IGNORECASE)
_CONTRACTED = re.compile(r"(?<=\w)['\u2019](?:s|t|re|ve|ll|d|m)\b", re.IGNORECASE)
# Over a word spelled as classes: Upper, Lower, lower S, Digit, Ideograph. In order: `URLs`, the
# `HTTP` of `HTTPServer`, `Server` or `server`, `HTTP`, `42`, ideographs.
_PART = re.compile(r"UU+S(?![LS])|U+(?=U[LS])|U?[LS]+|U+|D+|I+")
# The same of a word in ASCII as it is spelled.
_ASCII_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_LONGEST_CACHED = 64
_LONGEST_STEMMED = 40

_STOP_WORD_LINES: Final = """
    a about above after again all also am an and any are aren as at be because been before being
    below between both but by can could couldn did didn do does doesn doing don down during each few
    for from further had hadn has hasn have haven having he her here hers herself him himself his
    how i if in into is isn it its itself just me might mightn more most must mustn my myself no nor
    not now of off on once only or other our ours ourselves out over own same shall shan she should
    shouldn so some such than that the their theirs them themselves then there these they this those
    through to too under until up very was wasn we were weren what when where which while who whom
    whose why will with won would wouldn you your yours yourself yourselves
"""
_STOP_WORDS: Final = frozenset(_STOP_WORD_LINES.split())


class _Stemmer(threading.local):
    """A Snowball stemmer for each thread: it keeps the word it works on in itself."""

    def __init__(self) -> None:
        self.stem = snowballstemmer.stemmer("english").stemWord


_STEMMER = _Stemmer()


def _compounds(text: str) -> Iterable[str]:
    # Names and dotted names, which most texts are, need no pattern to be found.
    if text.isascii() and (text.isidentifier() or _is_dotted_name(text)):
        return (text,)
    return _COMPOUND.findall(_uncontracted(unicodedata.normalize("NFKC", text)))


def _uncontracted(text: str) -> str:
    # Most texts of code have neither character: looking for them is much cheaper than the pattern.
    return _CONTRACTED.sub("", text) if "'" in text or "\u2019" in text else text


def _compound_tokens(compound: str, limit: int) -> Sequence[str]:
    tokens: list[str] = []
    if compound.isascii() and _is_dotted_name(compound):
        if _is_storable(compound):
            tokens.append(_fold(compound))
        for piece in compound.split("."):
            tokens += (_remembered_word if len(piece) <= _LONGEST_CACHED else _word_tokens)(piece)
        return tokens[:limit]
    if len(compound) <= _LONGEST_CACHED and not _BREAK.search(compound):
        return _remembered_word(compound)
    _add_tokens_between(compound, _BREAKS, tokens, limit)
    return tokens[:limit]


def _is_dotted_name(text: str) -> bool:
    return "." in text and all(map(str.isidentifier, text.split(".")))


def _add_tokens_between(
    name: str, breaks: Sequence[re.Pattern[str]], tokens: list[str], limit: int
) -> None:
    """Add a name as it stands, when it has pieces, and then the words of its pieces."""
    if len(name) <= _LONGEST_CACHED and (numeric := _NUMERIC.fullmatch(name)):
        tokens += filter(_is_storable, dict.fromkeys((_fold(name), _fold(numeric[2]))))
        return
    pieces = [piece for piece in breaks[0].split(name) if piece]
    if pieces != [name] and _is_storable(whole := _fold(name)):
        tokens.append(whole)
    for piece in pieces:
        if len(tokens) >= limit:
            return
        is_short = len(piece) <= _LONGEST_CACHED
        if is_short and piece.isidentifier():
            tokens += _remembered_word(piece)
        elif _BREAK.search(piece):
            _add_tokens_between(piece, breaks[1:], tokens, limit)
        else:
            tokens += (_remembered_word if is_short else _word_tokens)(piece)


# Names differ more than the words that they are made of.
@lru_cache(maxsize=65_536)
def _remembered_word(word: str) -> tuple[str, ...]:
    return tuple(_word_tokens(word))


def _word_tokens(word: str) -> Iterator[str]:
    if len(word) > MAX_TOKEN_BYTES and word.isascii():
        return  # data, not a name
    parts = [word] if _HASH.fullmatch(word) else _parts(word)
    folded = [(part, _fold(part)) for part in parts]
    tokens = [_stem(fold) for part, fold in folded if _is_telling(part, fold, of=word)]
    if parts and (parts != [word] or not word.isalpha()):
        tokens.insert(0, _fold(word))
    yield from filter(_is_storable, tokens)


def _parts(word: str) -> list[str]:
    if word.isascii():
        return _ASCII_PART.findall(word)
    classes = "".join(map(_character_class, word))
    parts = (word[match.start() : match.end()] for match in _PART.finditer(classes))
    return [piece for part in parts for piece in _bigrams(part)]


def _character_class(character: str) -> str:
    if "\u3040" <= character <= "\u9fff":
        return "I"
    if character.isupper():
        return "U"
    if character.isalpha():
        return "S" if character == "s" else "L"
    return "D" if character.isalnum() else "_"


def _bigrams(part: str) -> Iterator[str]:
    """Yield a part, or every pair of neighbors when it is a run of ideographs without spaces."""
    if len(part) > 1 and _character_class(part[0]) == "I":
        yield from (first + second for first, second in pairwise(part))
    else:
        yield part


def _is_telling(part: str, folded: str, *, of: str) -> bool:
    """Tell whether a part adds to its word: no repetition, no stop word, no letter cut off."""
    if not part.isalpha():
        return part != of
    return folded not in _STOP_WORDS and (len(part) > 1 or part == of)


# Stemming is nine tenths of the work (150 us a word), and texts repeat their words.
@lru_cache(maxsize=32_768)
def _stem(word: str) -> str:
    return _STEMMER.stem(word) if word.isalpha() and len(word) <= _LONGEST_STEMMED else word


def _fold(name: str) -> str:
    return name.lower() if name.isascii() else unicodedata.normalize("NFKC", name.casefold())


def _is_storable(token: str) -> bool:
    return bool(token.strip()) and "\0" not in token and _byte_length(token) <= MAX_TOKEN_BYTES


def _byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def _quoted(term: str) -> str:
    escaped = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


# Addresses are recognized first so that nothing inside them is taken for a name. Their runs are
# bounded because an unbounded one would be read again from each of its characters.
_CANDIDATE = re.compile(
    r"""(?P<address> \b[a-z][a-z0-9+.-]{1,20}://\S+ | [\w.+-]{1,64}@[\w-]{1,64}[.:]\S+ )
      | `(?P<quoted>[^`\n]+)`
      | (?P<bare> (?: (?<![\w./~]) (?:~|\.\.?)?/\.? )? [\w$] (?:[\w$./\#-]|::)* (?:\(\))? )""",
    re.VERBOSE,
)
_QUOTED_NAME = re.compile(
    r"(@?(?:(?:~|\.\.?)?/)?\.?[^\W\d][\w$]*(?:(?:[./#-]|::)\.?[\w$]+)*)/?(?:\([^()]*\))?"
)
_FILE_NAME = re.compile(
    r"""Makefile|Dockerfile|Jenkinsfile|Procfile|Gemfile|Rakefile
      | \w[\w.-]*\.(?:py|pyi|ipynb|ts|tsx|mts|cts|js|jsx|mjs|cjs|vue|svelte|go|rs|java|kt|kts|scala
        |rb|php|cs|c|h|cc|cpp|hpp|swift|sh|bash|zsh|sql|scm|html|css|scss|less|json|jsonl|yaml|yml
        |toml|ini|cfg|conf|env|lock|md|rst|txt|csv|xml|proto|graphql|tf|service|socket)""",
    re.VERBOSE,
)
_DOTTED = re.compile(r"[^\W\d][\w$]+(?:\.[^\W\d][\w$]+)+")
_DOMAIN = re.compile(r"[\w.-]+\.(?:com|org|net)")
_SCOPED = re.compile(r"[^\W\d]\w*(?:::\w+)+")
_CALL = re.compile(r"([^\W\d][\w$]+(?:(?:\.|::)[\w$]+)*)\(\)")
_EXTENSION = re.compile(r"\w\.[a-z]\w{0,9}")
_SHORTEST_CAMEL = 4  # not PhD, not iOS


def _names(text: str) -> Iterator[str]:
    for match in _CANDIDATE.finditer(text):
        if quoted := match["quoted"]:
            yield from _quoted_names(quoted.strip())
        elif bare := match["bare"]:
            yield from _bare_names(bare)


def _quoted_names(quoted: str) -> Iterator[str]:
    name = _QUOTED_NAME.fullmatch(quoted)
    if name and not _NUMERIC.fullmatch(quoted[:_LONGEST_CACHED]):
        yield from name[1].split("#")
    else:
        yield from _names(quoted)


def _bare_names(bare: str) -> Iterator[str]:
    """Yield what a run of characters names: itself, a path with its local name, or pieces."""
    if bare.isalpha() and bare.islower():
        return  # most of every text: a plain word is no name of code
    if call := _CALL.fullmatch(bare):
        yield call[1]
        return
    whole, _, local = bare.removesuffix("()").partition("#")
    if _is_path(whole.rstrip(".-")) and local:
        yield from (whole, local.rstrip(".-/"))
        return
    for name in (whole, local):
        yield from _whole_or_pieces(name.rstrip(".-"))


def _whole_or_pieces(name: str) -> Iterator[str]:
    if _is_path(name):
        yield name.removeprefix("./").rstrip("/")
    elif _FILE_NAME.fullmatch(name) or _is_dotted(name) or _SCOPED.fullmatch(name):
        yield name
    else:
        yield from (piece for piece in re.split(r"[/.-]|::", name) if _is_word_of_code(piece))


def _is_path(name: str) -> bool:
    """Tell a path from words with a slash between them.

    One slash is not enough (`and/or`, `TCP/IP`) unless the end is a file name or a part is in
    snake case. Three plain words with slashes are taken for a path, which is sometimes wrong.
    """
    segments = [segment for segment in name.split("/") if segment]
    if "/" not in name or not all(
        re.search(r"[^\W\d]|^(?:~|\.\.?)$", segment) for segment in segments
    ):
        return False
    if name.startswith(("/", "./", "../", "~/")):
        return len(name) > len("/a")
    if len(segments) == 1:
        return len(segments[0]) > 1
    if _EXTENSION.search(segments[-1]) or any(_is_snake(segment) for segment in segments):
        return True
    return len(segments) > len("ab") and all(len(segment) > 1 for segment in segments)


def _is_dotted(name: str) -> bool:
    return bool(_DOTTED.fullmatch(name)) and not _DOMAIN.fullmatch(name)


def _is_word_of_code(word: str) -> bool:
    return _is_snake(word) or _is_camel(word)


def _is_snake(word: str) -> bool:
    """Tell snake case and `__dunder__` from prose; `_this_` is Markdown's emphasis."""
    is_dunder = re.fullmatch(r"__[a-z]+__", word)
    is_joined = "_" in word.strip("_") and re.search(r"[^\W\d_]", word)
    return bool(is_dunder or is_joined)


def _is_camel(word: str) -> bool:
    if len(word) < _SHORTEST_CAMEL or not (re.search("[a-z]", word) and re.search("[A-Z]", word)):
        return False
    return sum(part.isalpha() for part in _parts(word)) > 1
