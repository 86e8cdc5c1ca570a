"""Pairs of statements as teams write them, and what the second is to the first; labelled by hand.

Every other pair of a kind was used to choose thresholds and rules, the rest only to report.
"""

SAME = (
    ("We deploy on Tuesdays.", "We deploy on Tuesdays"),
    (
        "Use UTC for all timestamps in the database.",
        "Use UTC for all the timestamps in the database!",
    ),
    ("The parser runs in two processes.", "The parser runs in two processes ."),
    (
        "Never log request bodies: they may contain passwords.",
        "Never log request bodies, they may contain passwords.",
    ),
    (
        "Migrations are additive before a deploy and removed after it.",
        "Migrations are additive before a deploy, and removed after it.",
    ),
    ("Celery workers acknowledge late.", "celery workers acknowledge late"),
    (
        "`Invoice.total` rounds once, to whole cents.",
        "`Invoice.total` rounds once to whole cents.",
    ),
    ("The API returns 404 for foreign ids.", "The API returns a 404 for foreign ids."),
    ("Tests run on real Postgres.", "The tests run on real Postgres."),
    (
        "Because of locale bugs we pin ICU to version 72 in the Dockerfile.",
        "Because of locale bugs, we pin ICU to version 72 in our Dockerfile.",
    ),
    ("Feature flags live in flags.yaml.", "Our feature flags live in flags.yaml."),
    ("The search index is rebuilt nightly.", "The search index is rebuilt nightly"),
    ("Secrets are read from Vault at start-up.", "secrets are read from Vault at start-up."),
    (
        "Do not call the payment API inside a transaction.",
        "Don't call the payment API inside a transaction.",
    ),
    ("We prefer composition over inheritance.", "We prefer composition over inheritance!"),
    ("All money is stored in cents.", "All of the money is stored in cents."),
)

UPDATE = (
    ("We deploy on Tuesdays.", "We no longer deploy on Tuesdays; deploys are continuous."),
    ("Jobs wait in RabbitMQ.", "Jobs wait in Redis instead of RabbitMQ now."),
    (
        "The client retries three times.",
        "The client retries three times, with jitter between them.",
    ),
    ("Login is by password.", "Login was moved from password to single sign-on."),
    ("Images are built with Docker.", "Images are now built with Podman instead of Docker."),
    ("The cache is in memory.", "The cache was in memory; since v2 the cache is in Redis."),
    ("We format code with black.", "We switched from black to ruff to format code."),
    ("Reports are sent by mail.", "Reports are sent by mail, and by the chat since March."),
    ("CI runs on Jenkins.", "CI runs on GitHub Actions; Jenkins is deprecated."),
    (
        "Staging is reset daily.",
        "Staging is reset daily, at midnight UTC, from last night's backup.",
    ),
    ("The web client is written in Angular.", "The web client is no longer written in Angular."),
    ("Dates are parsed by moment.", "Dates are parsed by luxon; it replaced moment."),
    (
        "Docs are built by Sphinx.",
        "Docs are built by Sphinx and published to the wiki on each tag.",
    ),
    ("The job table is called tasks.", "The job table tasks was renamed to jobs."),
)

CONFLICT = (
    ("Use tabs for indentation.", "Use spaces for indentation."),
    ("The worker timeout is 30 seconds.", "The worker timeout is 60 seconds."),
    ("Never retry POST requests.", "Retry POST requests."),
    ("Always enable the query cache in tests.", "Always disable the query cache in tests."),
    ("The token lives for 15 minutes.", "The token does not live for 15 minutes."),
    ("Run migrations before the deploy.", "Run migrations after the deploy."),
    ("The endpoint is public.", "The endpoint is private."),
    ("Pages are cached for 5 minutes.", "Pages are cached for 10 minutes."),
    ("Use transactions in migrations.", "Avoid transactions in migrations."),
    ("The id column is required.", "The id column is optional."),
    ("The consumer is synchronous.", "The consumer is asynchronous."),
    ("At most 100 items fit in a batch.", "At most 500 items fit in a batch."),
    ("Feature branches are merged, not rebased.", "Feature branches are rebased, not merged."),
    ("Log lines must not contain mail addresses.", "Log lines must contain mail addresses."),
    ("Sort the list in ascending order.", "Sort the list in descending order."),
    ("Coverage has to be above 80% in CI.", "Coverage has to be above 90% in CI."),
    ("The gateway allows anonymous reads.", "The gateway forbids anonymous reads."),
    ("The pool has 20 connections.", "The pool has 50 connections."),
)

DISTINCT = (
    ("Release 1.1.1.", "Release 1.1.2."),
    ("Bump django from 4.2.1 to 4.2.2.", "Bump django from 4.2.2 to 4.2.3."),
    ("The billing service uses Postgres.", "The search service uses Elasticsearch."),
    ("`load_user` reads the session.", "`save_user` writes the session."),
    ("Fix typo in README.md.", "Fix typo in CHANGELOG.md."),
    ("The parser of Go is written by hand.", "The parser of Rust is generated."),
    ("Module 3 owns the invoices.", "Module 5 owns the payments."),
    ("We deploy billing on Tuesdays.", "We deploy search on Thursdays."),
    ("Alice reviews the gateway.", "Bob reviews the workers."),
    ("Add tests for the user model.", "Add tests for the order model."),
    ("Errors of the client are shown in red.", "Errors of the server go to Sentry."),
    ("The left pane shows files.", "The right pane shows symbols."),
    ("Pin numpy below 2.0.", "Pin pandas below 3.0."),
    ("Issue 17 was a race in the queue.", "Issue 18 was a race in the cache."),
    ("The CLI prints JSON with --json.", "The CLI prints CSV with --csv."),
    ("Chrome needs the flag in dev.", "Firefox needs the header in dev."),
    ("GET /users lists users.", "POST /users makes a user."),
    ("Backups of staging are kept 7 days.", "Backups of production are kept 90 days."),
)
