import pytest

from graph.values import EdgeKind, NodeKind, Visibility
from tests.indexing.resolved import resolved

CALLS, REFERENCES, IMPORTS = EdgeKind.CALLS, EdgeKind.REFERENCES, EdgeKind.IMPORTS
INHERITS, CONTAINS = EdgeKind.INHERITS, EdgeKind.CONTAINS

SOURCES = {
    "go.mod": "module example.com/shop\n\ngo 1.22\n",
    "server.go": """package shop

import (
	"fmt"

	"example.com/shop/store"
	kv "example.com/shop/internal/cache"
)

// Server answers.
// It blocks.
type Server struct {
	Base
	*store.Store
	cache *kv.Cache
	port  int
}

type Handler interface {
	Serve(s *Server) error
}

// NewServer makes one.
func NewServer() *Server { return &Server{cache: kv.New()} }

func (s *Server) Run(handler Handler) error {
	s.prepare()
	s.Announce()
	s.Put("a")
	s.cache.Get("b")
	fmt.Println(s.port)
	return handler.Serve(s)
}

func run() {
	server := NewServer()
	server.Run(nil)
	var other Server
	other.prepare()
	literal := &Server{}
	literal.Run(nil)
	store.Open().Put("x")
	opened, err := store.OpenBoth()
	opened.Put(err)
	each(func() { server.prepare() })
	each(cleanup)
	kv.New().Get("c")
}

func each(handle func()) { handle() }

func handle() {}
""",
    "base.go": """package shop

type Base struct{}

func (b Base) Announce() { cleanup() }

func (s *Server) prepare() { limit() }

func cleanup() {}

var limit = func() {}

var shared = NewServer()

func useShared() { shared.prepare() }
""",
    "store/store.go": """package store

type Store struct{ items map[string]int }

func (s *Store) Put(key any) { lock() }

func Open() *Store { return &Store{} }

func OpenBoth() (*Store, error) { return Open(), nil }
""",
    "store/lock.go": "package store\n\nfunc lock() {}\n",
    "internal/cache/cache.go": """package cache

type Cache struct{}

func New() *Cache { return &Cache{} }

func (c *Cache) Get(key string) string { return key }
""",
    "server_test.go": """package shop

import "testing"

func TestRun(t *testing.T) { run(); t.Run("x", func(t *testing.T) { NewServer() }) }
""",
}

SERVER, BASE, STORE = "sym:server.go#", "sym:base.go#", "sym:store/store.go#"
CACHE = "sym:internal/cache/cache.go#"


@pytest.fixture(scope="module")
def tree():
    return resolved(SOURCES)


@pytest.mark.parametrize(
    ("source", "target", "rule"),
    [
        (f"{SERVER}NewServer", f"{SERVER}Server", "file"),
        (f"{SERVER}NewServer", f"{CACHE}New", "module"),
        (f"{SERVER}Server.Run", f"{BASE}Server.prepare", "typed"),
        (f"{SERVER}Server.Run", f"{BASE}Base.Announce", "typed"),
        (f"{SERVER}Server.Run", f"{STORE}Store.Put", "typed"),
        (f"{SERVER}Server.Run", f"{CACHE}Cache.Get", "typed"),
        (f"{SERVER}Server.Run", f"{SERVER}Handler.Serve", "typed"),
        (f"{SERVER}run", f"{SERVER}NewServer", "file"),
        (f"{SERVER}run", f"{SERVER}Server.Run", "typed"),
        (f"{SERVER}run", f"{BASE}Server.prepare", "typed"),
        (f"{SERVER}run", f"{STORE}Open", "module"),
        (f"{SERVER}run", f"{STORE}Store.Put", "typed"),
        (f"{SERVER}run", f"{SERVER}each", "file"),
        (f"{SERVER}run", f"{CACHE}Cache.Get", "typed"),
        (f"{BASE}Base.Announce", f"{BASE}cleanup", "file"),
        (f"{BASE}useShared", f"{BASE}Server.prepare", "typed"),
        (f"{STORE}Store.Put", "sym:store/lock.go#lock", "package"),
        ("sym:server_test.go#TestRun", f"{SERVER}run", "package"),
        ("sym:server_test.go#TestRun", f"{SERVER}NewServer", "package"),
    ],
)
def test_a_call_finds_its_definition(tree, source, target, rule):
    assert tree.rule(CALLS, source, target) == rule


def test_a_method_of_a_foreign_type_is_not_ours(tree):
    assert tree.edge(CALLS, "sym:server_test.go#TestRun", f"{SERVER}Server.Run") is None


def test_a_parameter_hides_the_function_of_the_same_name(tree):
    assert tree.targets(CALLS, f"{SERVER}each", at_least=0) == set()


def test_embedding_inherits_and_promotes(tree):
    assert tree.rule(INHERITS, f"{SERVER}Server", f"{BASE}Base") == "package"
    assert tree.rule(INHERITS, f"{SERVER}Server", f"{STORE}Store") == "module"


def test_functions_passed_on_and_types_named_are_references(tree):
    assert tree.edge(REFERENCES, f"{SERVER}Server.Run", f"{SERVER}Handler")
    assert tree.edge(REFERENCES, f"{SERVER}Server", f"{CACHE}Cache")


def test_a_method_belongs_to_its_receivers_type_in_another_file(tree):
    prepare = tree.symbol(f"{BASE}Server.prepare")
    assert prepare.parent == f"{SERVER}Server"
    assert tree.edge(CONTAINS, f"{SERVER}Server", prepare.id)
    assert tree.edge(CONTAINS, f"{SERVER}Server", f"{SERVER}Server.port")


def test_an_import_reaches_the_files_whose_names_are_used(tree):
    assert tree.edge(IMPORTS, "file:server.go", "file:store/store.go")
    assert tree.edge(IMPORTS, "file:server.go", "file:internal/cache/cache.go")
    assert tree.edge(IMPORTS, "file:server.go", "file:store/lock.go") is None


def test_a_symbol_says_where_and_what_it_is(tree):
    server = tree.symbol(f"{SERVER}Server")
    assert server.qualified_name == "example.com/shop.Server"
    assert (server.kind, server.signature) == (NodeKind.CLASS, "type Server struct")
    assert server.doc == "Server answers.\nIt blocks."
    assert (server.start_line, server.end_line) == (12, 17)
    run = tree.symbol(f"{SERVER}Server.Run")
    assert run.qualified_name == "example.com/shop.Server.Run"
    assert run.signature == "func (s *Server) Run(handler Handler) error"
    assert tree.qualified_name(f"{CACHE}New") == "example.com/shop/internal/cache.New"


def test_a_capital_makes_public(tree):
    assert tree.symbol(f"{SERVER}NewServer").visibility is Visibility.PUBLIC
    assert tree.symbol(f"{SERVER}run").visibility is Visibility.PRIVATE


def test_tests_are_recognized(tree):
    assert tree.symbol("sym:server_test.go#TestRun").is_test
    assert not tree.symbol(f"{SERVER}run").is_test


def test_without_go_mod_the_directory_qualifies():
    tree = resolved({"a/b/x.go": "package b\nfunc F() {}\n", "y.go": "package main\nfunc G() {}\n"})
    assert tree.qualified_name("sym:a/b/x.go#F") == "a/b.F"
    assert tree.qualified_name("sym:y.go#G") == "main.G"
