"""The words of the synthetic code base and of the memories about it: topics, verbs, sentences."""

from typing import Final

_NOUN_LINES: Final = """
    account address alert anchor archive asset audience audit backup balance banner basket batch
    billing booking branch broker budget bundle cache calendar campaign cargo carrier catalog
    channel charge checkout claim client cluster column comment commit consent contact content
    contract coupon courier credit currency customer cycle dashboard delivery deposit device digest
    discount dispatch document domain draft edition email endpoint entry estimate event export
    factor feature feed field filter folder form fraud gateway glossary grant group handler header
    history image import index inquiry insight instance inventory invoice job journal key label
    layout ledger lesson license limit listing locale location lock lookup mailbox manifest margin
    market member merchant message meter metric migration milestone model module mutation network
    notice offer option order outbox owner package page parcel partner password payment payout
    period permission plan policy portal position preview price printer product profile project
    promotion provider quota quote range rate receipt record refund region registry reminder report
    request reservation resource response return review revision role route rule sample scan
    schedule schema score scope search secret segment sensor series session setting shard share
    shipment signal signature slot snapshot source spool statement stock stream subscription summary
    supplier survey switch table task tax team template tenant term theme thread ticket timer token
    topic trace track transfer trigger unit update upload user vendor version view voucher wallet
    warehouse webhook widget window worker workflow zone
"""
_VERB_LINES: Final = """
    accept apply assign build cancel check clear close collect compare compute confirm convert count
    create decode decrypt delete deliver detect drop encode enrich escape expand expire fetch find
    flush format freeze group hash hide import index insert join limit list load lock map mark match
    merge migrate move notify open pack parse patch prune publish purge queue rank read rebuild
    reconcile refresh reject release remove rename render replace reserve resolve restore retry
    revoke rotate sample save scan schedule search seal send settle show sign sort split start stop
    store stream strip sum sync tag trace transfer trim unlock update validate verify watch wrap
"""
NOUNS: Final = tuple(_NOUN_LINES.split())
VERBS: Final = tuple(_VERB_LINES.split())
_PATTERNS: Final = (
    "{verb} the {first} of a {second} before the {third} is written.",
    "Return whether a {first} may {verb} its {second}; the {third} decides.",
    "{verb} every {first} whose {second} has no {third} yet.",
    "Tell the {first} that its {second} was changed by a {third}.",
)


def sentence(number: int) -> str:
    """Return the nth sentence about things of the imagined code base."""
    first, second, third = (NOUNS[number * step % len(NOUNS)] for step in (1, 3, 11))
    pattern = _PATTERNS[number % len(_PATTERNS)]
    text = pattern.format(verb=VERBS[number % len(VERBS)], first=first, second=second, third=third)
    return text[0].upper() + text[1:]
