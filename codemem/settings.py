"""Every setting of the server, by subsystem, read from the environment in one place.

There are no production-only code paths: the same file serves a laptop, the tests and a cluster.
"""

from pathlib import Path

import django_stubs_ext

from codemem import env, logs
from codemem.client.version import VERSION

# Django's generic classes may be written with parameters, as the type checker wants them.
django_stubs_ext.monkeypatch()

ROOT = Path(__file__).resolve().parent.parent
PRIVATE_DIRECTORY = ROOT / ".local"

# --- Django -------------------------------------------------------------------------------------
SECRET_KEY = env.required_text(
    "CODEMEM_SECRET_KEY",
    hint="Any long random string; `make up` writes one to .local/server/env.",
)
DEBUG = env.boolean("CODEMEM_DEBUG", default=False)
PUBLIC_URL = env.text("CODEMEM_PUBLIC_URL", "http://127.0.0.1:8787").rstrip("/")
ALLOWED_HOSTS = list(env.words("CODEMEM_ALLOWED_HOSTS", ("127.0.0.1", "localhost", "[::1]")))
# Browsers send an Origin; agents do not. Whatever comes from elsewhere is refused (DNS rebinding).
ALLOWED_ORIGINS = frozenset({PUBLIC_URL, *env.words("CODEMEM_ALLOWED_ORIGINS")})
CSRF_TRUSTED_ORIGINS = sorted(ALLOWED_ORIGINS)
ROOT_URLCONF = "codemem.urls"
WSGI_APPLICATION = "codemem.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
APPEND_SLASH = False

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "django_structlog",
    "codemem.accounts",
    "codemem.embedding",
    "graph",
    "memory",
    "indexing",
    "workers",
    "codemem.gateway",
    "codemem.console",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "codemem.console.security.PagePolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "codemem.metrics.RequestMetricsMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
STATIC_URL = "/static/"
STATIC_ROOT = env.directory("CODEMEM_STATIC_DIRECTORY", PRIVATE_DIRECTORY / "static")
# What browsers load and npm fetched (python -m codemem.console.assets).
VENDOR_DIRECTORY = PRIVATE_DIRECTORY / "vendor"
STATICFILES_DIRS = [path for path in (VENDOR_DIRECTORY / "static",) if path.is_dir()]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "codemem.console.static_files.StaticFiles"},
}
# Without collected files (tests, a first run) whitenoise serves them from the packages.
WHITENOISE_USE_FINDERS = True
WHITENOISE_MANIFEST_STRICT = False

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True

# --- People and tokens --------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "console:sign-in"
TOKEN_DEFAULT_DAYS = env.integer("CODEMEM_TOKEN_DEFAULT_DAYS", 90, minimum=1)
# Cookies travel over plain HTTP only where the server itself is reached over plain HTTP.
_HTTPS = PUBLIC_URL.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _HTTPS else None
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# --- Postgres -----------------------------------------------------------------------------------
_HINT = "`make up` starts a server and sets it; `make env` prints it for scripts."
_DATABASE = env.database("DATABASE_URL", hint=_HINT)
DATABASES = {
    "default": {
        "ENGINE": "codemem.postgres",
        "HOST": _DATABASE.host,
        "PORT": _DATABASE.port,
        "NAME": _DATABASE.name,
        "USER": _DATABASE.user,
        "PASSWORD": _DATABASE.password,
        # gthread workers keep one connection per thread; the health check at the start of a
        # request is what lets requests recover from a Postgres restart without ours.
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            # cypher() takes its arguments as real bind parameters only.
            "server_side_binding": True,
            # ag_catalog after public, or migrations would create their tables in it. Containment
            # (age.enable_containment) is off in the server's configuration: only a superuser may.
            "options": (
                "-c search_path=public,ag_catalog"
                # When a worker's host dies, its lock on a repository is free after 90 s, not 2 h.
                " -c tcp_keepalives_idle=60"
                " -c tcp_keepalives_interval=10"
                " -c tcp_keepalives_count=3"
                f" -c statement_timeout={env.integer('CODEMEM_STATEMENT_TIMEOUT_MS', 60_000)}"
            ),
            "connect_timeout": 5,
            "application_name": env.text("CODEMEM_PROCESS_NAME", "codemem"),
        },
    }
}

# --- Redis and Celery ---------------------------------------------------------------------------
REDIS_URL = env.redis_url("REDIS_URL", hint=_HINT)
REDIS_TIMEOUT_SECONDS = 2.0
CELERY_BROKER_URL = REDIS_URL
CELERY_RESULT_BACKEND = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_DEFAULT_QUEUE = "maintenance"
# A task is acknowledged when it is done: a killed worker's task comes back to another one.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_TIME_LIMIT = env.integer("CODEMEM_TASK_TIME_LIMIT_SECONDS", 3600, minimum=60)
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": CELERY_TASK_TIME_LIMIT + 60,
    "socket_connect_timeout": REDIS_TIMEOUT_SECONDS,
    "socket_timeout": 30.0,
    "priority_steps": [0, 3, 6, 9],
}
# How long a task may go on after a quick shutdown was asked for; then it is queued again.
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 5.0
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_PUBLISH_RETRY = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE_FILENAME = str(
    env.directory("CODEMEM_DATA_DIRECTORY", PRIVATE_DIRECTORY / "data") / "beat-schedule"
)

# --- Repositories and indexing ------------------------------------------------------------------
DATA_DIRECTORY = env.directory("CODEMEM_DATA_DIRECTORY", PRIVATE_DIRECTORY / "data")
MIRRORS_DIRECTORY = DATA_DIRECTORY / "mirrors"
FETCH_TIMEOUT_SECONDS = env.integer("CODEMEM_FETCH_TIMEOUT_SECONDS", 900, minimum=10)
MAXIMUM_FILE_BYTES = env.integer("CODEMEM_MAXIMUM_FILE_BYTES", 1_000_000, minimum=1_000)
MAXIMUM_FILES = env.integer("CODEMEM_MAXIMUM_FILES", 100_000, minimum=1)
BRANCH_IDLE_DAYS = env.integer("CODEMEM_BRANCH_IDLE_DAYS", 30, minimum=1)
HISTORY_DEPTH = env.integer("CODEMEM_HISTORY_DEPTH", 0, minimum=0)  # commits; 0: all of them
EXTRACTION_PROCESSES = env.integer("CODEMEM_EXTRACTION_PROCESSES", 2, minimum=1, maximum=64)
# SCIP indexers: what compilers know, found in this folder and on PATH.
SCIP_ENABLED = env.boolean("CODEMEM_SCIP", default=True)
SCIP_TOOLS = env.directory("CODEMEM_SCIP_TOOLS", PRIVATE_DIRECTORY / "indexers" / "bin")
SCIP_COMMANDS = env.commands("CODEMEM_SCIP_COMMANDS")
SCIP_SANDBOX = env.choice("CODEMEM_SCIP_SANDBOX", "auto", choices=("auto", "required", "none"))
SCIP_SECONDS = env.integer("CODEMEM_SCIP_SECONDS", 1800, minimum=1)
SCIP_MEMORY_MB = env.integer("CODEMEM_SCIP_MEMORY_MB", 6144, minimum=64)
SCIP_INDEX_MB = env.integer("CODEMEM_SCIP_INDEX_MB", 512, minimum=1)
SCIP_STANDARD_LIBRARY = env.boolean("CODEMEM_SCIP_STANDARD_LIBRARY", default=False)
# Local paths are a way to read any repository on the server's disk: only what is listed here.
LOCAL_REPOSITORY_ROOTS = tuple(
    Path(root).resolve() for root in env.words("CODEMEM_LOCAL_REPOSITORY_ROOTS")
)
# Names that requests reach services by, where they are not the repository's: host=repository.
SERVICE_HOSTS = env.pairs("CODEMEM_SERVICE_HOSTS")

# Tokens for posting reviews to git hosts: a connection names a file of this folder.
FORGE_TOKENS_DIRECTORY = env.directory(
    "CODEMEM_FORGE_TOKENS_DIRECTORY", PRIVATE_DIRECTORY / "forge-tokens"
)

# --- Memory and embeddings ----------------------------------------------------------------------
EMBEDDING_PROVIDER = env.choice(
    "CODEMEM_EMBEDDING_PROVIDER",
    "local",
    choices=("local", "huggingface", "ollama", "openai", "gemini"),
)
EMBEDDING_MODEL = env.text("CODEMEM_EMBEDDING_MODEL")
EMBEDDING_DIMENSIONS = env.integer("CODEMEM_EMBEDDING_DIMENSIONS", 0, maximum=4_000)
EMBEDDING_PRECISION = env.choice(
    "CODEMEM_EMBEDDING_PRECISION", "", choices=("", "full", "half", "int8")
)
EMBEDDING_QUERY_PREFIX = env.text("CODEMEM_EMBEDDING_QUERY_PREFIX")
EMBEDDING_DOCUMENT_PREFIX = env.text("CODEMEM_EMBEDDING_DOCUMENT_PREFIX")
EMBEDDING_BASE_URL = env.text("CODEMEM_EMBEDDING_BASE_URL")
EMBEDDING_API_KEY = env.text("CODEMEM_EMBEDDING_API_KEY")
# While vectors for another model are built, the one before goes on answering; its key.
EMBEDDING_PREVIOUS_API_KEY = env.text("CODEMEM_EMBEDDING_PREVIOUS_API_KEY")
EMBEDDING_BATCH_SIZE = env.integer("CODEMEM_EMBEDDING_BATCH_SIZE", 32, minimum=1, maximum=2_048)
EMBEDDING_TIMEOUT_SECONDS = env.integer("CODEMEM_EMBEDDING_TIMEOUT_SECONDS", 30, minimum=1)
EMBEDDING_RETRIES = env.integer("CODEMEM_EMBEDDING_RETRIES", 3, maximum=20)
EMBEDDING_CACHE_VECTORS = env.integer("CODEMEM_EMBEDDING_CACHE_VECTORS", 50_000)
MODELS_DIRECTORY = env.directory("CODEMEM_MODELS_DIRECTORY", PRIVATE_DIRECTORY / "models")
RELEVANCE_FLOOR = env.number("CODEMEM_RELEVANCE_FLOOR", 0.4)
MAXIMUM_MEMORY_CHARACTERS = env.integer("CODEMEM_MAXIMUM_MEMORY_CHARACTERS", 20_000, minimum=100)

# --- Language models (a namespace chooses one with the setting language.provider) -----------------
LANGUAGE_TIMEOUT_SECONDS = env.number("CODEMEM_LANGUAGE_TIMEOUT_SECONDS", 90.0)
LANGUAGE_ANTHROPIC_URL = env.text("CODEMEM_LANGUAGE_ANTHROPIC_URL", "https://api.anthropic.com")
LANGUAGE_ANTHROPIC_KEY = env.text("CODEMEM_LANGUAGE_ANTHROPIC_KEY")
LANGUAGE_ANTHROPIC_MODEL = env.text("CODEMEM_LANGUAGE_ANTHROPIC_MODEL", "claude-haiku-4-5")
LANGUAGE_OPENAI_URL = env.text("CODEMEM_LANGUAGE_OPENAI_URL", "https://api.openai.com/v1")
LANGUAGE_OPENAI_KEY = env.text("CODEMEM_LANGUAGE_OPENAI_KEY")
LANGUAGE_OPENAI_MODEL = env.text("CODEMEM_LANGUAGE_OPENAI_MODEL")
LANGUAGE_OLLAMA_URL = env.text("CODEMEM_LANGUAGE_OLLAMA_URL", "http://127.0.0.1:11434")
LANGUAGE_OLLAMA_MODEL = env.text("CODEMEM_LANGUAGE_OLLAMA_MODEL")

# --- Gateway ------------------------------------------------------------------------------------
MAXIMUM_BODY_BYTES = env.integer("CODEMEM_MAXIMUM_BODY_BYTES", 4 << 20, minimum=1_024)
MAXIMUM_DIFF_BYTES = env.integer("CODEMEM_MAXIMUM_DIFF_BYTES", 20 << 20, minimum=1_024)
DATA_UPLOAD_MAX_MEMORY_SIZE = MAXIMUM_DIFF_BYTES
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "codemem.gateway.auth.BearerAuthentication",
        # A signed-in browser, for the browsable pages; enforces CSRF.
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PARSER_CLASSES": ["codemem.gateway.body.JsonParser"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PAGINATION_CLASS": "codemem.gateway.pagination.CreatedPagination",
    "DEFAULT_FILTER_BACKENDS": ["codemem.gateway.filters.StrictFilterBackend"],
    "DEFAULT_RENDERER_CLASSES": [
        "rest_framework.renderers.JSONRenderer",
        "rest_framework.renderers.BrowsableAPIRenderer",
    ],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "codemem.gateway.errors.rest_framework_handler",
    "PAGE_SIZE": 50,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "codemem",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
}

# --- Logs, errors, metrics ----------------------------------------------------------------------
LOG_LEVEL = env.choice(
    "CODEMEM_LOG_LEVEL", "INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
)
LOG_FORMAT = env.choice("CODEMEM_LOG_FORMAT", "json", choices=("json", "text"))
LOGGING = logs.configuration(level=LOG_LEVEL, form=LOG_FORMAT)
# Without one, /metrics answers whoever reaches the server: names and counts, no content.
METRICS_TOKEN = env.text("CODEMEM_METRICS_TOKEN")
DJANGO_STRUCTLOG_CELERY_ENABLED = True
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False
SENTRY_DSN = env.text("SENTRY_DSN")
SENTRY_ENVIRONMENT = env.text("SENTRY_ENVIRONMENT", "production")
SENTRY_TRACES_SAMPLE_RATE = env.number("SENTRY_TRACES_SAMPLE_RATE", 0.0)
logs.start_sentry(
    dsn=SENTRY_DSN, environment=SENTRY_ENVIRONMENT, traces_sample_rate=SENTRY_TRACES_SAMPLE_RATE
)
