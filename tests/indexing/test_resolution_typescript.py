import pytest

from graph.values import EdgeKind, NodeKind, Visibility
from tests.indexing.resolved import resolved

CALLS, REFERENCES, IMPORTS = EdgeKind.CALLS, EdgeKind.REFERENCES, EdgeKind.IMPORTS
INHERITS, IMPLEMENTS, CONTAINS = EdgeKind.INHERITS, EdgeKind.IMPLEMENTS, EdgeKind.CONTAINS

SOURCES = {
    "tsconfig.json": """{
  // Paths from here.
  "compilerOptions": { "paths": { "@/*": ["./src/*"], }, },
}""",
    "packages/core/package.json": '{"name": "@shop/core", "exports": {".": {"types":'
    ' "./dist/main.d.ts"}, "./extra": "./dist/extra.js"}}',
    "packages/core/src/main.ts": "export function boot(): void {}\n",
    "packages/core/src/extra.ts": "export const extra = () => 1;\n",
    "src/model.ts": """/** Something kept. */
export abstract class Model {
  abstract validate(): boolean;
  save(): this { this.validate(); return this; }
}
export interface Store { put(item: Model): Promise<void>; inner: Cache }
export class Cache { read(key: string) { return key; } }
function hidden() { return hidden(); }
export type Id = string;
""",
    "src/index.ts": """export * from './model';
export { makeOrder as orderOf } from './orders';
export * as models from './model.js';
""",
    "src/orders.ts": """import { Model, Cache } from './index';
import type { Store } from '@/model';
import { boot } from '@shop/core';
import { extra } from '@shop/core/extra';
import format, { pad as padded } from './format';
import * as text from './format';

export class Order extends Model implements Store {
  private cache = new Cache();
  inner!: Cache;
  #secret = 1;
  constructor(private readonly store: Store) { super(); this.late = new Cache(); }
  validate() { return this.cache.read('a') === ''; }
  async put(item: Model) { item.save().validate(); super.save(); }
  handle = () => { this.store.put(this); this.late.read('b'); };
  get current(): Cache { return this.cache; }
  use() { this.current.read('x'); this.store.inner.read('y'); }
}

// Make one.
// Quickly.
export const makeOrder = (store: Store): Order => {
  boot();
  extra();
  format(padded('a'));
  text.pad('b');
  const order = new Order(store);
  order.validate();
  build().use();
  return order;
};
function build() { return makeOrder(null!); }
export const api = {
  create() { return makeOrder(null!); },
  drop: async (boot: () => void) => { boot(); (await api.create()).use(); },
};
export const shared = new Order(null!);
[1].forEach(() => { function inner() { makeOrder(null!); } inner(); });
""",
    "src/format.ts": """export default function format(text: string) { return pad(text); }
export function pad(text: string) { return text; }
""",
    "src/main.ts": """import { orderOf, models } from '.';
import { api, shared } from './orders';
shared.use();
api.create();
const run = () => { orderOf(null!); new models.Cache().read('k'); };
queue(run);
""",
    "src/App.tsx": """import { orderOf } from './index';
export const Button = (props: Props) => <b onClick={orderOf}/>;
export default function App() { return <Button>{orderOf(1)}</Button>; }
""",
    "src/app.test.ts": "import { pad } from './format';\nit('pads', () => { pad('a'); });\n",
}

MODEL, ORDERS, FORMAT = "sym:src/model.ts#", "sym:src/orders.ts#", "sym:src/format.ts#"


@pytest.fixture(scope="module")
def tree():
    return resolved(SOURCES)


@pytest.mark.parametrize(
    ("source", "target", "rule"),
    [
        (f"{MODEL}Model.save", f"{MODEL}Model.validate", "self"),
        (f"{MODEL}hidden", f"{MODEL}hidden", "file"),
        (f"{ORDERS}Order.validate", f"{MODEL}Cache.read", "typed"),
        (f"{ORDERS}Order.put", f"{MODEL}Model.save", "super"),
        (f"{ORDERS}Order.put", f"{MODEL}Model.validate", "typed"),
        (f"{ORDERS}Order.handle", f"{MODEL}Store.put", "typed"),
        (f"{ORDERS}Order.handle", f"{MODEL}Cache.read", "typed"),
        (f"{ORDERS}Order.use", f"{MODEL}Cache.read", "typed"),
        (f"{ORDERS}makeOrder", "sym:packages/core/src/main.ts#boot", "import"),
        (f"{ORDERS}makeOrder", "sym:packages/core/src/extra.ts#extra", "import"),
        (f"{ORDERS}makeOrder", f"{FORMAT}format", "import"),
        (f"{ORDERS}makeOrder", f"{FORMAT}pad", "import"),
        (f"{ORDERS}makeOrder", f"{ORDERS}Order", "file"),
        (f"{ORDERS}makeOrder", f"{ORDERS}Order.validate", "typed"),
        (f"{ORDERS}makeOrder", f"{ORDERS}Order.use", "typed"),
        (f"{ORDERS}api.create", f"{ORDERS}makeOrder", "file"),
        (f"{ORDERS}api.drop", f"{ORDERS}api.create", "typed"),
        (f"{ORDERS}api.drop", f"{ORDERS}Order.use", "typed"),
        (f"{ORDERS}inner", f"{ORDERS}makeOrder", "file"),
        ("file:src/orders.ts", f"{ORDERS}inner", "local"),
        ("file:src/main.ts", f"{ORDERS}Order.use", "typed"),
        ("file:src/main.ts", f"{ORDERS}api.create", "typed"),
        ("sym:src/main.ts#run", f"{ORDERS}makeOrder", "import"),
        ("sym:src/main.ts#run", f"{MODEL}Cache", "module"),
        ("sym:src/main.ts#run", f"{MODEL}Cache.read", "typed"),
        ("sym:src/App.tsx#App", "sym:src/App.tsx#Button", "file"),
        ("sym:src/App.tsx#App", f"{ORDERS}makeOrder", "import"),
        ("file:src/app.test.ts", f"{FORMAT}pad", "import"),
    ],
)
def test_a_call_finds_its_definition(tree, source, target, rule):
    assert tree.rule(CALLS, source, target) == rule


def test_a_parameter_hides_the_import_of_the_same_name(tree):
    target = "sym:packages/core/src/main.ts#boot"
    assert tree.edge(CALLS, f"{ORDERS}api.drop", target) is None


def test_heritage_and_values_and_annotations_are_edges(tree):
    assert tree.rule(INHERITS, f"{ORDERS}Order", f"{MODEL}Model") == "import"
    assert tree.rule(IMPLEMENTS, f"{ORDERS}Order", f"{MODEL}Store") == "import"
    assert tree.rule(REFERENCES, "file:src/main.ts", "sym:src/main.ts#run") == "file"
    assert tree.rule(REFERENCES, f"{ORDERS}makeOrder", f"{MODEL}Store") == "import"
    assert tree.rule(REFERENCES, "sym:src/App.tsx#Button", f"{ORDERS}makeOrder") == "import"


def test_imports_follow_re_exports_aliases_and_workspaces(tree):
    orders = "file:src/orders.ts"
    assert tree.edge(IMPORTS, orders, "file:src/index.ts")
    assert tree.edge(IMPORTS, orders, f"{MODEL}Cache")
    assert tree.edge(IMPORTS, orders, "file:src/model.ts")
    assert tree.edge(IMPORTS, orders, "file:packages/core/src/main.ts")
    assert tree.edge(IMPORTS, orders, f"{FORMAT}format")
    assert tree.edge(IMPORTS, "file:src/main.ts", f"{ORDERS}makeOrder")
    assert tree.edge(IMPORTS, "file:src/index.ts", "file:src/model.ts")


def test_a_symbol_says_where_and_what_it_is(tree):
    model = tree.symbol(f"{MODEL}Model")
    assert (model.start_line, model.end_line) == (2, 5)
    assert model.signature == "export abstract class Model"
    assert model.doc == "Something kept."
    make = tree.symbol(f"{ORDERS}makeOrder")
    assert make.qualified_name == "src/orders.makeOrder"
    assert make.signature == "export const makeOrder = (store: Store): Order"
    assert make.doc == "Make one.\nQuickly."
    assert make.kind is NodeKind.FUNCTION


def test_visibility_is_what_modifiers_and_exports_say(tree):
    assert tree.symbol(f"{MODEL}Model").visibility is Visibility.PUBLIC
    assert tree.symbol(f"{MODEL}hidden").visibility is Visibility.PRIVATE
    assert tree.symbol(f"{ORDERS}Order.cache").visibility is Visibility.PRIVATE
    assert tree.symbol(f"{ORDERS}Order.#secret").visibility is Visibility.PRIVATE
    assert tree.symbol(f"{ORDERS}Order.use").visibility is Visibility.PUBLIC


def test_members_of_objects_belong_to_their_variable(tree):
    assert tree.edge(CONTAINS, f"{ORDERS}api", f"{ORDERS}api.create")
    assert tree.symbol(f"{ORDERS}api.drop").kind is NodeKind.METHOD


def test_commonjs_modules_export_and_require():
    tree = resolved(
        {
            "app.js": "const a = require('./a'); const { go: run } = require('./b');\n"
            "const App = function () { a(); run(); };\n"
            "App.prototype.start = function () { this.stop(); };\n"
            "App.prototype.stop = function () { late(); };\n"
            "const late = require('./b').late;\n"
            "function b() { require('./a')(); a.fast(); }\n",
            "a.js": "function main() {}\nmain.fast = function () {};\nmodule.exports = main;\n",
            "b.js": "exports.go = () => {};\nfunction late() {}\nmodule.exports = { late };\n",
        }
    )
    assert tree.rule(CALLS, "sym:app.js#App", "sym:a.js#main") == "import"
    assert tree.rule(CALLS, "sym:app.js#App", "sym:b.js#go") == "import"
    assert tree.rule(CALLS, "sym:app.js#App.start", "sym:app.js#App.stop") == "self"
    assert tree.rule(CALLS, "sym:app.js#App.stop", "sym:b.js#late") == "import"


def test_anonymous_default_exports_have_a_name():
    tree = resolved(
        {
            "a.ts": "export default () => helper();\nfunction helper() {}\n",
            "b.ts": "import a from './a';\na();\n",
            "c.ts": "export default class { run() {} }",
            "d.ts": "import C from './c';\nnew C().run();\n",
        }
    )
    assert tree.rule(CALLS, "file:b.ts", "sym:a.ts#default") == "import"
    assert tree.rule(CALLS, "sym:a.ts#default", "sym:a.ts#helper") == "file"
    assert tree.rule(CALLS, "file:d.ts", "sym:c.ts#default.run") == "typed"


def test_an_import_with_the_extension_of_the_output_finds_the_source():
    tree = resolved({"a.ts": "export const f = () => 1;", "b.ts": "import {f} from './a.js';f();"})
    assert tree.rule(CALLS, "file:b.ts", "sym:a.ts#f") == "import"


def test_overloads_are_one_target():
    source = (
        "export function f(a: string): void;\nexport function f(a: any) {\n  return a;\n}\nf(1);"
    )
    tree = resolved({"a.ts": source})
    assert tree.targets(CALLS, "file:a.ts") == {"sym:a.ts#f~1"}


def test_broken_manifests_are_ignored():
    tree = resolved({"package.json": "{", "tsconfig.json": '["x"]', "a.ts": "f(); function f() {}"})
    assert tree.targets(CALLS, "file:a.ts") == {"sym:a.ts#f"}
