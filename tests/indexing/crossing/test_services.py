"""The pass after a push: rows, edges in AGE, siblings, and that nothing is written twice."""

from pathlib import Path

import pytest

from codemem.accounts.models import Namespace
from graph import cypher
from graph import queries as graph
from graph.models import Repository
from graph.values import Direction, EdgeKind
from indexing.answers import Answers, ExternalSymbol, Place
from indexing.crossing.services import CrossingReport, link_crossing, refresh_crossing
from indexing.models import CrossingEdge, Endpoint, HttpRequest, OuterPackage, TopicUse
from indexing.scip.services import keep_answers
from tests.factories import NOW
from tests.indexing.checkout import Checkout, index, register

pytestmark = pytest.mark.django_db

ORDERS = {
    "pyproject.toml": (
        '[project]\nname = "orders-api"\ndependencies = ["fastapi>=0.110", "shop-model"]\n'
    ),
    "orders/__init__.py": "",
    "orders/main.py": (
        "from fastapi import FastAPI\n"
        "from orders.routes import router\n\n"
        "app = FastAPI()\n"
        'app.include_router(router, prefix="/api/v1")\n'
    ),
    "orders/topics.py": 'ORDER_PLACED = "orders.placed"\n',
    "orders/routes.py": (
        "from fastapi import APIRouter\n"
        "from kafka import KafkaProducer\n"
        "from orders.topics import ORDER_PLACED\n"
        "from shop_model import Order\n"
        "from shop_model.money import cents\n\n"
        'router = APIRouter(prefix="/orders")\n'
        "producer = KafkaProducer()\n\n\n"
        '@router.get("/{order_id}")\n'
        "def show(order_id: int):\n"
        "    return cents(order_id)\n\n\n"
        '@router.post("")\n'
        "def place():\n"
        "    producer.send(ORDER_PLACED, b'x')\n"
        "    return Order()\n"
    ),
}
MODEL = {
    "pyproject.toml": '[project]\nname = "shop-model"\nversion = "2.0"\n',
    "src/shop_model/__init__.py": "from shop_model.order import Order\n",
    "src/shop_model/order.py": "class Order:\n    pass\n",
    "src/shop_model/money.py": "def cents(x):\n    return x\n",
    "examples/old.py": "from shop_model.gone import nothing\n",
}
WEB = {
    "package.json": '{"name": "@shop/web", "dependencies": {"axios": "^1"}}',
    "src/api.ts": (
        "import axios from 'axios'\n\n"
        "const api = axios.create({ baseURL: 'http://orders-api:8000/api/v1' })\n\n"
        "export async function order(id: number) {\n"
        "  return api.get(`/orders/${id}`)\n"
        "}\n"
    ),
    "src/events.ts": (
        "import { Kafka } from 'kafkajs'\n\n"
        "export async function listen(kafka: Kafka) {\n"
        "  const consumer = kafka.consumer({ groupId: 'web' })\n"
        "  await consumer.subscribe({ topic: 'orders.placed' })\n"
        "}\n"
    ),
}


@pytest.fixture
def shop(namespace: Namespace, server_folders: None, tmp_path: Path) -> dict[str, Repository]:
    """Return three repositories of one namespace, indexed but not looked across yet."""
    made = {}
    for name, files in (("orders-api", ORDERS), ("model", MODEL), ("web", WEB)):
        checkout = Checkout(tmp_path / name)
        checkout.commit(files)
        made[name] = register(namespace, checkout, name)
        index(made[name])
    return made


def _refresh(repository: Repository) -> CrossingReport:
    report = refresh_crossing(repository_id=repository.pk, now=NOW)
    assert report is not None
    return report


def _refresh_all(shop: dict[str, Repository]) -> None:
    for repository in shop.values():
        for sibling in _refresh(repository).siblings:
            link_crossing(repository_id=sibling)


def _edges(repository: Repository, *kinds: EdgeKind) -> set[tuple[str, str, str]]:
    rows = CrossingEdge.objects.filter(repository=repository)
    return {
        (row.kind, row.source_id, row.target_id) for row in rows if not kinds or row.kind in kinds
    }


def _age_edges(namespace: Namespace, kind: EdgeKind) -> set[tuple[str, str]]:
    rows = cypher.run(
        graph=cypher.graph_name(namespace.pk),
        query=f"MATCH (a)-[e:{kind}]->(b) WHERE e.s = 4 RETURN a.uid, b.uid",
        columns=("a", "b"),
    )
    return {(str(one), str(other)) for one, other in rows}


def test_endpoints_have_the_prefixes_of_all_their_routers(shop: dict[str, Repository]) -> None:
    _refresh(shop["orders-api"])
    rows = Endpoint.objects.filter(repository=shop["orders-api"])
    assert {(row.method, row.route, row.symbol, row.certainty) for row in rows} == {
        ("GET", "/api/v1/orders/{order_id}", "show~0", 0.9),
        ("POST", "/api/v1/orders", "place~0", 0.9),
    }


def test_a_request_reaches_the_endpoint_of_a_sibling(
    shop: dict[str, Repository], namespace: Namespace
) -> None:
    _refresh_all(shop)
    (request,) = HttpRequest.objects.filter(repository=shop["web"])
    assert (request.method, request.host, request.template) == (
        "GET", "orders-api", "/api/v1/orders/{}",
    )  # fmt: skip
    endpoint = "endpoint:orders-api:GET /api/v1/orders/{}"
    (edge,) = CrossingEdge.objects.filter(kind="HTTP_CALLS")
    assert (edge.source_id, edge.target_id, edge.confidence, edge.rule, edge.line) == (
        "sym:src/api.ts#order", endpoint, 0.9, "path", 6,
    )  # fmt: skip
    assert edge.other_id == shop["orders-api"].pk
    assert ("sym:orders/routes.py#show", endpoint) in _age_edges(namespace, EdgeKind.HANDLES)
    assert _age_edges(namespace, EdgeKind.HTTP_CALLS) == {("sym:src/api.ts#order", endpoint)}


def test_a_topic_ties_publisher_and_subscriber(
    shop: dict[str, Repository], namespace: Namespace
) -> None:
    _refresh_all(shop)
    topic = "topic:kafka:orders.placed"
    assert _age_edges(namespace, EdgeKind.PUBLISHES_TO) == {("sym:orders/routes.py#place", topic)}
    assert _age_edges(namespace, EdgeKind.SUBSCRIBES_TO) == {("sym:src/events.ts#listen", topic)}
    assert {row.topic for row in TopicUse.objects.all()} == {"orders.placed"}


def test_uses_of_a_siblings_package_lead_to_its_symbols(
    shop: dict[str, Repository], namespace: Namespace
) -> None:
    _refresh_all(shop)
    order, cents = "sym:src/shop_model/order.py#Order", "sym:src/shop_model/money.py#cents"
    found = _edges(shop["orders-api"], EdgeKind.CALLS, EdgeKind.IMPORTS)
    assert {
        ("IMPORTS", "file:orders/routes.py", order),
        ("IMPORTS", "file:orders/routes.py", cents),
        ("CALLS", "sym:orders/routes.py#show", cents),
        ("CALLS", "sym:orders/routes.py#place", order),
        ("IMPORTS", "file:orders/routes.py", "pkg:pypi:fastapi"),
        ("IMPORTS", "file:orders/routes.py", "pkg:pypi:shop-model"),
    } <= found
    assert ("sym:orders/routes.py#show", cents) in _age_edges(namespace, EdgeKind.CALLS)
    outer = OuterPackage.objects.get(repository=shop["orders-api"], name="shop-model")
    assert (outer.other_id, outer.imports, outer.uses, outer.resolved) == (
        shop["model"].pk,
        2,
        2,
        2,
    )


def test_what_a_compiler_finds_of_a_siblings_package_leads_to_its_symbols(
    shop: dict[str, Repository], tmp_path: Path
) -> None:
    orders, path = shop["orders-api"], "orders/sums.py"
    Checkout(tmp_path / "model").commit(
        {"src/shop_model/order.py": "class Order:\n    def total(self):\n        return 0\n"}
    )
    index(shop["model"])
    source = Checkout(tmp_path / "orders-api")
    source.commit({path: "def of(basket):\n    return basket.order.total()\n"})
    index(orders)
    key = "ext:pypi:shop-model:`shop_model.order`/Order#total()."
    said = Answers(
        targets={Place(2, 24): key},
        externals={key: ExternalSymbol("total", "pkg:pypi:shop-model", "")},
    )
    keep_answers(
        repository_id=orders.pk,
        indexer="scip-python",
        answers={path: said},
        blobs={path: source.git("rev-parse", f"HEAD:{path}").strip()},
        now=NOW,
    )
    index(orders)
    _refresh_all(shop)

    edge = CrossingEdge.objects.get(repository=orders, source_id=f"sym:{path}#of")
    assert (edge.kind, edge.rule, edge.line) == (EdgeKind.CALLS, "scip", 2)
    assert edge.target_id == "sym:src/shop_model/order.py#Order.total"
    assert edge.other_id == shop["model"].pk


def test_callers_in_other_repositories_are_neighbors_and_dependents(
    shop: dict[str, Repository], namespace: Namespace
) -> None:
    _refresh_all(shop)
    node = graph.get_node(repository_id=shop["model"].pk, id="sym:src/shop_model/money.py#cents")
    near = graph.neighbors(
        namespace_id=namespace.pk, vertices=[node.vertex], direction=Direction.IN,
        kinds=[EdgeKind.CALLS],
    )  # fmt: skip
    (caller,) = near.neighbors
    assert caller.node is not None
    assert (caller.node.id, caller.edge.line) == ("sym:orders/routes.py#show", 13)
    reached = graph.dependents(namespace_id=namespace.pk, vertices=[node.vertex], max_depth=1)
    assert "sym:orders/routes.py#show" in {one.node.id for one in reached.dependents}


def test_an_import_of_ones_own_package_is_none_of_anothers(shop: dict[str, Repository]) -> None:
    _refresh_all(shop)
    assert not OuterPackage.objects.filter(repository=shop["model"]).exists()
    assert _edges(shop["model"]) == set()


def test_packages_depend_on_packages(shop: dict[str, Repository]) -> None:
    _refresh_all(shop)
    assert _edges(shop["orders-api"], EdgeKind.DEPENDS_ON) == {
        ("DEPENDS_ON", "pkg:pypi:orders-api", "pkg:pypi:fastapi"),
        ("DEPENDS_ON", "pkg:pypi:orders-api", "pkg:pypi:shop-model"),
    }
    edge = CrossingEdge.objects.get(target_id="pkg:pypi:shop-model", kind="DEPENDS_ON")
    assert edge.other_id == shop["model"].pk


def test_a_second_pass_writes_nothing(shop: dict[str, Repository]) -> None:
    _refresh_all(shop)
    before = set(CrossingEdge.objects.values_list("pk", flat=True))
    for repository in shop.values():
        report = _refresh(repository)
        assert (report.files_read, report.rows_written, report.edges_written) == (0, 0, 0)
        assert report.siblings == ()
    assert set(CrossingEdge.objects.values_list("pk", flat=True)) == before


def test_an_endpoint_that_moves_takes_its_edges_along(
    shop: dict[str, Repository], namespace: Namespace, tmp_path: Path
) -> None:
    _refresh_all(shop)
    checkout = Checkout(tmp_path / "orders-api")
    text = ORDERS["orders/routes.py"].replace('"/{order_id}"', '"/{order_id}/details"')
    checkout.commit({"orders/routes.py": text})
    index(shop["orders-api"])
    report = _refresh(shop["orders-api"])
    assert (report.files_read, set(report.siblings)) == (1, {shop["web"].pk})
    for sibling in report.siblings:
        link_crossing(repository_id=sibling)
    assert _age_edges(namespace, EdgeKind.HTTP_CALLS) == set()
    handled = {target for _, target in _age_edges(namespace, EdgeKind.HANDLES)}
    assert "endpoint:orders-api:GET /api/v1/orders/{}/details" in handled
    assert "endpoint:orders-api:GET /api/v1/orders/{}" not in handled
    # The push restated the file; what crosses from it still stands.
    assert len(_age_edges(namespace, EdgeKind.CALLS)) == 2


def test_what_is_deleted_crosses_nothing_any_more(
    shop: dict[str, Repository], namespace: Namespace, tmp_path: Path
) -> None:
    _refresh_all(shop)
    Checkout(tmp_path / "web").commit(dict.fromkeys(WEB) | {"README.md": "Empty.\n"})
    index(shop["web"])
    _refresh(shop["web"])
    assert _edges(shop["web"]) == set()
    assert _age_edges(namespace, EdgeKind.SUBSCRIBES_TO) == set()


def test_a_group_handed_to_another_package_is_the_prefix_of_its_routes(
    namespace: Namespace, server_folders: None, tmp_path: Path
) -> None:
    checkout = Checkout(tmp_path / "gin")
    checkout.commit(
        {
            "go.mod": "module example.org/shop\n\nrequire github.com/gin-gonic/gin v1.10.0\n",
            "main.go": (
                'package main\n\nimport (\n\t"example.org/shop/users"\n'
                '\t"github.com/gin-gonic/gin"\n)\n\nfunc main() {\n\tr := gin.Default()\n'
                '\tv1 := r.Group("/api")\n\tusers.Register(v1.Group("/users"))\n}\n'
            ),
            "users/models.go": "package users\n\ntype User struct{}\n",
            "users/routers.go": (
                'package users\n\nimport "github.com/gin-gonic/gin"\n\n'
                "func Register(router *gin.RouterGroup) {\n"
                '\trouter.GET("/:name", Show)\n}\n\nfunc Show(c *gin.Context) {}\n'
            ),
        }
    )
    repository = register(namespace, checkout, "gin")
    index(repository)
    _refresh(repository)
    (row,) = Endpoint.objects.filter(repository=repository)
    assert (row.method, row.route, row.handler_name) == ("GET", "/api/users/{name}", "Show")
    assert _edges(repository, EdgeKind.HANDLES) == {
        ("HANDLES", "sym:users/routers.go#Show", "endpoint:gin:GET /api/users/{}")
    }


def test_nothing_crosses_between_namespaces(
    shop: dict[str, Repository], outsider: object, tmp_path: Path
) -> None:
    elsewhere = Namespace.objects.get(name="elsewhere")
    checkout = Checkout(tmp_path / "foreign")
    checkout.commit(WEB)
    foreign = register(elsewhere, checkout, "web")
    index(foreign)
    _refresh_all(shop)
    report = _refresh(foreign)
    assert report.siblings == ()
    assert _edges(foreign, EdgeKind.HTTP_CALLS) == set()
