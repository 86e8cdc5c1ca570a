"""What SARIF 2.1.0 asks of a log of results, as far as ours goes: sections 3.13 to 3.35 of it.

By hand, for no package that we could lock carries the schema. Every object may hold only what the
standard names for it, so that a key that is misspelt or out of its place is noticed.
"""

import re
from collections.abc import Mapping
from typing import Any

_LEVELS = {"none", "note", "warning", "error"}
_URI = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?#-]|%[0-9A-Fa-f]{2})*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def check_log(log: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Assert that this is a valid log; return the results of its runs."""
    _only(log, required={"version", "runs"}, optional={"$schema"})
    assert log["version"] == "2.1.0"
    assert str(log.get("$schema", "https://")).startswith("https://")
    found = []
    for run in log["runs"]:
        _only(run, required={"tool"}, optional={"results", "columnKind", "automationDetails"})
        _only(run.get("automationDetails", {}), optional={"id", "guid", "description"})
        assert run.get("columnKind", "unicodeCodePoints") in {
            "utf16CodeUnits",
            "unicodeCodePoints",
        }
        rules = _rules(run["tool"])
        for result in run.get("results", []):
            _check_result(result, rules)
            found.append(result)
    return found


def _rules(tool: Mapping[str, Any]) -> list[str]:
    _only(tool, required={"driver"})
    driver = tool["driver"]
    _only(
        driver,
        required={"name"},
        optional={"version", "semanticVersion", "informationUri", "rules"},
    )
    assert isinstance(driver["name"], str)
    rules = driver.get("rules", [])
    for rule in rules:
        _only(
            rule,
            required={"id"},
            optional={"name", "shortDescription", "fullDescription", "help", "helpUri"}
            | {"defaultConfiguration"},
        )
        for text in ("shortDescription", "fullDescription", "help"):
            if text in rule:
                _check_message(rule[text])
        if "defaultConfiguration" in rule:
            _only(rule["defaultConfiguration"], optional={"enabled", "level", "rank"})
    ids = [rule["id"] for rule in rules]
    assert len(set(ids)) == len(ids)
    return ids


def _check_result(result: Mapping[str, Any], rules: list[str]) -> None:
    _only(
        result,
        required={"message"},
        optional={"ruleId", "ruleIndex", "level", "locations", "rank", "suppressions"}
        | {"fingerprints", "partialFingerprints", "properties"},
    )
    _check_message(result["message"])
    assert result.get("level", "warning") in _LEVELS
    assert result["ruleId"] in rules
    if "ruleIndex" in result:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    if "rank" in result:
        assert 0 <= result["rank"] <= 100
    for name in ("fingerprints", "partialFingerprints"):
        for key, value in result.get(name, {}).items():
            assert isinstance(key, str)
            assert isinstance(value, str)
    for location in result.get("locations", []):
        _check_location(location)
    for suppression in result.get("suppressions", []):
        _only(suppression, required={"kind"}, optional={"status", "justification"})
        assert suppression["kind"] in {"inSource", "external"}
        assert suppression.get("status", "accepted") in {"accepted", "underReview", "rejected"}
        assert isinstance(suppression.get("justification", ""), str)


def _check_location(location: Mapping[str, Any]) -> None:
    _only(location, required={"physicalLocation"})
    place = location["physicalLocation"]
    _only(place, required={"artifactLocation"}, optional={"region"})
    artifact = place["artifactLocation"]
    _only(artifact, required={"uri"}, optional={"uriBaseId", "index"})
    uri = artifact["uri"]
    # A relative reference: a colon in its first part would be a scheme, two slashes a host.
    assert _URI.fullmatch(uri), uri
    assert not _SCHEME.match(uri), uri
    assert not uri.startswith("//"), uri
    region = place.get("region", {})
    _only(region, optional={"startLine", "endLine", "startColumn", "endColumn"})
    for value in region.values():
        assert isinstance(value, int)
        assert value >= 1


def _check_message(message: Mapping[str, Any]) -> None:
    _only(message, optional={"text", "markdown", "id", "arguments"})
    assert message.get("text") or message.get("id")


def _only(
    found: Mapping[str, Any],
    *,
    required: set[str] = frozenset(),  # type: ignore[assignment]
    optional: set[str] = frozenset(),  # type: ignore[assignment]
) -> None:
    assert isinstance(found, Mapping), found
    assert required <= set(found) <= required | optional, set(found)
