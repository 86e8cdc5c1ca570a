"""Remarks as machines read them: SARIF 2.1.0 (OASIS, 2020) and GitLab's Code Quality. Pure.

What was dismissed is suppressed in SARIF, which knows that, and left out of Code Quality.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from indexing.remarks import Dismissal, Level, Remark, RemarkKind

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_WHOLE_FILE: Final = 1  # GitHub and GitLab show nothing without a line
_RULES: Final[Mapping[RemarkKind, str]] = {
    RemarkKind.MISSING: "A file that such a change usually includes is left as it is.",
    RemarkKind.DEPENDENTS: "What changed is used elsewhere as it was before.",
    RemarkKind.DECISION: "What the team decided may be contradicted.",
}
_SARIF_LEVELS: Final = {Level.WARNING: "warning", Level.NOTICE: "note"}
_SEVERITIES: Final = {Level.WARNING: "minor", Level.NOTICE: "info"}


def sarif_of(
    remarks: Sequence[Remark], dismissals: Mapping[str, Dismissal], *, version: str
) -> dict[str, Any]:
    """Return a SARIF log with one run; a fingerprint is a remark's key, the same over pushes."""
    rules = list(_RULES)
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "codemem",
                        "version": version,
                        "rules": [
                            {"id": rule, "shortDescription": {"text": text}}
                            for rule, text in _RULES.items()
                        ],
                    }
                },
                "automationDetails": {"id": "codemem/review/"},
                "columnKind": "unicodeCodePoints",
                "results": [_result(one, rules, dismissals.get(one.key)) for one in remarks],
            }
        ],
    }


def code_quality_of(
    remarks: Sequence[Remark], dismissals: Mapping[str, Dismissal]
) -> list[dict[str, Any]]:
    """Return a Code Quality report, whose fingerprints hold no line either."""
    return [
        {
            "description": one.message,
            "check_name": f"codemem/{one.kind}",
            "fingerprint": one.key,
            "severity": _SEVERITIES[one.level],
            "location": {"path": one.path, "lines": {"begin": one.line or _WHOLE_FILE}},
        }
        for one in remarks
        if one.key not in dismissals
    ]


def _result(remark: Remark, rules: list[RemarkKind], dismissal: Dismissal | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": remark.kind,
        "ruleIndex": rules.index(remark.kind),
        "level": _SARIF_LEVELS[remark.level],
        "message": {"text": remark.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _address(remark.path)},
                    "region": {"startLine": remark.line or _WHOLE_FILE},
                }
            }
        ],
        "partialFingerprints": {"codememRemark/v1": remark.key},
    }
    if remark.probability is not None:
        result["rank"] = round(100 * remark.probability, 1)
    if dismissal is not None:
        suppression: dict[str, str] = {"kind": "external"}
        if dismissal.reason:
            suppression["justification"] = dismissal.reason
        result["suppressions"] = [suppression]
    return result


def _address(path: str) -> str:
    """Return a path as a relative reference: a colon in it would read as a scheme."""
    return quote(path.encode("utf-8", "surrogatepass"), safe="/")
