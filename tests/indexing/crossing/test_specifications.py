"""OpenAPI and AsyncAPI documents, well-formed, odd and hostile."""

import json
from textwrap import dedent

import pytest

from indexing.crossing.specifications import (
    Channel,
    may_be_specification,
    read_specification,
    specification_traffic,
)


def _read(text: str, path: str = "openapi.yaml"):
    return read_specification(path, dedent(text).encode())


def test_openapi_3_has_servers_references_and_lines() -> None:
    found = _read(
        """\
        openapi: 3.1.0
        servers:
          - url: https://{host}/api/{version}
            variables: {host: {default: example.org}, version: {default: v2}}
        paths:
          /orders/{orderId}:
            parameters: []
            get: {operationId: show}
            delete: {}
          /shared:
            $ref: '#/components/pathItems/shared'
          x-internal: {}
        components:
          pathItems:
            shared: {post: {operationId: share}}
        """
    )
    assert [(one.method, one.path, one.name, one.line) for one in found.operations] == [
        ("GET", "/api/v2/orders/{orderId}", "show", 6),
        ("DELETE", "/api/v2/orders/{orderId}", "", 6),
        ("POST", "/api/v2/shared", "share", 10),
    ]


def test_swagger_2_has_a_base_path() -> None:
    text = json.dumps({"swagger": "2.0", "basePath": "/v1", "paths": {"/pets": {"get": {}}}})
    (only,) = read_specification("swagger.json", text.encode()).operations
    assert (only.method, only.path) == ("GET", "/v1/pets")


def test_asyncapi_2_publish_means_that_the_application_subscribes() -> None:
    found = _read(
        """
        asyncapi: 2.6.0
        servers: {production: {url: broker, protocol: kafka}}
        channels:
          orders.placed: {publish: {}}
          orders.shipped: {subscribe: {}, bindings: {amqp: {}}}
        """
    )
    assert [one[:3] for one in found.channels] == [
        ("kafka", "orders.placed", False),
        ("rabbitmq", "orders.shipped", True),
    ]


def test_asyncapi_3_says_send_and_receive() -> None:
    found = _read(
        """
        asyncapi: 3.0.0
        servers: {main: {host: broker, protocol: nats}}
        channels:
          placed: {address: orders.placed}
        operations:
          tell: {action: send, channel: {$ref: '#/channels/placed'}}
          hear: {action: receive, channel: {$ref: '#/channels/placed'}}
        """
    )
    assert [one[:3] for one in found.channels] == [
        ("nats", "orders.placed", True),
        ("nats", "orders.placed", False),
    ]
    assert isinstance(found.channels[0], Channel)


def test_a_document_becomes_traffic_of_its_repository() -> None:
    traffic = specification_traffic("openapi.yaml", b"openapi: 3.0.0\npaths: {/x: {get: {}}}\n")
    (route,) = traffic.routes
    assert (route.framework, route.methods, route.path.text) == ("openapi", ("GET",), "/x")


@pytest.mark.parametrize(
    "text",
    [
        "openapi: 3.0.0\npaths: &p {/x: {get: {}}}\nmore: [*p, *p]\n",
        "openapi: !!python/object/apply:os.system ['true']\n",
        "openapi: 3.0.0\npaths: {/x: {$ref: '#/paths/~1x'}}\n",
        "openapi: 3.0.0\npaths: {/x: {$ref: 'http://elsewhere/x'}}\n",
        "openapi: 3.0.0\npaths: [1, 2]\nservers: 7\n",
        "openapi: 3.0.0\nservers: [{url: 'http://[::1/x'}]\npaths: {5: 6, /y: [7]}\n",
        "asyncapi: 2.0.0\nchannels: [1]\nservers: []\n",
        "asyncapi: 3.0.0\noperations: {a: {channel: {$ref: '#/nowhere'}, action: 3}}\n",
        "openapi: " + "[" * 500,
        "\0\0\0",
        "just text",
        "",
    ],
    ids=["alias", "tag", "circle", "elsewhere", "types", "url", "channels", "operations", "deep",
         "binary", "text", "empty"],
)  # fmt: skip
def test_hostile_documents_say_nothing_and_harm_nobody(text: str) -> None:
    found = _read(text)
    assert (found.operations, found.channels) == ((), ())


def test_documents_are_known_by_their_names() -> None:
    assert all(
        map(
            may_be_specification,
            ("api/openapi.yaml", "swagger.json", "docs/orders-openapi.yml", "asyncapi.yaml"),
        )
    )
    assert not any(map(may_be_specification, ("openapi.py", "compose.yaml", "package.json")))
