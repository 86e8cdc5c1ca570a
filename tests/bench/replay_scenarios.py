# ruff: noqa: E501  scenarios are tables, set by hand
"""Hand-written scenarios of the replay benchmark: what is planted, and what is needed later.

Each scenario plants facts in one session and needs them in another, in other words. The half that
is held out has repositories of its own; nothing was tuned on it.
"""

from dataclasses import dataclass, field
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Fact:
    """What was planted: a text tells it when all of the signs are in it (in lower case)."""

    name: str
    kind: Literal["preference", "rule", "decision", "failure", "fix", "procedure", "handoff"]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    path: str
    new: str
    warns: Fact | None = None


@dataclass(frozen=True, slots=True)
class Run:
    command: str
    output: str = ""
    is_failed: bool = False
    warns: Fact | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A decision or a rule that the agent stores by a tool."""

    tool: str
    arguments: dict[str, object]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question that an agent asks by a tool, and the fact that its answer must tell."""

    tool: str
    arguments: dict[str, object]
    fact: Fact


@dataclass(frozen=True, slots=True)
class Claim:
    """The handoff of the last session is claimed; its text must tell the fact."""

    fact: Fact


Step = Prompt | Edit | Run | Answer | Mark | Ask | Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    user: str
    steps: tuple[Step, ...]
    opening: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    name: str
    repository: str
    sessions: tuple[Played, ...]
    is_held_out: bool = False
    agents: tuple[str, ...] = field(default=("claude-code",))


def pytest_output(test: str, message: str) -> str:
    return (
        f"=================== short test summary info ===================\nFAILED {test} - {message}"
        "\n1 failed, 11 passed in 0.84s\n"
    )


def _preference(name: str, *signs: str) -> Fact:
    return Fact(name, "preference", signs)


def _one(
    name: str,
    repository: str,
    plant: tuple[Step, ...],
    need: tuple[Step, ...],
    *,
    by: str = "walter",
    later: str = "walter",
    opening: tuple[Fact, ...] = (),
    is_held_out: bool = False,
) -> Scenario:
    return Scenario(
        name=name,
        repository=repository,
        sessions=(
            Played(user=by, steps=plant),
            Played(user=later, steps=need, opening=opening),
        ),
        is_held_out=is_held_out,
    )


# --- The half that the rules may be tuned on -----------------------------------------------------
SUITE = _preference("whole-suite", "whole test suite")
CENTS = Fact("cents", "decision", ("cents",))
ROUNDING = Fact("rounding", "failure", ("decimal", "float"))
IMPORTS = Fact("import-cycle", "fix", ("circular import", "shop/orders.py"))
MIGRATE = Fact("migrate-first", "procedure", ("manage.py migrate",))
REVERSIBLE = Fact("reversible", "rule", ("reversible",))
PNPM = _preference("pnpm", "pnpm")
CLIENT = Fact("server-components", "decision", ("client component",))
HYDRATION = Fact("hydration", "failure", ("cartbadge",))
TSCONFIG = Fact("strict-null", "fix", ("ts2345", "src/cart.ts"))
CODEGEN = Fact("codegen", "procedure", ("pnpm codegen",))
TESTID = Fact("test-ids", "rule", ("data-testid",))
TABLE = _preference("table-tests", "table-driven")
CONTEXT = Fact("no-globals", "decision", ("sqlite",))
RACE = Fact("race", "failure", ("data race",))
NILMAP = Fact("nil-map", "fix", ("nil map", "internal/cache/store.go"))
LICENSE = Fact("wire", "procedure", ("make wire",))
WRAP = Fact("wrap-errors", "rule", ("%w",))
HANDOFF_PAY = Fact("refund-handoff", "handoff", ("refund",))
HANDOFF_GRID = Fact("grid-handoff", "handoff", ("virtual",))

TUNED: Final = (
    _one(
        "run everything before done", "shop",
        (Prompt("The discount on the cart is wrong, look at shop/cart.py. Always run the whole test"
                " suite before you tell me that something is done."),
         Edit("shop/cart.py", "def discount(cart):\n    return cart.total / 10"),
         Run("pytest tests/test_cart.py -q", "4 passed in 0.2s"),
         Answer("The discount is a tenth of the total now.")),
        (Prompt("Add a gift wrap option to the order form."),
         Edit("shop/forms.py", "class GiftForm: ..."),
         Run("pytest -q", "61 passed in 8.1s")),
        opening=(SUITE,),
    ),
    _one(
        "money in cents", "shop",
        (Prompt("Prices drift by a penny. We decided to keep every amount in cents because floats"
                " round badly. Change the price column accordingly."),
         Edit("shop/models.py", "price_cents = models.IntegerField()"),
         Run("pytest tests/test_models.py", "9 passed"),
         Answer("The column is an integer now.")),
        (Prompt("We get shipping fees from a partner as decimal strings. Store them."),
         Ask("recall", {"query": "how do we represent prices and fees in the database"}, CENTS),
         Edit("shop/shipping.py", "fee = parse(value)")),
    ),
    _one(
        "decimal and float mixed", "shop",
        (Prompt("Taxes must be shown on the invoice."),
         Edit("shop/invoice.py", "def tax(total):\n    return total * 0.19"),
         Run("pytest tests/test_invoice.py -q",
             pytest_output("tests/test_invoice.py::test_tax", "TypeError: unsupported operand type(s)"
                           " for *: 'decimal.Decimal' and 'float'"), is_failed=True),
         Answer("The tax test fails with a type error. I ran out of time.")),
        (Prompt("Show the net amount beside the gross one on invoices."),
         Edit("shop/invoice.py", "def net(total):\n    return total / 1.19", warns=ROUNDING),
         Ask("check_prior_failures", {"file_path": "shop/invoice.py"}, ROUNDING)),
        later="rita",
    ),
    _one(
        "circular import", "shop",
        (Prompt("Notify customers when an order is closed."),
         Edit("shop/orders.py", "from shop.mail import notify"),
         Run("pytest tests/test_orders.py -q",
             'Traceback (most recent call last):\n  File "/srv/shop/shop/mail.py", line 3, in <module>\n'
             '    from shop.orders import Order\n  File "/srv/shop/shop/orders.py", line 1, in <module>\n'
             "    from shop.mail import notify\nImportError: cannot import name 'Order' from partially"
             " initialized module 'shop.orders' (most likely due to a circular import)\n",
             is_failed=True),
         Edit("shop/orders.py", "def close_order(order):\n    from shop.mail import notify"),
         Run("pytest tests/test_orders.py -q", "7 passed"),
         Answer("The import moved into the function.")),
        (Prompt("Refactor the mail module to use templates."),
         Ask("check_prior_failures", {"error": "ImportError: cannot import name 'Order' from partially"
                                      " initialized module (circular import)"}, IMPORTS),
         Ask("recall", {"query": "importing between orders and mail breaks, how was that solved"},
             IMPORTS),
         Edit("shop/mail.py", "from django.template import loader")),
        later="mary",
    ),
    _one(
        "migrate before tests", "shop",
        (Prompt("Run the smoke script and tell me what it says."),
         Run("python scripts/smoke.py", 'django.db.utils.ProgrammingError: relation "shop_coupon"'
             " does not exist", is_failed=True),
         Run("python manage.py migrate", "Applying shop.0012_coupon... OK"),
         Run("python scripts/smoke.py", "smoke: ok"),
         Answer("It is fine after the pending migration.")),
        (Prompt("The smoke script complains about a missing relation on my machine."),
         Ask("recall", {"query": "smoke script says a relation does not exist"}, MIGRATE)),
        later="rita",
    ),
    _one(
        "reversible migrations", "shop",
        (Prompt("Please remember this for the team."),
         Mark("store_memory", {"content": "Every migration in this repository must be reversible:"
                               " give RunPython a reverse function.", "memory_type": "rule"}),
         Run("git log -3", "..."), Edit("docs/notes.md", "- reversible migrations")),
        (Prompt("Backfill the new coupon column."),
         Edit("shop/migrations/0013_backfill.py", "def forwards(apps, schema): ...")),
        by="mary", later="rita", opening=(REVERSIBLE,),
    ),
    _one(
        "handoff of the refund", "shop",
        (Prompt("Implement a partial refund for orders that were paid by card; the gateway call is"
                " still missing when you are through with the model."),
         Edit("shop/refunds.py", "class PartialRefund: ..."),
         Run("pytest tests/test_refunds.py", "3 passed"),
         Answer("The partial refund model is done. Next: call the gateway in refund_card and handle"
                " its timeout.")),
        (Claim(HANDOFF_PAY), Edit("shop/gateway.py", "def refund_card(): ...")),
    ),
    _one(
        "pnpm only", "storefront",
        (Prompt("Add lodash.debounce to the search box. From now on use pnpm, not npm, for anything"
                " in here."),
         Run("pnpm add lodash.debounce", "done in 2s"),
         Edit("src/search.tsx", "import debounce from 'lodash.debounce'"),
         Answer("The search box waits 200 ms now.")),
        (Prompt("We need date-fns for the order list."), Run("pnpm add date-fns", "done")),
        opening=(PNPM,),
    ),
    _one(
        "client components", "storefront",
        (Prompt("Let's go with server components by default; a page becomes a client component only"
                " when it needs state, because the bundle doubled last month."),
         Edit("src/app/page.tsx", "export default async function Page() {}"),
         Run("pnpm build", "Compiled successfully"),
         Answer("The landing page renders on the server.")),
        (Prompt("Build a filter sidebar."),
         Ask("recall", {"query": "should a new page be rendered in the browser or on the server"},
             CLIENT)),
    ),
    _one(
        "hydration of the badge", "storefront",
        (Prompt("Show the number of items in the header."),
         Edit("src/CartBadge.tsx", "export const CartBadge = () => <b>{localStorage.count}</b>"),
         Run("pnpm test", " FAIL  src/CartBadge.test.tsx > CartBadge > renders on the server\n"
             "ReferenceError: localStorage is not defined\n \u276f CartBadge src/CartBadge.tsx:1:38\n",
             is_failed=True),
         Answer("The badge does not render on the server yet.")),
        (Prompt("Make the header sticky and the badge red."),
         Edit("src/CartBadge.tsx", "export const CartBadge = () => <b className='red' />",
              warns=HYDRATION)),
        later="rita",
    ),
    _one(
        "string is no number", "storefront",
        (Prompt("Add up the cart on the client."),
         Edit("src/cart.ts", "export function addUp(prices: number[]) {}"),
         Run("pnpm tsc", "src/cart.ts(10,5): error TS2345: Argument of type 'string' is not"
             " assignable to parameter of type 'number'.\n", is_failed=True),
         Edit("src/cart.ts", "export function addUp(prices: string[]) { prices.map(Number) }"),
         Run("pnpm tsc", ""),
         Answer("The prices are converted first.")),
        (Prompt("Extend the cart total with vouchers."),
         Ask("check_prior_failures", {"file_path": "src/cart.ts"}, TSCONFIG)),
        later="mary",
    ),
    _one(
        "codegen first", "storefront",
        (Prompt("Why does the dev server not start?"),
         Run("pnpm dev", "Error: Cannot find module './generated/graphql'", is_failed=True),
         Run("pnpm codegen", "generated 14 files"),
         Run("pnpm dev", "ready on 3000"),
         Answer("The generated client was missing.")),
        (Prompt("I cloned the repository and pnpm dev fails."),
         Ask("recall", {"query": "pnpm dev cannot find the generated graphql module"}, CODEGEN)),
        later="rita",
    ),
    _one(
        "test ids", "storefront",
        (Prompt("For this project, every interactive element must have a data-testid attribute. Add"
                " them to the login form."),
         Edit("src/Login.tsx", "<input data-testid='email' />"), Run("pnpm test", "24 passed")),
        (Prompt("Add a button that clears the cart."), Edit("src/Clear.tsx", "<button />")),
        opening=(TESTID,),
    ),
    _one(
        "handoff of the grid", "storefront",
        (Prompt("Make the product grid fast with virtual scrolling."),
         Edit("src/Grid.tsx", "import { useVirtual } from './virtual'"),
         Run("pnpm test", "25 passed"),
         Answer("The grid uses virtual scrolling. Open: keyboard navigation, and the sticky header"
                " flickers in Safari.")),
        (Claim(HANDOFF_GRID), Edit("src/Grid.tsx", "onKeyDown")),
    ),
    _one(
        "table tests", "ledger",
        (Prompt("Write tests for the parser. I prefer table-driven tests over many small functions."),
         Edit("internal/parse/parse_test.go", "func TestParse(t *testing.T) {}"),
         Run("go test ./...", "ok  ledger/internal/parse 0.01s")),
        (Prompt("Cover the exporter, too."), Edit("internal/export/export_test.go", "func TestExport() {}"),
         Run("go test ./...", "ok")),
        opening=(TABLE,),
    ),
    _one(
        "one file is enough", "ledger",
        (Prompt("Pick a store for the ledger."),
         Mark("mark_decision", {"decision": "The ledger keeps its entries in SQLite, one file for each"
                                " customer.", "rationale": "No server to run; backups are copies.",
                                "alternatives_rejected": [{"option": "Postgres", "reason": "a server for"
                                                           " each customer"}]}),
         Edit("internal/store/store.go", "func Open(path string) {}"), Run("go test ./...", "ok")),
        (Prompt("Someone asks for a cluster. Can our persistence layer do that?"),
         Ask("recall", {"query": "which database do we persist ledger entries in, and why"}, CONTEXT)),
        later="mary",
    ),
    _one(
        "race in the writer", "ledger",
        (Prompt("Write entries in the background."),
         Edit("internal/writer/writer.go", "func (w *Writer) Flush() { go w.flush() }"),
         Run("go test -race ./...", "--- FAIL: TestFlush (0.01s)\n    writer_test.go:44: data race"
             " detected in Flush\nFAIL\n", is_failed=True),
         Answer("There is still a race in Flush.")),
        (Prompt("Batch the writes."),
         Edit("internal/writer/writer.go", "func (w *Writer) Batch() {}", warns=RACE),
         Run("go test -race ./...", "ok", warns=None)),
        later="rita",
    ),
    _one(
        "nil map", "ledger",
        (Prompt("Cache balances."),
         Edit("internal/cache/store.go", "type Store struct { m map[string]int }"),
         Run("go test ./internal/cache", "panic: assignment to entry in nil map\n\ngoroutine 7"
             " [running]:\nledger/internal/cache.(*Store).Put\n\t/srv/ledger/internal/cache/store.go:14"
             " +0x20\n", is_failed=True),
         Edit("internal/cache/store.go", "func NewStore() *Store { return &Store{m: map[string]int{}} }"),
         Run("go test ./internal/cache", "ok  ledger/internal/cache 0.01s")),
        (Prompt("Add expiry to the balance cache."),
         Ask("check_prior_failures", {"command": "go test ./internal/cache"}, NILMAP)),
        later="mary",
    ),
    _one(
        "wire", "ledger",
        (Prompt("Start the server."),
         Run("go run ./cmd/ledger", "cmd/ledger/main.go:12:7: undefined: InitializeApp",
             is_failed=True),
         Run("make wire", "wire: wrote wire_gen.go"),
         Run("go run ./cmd/ledger", "listening on :8080"),
         Answer("It runs.")),
        (Prompt("go run says InitializeApp is undefined."),
         Ask("recall", {"query": "undefined InitializeApp when the server is started"}, LICENSE)),
        later="rita",
    ),
    _one(
        "wrapped errors", "ledger",
        (Prompt("Our convention is to wrap errors with %w and the name of the operation. Fix the"
                " store."),
         Edit("internal/store/store.go", 'return fmt.Errorf("open: %w", err)'),
         Run("go vet ./...", "")),
        (Prompt("Handle errors in the exporter."), Edit("internal/export/export.go", "return err")),
        opening=(WRAP,),
    ),
)  # fmt: skip

# --- The half that is held out --------------------------------------------------------------------
BRANCH = _preference("branches", "feature branch")
PAGING = Fact("cursor-paging", "decision", ("cursor",))
TIMEZONE = Fact("timezone", "failure", ("offset-naive",))
FIXTURE = Fact("fixture", "fix", ("eventloop", "tests/conftest.py"))
BROKER = Fact("broker", "procedure", ("docker compose up",))
PII = Fact("pii", "rule", ("personal data",))
BORROW = Fact("borrow", "failure", ("e0502",))
UNWRAP = Fact("unwrap", "rule", ("unwrap",))
FLAGS = Fact("flags", "decision", ("clap",))
COMMENTS = _preference("comments", "comments")
LOCK = Fact("lockfile", "procedure", ("cargo fetch",))
FEATURE = Fact("feature-gate", "fix", ("e0433", "src/tls.rs"))
TERRA = _preference("plan-first", "terraform plan")
REGION = Fact("region", "decision", ("frankfurt",))
CYCLE = Fact("cycle", "failure", ("cycle",))
TAGS = Fact("owner-tags", "rule", ("owner",))
INIT = Fact("init", "procedure", ("terraform init",))
SUBNET = Fact("subnet", "fix", ("cidr", "network/main.tf"))
HANDOFF_FEED = Fact("feed-handoff", "handoff", ("webhook",))
HANDOFF_BENCH = Fact("bench-handoff", "handoff", ("simd",))

HELD_OUT: Final = (
    _one(
        "own branch", "feeds",
        (Prompt("Tidy up the importer. And never commit to main directly, make a feature branch for"
                " each change."),
         Edit("feeds/importer.py", "def tidy(): ..."), Run("pytest -q", "31 passed")),
        (Prompt("Rename the parser module."), Edit("feeds/parser.py", "..."), Run("pytest -q", "31 passed")),
        opening=(BRANCH,), is_held_out=True,
    ),
    _one(
        "cursors", "feeds",
        (Prompt("The list endpoint is slow on page 900. We've agreed on cursor based pages instead of"
                " offsets, since deep offsets scan the whole table."),
         Edit("feeds/api.py", "def items(after): ..."), Run("pytest tests/test_api.py", "12 passed"),
         Answer("It asks for what comes after the last id now.")),
        (Prompt("Add an endpoint that lists subscribers."),
         Ask("recall", {"query": "what kind of pagination do our endpoints use"}, PAGING)),
        is_held_out=True,
    ),
    _one(
        "naive times", "feeds",
        (Prompt("Skip items that are older than a week."),
         Edit("feeds/filters.py", "def is_old(item): return item.at < datetime.now()"),
         Run("pytest tests/test_filters.py -q",
             pytest_output("tests/test_filters.py::test_is_old", "TypeError: can't compare"
                           " offset-naive and offset-aware datetimes"), is_failed=True),
         Answer("The comparison is not right yet.")),
        (Prompt("Add a filter for language."),
         Edit("feeds/filters.py", "def has_language(item): ...", warns=TIMEZONE)),
        later="rita", is_held_out=True,
    ),
    _one(
        "closed loop", "feeds",
        (Prompt("Make the fetcher asynchronous."),
         Edit("feeds/fetch.py", "async def fetch(): ..."),
         Run("pytest tests/test_fetch.py -q",
             pytest_output("tests/test_fetch.py::test_fetch", "RuntimeError: EventLoop is closed"),
             is_failed=True),
         Edit("tests/conftest.py", "@pytest.fixture\ndef event_loop(): ..."),
         Run("pytest tests/test_fetch.py -q", "5 passed")),
        (Prompt("Tests of the async code end with a closed loop."),
         Ask("check_prior_failures", {"error": "RuntimeError: EventLoop is closed"}, FIXTURE)),
        later="mary", is_held_out=True,
    ),
    _one(
        "broker up", "feeds",
        (Prompt("Process the backlog once."),
         Run("python -m feeds.worker --once", "ConnectionRefusedError: [Errno 111] Connect call failed"
             " ('127.0.0.1', 5672)", is_failed=True),
         Run("docker compose up -d rabbitmq", "Started"),
         Run("python -m feeds.worker --once", "processed 40 items")),
        (Prompt("The worker cannot connect to port 5672."),
         Ask("recall", {"query": "worker is refused a connection by the message broker"}, BROKER)),
        later="rita", is_held_out=True,
    ),
    _one(
        "no personal data", "feeds",
        (Prompt("We never write personal data of subscribers into logs. Mend the mailer."),
         Edit("feeds/mailer.py", "log.info('sent')"), Run("pytest -q", "33 passed")),
        (Prompt("Log what the unsubscribe endpoint does."), Edit("feeds/unsubscribe.py", "log.info('...')")),
        opening=(PII,), is_held_out=True,
    ),
    _one(
        "handoff of webhooks", "feeds",
        (Prompt("Publishers want a webhook when their feed breaks."),
         Edit("feeds/webhooks.py", "def call(): ..."), Run("pytest -q", "35 passed"),
         Answer("The webhook is sent once. Still to do: retries with back-off, and a signature.")),
        (Claim(HANDOFF_FEED), Edit("feeds/webhooks.py", "def retry(): ...")),
        is_held_out=True,
    ),
    _one(
        "two borrows", "grepper",
        (Prompt("Keep the last match while reading on."),
         Edit("src/search.rs", "let last = self.matches.last(); self.matches.push(m);"),
         Run("cargo build", "error[E0502]: cannot borrow `self.matches` as mutable because it is also"
             " borrowed as immutable\n  --> src/search.rs:41:9\n", is_failed=True),
         Answer("It does not compile yet.")),
        (Prompt("Count matches in the search loop."),
         Edit("src/search.rs", "self.count += 1;", warns=BORROW)),
        later="rita", is_held_out=True,
    ),
    _one(
        "no unwrap", "grepper",
        (Prompt("Please keep this for everybody."),
         Mark("store_memory", {"content": "Library code never calls unwrap or expect; it returns an"
                               " error.", "memory_type": "rule"}),
         Edit("src/lib.rs", "pub fn run() -> Result<(), Error> {}"), Run("cargo test", "ok")),
        (Prompt("Read patterns from a file."), Edit("src/patterns.rs", "fs::read(path)")),
        by="mary", later="walter", opening=(UNWRAP,), is_held_out=True,
    ),
    _one(
        "flags", "grepper",
        (Prompt("Choose how we parse arguments."),
         Mark("mark_decision", {"decision": "Command line arguments are parsed with clap's derive API.",
                                "rationale": "Help texts come for free.",
                                "alternatives_rejected": [{"option": "lexopt", "reason": "no help"}]}),
         Edit("src/main.rs", "#[derive(Parser)]"), Run("cargo test", "ok")),
        (Prompt("Add an option for context lines."),
         Ask("recall", {"query": "what do we use to read options and flags"}, FLAGS)),
        later="mary", is_held_out=True,
    ),
    _one(
        "why, not what", "grepper",
        (Prompt("Clean the lexer. I don't like comments that repeat the code; write why, not what."),
         Edit("src/lexer.rs", "// The spec counts tabs as one."), Run("cargo test", "ok")),
        (Prompt("Write the globbing module."), Edit("src/glob.rs", "pub fn glob() {}")),
        opening=(COMMENTS,), is_held_out=True,
    ),
    _one(
        "offline build", "grepper",
        (Prompt("Build it without a network."),
         Run("cargo run --offline", "error: no matching package named `memchr` found", is_failed=True),
         Run("cargo fetch", "Downloaded 41 crates"),
         Run("cargo run --offline", "usage: grepper PATTERN")),
        (Prompt("Offline builds say that a package is missing."),
         Ask("recall", {"query": "building offline fails because a package is not found"}, LOCK)),
        later="mary", is_held_out=True,
    ),
    _one(
        "feature gate", "grepper",
        (Prompt("Fetch remote lists over TLS."),
         Edit("src/tls.rs", "use rustls::ClientConfig;"),
         Run("cargo check", "error[E0433]: failed to resolve: use of undeclared crate `rustls`\n"
             "  --> src/tls.rs:1:5\n", is_failed=True),
         Edit("Cargo.toml", "rustls = { version = '0.23', optional = true }"),
         Edit("src/tls.rs", '#[cfg(feature = "tls")] use rustls::ClientConfig;'),
         Run("cargo check", "Finished")),
        (Prompt("Add certificates from the system to the TLS code."),
         Ask("check_prior_failures", {"file_path": "src/tls.rs"}, FEATURE)),
        later="rita", is_held_out=True,
    ),
    _one(
        "handoff of the benchmark", "grepper",
        (Prompt("Speed up literal search with SIMD and measure it."),
         Edit("src/simd.rs", "pub fn find() {}"), Run("cargo test", "ok"),
         Answer("SIMD search works for needles of up to 8 bytes. Next: longer needles and the fallback"
                " for old processors.")),
        (Claim(HANDOFF_BENCH), Edit("src/simd.rs", "pub fn find_long() {}")),
        is_held_out=True,
    ),
    _one(
        "plan first", "platform",
        (Prompt("Resize the database. In future show me the output of terraform plan before you apply"
                " anything."),
         Edit("db/main.tf", 'instance_class = "db.m6"'), Run("terraform validate", "Success!")),
        (Prompt("Add a second queue."), Edit("queue/main.tf", 'resource "queue" "b" {}')),
        opening=(TERRA,), is_held_out=True,
    ),
    _one(
        "where it runs", "platform",
        (Prompt("We'll keep everything in Frankfurt instead of Dublin because two customers require"
                " data to stay in Germany. Move the bucket."),
         Edit("storage/main.tf", 'region = "eu-central-1"'), Run("terraform validate", "Success!")),
        (Prompt("Create a bucket for exports."),
         Ask("recall", {"query": "in which region do new resources go"}, REGION)),
        is_held_out=True,
    ),
    _one(
        "cycle of groups", "platform",
        (Prompt("Let the workers reach the cache."),
         Edit("network/groups.tf", "source_group = aws_group.cache.id"),
         Run("terraform validate", "Error: Cycle: aws_group.cache, aws_group.worker\n", is_failed=True),
         Answer("The two groups refer to each other.")),
        (Prompt("Open the metrics port."),
         Edit("network/groups.tf", "port = 9100", warns=CYCLE)),
        later="rita", is_held_out=True,
    ),
    _one(
        "owner tags", "platform",
        (Prompt("In this repo, every resource must carry an owner tag. Add them to the queues."),
         Edit("queue/main.tf", 'tags = { owner = "core" }'), Run("terraform validate", "Success!")),
        (Prompt("Make a topic for alerts."), Edit("alerts/main.tf", 'resource "topic" "a" {}')),
        opening=(TAGS,), is_held_out=True,
    ),
    _one(
        "init", "platform",
        (Prompt("What would change?"),
         Run("terraform plan", "Error: Inconsistent dependency lock file: provider is not installed",
             is_failed=True),
         Run("terraform init -upgrade", "Installed"), Run("terraform plan", "No changes.")),
        (Prompt("Planning says the lock file is inconsistent."),
         Ask("recall", {"query": "plan complains about an inconsistent dependency lock file"}, INIT)),
        later="mary", is_held_out=True,
    ),
    _one(
        "overlapping subnets", "platform",
        (Prompt("Add a subnet for the workers."),
         Edit("network/main.tf", 'cidr = "10.0.0.0/16"'),
         Run("make test", "network/main.tf:12: error: cidr block overlaps with another subnet\n",
             is_failed=True),
         Edit("network/main.tf", 'cidr = "10.0.8.0/22"'), Run("make test", "ok")),
        (Prompt("One more subnet, for the lambdas."),
         Ask("check_prior_failures", {"file_path": "network/main.tf"}, SUBNET)),
        later="walter", is_held_out=True,
    ),
)  # fmt: skip
SCENARIOS: Final = (*TUNED, *HELD_OUT)
