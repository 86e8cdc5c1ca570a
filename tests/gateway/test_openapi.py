"""The OpenAPI document: valid, whole, and without a warning from either half."""

import json
import re
from typing import Any

import pytest
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.validation import validate_schema

import codemem.urls  # noqa: F401  the routes to document
from codemem.gateway import openapi, tool
from codemem.gateway.openapi import DocumentsCollide


@pytest.fixture(scope="module")
def document():
    openapi.merged.cache_clear()
    with GENERATOR_STATS.silence():
        merged = openapi.merged()
    assert not GENERATOR_STATS._warn_cache
    assert not GENERATOR_STATS._error_cache
    return merged


def operations(document: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {
        (method, path): operation
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }


def test_the_document_is_valid_openapi_3_1(document):
    assert document["openapi"] == "3.1.0"
    validate_schema(document)


def test_every_reference_leads_somewhere(document):
    text = json.dumps(document)
    for path in set(re.findall(r'"\$ref": "#/([^"]+)"', text)):
        place = document
        for part in path.split("/"):
            assert part in place, path
            place = place[part]
    assert "$defs" not in text


def test_every_operation_has_a_name_of_its_own(document):
    names = [operation["operationId"] for operation in operations(document).values()]

    assert len(names) == len(set(names))


def test_every_tool_is_documented_with_its_schema(document):
    for name, item in tool.registry().items():
        operation = operations(document)["post", f"/api/v1/tools/{name}"]
        assert operation["description"] == item.description
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        shown = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        assert shown["properties"].keys() == item.input_schema["properties"].keys()
        assert shown.get("required") == item.input_schema.get("required")
        assert "content" in operation["responses"]["200"]


def test_every_operation_says_how_errors_look(document):
    for address, operation in operations(document).items():
        default = operation["responses"]["default"]["content"]["application/json"]["schema"]
        assert default == {"$ref": "#/components/schemas/ErrorView"}, address


def test_every_resource_takes_a_token(document):
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    for (_, path), operation in operations(document).items():
        wanted = operation.get("security", document["security"])
        assert {"bearer": []} in wanted, path


def test_paths_have_typed_parameters(document):
    (parameter,) = operations(document)["get", "/api/tokens/{id}"]["parameters"]

    assert parameter["schema"] == {"type": "string", "format": "uuid"}


def test_filters_carry_the_words_of_the_wire(document):
    parameters = operations(document)["get", "/api/memories"]["parameters"]

    assert {parameter["name"] for parameter in parameters} == {
        "author", "cursor", "namespace", "page_size", "repository", "type",
    }  # fmt: skip


def test_a_name_with_two_meanings_is_refused():
    same = {"Name": {"type": "string"}}

    assert openapi._union("component", same, {**same, "Other": {}}) == {**same, "Other": {}}
    with pytest.raises(DocumentsCollide, match="differently: component Name"):
        openapi._union("component", same, {"Name": {"type": "integer"}})


def test_the_document_and_its_page_are_open_to_all(client, document):
    assert client.get("/api/openapi.json").json() == document
    page = client.get("/api/docs").content.decode()
    assert "<code>POST /api/v1/tools/recall</code>" in page
    assert "<script" not in page
