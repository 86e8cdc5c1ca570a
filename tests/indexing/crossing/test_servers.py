# ruff: noqa: E501  other people's files have long lines
"""Endpoints, framework by framework, from files as people write them."""

import pytest

from graph.values import NodeKind, Visibility
from indexing.crossing.composition import Composition
from indexing.crossing.reading import read_traffic
from indexing.facts import (
    Argument,
    BlobFacts,
    Definition,
    Import,
    ImportKind,
    ReferenceKind,
    Site,
)
from tests.indexing.crossing.samples import Repository, endpoints


def test_flask_joins_blueprints_and_their_registration() -> None:
    assert endpoints(
        {
            "app/__init__.py": (
                "from flask import Flask\nfrom app.users import bp\nfrom app.admin import admin\n\n"
                "def create_app():\n    app = Flask(__name__)\n    app.register_blueprint(bp)\n"
                '    app.register_blueprint(admin, url_prefix="/manage")\n'
                '    @app.route("/health")\n    def health():\n        return "ok"\n    return app\n'
            ),
            "app/users.py": (
                'from flask import Blueprint\n\nbp = Blueprint("users", __name__, url_prefix="/users")\n\n'
                '@bp.route("/<int:user_id>", methods=["GET", "PUT"])\ndef user(user_id):\n    pass\n\n'
                '@bp.post("/")\ndef create():\n    pass\n'
            ),
            "app/admin.py": (
                'from flask import Blueprint\nadmin = Blueprint("admin", __name__, url_prefix="/admin")\n'
                'def stats():\n    pass\nadmin.add_url_rule("/stats", view_func=stats)\n'
            ),
        }
    ) == {
        "GET /health create_app.health",
        "GET /users/{user_id} user",
        "PUT /users/{user_id} user",
        "POST /users create",
        "GET /manage/stats stats",
    }


def test_fastapi_joins_nested_routers_with_constants() -> None:
    assert endpoints(
        {
            "main.py": (
                "from fastapi import FastAPI\nfrom api import router as api_router\n"
                "from settings import API_PREFIX\n\napp = FastAPI()\n"
                "app.include_router(api_router, prefix=API_PREFIX)\n"
            ),
            "settings.py": 'API_PREFIX = "/api/v2"\n',
            "api.py": (
                "from fastapi import APIRouter\nimport items\n\nrouter = APIRouter()\n"
                'router.include_router(items.router, prefix="/items", tags=["items"])\n'
            ),
            "items.py": (
                "from fastapi import APIRouter\n\nrouter = APIRouter()\n\n"
                '@router.get("/{item_id}")\nasync def read(item_id: int):\n    pass\n\n'
                '@router.delete(\n    "/{item_id}",\n    status_code=204,\n)\ndef drop(item_id: int):\n    pass\n'
            ),
        }
    ) == {"GET /api/v2/items/{item_id} read", "DELETE /api/v2/items/{item_id} drop"}


def test_django_includes_and_rest_routers() -> None:
    assert endpoints(
        {
            "site/urls.py": (
                "from django.urls import include, path, re_path\nfrom shop import views\n\n"
                "urlpatterns = [\n"
                '    path("shop/", include("shop.urls")),\n'
                '    path("about/", views.about, name="about"),\n'
                '    re_path(r"^archive/(?P<year>[0-9]{4})/$", views.Archive.as_view()),\n]\n'
            ),
            "shop/urls.py": (
                "from django.urls import include, path\nfrom rest_framework.routers import DefaultRouter\n"
                "from shop import views\n\nrouter = DefaultRouter()\n"
                'router.register("orders", views.OrderViewSet)\n\n'
                'urlpatterns = [\n    path("api/", include(router.urls)),\n'
                '    path("<slug:name>/", views.detail),\n]\n'
            ),
            "shop/views.py": (
                "def about(request):\n    pass\ndef detail(request, name):\n    pass\n"
                "class Archive:\n    pass\nclass OrderViewSet:\n    pass\n"
            ),
        }
    ) == {
        "ANY /about about",
        "ANY /archive/{year} Archive",
        "ANY /shop/{name} detail",
        *(f"{method} /shop/api/orders OrderViewSet" for method in ("GET", "POST")),
        *(
            f"{method} /shop/api/orders/{{id}} OrderViewSet"
            for method in ("GET", "PUT", "PATCH", "DELETE")
        ),
    }


def test_express_mounts_routers_of_other_files() -> None:
    assert endpoints(
        {
            "app.js": (
                "const express = require('express')\nconst users = require('./routes/users')\n"
                "const app = express()\napp.use(express.json())\napp.use('/api/users', users)\n"
                "app.use('/admin', require('./routes/admin'))\n"
                "app.get('/health', (req, res) => res.send('ok'))\n"
            ),
            "routes/users.js": (
                "const { Router } = require('express')\nconst router = Router()\n"
                "function list(req, res) {}\nrouter.get('/', list)\n"
                "router.route('/:id(\\\\d+)')\n  .get(list)\n  .delete((req, res) => {})\n"
                "module.exports = router\n"
            ),
            "routes/admin.js": (
                "const router = require('express').Router()\n"
                "router.post('/reset', (req, res) => {})\nmodule.exports = router\n"
            ),
        }
    ) == {
        "GET /health",
        "GET /api/users list",
        "GET /api/users/{id}",
        "DELETE /api/users/{id}",
        "POST /admin/reset",
    }


def test_express_follows_routers_that_are_made_in_one_chain() -> None:
    assert endpoints(
        {
            "routes.ts": (
                "import { Router } from 'express'\nimport tags from './tags'\n\n"
                "const api = Router().use(tags)\n\nexport default Router().use('/api', api)\n"
            ),
            "tags.ts": (
                "import { Router } from 'express'\n\nconst router = Router()\n"
                "router.get('/tags', async (req, res) => {})\nexport default router\n"
            ),
        }
    ) == {"GET /api/tags"}


def test_a_client_with_a_get_is_no_router() -> None:
    text = (
        "import axios from 'axios'\nimport request from 'supertest'\n"
        "const api = axios.create({ baseURL: '/api' })\n"
        "export const load = () => api.get('/users', { params: {} })\n"
        "it('works', () => request(app).get('/users', 1))\n"
        "const cache = new Map()\ncache.get('/users', 2)\n"
    )
    assert endpoints({"client.ts": text}) == set()


def test_nest_takes_the_controllers_prefix() -> None:
    assert endpoints(
        {
            "users.controller.ts": (
                "import { Body, Controller, Get, Post } from '@nestjs/common'\n\n"
                "@Controller('users')\nexport class UsersController {\n"
                "  @Get()\n  findAll() {}\n\n  @Get(':id')\n  findOne() {}\n\n"
                "  @Post(':id/avatar')\n  upload(@Body() body: string) {}\n}\n"
            )
        }
    ) == {
        "GET /users UsersController.findAll",
        "GET /users/{id} UsersController.findOne",
        "POST /users/{id}/avatar UsersController.upload",
    }


def test_gin_groups_nest_and_are_handed_to_functions() -> None:
    assert endpoints(
        {
            "main.go": (
                'package main\n\nimport "github.com/gin-gonic/gin"\n\n'
                "func Register(rg *gin.RouterGroup) {\n"
                '\trg.GET("/:id", show)\n\trg.POST("", func(c *gin.Context) {})\n}\n\n'
                "func show(c *gin.Context) {}\n\n"
                'func main() {\n\tr := gin.Default()\n\tr.GET("/ping", show)\n'
                '\tv1 := r.Group("/v1")\n\t{\n\t\tadmin := v1.Group("/admin")\n'
                '\t\tadmin.DELETE("/cache", show)\n\t\tRegister(v1.Group("/users"))\n\t}\n}\n'
            )
        }
    ) == {
        "GET /ping show",
        "DELETE /v1/admin/cache show",
        "GET /v1/users/{id} show",
        "POST /v1/users Register",
    }


def test_go_reads_the_mux_and_chi() -> None:
    assert endpoints(
        {
            "mux.go": (
                'package main\n\nimport "net/http"\n\nfunc list(w http.ResponseWriter, r *http.Request) {}\n\n'
                "func main() {\n\tmux := http.NewServeMux()\n"
                '\tmux.HandleFunc("GET /orders/{id}", list)\n'
                '\thttp.HandleFunc("/health", list)\n}\n'
            ),
            "chi.go": (
                'package main\n\nimport "github.com/go-chi/chi/v5"\n\n'
                "func routes() {\n\tr := chi.NewRouter()\n"
                '\tr.Route("/articles", func(r chi.Router) {\n\t\tr.Get("/", list)\n'
                '\t\tr.Route("/{slug}", func(r chi.Router) {\n\t\t\tr.Put("/", list)\n\t\t})\n\t})\n}\n'
            ),
        }
    ) == {
        "GET /orders/{id} list",
        "ANY /health list",
        "GET /articles list",
        "PUT /articles/{slug} list",
    }


def test_laravel_groups_and_closures() -> None:
    assert {
        endpoint.rstrip()
        for endpoint in endpoints(
            {
                "routes/api.php": (
                    "<?php\nuse App\\Http\\Controllers\\OrderController;\n"
                    "use Illuminate\\Support\\Facades\\Route;\n\n"
                    "Route::get('/orders', [OrderController::class, 'index']);\n"
                    "Route::post('/orders', [OrderController::class, 'store'])->name('store');\n"
                    "Route::get('/orders/{order}', function (string $order) { return $order; });\n"
                    "Route::prefix('admin')->group(function () {\n"
                    "    Route::delete('/orders/{order}', [OrderController::class, 'destroy']);\n"
                    "});\n"
                ),
                "app/OrderController.php": (
                    "<?php\nuse Illuminate\\Support\\Facades\\{Cache, Http};\n"
                    "class OrderController {\n"
                    "    public function index() { return Cache::get('orders', 1); }\n"
                    "    public function store() { return Http::post('/elsewhere', []); }\n}\n"
                ),
            }
        )
    } == {"GET /orders", "POST /orders", "GET /orders/{order}", "DELETE /admin/orders/{order}"}


def test_symfony_joins_the_attribute_of_the_class() -> None:
    assert endpoints(
        {
            "src/Controller/BlogController.php": (
                "<?php\nuse Symfony\\Component\\Routing\\Attribute\\Route;\n\n"
                "#[Route('/blog', name: 'blog_')]\nclass BlogController\n{\n"
                "    #[Route(path: '/new', methods: 'POST')]\n"
                "    public function create(): Response { }\n\n"
                "    #[Route('/{slug}')]\n    public function show(string $slug): Response { }\n}\n"
            )
        }
    ) == {"POST /blog/new BlogController.create", "ANY /blog/{slug} BlogController.show"}


def test_axum_nests_routers_and_takes_the_method_of_the_handler() -> None:
    found = endpoints(
        {
            "src/main.rs": (
                "use axum::{routing::{get, post}, Router};\n\nfn main() {\n"
                '    let users = Router::new().route("/:id", get(show)).route("/", post(create));\n'
                "    let app = Router::new()\n"
                '        .route("/items/{id}", get(show).delete(remove))\n'
                '        .nest("/users", users);\n}\n'
            )
        }
    )
    assert {endpoint.rpartition(" ")[0] for endpoint in found} == {
        "GET /users/{id}",
        "POST /users",
        "GET /items/{id}",
        "DELETE /items/{id}",
    }


def test_actix_names_path_and_method_above_the_function() -> None:
    assert endpoints(
        {
            "src/main.rs": (
                "use actix_web::{get, post, web, Responder};\n\n"
                '#[get("/hello/{name}")]\nasync fn greet(name: web::Path<String>) {}\n\n'
                '#[post("/echo")]\nasync fn echo(body: String) {}\n'
            )
        }
    ) == {"GET /hello/{name} greet", "POST /echo echo"}


def _definition(kind: NodeKind, name: str, parent: int, line: int) -> Definition:
    return Definition(
        kind, name.rpartition(".")[2], name, parent, None, line, line + 9, "", "",
        Visibility.PUBLIC, "", "",
    )  # fmt: skip


def _decorator(name: str, scope: int, line: int, *arguments: Argument) -> Site:
    return Site(ReferenceKind.DECORATOR, name, None, scope, line, arguments)


def _literal(text: str, keyword: str = "") -> Argument:
    return Argument(keyword, text, is_literal=True)


@pytest.mark.parametrize(
    ("language", "module", "decorators", "expected"),
    [
        (
            "java",
            "org.springframework.web.bind.annotation.RestController",
            [
                _decorator("RequestMapping", 0, 1, _literal("/owners")),
                _decorator("GetMapping", 1, 3, _literal("/{ownerId:[0-9]+}", "value")),
                _decorator(
                    "RequestMapping", 2, 9, _literal("/search", "path"),
                    Argument("method", "RequestMethod.POST", is_literal=False),
                ),
            ],
            {"GET /owners/{ownerId}", "POST /owners/search"},
        ),
        (
            "kotlin",
            "org.springframework.cloud.openfeign.FeignClient",
            [
                _decorator("FeignClient", 0, 1, _literal("customers")),
                _decorator("GetMapping", 1, 3, _literal("/owners")),
            ],
            set(),
        ),
        (
            "csharp",
            "Microsoft.AspNetCore.Mvc",
            [
                _decorator("Route", 0, 1, _literal("api/[controller]")),
                _decorator("HttpGet", 1, 3, _literal("{id:int}")),
                _decorator("HttpPost", 2, 9),
            ],
            {"GET /api/owners/{id}", "POST /api/owners"},
        ),
    ],
)  # fmt: skip
def test_annotated_classes_give_their_methods_a_prefix(
    language: str, module: str, decorators: list[Site], expected: set[str]
) -> None:
    facts = BlobFacts(
        language=language,
        lines=30,
        definitions=(
            _definition(NodeKind.CLASS, "OwnersController", -1, 1),
            _definition(NodeKind.METHOD, "OwnersController.show", 0, 3),
            _definition(NodeKind.METHOD, "OwnersController.search", 0, 9),
        ),
        imports=(Import(ImportKind.NAME, module, "", "", 1),),
        sites=tuple(decorators),
    )
    composed = Composition({"Owners": read_traffic(facts)}, Repository({}))
    assert {f"{one.method} {one.route}" for one in composed.endpoints()} == expected


def test_mounts_in_a_circle_end() -> None:
    text = (
        "from fastapi import APIRouter\na = APIRouter(prefix='/a')\nb = APIRouter(prefix='/b')\n"
        "a.include_router(b)\nb.include_router(a)\n\n@a.get('/x')\ndef x():\n    pass\n"
    )
    assert len(endpoints({"loop.py": text})) == 1


def test_a_file_without_sites_is_not_looked_at() -> None:
    assert not read_traffic(BlobFacts(language="python", lines=1))
    assert not read_traffic(BlobFacts(language="cobol", lines=1))


def test_an_application_that_is_made_without_any_literal_is_known_elsewhere() -> None:
    assert endpoints(
        {
            "app.py": "from flask import Flask\napp = Flask(__name__)\n",
            "views.py": "from app import app\n\n@app.route('/x')\ndef x():\n    pass\n",
        }
    ) == {"GET /x x"}
