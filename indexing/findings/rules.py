"""Every rule with its meaning and its threshold, as one table.

A threshold is where the measured distribution of well-kept repositories ends, or what a named
source says; each row says which.
"""

from dataclasses import dataclass
from typing import Final

from indexing.findings.values import Severity

RULES_VERSION: Final = 2
"""Raise when the same content would give other findings: every file is then analyzed again."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `threshold` is in the unit that the description names, 0 where there is none."""

    id: str
    severity: Severity
    description: str
    threshold: float = 0.0


_TABLE: Final = (
    # --- Complexity and smells (a function, class or file is looked at by itself) ---
    Rule(
        "complexity.cognitive",
        Severity.MEDIUM,
        (
            "Cognitive complexity above {}: hard to follow (Sonar's default is 15; "
            "25 is the 98th percentile of Django's functions)."
        ),
        25,
    ),
    Rule(
        "complexity.cyclomatic",
        Severity.MEDIUM,
        "More than {} independent paths (McCabe's 'untestable' region begins at 20).",
        20,
    ),
    Rule("smell.long-function", Severity.LOW, "A function of more than {} lines of code.", 100),
    Rule(
        "smell.many-parameters",
        Severity.LOW,
        "More than {} parameters that every caller has to fill.",
        7,
    ),
    Rule("smell.deep-nesting", Severity.LOW, "Control flow nested more than {} levels deep.", 5),
    Rule("smell.large-file", Severity.LOW, "A file of more than {} lines.", 1500),
    Rule(
        "smell.god-class",
        Severity.MEDIUM,
        "A class with more than {} methods and more than 500 lines.",
        30,
    ),
    # --- Security (what the text of one file says) ---
    Rule("security.eval", Severity.HIGH, "Runs a text that is not a constant as code."),
    Rule(
        "security.shell-injection", Severity.HIGH, "Hands a text that is not a constant to a shell."
    ),
    Rule(
        "security.sql-injection",
        Severity.MEDIUM,
        "Puts values into SQL by formatting or concatenation instead of parameters.",
    ),
    Rule(
        "security.weak-hash",
        Severity.LOW,
        "Uses MD5 or SHA-1 where it is not said that security does not matter.",
    ),
    Rule(
        "security.hard-coded-credential",
        Severity.HIGH,
        (
            "A credential stands in the source: entropy of at least {} bits a "
            "character, no placeholder."
        ),
        3.0,
    ),
    Rule(
        "security.known-key",
        Severity.CRITICAL,
        "A private key, or a token in a provider's own format, stands in the source.",
    ),
    Rule(
        "security.unsafe-yaml",
        Severity.HIGH,
        "Loads YAML with a loader that makes arbitrary objects.",
    ),
    Rule(
        "security.unsafe-deserialization",
        Severity.MEDIUM,
        (
            "Reads a format that runs code when it is read (pickle, PHP or Java "
            "serialization, Marshal)."
        ),
    ),
    Rule(
        "security.tls-verification-off",
        Severity.HIGH,
        "Does not verify the other side's certificate.",
    ),
    Rule(
        "security.insecure-temporary-file",
        Severity.MEDIUM,
        "Makes a temporary file name that somebody else can take first.",
    ),
    Rule("security.debug-server", Severity.MEDIUM, "Starts a web server with its debugger."),
    Rule(
        "security.raw-html", Severity.LOW, "Puts a text that is not a constant into a page as HTML."
    ),
    Rule("security.unsafe-block", Severity.LOW, "An unsafe block without a SAFETY comment."),
    # --- History (recent commits) ---
    Rule(
        "risk.hot-and-complex",
        Severity.MEDIUM,
        (
            "Both the churn and the complexity of the file are above the {} "
            "percentile of the repository."
        ),
        0.95,
    ),
    Rule(
        "ownership.single-author",
        Severity.INFO,
        "More than {} of a much used file's lines are one person's.",
        0.9,
    ),
    # --- The graph ---
    Rule(
        "tests.untested",
        Severity.LOW,
        "A public function with more than {} paths that no test reaches.",
        5,
    ),
    Rule(
        "docs.undocumented-api",
        Severity.INFO,
        "Fewer than {} of a file's public symbols (10 or more) are documented.",
        0.2,
    ),
    Rule(
        "dead-code.unused-symbol",
        Severity.LOW,
        "Nothing in the repository uses it, and its name is written nowhere else.",
    ),
)

RULES: Final = {rule.id: rule for rule in _TABLE}


def threshold(rule: str) -> float:
    return RULES[rule].threshold


def severity(rule: str) -> Severity:
    return RULES[rule].severity


def described(rule: str) -> str:
    """Return the sentence of a rule with its threshold in it."""
    found = RULES[rule]
    return found.description.format(f"{found.threshold:g}")


METRICS: Final = {
    "lines": "Lines of the file.",
    "functions": "Functions and methods.",
    "public_symbols": "Public functions, methods and types.",
    "documented_symbols": "Those of them with documentation.",
    "cyclomatic": "Independent paths, summed over the functions.",
    "cognitive": "Cognitive complexity, summed over the functions.",
    "recent_commits": "Commits of the last year that changed the file.",
    "recent_churn": "Lines that they added and removed.",
    "recent_authors": "People who made them.",
    "hot_and_complex": "The smaller percentile of churn and complexity, 0 to 1.",
    "authors": "People whose lines are there now.",
    "bus_factor": "How few people wrote half of the lines.",
    "owner_share": "Share of the lines that the first author wrote, 0 to 1.",
    "dependents": "Other files that use it.",
    "change_impact": "Other files within two steps of using it.",
    "tested_symbols": "Public symbols that a test reaches.",
    "tested_share": "Of the repository: share of public symbols that a test reaches.",
}
