# Every target installs what it needs first. Arguments go through ARGS: make test ARGS="-k settings"

SHELL := /bin/bash
.DEFAULT_GOAL := help
# Without the compiled files each of the processes that the tests start would compile all of Replaywright anew.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: fit-locating help setup demo docs doors leaks truth test test-long mutants check format lock record-histories clean
.PHONY: bench bench-batch bench-faults bench-first-action bench-hosts bench-inbox bench-locate bench-miniwob bench-pictures bench-recall bench-recovery bench-requests bench-scale bench-shown bench-snapshot bench-telemetry bench-verify bench-widgets agent-calls first-hour team mistakes chaos chaos-long injection park

BIN := .venv/bin
ARGS ?=
# How many processes share the tests: each has servers and a browser of its own. WORKERS=0: one after the other.
WORKERS ?= 3
SIDE_BY_SIDE = -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# These say what is installed in .venv, and which Chromium was found.
INSTALLED := .venv/installed.stamp
BROWSER := .venv/chromium.stamp

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) $(BROWSER) ## create .venv, install the locked dependencies, find or install a Chromium

demo: setup ## run the main job: learn, replay, heal, fall back, survive a kill
	$(BIN)/replaywright demo $(ARGS)

test: setup ## run the tests
	$(BIN)/pytest $(SIDE_BY_SIDE) $(ARGS)

test-long: setup ## run the long forms: every kill point, fault, answer of a model and channel of the gate, tutorial, examples
	$(BIN)/pytest -m "long or slow" $(SIDE_BY_SIDE) $(ARGS)

leaks: setup ## try 129 channels and 212 hostile addresses against the network policy; what got through, about five minutes
	$(BIN)/python -m bench.leaks $(ARGS)

doors: setup ## knock at everything that a running stack listens on, as another user, as a page, with files: what got through
	$(BIN)/python -m bench.doors $(ARGS)

mutants: setup ## leave each guard out in a copy of the source, and see that the tests named for it fail
	$(BIN)/python -m tests.mutants.run $(ARGS)

check: $(INSTALLED) ## ruff, mypy --strict, the import contracts, the compose file, its images, alerts and dashboard
	@failed=0; \
	for command in "ruff check ." "ruff format --check ." "mypy" "lint-imports" \
		"hadolint Dockerfile ops/collector/Dockerfile" "python -m ops.check_compose" "python -m ops.check_monitoring"; do \
		echo "== $$command"; $(BIN)/$$command || failed=1; \
	done; \
	exit $$failed

format: $(INSTALLED) ## put the code into its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(INSTALLED) ## resolve the newest allowed versions into requirements.lock
	$(BIN)/pip-compile --quiet --upgrade --output-file=requirements.lock pyproject.toml
	for name in django-old django-new django-skins nicegui streamlit dash browser-use workflow-use datasette \
		datasette-new fava jupyterlab jupyterlab-old locust locust-old marimo optuna radicale radicale-old sqlite-web \
		sqlite-web-old supervisor trac wagtail wagtail-old ocr; do \
		$(BIN)/pip-compile --quiet --upgrade --no-config --generate-hashes --allow-unsafe --strip-extras --no-annotate \
			--no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options --pip-args=--only-binary=:all: \
			--output-file=bench/requirements/$$name.txt bench/requirements/$$name.in || exit 1; \
	done

chaos: setup ## stop, kill and cut off every part at every point, about twelve minutes; the site says what it was sent
	$(BIN)/python -m bench.chaos $(ARGS)

chaos-long: setup ## the same, every point under every fault five times: 935 runs, about an hour
	$(BIN)/python -m bench.chaos --long $(ARGS)

truth: setup ## pages that act late, again or by themselves, under every fault at every point: what a run says against what the site has
	$(BIN)/python -m bench.truth $(ARGS)

injection: setup ## hostile pages, a model that obeys them, and what nobody asked for that was done: none; what honest tasks ask; about forty minutes
	$(BIN)/python -m bench.injection $(ARGS)

bench: setup ## compare a replay with plain Playwright and with other tools: one flow, one site, interleaved
	$(BIN)/python -m bench.replaying $(ARGS)

bench-faults: setup ## one mail under the same faults, by Replaywright, a Playwright script and other tools: duplicates, lost, false successes
	$(BIN)/python -m bench.faults $(ARGS)

bench-scale: setup ## measure 1 to 4 workers and 1 to 64 runs at once, long runs, large caches, many skills
	$(BIN)/python -m bench.scale $(ARGS)

bench-snapshot: setup ## measure snapshots: page time beside a bare walk, tokens beside the raw HTML, recall
	$(BIN)/python -m bench.snapshot $(ARGS)

bench-telemetry: setup ## measure a replay with telemetry beside one without
	$(BIN)/python -m bench.telemetry $(ARGS)

bench-verify: setup ## measure what verification adds to a replayed step whose expectation already holds
	$(BIN)/python -m bench.verify $(ARGS)

agent-calls: setup ## call as an agent does, with server, worker and client killed in the middle: what was lost, what was done twice
	$(BIN)/python -m bench.agent_calls $(ARGS)

team: setup ## what a team needs: 100 runs that share a session which the site ends at any time, and more; parts by ARGS="--parts NAME"
	$(BIN)/python -m bench.team $(ARGS)

first-hour: setup ## what somebody new does: show tasks, call as an agent, make mistakes; about 40 minutes
	$(BIN)/python -m bench.first_hour $(ARGS)

mistakes: setup ## make the mistakes of a first hour at a running stack: what each message says, and if its remedy works
	$(BIN)/python -m bench.mistakes $(ARGS)

bench-locate: setup ## find recorded elements on changed pages: found, missed, wrong, per tier and threshold
	$(BIN)/python -m bench.locate $(ARGS)

fit-locating: setup ## fit the weights that decide which element is the recorded one, and judge them on other pages
	$(BIN)/python -m bench.fitting $(ARGS)

bench-widgets: setup ## work widgets of component frameworks (Quasar, Streamlit, Dash), judged by what their servers receive
	$(BIN)/python -m bench.widgets $(ARGS)

park: setup ## learn and replay tasks in real applications that nobody here wrote, also in other versions and skins
	$(BIN)/python -m bench.park $(ARGS)

bench-requests: setup ## do tasks of the park by their requests: learned, replayed with other values, taken to other editions, judged by their stores
	$(BIN)/python -m bench.requests $(ARGS)

bench-shown: setup ## tasks that a person has shown twice, replayed with other values
	$(BIN)/python -m bench.shown $(ARGS)

bench-miniwob: setup ## record and replay tasks of MiniWoB++, judged by their own rewards
	$(BIN)/python -m bench.miniwob $(ARGS)

bench-pictures: setup ## 200 pictures with secrets drawn in them: what another reader finds after they were hidden
	$(BIN)/python -m bench.pictures $(ARGS)

bench-recall: setup ## put 2,915 sentences to 38 skills: by patterns alone, with the small call, against stand-ins that answer wrongly; and the time it takes
	$(BIN)/python -m bench.recall $(ARGS)

bench-recovery: setup ## measure the seconds from a killed worker, or worker and browser, to the next step
	$(BIN)/python -m bench.recovery $(ARGS)

bench-first-action: setup ## measure the seconds from starting `replaywright run` to its first action, with a running stack
	$(BIN)/python -m bench.first_action $(ARGS)

bench-batch: setup ## do a batch with real servers, its browsers played, or by requests while workers are killed: rows a second, sizes of histories
	$(BIN)/python -m bench.batch $(ARGS)

bench-hosts: setup ## runs on two hosts of network namespaces, one of which dies in each round; the site says what it was sent
	$(BIN)/python -m bench.hosts $(ARGS)

bench-inbox: setup ## measure how long it takes to find 200 runs that wait for a person
	$(BIN)/python -m bench.inbox $(ARGS)

docs: $(INSTALLED) ## write the reference pages that are made of the code
	$(BIN)/python -m tests.docs.generate

record-histories: setup ## record the histories that the replay test replays (on purpose only)
	$(BIN)/python -m tests.replay.record

clean: ## remove .venv, .environments and what tools leave behind
	rm -rf .venv .environments .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@bash .ci/make-venv .venv

$(INSTALLED): $(BIN)/python requirements.lock pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(BROWSER): $(INSTALLED)
	@$(BIN)/python -m replaywright.stack > $@.new && mv $@.new $@ && echo "Chromium: $$(cat $@)"
