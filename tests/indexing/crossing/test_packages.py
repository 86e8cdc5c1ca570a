# ruff: noqa: E501  other people's files have long lines
"""Manifests of every ecosystem: names, ranges, scopes, workspaces, and what hostile ones do."""

from textwrap import dedent

import pytest

from indexing.crossing.packages import is_package_manifest, read_packages
from indexing.crossing.values import DependencyScope, Manager, Manifest


def _read(**files: str) -> dict[str, Manifest]:
    """Read files named by keyword, `__` for a slash and `_dot_` for a dot."""
    return _read_all({_path(name): text for name, text in files.items()})


def _read_all(files: dict[str, str]) -> dict[str, Manifest]:
    texts = {path: dedent(text).encode() for path, text in files.items()}
    return {one.path: one for one in read_packages(texts).manifests}


def _path(name: str) -> str:
    return name.replace("__", "/").replace("_dot_", ".")


def _needs(manifest: Manifest) -> dict[str, tuple[str, str]]:
    return {one.name: (one.range, one.scope.value) for one in manifest.dependencies}


def test_cargo_reads_scopes_renames_and_what_the_workspace_shares() -> None:
    found = _read(
        Cargo_dot_toml="""
            [workspace]
            members = ["crates/*"]
            exclude = ["crates/old"]
            [workspace.package]
            version = "1.4.0"
            [workspace.dependencies]
            serde = { version = "1.0", features = ["derive"] }
        """,
        crates__core__Cargo_dot_toml="""
            [package]
            name = "shop-core"
            version.workspace = true
            [dependencies]
            serde = { workspace = true }
            json = { package = "serde_json", version = "1" }
            fast = { version = "2", optional = true }
            shop-model = { path = "../model" }
            [dev-dependencies]
            insta = "1.3"
            [target.'cfg(unix)'.dependencies]
            nix = "0.29"
        """,
        crates__old__Cargo_dot_toml="[package]\nname = 'old'\n",
    )
    core = found["crates/core/Cargo.toml"]
    assert (core.name, core.version) == ("shop-core", "1.4.0")
    assert _needs(core) == {
        "serde": ("1.0", "runtime"),
        "serde_json": ("1", "runtime"),
        "fast": ("2", "optional"),
        "shop-model": ("path:../model", "runtime"),
        "insta": ("1.3", "dev"),
        "nix": ("0.29", "runtime"),
    }
    assert {one.name: one.alias for one in core.dependencies}["serde_json"] == "json"


def test_workspaces_know_their_members_and_what_they_exclude() -> None:
    texts = {
        "Cargo.toml": b'[workspace]\nmembers = ["crates/*"]\nexclude = ["crates/old"]\n',
        "crates/core/Cargo.toml": b'[package]\nname = "core"\n',
        "crates/old/Cargo.toml": b'[package]\nname = "old"\n',
        "crates/core/deep/Cargo.toml": b'[package]\nname = "deep"\n',
        "pnpm-workspace.yaml": b"packages:\n  - 'web/**'\n  - '!web/attic/**'\n",
        "web/a/package.json": b'{"name": "@shop/a"}',
        "web/attic/b/package.json": b'{"name": "@shop/b"}',
        "go.work": b"go 1.22\nuse (\n\t./svc // the service\n)\nuse ./lib\n",
        "svc/go.mod": b"module example.org/svc\n",
        "lib/go.mod": b"module example.org/lib\n",
        "pom.xml": b"<project><artifactId>all</artifactId>"
        b"<modules><module>mod</module></modules></project>",
        "mod/pom.xml": b"<project><artifactId>mod</artifactId></project>",
    }
    members = {one.path: one.members for one in read_packages(texts).workspaces}
    assert members == {
        "Cargo.toml": ("crates/core/Cargo.toml",),
        "pnpm-workspace.yaml": ("web/a/package.json",),
        "go.work": ("lib/go.mod", "svc/go.mod"),
        "pom.xml": ("mod/pom.xml",),
    }


def test_npm_reads_every_kind_of_dependency() -> None:
    found = _read(
        package_dot_json="""
            {"name": "@shop/web", "version": "2.0.0", "workspaces": {"packages": ["packages/*"]},
             "dependencies": {"react": "^18", "old-react": "npm:react@^16.0.0"},
             "devDependencies": {"vitest": "~1"}, "peerDependencies": {"vue": ">=3"},
             "optionalDependencies": {"fsevents": "*"}}
        """
    )["package.json"]
    assert (found.name, found.version, found.members) == ("@shop/web", "2.0.0", ("packages/*",))
    assert [(one.name, one.range, one.scope.value, one.alias) for one in found.dependencies] == [
        ("react", "^18", "runtime", ""),
        ("react", "^16.0.0", "runtime", "old-react"),
        ("vue", ">=3", "peer", ""),
        ("fsevents", "*", "optional", ""),
        ("vitest", "~1", "dev", ""),
    ]


def test_go_tells_direct_from_indirect() -> None:
    found = _read(
        go_dot_mod="""\
            module example.org/shop

            require github.com/gin-gonic/gin v1.10.0
            require (
            \tgithub.com/nats-io/nats.go v1.37.0
            \tgolang.org/x/net v0.30.0 // indirect
            )
        """.replace("            ", "")
    )["go.mod"]
    assert found.name == "example.org/shop"
    assert _needs(found) == {
        "github.com/nats-io/nats.go": ("v1.37.0", "runtime"),
        "golang.org/x/net": ("v0.30.0", "indirect"),
        "github.com/gin-gonic/gin": ("v1.10.0", "runtime"),
    }


def test_python_names_are_normalized_and_groups_are_scopes() -> None:
    found = _read(
        pyproject_dot_toml="""
            [project]
            name = "Shop.Core_API"
            version = "3.1"
            dependencies = ["Django>=5,<6", "zope.interface", "httpx[http2] ~= 0.27 ; python_version > '3.8'"]
            [project.optional-dependencies]
            kafka = ["confluent_kafka (>=2.0)"]
            tests = ["pytest"]
            [dependency-groups]
            lint = ["ruff==0.7.1", {include-group = "tests"}]
            [build-system]
            requires = ["hatchling"]
            [tool.uv.workspace]
            members = ["packages/*"]
        """,
        requirements_dash_dev_dot_txt="",
    )["pyproject.toml"]
    assert (found.name, found.members) == ("shop-core-api", ("packages/*",))
    assert _needs(found) == {
        "django": (">=5,<6", "runtime"),
        "zope-interface": ("", "runtime"),
        "httpx": ("~=0.27", "runtime"),
        "confluent-kafka": (">=2.0", "optional"),
        "pytest": ("", "test"),
        "ruff": ("==0.7.1", "dev"),
        "hatchling": ("", "build"),
    }


def test_poetry_setup_cfg_and_requirements_are_read() -> None:
    found = _read_all(
        {
            "a/pyproject.toml": """
                [tool.poetry]
                name = "shop"
                [tool.poetry.dependencies]
                python = "^3.11"
                requests = { version = "^2.31", optional = true }
                celery = "^5"
                [tool.poetry.group.dev.dependencies]
                black = "*"
            """,
            "b/setup.cfg": """
                [metadata]
                name = old_shop
                version = attr: old_shop.__version__
                [options]
                install_requires =
                    flask>=2
                    redis
                [options.extras_require]
                test = pytest
            """,
            "requirements-dev.txt": """
                # tools
                -r requirements.txt
                --index-url https://packages.example/simple
                mypy==1.11 \\
                    --hash=sha256:abc
                git+https://git.example/x.git#egg=x
                ./local
            """,
            "requirements/base.txt": "Flask_Login==0.6.3 # pinned\n",
        }
    )
    assert _needs(found["a/pyproject.toml"]) == {
        "requests": ("^2.31", "optional"),
        "celery": ("^5", "runtime"),
        "black": ("*", "dev"),
    }
    assert (found["b/setup.cfg"].name, found["b/setup.cfg"].version) == ("old-shop", "")
    assert _needs(found["b/setup.cfg"]) == {
        "flask": (">=2", "runtime"),
        "redis": ("", "runtime"),
        "pytest": ("", "test"),
    }
    assert _needs(found["requirements-dev.txt"]) == {"mypy": ("==1.11", "dev")}
    assert _needs(found["requirements/base.txt"]) == {"flask-login": ("==0.6.3", "runtime")}


def test_maven_fills_properties_and_managed_versions() -> None:
    found = _read(
        pom_dot_xml="""\
            <project xmlns="http://maven.apache.org/POM/4.0.0">
              <parent><groupId>org.example</groupId><version>2.1</version></parent>
              <artifactId>orders</artifactId>
              <properties><kafka.version>3.7.0</kafka.version></properties>
              <dependencyManagement><dependencies><dependency>
                <groupId>org.slf4j</groupId><artifactId>slf4j-api</artifactId><version>2.0.1</version>
              </dependency></dependencies></dependencyManagement>
              <dependencies>
                <dependency><groupId>${project.groupId}</groupId><artifactId>model</artifactId>
                  <version>${project.version}</version></dependency>
                <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId>
                  <version>${kafka.version}</version></dependency>
                <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-api</artifactId></dependency>
                <dependency><groupId>junit</groupId><artifactId>junit</artifactId>
                  <version>4.13</version><scope>test</scope></dependency>
              </dependencies>
            </project>
        """.strip()
    )["pom.xml"]
    assert (found.name, found.version) == ("org.example:orders", "2.1")
    assert _needs(found) == {
        "org.example:model": ("2.1", "runtime"),
        "org.apache.kafka:kafka-clients": ("3.7.0", "runtime"),
        "org.slf4j:slf4j-api": ("2.0.1", "runtime"),
        "junit:junit": ("4.13", "test"),
    }


def test_gradle_reads_strings_projects_and_the_catalog() -> None:
    found = _read_all(
        {
            "settings.gradle.kts": 'rootProject.name = "shop"\ninclude(":orders", ":libs:model")\n',
            "gradle/libs.versions.toml": """
                [versions]
                ktor = "2.3.12"
                [libraries]
                ktor-server-core = { module = "io.ktor:ktor-server-core", version.ref = "ktor" }
            """,
            "orders/build.gradle.kts": """
                group = "org.example"
                version = "1.0"
                dependencies {
                    implementation("com.squareup.okhttp3:okhttp:4.12.0")
                    implementation(libs.ktor.server.core)
                    implementation(project(":libs:model"))
                    testImplementation 'org.junit.jupiter:junit-jupiter:5.10.2'
                }
            """,
            "libs/model/build.gradle": "group 'org.example'\n",
        }
    )
    orders = found["orders/build.gradle.kts"]
    assert (orders.name, orders.version) == ("org.example:orders", "1.0")
    assert _needs(orders) == {
        "com.squareup.okhttp3:okhttp": ("4.12.0", "runtime"),
        "io.ktor:ktor-server-core": ("2.3.12", "runtime"),
        "org.example:model": ("", "runtime"),
        "org.junit.jupiter:junit-jupiter": ("5.10.2", "test"),
    }
    assert found["settings.gradle.kts"].members == ("orders", "libs/model")


def test_ruby_groups_are_scopes() -> None:
    found = _read_all(
        {
            "Gemfile": """
                source "https://gems.example"
                gem "rails", "~> 7.1", ">= 7.1.2"
                group :development, :test do
                  gem "rspec-rails"
                end
                gem "puma", require: false
                gem "rubocop", group: :development
            """,
            "shop.gemspec": """
                Gem::Specification.new do |spec|
                  spec.name = "shop"
                  spec.version = "0.3"
                  spec.add_dependency "faraday", ">= 2", "< 3"
                  spec.add_development_dependency("rake")
                end
            """,
        }
    )
    assert _needs(found["Gemfile"]) == {
        "rails": ("~> 7.1, >= 7.1.2", "runtime"),
        "rspec-rails": ("", "test"),
        "puma": ("", "runtime"),
        "rubocop": ("", "dev"),
    }
    assert (found["shop.gemspec"].name, found["shop.gemspec"].version) == ("shop", "0.3")
    assert _needs(found["shop.gemspec"]) == {
        "faraday": (">= 2, < 3", "runtime"),
        "rake": ("", "dev"),
    }


def test_composer_leaves_php_itself_out() -> None:
    found = _read(
        composer_dot_json="""
            {"name": "Shop/Api", "require": {"php": ">=8.2", "ext-json": "*", "laravel/framework": "^11"},
             "require-dev": {"phpunit/phpunit": "^11"}, "autoload": {"psr-4": {"App\\\\": "app/"}}}
        """
    )["composer.json"]
    assert (found.name, found.namespaces) == ("shop/api", ("App",))
    assert _needs(found) == {
        "laravel/framework": ("^11", "runtime"),
        "phpunit/phpunit": ("^11", "dev"),
    }


def test_dotnet_takes_versions_from_the_central_file() -> None:
    found = _read_all(
        {
            "Directory.Packages.props": """\
                <Project><ItemGroup>
                  <PackageVersion Include="Serilog" Version="4.0.1" />
                </ItemGroup></Project>""",
            "src/Shop/Shop.csproj": """\
                <Project Sdk="Microsoft.NET.Sdk.Web">
                  <PropertyGroup><RootNamespace>Shop.Web</RootNamespace><Version>1.2</Version></PropertyGroup>
                  <ItemGroup>
                    <PackageReference Include="Serilog" />
                    <PackageReference Include="Confluent.Kafka" Version="2.5.0" />
                    <PackageReference Include="StyleCop" Version="1"><PrivateAssets>all</PrivateAssets></PackageReference>
                    <ProjectReference Include="..\\Model\\Model.csproj" />
                  </ItemGroup>
                </Project>""",
        }
    )
    shop = found["src/Shop/Shop.csproj"]
    assert (shop.name, shop.version, shop.namespaces) == ("shop", "1.2", ("Shop.Web",))
    assert _needs(shop) == {
        "serilog": ("4.0.1", "runtime"),
        "confluent.kafka": ("2.5.0", "runtime"),
        "stylecop": ("1", "dev"),
        "model": ("", "runtime"),
    }


@pytest.mark.parametrize(
    "path",
    ["Cargo.toml", "package.json", "pnpm-workspace.yaml", "go.mod", "go.work", "pyproject.toml",
     "setup.cfg", "requirements.txt", "pom.xml", "build.gradle", "settings.gradle.kts", "Gemfile",
     "x.gemspec", "composer.json", "x.csproj", "libs.versions.toml", "Directory.Packages.props"],
)  # fmt: skip
@pytest.mark.parametrize(
    "text",
    [b"", b"\0\xff\xfe", b"[" * 50_000, b"{" * 50_000, b"[1, 2]", b"[project]\nname = 3\ndependencies = {}\n",
     b'{"name": [], "dependencies": [1], "workspaces": "x"}', b"<a>" * 5_000,
     b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><project><artifactId>&b;</artifactId></project>'],
    ids=["empty", "binary", "brackets", "braces", "list", "types", "json", "nested", "entities"],
)  # fmt: skip
def test_a_broken_manifest_declares_nothing_and_harms_nobody(path: str, text: bytes) -> None:
    assert is_package_manifest(path)
    for manifest in read_packages({path: text}).manifests:
        assert manifest.dependencies == (), path


def test_a_bomb_of_aliases_is_refused() -> None:
    bomb = b"a: &a [x, x]\nb: &b [*a, *a]\npackages: [*b, *b]\n"
    assert read_packages({"pnpm-workspace.yaml": bomb}).manifests == ()


def test_one_dependency_stands_once_for_each_scope() -> None:
    found = _read(requirements_dot_txt="redis\nredis\n")["requirements.txt"]
    (only,) = found.dependencies
    assert (only.manager, only.scope) == (Manager.PYPI, DependencyScope.RUNTIME)


def test_only_manifests_are_manifests() -> None:
    assert not any(
        map(is_package_manifest, ("a.py", "package.json.bak", "docs/notes.txt", "x.xml"))
    )
    assert is_package_manifest("deep/requirements/prod.txt")
