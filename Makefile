# `make help` prints the list. Everything that is installed or generated lives in .local/.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export PYTHONPYCACHEPREFIX := $(CURDIR)/.local/cache/pycache
BIN := .local/venv/bin

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up:  ## Set up everything, start the server, index this checkout, print a tour
	@deploy/server.sh up

down:  ## Stop what `make up` started
	@deploy/server.sh down

status:  ## Show which processes run
	@deploy/server.sh status

env:  ## Print shell lines that export CODEMEM_URL and CODEMEM_TOKEN: eval "$$(make -s env)"
	@deploy/server.sh env

logs:  ## Follow the logs of the running server
	@deploy/server.sh logs

test:  ## Run every test on real services of their own
	@deploy/test.sh

check: setup  ## Formatting, lint, types, import contracts, shell scripts, missing migrations
	@deploy/check.sh

bench: setup  ## Measure on a 200k-node graph and 100k memories; prints figures
	@deploy/bench.sh

bench-graph: setup  ## Precision and recall of calls against compilers (MIRRORS=a folder of bare repositories)
	@deploy/bench_graph.sh

indexers: setup  ## Install the SCIP indexers that this host can have into .local/indexers
	@deploy/indexers.sh

test-scip: indexers  ## Run the tests that need real SCIP indexers
	@deploy/test.sh -m scip tests/indexing/scip

test-clients:  ## Run real coding agents from npm (CODEMEM_CLIENTS=a folder to keep them in) against a scripted model
	@deploy/test.sh -m clients tests/clients

bench-index: setup  ## Index a whole repository from nothing; print CPU seconds of every part
	@deploy/bench_index.sh

bench-history: setup  ## Index a long history; compare past graphs to fresh indexes and git log -L
	@deploy/bench_history.sh

bench-pushes: setup  ## From webhook to answer at 500, 2,000 and 8,000 files; branches against fresh indexes
	@deploy/bench_pushes.sh
	@deploy/bench_pushes.sh --branches

bench-http: setup  ## How long an agent waits for an answer about code, on Django's source
	@deploy/bench_http.sh

bench-console: setup  ## How soon each page of the console is there in Chromium
	@deploy/bench_console.sh

bench-explorer: setup  ## How smooth 2,000 nodes of 200,000 are under a pointer in Chromium
	@deploy/bench_explorer.sh

bench-code-memory: setup  ## Ask where real commits' changes would go; against BM25 over content
	@deploy/bench_code_memory.sh

bench-review: setup  ## Which file did a commit forget? Hide each in turn; against co-change, graph and folders
	@deploy/bench_review.sh

bench-review-latency: setup  ## How long a review of 500 lines takes over HTTP, on Django's source
	@deploy/bench_review_latency.sh

bench-risk: setup  ## Which changes were followed by a fix? Against what reviews state; calibration and a plot
	@deploy/bench_risk.sh

bench-consolidation: setup  ## Run and undo each consolidation cycle on 10,000 memories of real commit messages
	@deploy/bench_consolidation.sh

bench-portability: setup  ## Export, wipe, import and export 10,000 memories over HTTP; the same bytes?
	@deploy/bench_portability.sh

bench-hooks: setup  ## How long hooks hold up fifty agents: the server, the script, the server stopped
	@deploy/bench_hooks.sh

bench-memory: setup  ## What recall finds of LoCoMo's evidence (LOCOMO=its json; held out: deploy/bench_memory.sh --held-out)
	@deploy/bench_memory.sh

bench-replay: setup  ## Play agents' sessions and ask later ones for what was planted in them
	@deploy/bench_replay.sh

bench-scale: setup  ## Recall over 100k memories in fifty namespaces, one client and fifty
	@deploy/bench_scale.sh

conformance:  ## Run the MCP conformance scenarios (fetches Node 22 and the suite)
	@deploy/conformance.sh

lock: setup  ## Write requirements.lock anew from pyproject.toml
	@deploy/lock.sh

setup:
	@deploy/server.sh setup

.PHONY: help up down status env logs test check bench bench-graph bench-index indexers test-scip test-clients bench-history bench-pushes bench-hooks bench-http bench-console bench-explorer bench-code-memory bench-consolidation bench-review bench-review-latency bench-risk bench-memory bench-portability bench-replay bench-scale conformance lock setup
