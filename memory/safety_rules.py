"""The one table of what must not be kept as it came: secrets, and orders to whoever reads them.

Each rule has a name (what the reply calls it), a sentence, a pattern, and where a pattern cannot
tell a secret from a name or a placeholder, a second look. `cues` are words of which a text has at
least one wherever the pattern matches: most texts have none, and cost one search each.

Chosen on the commit messages and documents of real repositories: `tests/bench/redaction.py` counts
per rule what each takes out of them. Pure: knows nothing of rows or settings.
"""

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

Look = Callable[[re.Match[str]], bool]


def _always(_match: re.Match[str]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class SecretRule:
    """A shape that secrets have. What is replaced is the group `secret`."""

    name: str
    what: str
    cues: tuple[str, ...]
    pattern: re.Pattern[str]
    is_one: Look = _always


@dataclass(frozen=True, slots=True)
class OrderRule:
    """A way in which a text orders an agent about, instead of telling it something."""

    name: str
    what: str
    pattern: re.Pattern[str]


# --- Second looks ---------------------------------------------------------------------------------
_PLACEHOLDER = re.compile(
    r"""x{3,} | \*{3,} | \.{3,} | \u2026 | ^<.*>$ | ^\[.*\]$ | ^%.*%$ | [{}()$] | ^@
      | example | sample | placeholder | change.?me | replace | redacted | dummy | fake | foobar
      | your[-_ ]?|^my[-_]? | ^(?:abc|123|012|qwerty|test|foo|bar|none|null|true|false|undefined)
      | ^(?:pass(?:word|wd|phrase)?|pw|pwd|secret|token|user(?:name)?|admin|root|guest|postgres)\W?$
      | ^(?:key|apikey|api[-_]key|credentials?|insecure|unsafe|default|hidden|env|config)$""",
    re.VERBOSE | re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_HEX = re.compile(r"[0-9a-fA-F]+")
_CLASSES = re.compile(r"[a-z]+|[A-Z]+|\d+|[^a-zA-Z\d]+")

_SHORTEST_RANDOM = 8
_LONG = 16
_SHORTEST_HEX = 24
_FEWEST_TURNS = 4
_FEWEST_BITS_OF_LONG = 3.0
_FEWEST_BITS = 2.5
_MOST_IN_WORDS = 0.65
_SHORTEST_WORD = 3
_FEWEST_KINDS = 2


def _is_real(match: re.Match[str]) -> bool:
    """Tell a secret from what stands in its place in documents."""
    return not _PLACEHOLDER.search(match["secret"])


def _is_random(match: re.Match[str]) -> bool:
    return looks_random(match["secret"])


def looks_random(value: str) -> bool:
    """Tell what a machine drew from names, words, versions and code.

    It has letters and digits that take turns, more bits than words have, and no words that make up
    most of it.
    """
    if len(value) < _SHORTEST_RANDOM or _PLACEHOLDER.search(value):
        return False
    if not (re.search(r"\d", value) and re.search(r"[A-Za-z]", value)):
        return False
    if _HEX.fullmatch(value):
        return len(value) >= _SHORTEST_HEX and _bits(value) >= _FEWEST_BITS
    in_words = sum(len(word) for word in _WORDS.findall(value) if len(word) >= _SHORTEST_WORD)
    if in_words > _MOST_IN_WORDS * len(value):
        return False
    turns = len(_CLASSES.findall(value))
    fewest_bits = _FEWEST_BITS_OF_LONG if len(value) >= _LONG else _FEWEST_BITS
    return turns >= _FEWEST_TURNS and _bits(value) >= fewest_bits


def _is_password(match: re.Match[str]) -> bool:
    """Tell a password that a person thought of from a word, a name or a piece of code."""
    value = match["secret"]
    if _PLACEHOLDER.search(value) or value.isalpha() or value.isdigit():
        return False
    kinds = sum(
        bool(re.search(kind, value)) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w\s.,:/\\-]")
    )
    is_code = re.fullmatch(
        r"[\w.:/\\-]*\.[\w./:\\-]*|[a-zA-Z_][\w.]*[\[(].*|[a-z]+(?:[_-][a-z0-9]+)+|--?[\w-]+", value
    )
    return kinds >= _FEWEST_KINDS and not is_code


def _has_mixed_signs(match: re.Match[str]) -> bool:
    """Tell a token behind `sk-` from the names of style sheets and packages."""
    body = match["secret"]
    if _PLACEHOLDER.search(body):
        return False
    return bool(re.search(r"\d", body) and re.search(r"[A-Za-z]", body)) and looks_random(
        body.rpartition("-")[2] if "-" in body[3:] else body[3:]
    )


def _is_json_web_token(match: re.Match[str]) -> bool:
    """Decode the header, which names its algorithm; documents shorten theirs."""
    head = match["secret"].partition(".")[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, binascii.Error):
        return False
    return isinstance(header, dict) and bool({"alg", "enc"} & header.keys())


def _is_url_password(match: re.Match[str]) -> bool:
    """Tell a password from what tutorials write, and from the default of a container."""
    value, user = match["secret"], match["user"]
    is_name = re.fullmatch(r"(?i)[a-z_-]*(?:key|secret|token|passw(?:or)?d)", value)
    return value.lower() != user.lower() and _is_real(match) and not value.isdigit() and not is_name


def _is_basic(match: re.Match[str]) -> bool:
    """Tell credentials from words behind `Authorization:`: Basic ones decode to user:password."""
    value = match["secret"]
    if _PLACEHOLDER.search(value):
        return False
    if match["scheme"].lower() != "basic":
        return looks_random(value)
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (ValueError, binascii.Error):
        return False


def _bits(value: str) -> float:
    """Return Shannon's entropy of the characters, in bits for each."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def _rule(name: str, what: str, cues: str, pattern: str, is_one: Look = _always) -> SecretRule:
    return SecretRule(name, what, tuple(cues.split()), re.compile(pattern, re.VERBOSE), is_one)


# --- Secrets --------------------------------------------------------------------------------------
# In this order: what one rule has replaced, the next does not see.
SECRETS: tuple[SecretRule, ...] = (
    _rule(
        "private-key",
        "a private key in PEM or OpenPGP form",
        "-----begin",
        r"""(?P<secret>-----BEGIN\ (?:[A-Z0-9]{1,20}\ ){0,4}PRIVATE\ KEY(?:\ BLOCK)?-----
          (?:[^-]{40,16000}-----END\ [A-Z0-9\ ]{0,60}-----|[A-Za-z0-9+/=\s\\:,-]{40,16000}))""",
    ),
    _rule(
        "aws-key-id",
        "the id of an AWS access key",
        "akia asia abia acca",
        r"\b(?P<secret>(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b",
        _is_real,
    ),
    _rule(
        "aws-secret",
        "an AWS secret access key",
        "aws",
        r"""(?i:aws)[\w.\ -]{0,30}(?i:secret|key)[\w.\ -]{0,30}["']?\s{0,3}(?:[:=]|=>)\s{0,3}["']?
          (?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])""",
        _is_random,
    ),
    _rule(
        "github-token",
        "a token of GitHub",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"\b(?P<secret>gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{40,255})\b",
        _is_real,
    ),
    _rule(
        "gitlab-token",
        "a token of GitLab",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- gloas- glagent-",
        r"\b(?P<secret>gl(?:pat|dt|rt|cbt|ptt|ft|soat|oas|agent)-[\w-]{20,200})",
        _is_real,
    ),
    _rule(
        "slack-token",
        "a token of Slack",
        "xoxb- xoxa- xoxp- xoxe- xoxo- xoxr- xoxs- xapp-",
        r"\b(?P<secret>(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,250})",
        _is_random,
    ),
    _rule(
        "webhook-url",
        "an address that lets anybody post as a team",
        "hooks.slack.com /api/webhooks/",
        r"""(?P<secret>https://hooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{20,200}
          |https://(?:\w{1,20}\.)?discord(?:app)?\.com/api/webhooks/\d{10,25}/[\w-]{30,100})""",
        _is_real,
    ),
    _rule(
        "google-key",
        "a key or token of Google",
        "aiza ya29. gocspx-",
        r"\b(?P<secret>AIza[\w-]{35}|ya29\.[\w-]{20,400}|GOCSPX-[\w-]{28})",
        _is_real,
    ),
    _rule(
        "ai-key",
        "a key of Anthropic, OpenAI or another that writes them the same way",
        "sk-",
        r"(?<![\w-])(?P<secret>sk-[A-Za-z0-9_-]{20,250})",
        _has_mixed_signs,
    ),
    _rule(
        "stripe-key",
        "a key of Stripe",
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        r"\b(?P<secret>[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9+/=]{24,100})",
        _is_real,
    ),
    _rule(
        "registry-token",
        "a token that publishes packages (npm, PyPI, RubyGems, crates.io, Docker, NuGet)",
        "npm_ pypi- rubygems_ cio dckr_ oy2",
        r"""\b(?P<secret>npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,300}|rubygems_[0-9a-f]{48}
          |cio[A-Za-z0-9]{32}|dckr_(?:pat|oat)_[\w-]{27,64}|oy2[a-z0-9]{43})(?![\w-])""",
        _is_real,
    ),
    _rule(
        "codemem-token",
        "a token of this server",
        "cm_",
        r"\b(?P<secret>cm_[A-Za-z0-9_-]{30,100})",
        _is_random,
    ),
    _rule(
        "service-token",
        "a token of another well-known service",
        "hf_ sg. hvs. shpat_ shpca_ shppa_ shpss_ dop_v1_ doo_v1_ dapi lin_api_ age-secret-key :aa",
        r"""\b(?P<secret>hf_[A-Za-z]{34}|SG\.[\w-]{16,32}\.[\w-]{16,64}|hvs\.[\w-]{24,200}
          |shp(?:at|ca|pa|ss)_[a-f0-9]{32}|do[opr]_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}
          |lin_api_[A-Za-z0-9]{40}|AGE-SECRET-KEY-1[0-9A-Z]{58}|\d{8,10}:AA[\w-]{33})(?![\w-])""",
        _is_real,
    ),
    _rule(
        "json-web-token",
        "a signed token (JWT)",
        "eyj",
        r"\b(?P<secret>eyJ[\w-]{8,2000}\.(?:eyJ)?[\w-]{4,8000}\.[\w-]{8,2000}(?:\.[\w-]{1,2000}){0,2})",
        _is_json_web_token,
    ),
    _rule(
        "authorization",
        "the credentials of an Authorization header",
        "authorization bearer basic token apikey",
        r"""(?:(?i:authorization)["']?\s{0,3}[:=]\s{0,3}["'`]?\s{0,3}|\b(?=[Bb]earer|BEARER))
          (?P<scheme>(?i:bearer|basic|token|apikey))\s{1,3}(?P<secret>[\w.~+/=-]{8,4000})""",
        _is_basic,
    ),
    _rule(
        "url-password",
        "a password in an address",
        "://",
        r"""\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://(?P<user>[^\s/@:'"`<>]{0,100}):
          (?P<secret>[^\s/@'"`<>]{3,200})@[\w\[.-]""",
        _is_url_password,
    ),
    _rule(
        "connection-string",
        "the password or key of a connection string",
        "password= pwd= accountkey= sharedaccesskey= sharedaccesssignature=",
        r"""(?:;|["'\s])\s?(?i:password|pwd|accountkey|sharedaccesskey|sharedaccesssignature)\s?=\s?
          (?P<secret>[^;\s"']{6,400})(?=;|["']\s*$|["']\s*[,)\]}\n]|$)""",
        _is_password,
    ),
    _rule(
        "password-assignment",
        "a password that is set",
        "passw pwd passphrase",
        r"""(?i:\b[\w.-]{0,60}(?:passw(?:or)?d|passphrase|pwd))["']?\s{0,3}(?:=|:=|=>|:\s|:(?=["']))
          \s{0,3}(?P<quote>["'`]?)(?P<secret>[^\s"'`,;]{6,200})(?P=quote)(?=[\s"'`,;)}\]]|$)""",
        _is_password,
    ),
    _rule(
        "secret-assignment",
        "a key, token or secret that is set",
        "key token secret credential auth",
        r"""(?i:\b[\w.-]{0,60}(?:(?:api[_-]?key|secret|token|credential)\w{0,20}
          |(?:access|private|encryption|account|signing|auth)[_-]?key|[a-z0-9]_key|_auth))["']?
          \s{0,3}(?:=|:=|=>|:)\s{0,3}["'`]?(?P<secret>[\w+/=.~!@\#^*-]{12,400})""",
        _is_random,
    ),
)

# --- Orders ---------------------------------------------------------------------------------------
_OLD = r"(?:previous|prior|above|earlier|preceding|former|foregoing)"
_ORDERS = r"(?:instructions?|prompts?|directions?|directives?|guidelines?|guidance|orders?)"
_CREDENTIALS = (
    r"(?:\$\{?\w*(?:KEY|TOKEN|SECRET|PASSW|CREDENTIAL)\w*|\$\((?:env|printenv)\b|`(?:env|printenv)\b|/etc/(?:passwd|shadow)"
    r"|\.ssh/|id_(?:rsa|ed25519|ecdsa)\b|\.aws/|\.netrc\b|\.git-credentials|\.env\b|\.npmrc|\.pypirc"
    r"|\.kube/config|\bprintenv\b)"
)


def _order(name: str, what: str, pattern: str) -> OrderRule:
    return OrderRule(name, what, re.compile(pattern, re.VERBOSE | re.IGNORECASE))


ORDERS: tuple[OrderRule, ...] = (
    _order(
        "ignore-previous",
        "it says to ignore what was said before",
        rf"""\b(?:ignore|disregard|forget|overlook|discard|dismiss|bypass|override)\s+
          (?:(?:all|any|every|everything|the|your|these|those|my|its|of)\s+){{0,4}}
          (?:{_OLD}\s+(?:system\s+|user\s+)?(?:{_ORDERS}|rules|messages|context|conversation)
            |(?:your|system|developer)\s+(?:system\s+|own\s+|original\s+|initial\s+)?
              (?:{_ORDERS}|programming|training)
            |{_ORDERS}\s+(?:above|before|given|so\ far|you))""",
    ),
    _order(
        "role-change",
        "it gives the reader another role",
        r"""\byou\s+are\s+(?:now|no\s+longer|henceforth)\s+(?:bound|restricted|limited|claude|chatgpt
            |gpt|dan\b|an?\s+(?:[\w-]+\s+){0,3}(?:assistant|agent|ai|model|bot|hacker|jailbroken
            |unrestricted|persona)|(?:in|entering)\s+(?:\w+\s+){0,2}mode\b)
          |\b(?:from\s+now\s+on|henceforth),?\s+you\s+(?:are|will|must|shall|should)\b
          |\bpretend\s+(?:to\s+be|you\s+are|that\s+you\s+are)\b
            [^.\n]{0,40}\b(?:ai|assistant|agent|model|admin\w*|root|human|restrictions?|rules)\b
          |\bact\s+as\s+(?:if\s+you\s+(?:are|were|have)|an?\s+(?:unrestricted|uncensored|jailbroken
            |evil|malicious))""",
    ),
    _order(
        "conceal-from-user",
        "it says to hide something from the person",
        r"""\b(?:do\s+not|don'?t|never|must\s+not|should\s+not)\s+
            (?:(?:tell|inform|alert|notify|warn|let)\s+(?:the\s+|your\s+)?
              (?:user|human|developer|operator|owner|person)s?
              \s+(?:know\s+)?(?:about\s+(?:this|these|it|any|what)|that\s+you|of\s+this|anything|this)
            |(?:mention|reveal|disclose|report|acknowledge|say)\s+(?:this|these|it|any\s+of\s+this
              |that\s+you)\b[^.\n]{0,40}\b(?:to|from)\s+(?:the\s+)?(?:user|human|operator|owner))
          |\b(?:hide|conceal|keep)\s+(?:this|these|it|that|all\s+of\s+this)\s+(?:\w+\s+){0,3}from\s+
            (?:the\s+|your\s+)?(?:user|human|developer|operator|owner)s?\b
          |\bwithout\s+(?:telling|informing|alerting|notifying|mentioning\s+(?:it|this)\s+to)\s+
            (?:the\s+|your\s+)?(?:user|human|developer|operator|owner)\b""",
    ),
    _order(
        "system-override",
        "it claims the authority of the system",
        r"""\b(?:system|admin(?:istrator)?|developer|root)\s+(?:prompt\s+)?override\b
              (?!\s*(?:s|the|for|in|of|is|was|to|with|when|file|setting|config|propert|method|flag))
          |\b(?:new|updated|revised|real|actual|true)\s+(?:system\s+)?(?:instructions?|prompt|orders)\s*
              [:\uff1a](?!:)
          |\b(?:enter|enable|activate|switch\s+to)\s+(?:developer|god|dan|jailbreak|unrestricted
              |unfiltered|sudo)\s+mode\b
          |^\W{0,8}(?:important|urgent|attention)\b[^\n]{0,30}\b(?:ai|llm|agents?|assistants?|claude
              |copilot|language\s+models?)\b[^\n]{0,20}[:,]?\s*(?:you\s+must|ignore|always\s+run)""",
    ),
    _order(
        "drop-guards",
        "it says to drop rules or checks that hold for the reader",
        r"""\b(?:bypass|disable|circumvent|turn\s+off|ignore|disregard|evade|drop|forget)\s+
            (?:all\s+|any\s+)?(?:of\s+)?your\s+(?:\w+\s+){0,2}
            (?:restrictions?|safety|safeguards?|guard\s?rails?|filters?|polic(?:y|ies)|limits?
              |limitations?|rules|guidelines|ethics|permission)""",
    ),
    _order(
        "exfiltrate",
        "it sends secrets to an address",
        rf"""\b(?:curl|wget|nc|ncat|invoke-webrequest|iwr|http(?:ie)?)\b[^\n]{{0,300}}?
            (?:\s-d\s?|--data\S{{0,15}}|\s-F\s?|--form|--post-(?:data|file)|--body-data|\s-T\s
              |--upload-file|-body\b|\?[\w=&%-]{{0,80}}=|https?://[^\s/]{{0,100}}(?=\$))
            [^\n]{{0,200}}?{_CREDENTIALS}
          |(?:\bcat\s+[^\n|]{{0,80}}{_CREDENTIALS}|\b(?:printenv|env)\b)[^\n|]{{0,80}}\|\s*
            (?:base64[^\n|]{{0,40}}\|\s*)?(?:curl|wget|nc|ncat)\b
          |\b(?:send|post|upload|exfiltrate|e-?mail|transmit|leak|forward|paste)\s+
            (?:[\w'-]+\s+){{0,6}}(?:api\s+keys?|credentials|secrets|passwords|tokens|private\s+keys?
              |environment\s+variables|~/\.ssh\S*|id_rsa|\.env)\b[^.\n]{{0,60}}\bto\s+
            (?:https?://|\S+@\S+\.|\d{{1,3}}\.\d|attacker|the\s+following\s+(?:address|url))""",
    ),
    _order(
        "open-the-door",
        "it lets somebody in: a key added to a machine, or a script run from an address",
        r"""(?:echo|printf|cat)\b[^\n]{0,600}>>?\s*\S{0,60}authorized_keys\b
          |\b(?:you\s+must|always|first|agents?\s+(?:must|should)|immediately)\b[^\n]{0,60}
            \b(?:curl|wget)\b[^\n|]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b
          |\brm\s+-[rf]{2}\s+(?:--no-preserve-root\s+)?(?:/|~|\$HOME)(?:\s|$|\*)(?=[^\n]{0,60}\bnow\b)""",
    ),
    _order(
        "fake-turn",
        "it imitates the marks between what a system, a tool and a person say",
        r"""<\|(?:im_start|im_end|im_sep|system|assistant|user|endoftext|start_header_id|end_header_id
            |eot_id|begin_of_text)\|>
          |</?(?:system[-_](?:reminder|prompt|message)|function_(?:calls|results?)|tool_(?:results?|use
            |calls?|response)|antml:\w{1,30}|assistant_response|human_turn|user_(?:query|message))
            (?:\s[^>\n]{0,200})?>
          |<system>\s*(?:you|ignore|the\s+assistant|new|important)
          |\[/?INST\]|<</?SYS>>
          |(?:^|\n)\s{0,3}(?:\#{1,3}\s*)?(?:system|assistant|human)\s{0,3}:\s{0,3}(?:you\s+(?:are|must|will)
            |ignore|disregard|from\s+now\s+on|i\s+will\s+now)""",
    ),
)
