"""Who wrote a commit: a person, or a program that commits by itself."""

import re

_BOT = re.compile(
    r"\[bot\]|(?:^|[\s_-])bot$|\bbot\)$"
    r"|^(?:dependabot|renovate|greenkeeper|snyk|imgbot|mergify|allcontributors|github-actions"
    r"|gitlab-bot|pre-commit-ci|pyup|weblate|transifex|semantic-release|codecov|netlify)\b",
    re.IGNORECASE,
)
_BOT_ADDRESS = re.compile(
    r"\[bot\]@|^(?:bot|actions?|noreply|no-reply)@(?!users\.noreply\.github\.com)|-bot@"
    r"|@(?:renovateapp|dependabot|greenkeeper)\.",
    re.IGNORECASE,
)
_PERSONS_ON_A_FORGE = frozenset({"noreply@github.com"})  # who edits in the browser


def is_bot(*, name: str, email: str) -> bool:
    """Tell whether a name and an address are those of a program."""
    if email in _PERSONS_ON_A_FORGE:
        return bool(_BOT.search(name))
    return bool(_BOT.search(name) or _BOT_ADDRESS.search(email))
