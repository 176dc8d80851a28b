# Every target installs what it needs on Debian and Ubuntu (scripts/install).
GO ?= go
export CGO_ENABLED = 0

.PHONY: build demo catalogue catalogue-docker test check race lint soundness services libraries library-hunts slow bench reported seeded fuzz mutate soak fleet release docs docs-pages

build:
	$(GO) build -trimpath -buildvcs=auto -ldflags='-s -w' -o bin/picklock ./cmd/picklock
	@echo "bin/picklock: $$(($$(wc -c < bin/picklock) / 1000000)) MB"

demo: build
	scripts/install redis-server zookeeper java
	bin/picklock demo

# Every scenario on every lock. ARGS=docs: the same for docs/results/matrix.md.
catalogue: build
	scripts/install redis-server zookeeper java postgres mariadb memcached pgbouncer
	$(if $(filter docs,$(ARGS)),scripts/matrix-docs,bin/picklock scenario run --all)

# The same on a Docker engine, which is started where none answers, on images built from this
# machine's packages. On images of a registry: bin/picklock scenario run --all --runtime docker.
catalogue-docker: build
	scripts/engine run sh -c 'images=$$(scripts/images) && eval "$$images" && bin/picklock scenario run --all --runtime docker'

test:
	scripts/install redis-server zookeeper java chromium python3 redis-py pytest junit5 node maven jdk pip npm postgres mariadb memcached pgbouncer
	scripts/test

# What needs no server and no browser: for the inner loop.
check:
	scripts/check

# Under the race detector, which needs a C compiler: everything whose goroutines are ours,
# and whole runs on each runtime with the harness in the test's own process. Left out are
# nemesis/clock, whose tests stop and patch the very threads that the detector watches,
# and the tests that see the program from outside.
race:
	scripts/install gcc redis-server
	CGO_ENABLED=1 scripts/engine run --optional $(GO) test -race -short -p 2 -timeout 15m ./history ./checker/... ./workloads ./scenarios ./nemesis ./internal/... ./compose ./harness/inprocess

# Correct locks, fenced: not one may be accused. ARGS names parts:
# runs (default) under all that clients and replicated servers can suffer; hunts of five minutes each, on picklock's own
# locks; libraries, hunts of five minutes each on ten of theirs;
# all-faults, where the known bugs must appear, too, 40 minutes; skeletons, what lock init writes.
soundness: build
	scripts/install redis-server zookeeper java postgres $(if $(findstring libraries,$(ARGS)),maven jdk python3 pip)
	for part in $(or $(ARGS),runs); do scripts/soundness/$$part || exit 1; done

# Builds the clients of all libraries' locks, checks them and runs two scenarios on each. What this
# machine has no tools for is left out. LOCKS="redisson redis-py" names some.
libraries: build
	scripts/install redis-server zookeeper java python3
	LOCKS="$(LOCKS)" scripts/libraries

# Hunts on the locks of libraries, for TIME each (LOCKS="redisson redis-py" names some), and writes
# the table of docs/results/libraries.md. What is done in picklock-results/library-hunts is not done again.
library-hunts: build
	scripts/install redis-server zookeeper java postgres python3 node npm maven jdk pip
	$(GO) run ./scripts/library-hunts -time $(TIME) -locks "$(LOCKS)" -page docs/results/libraries.md $(FLAGS)

# The checker against simulated lock services, with new draws each time: DRAWS of each service (20,000), TIMES over.
services:
	for n in $$(seq $(or $(TIMES),1)); do $(GO) test -count=1 ./checker -run 'Test(Sound|Broken)Services' -rapid.seed=0 -rapid.checks=$$(($(or $(DRAWS),20000) / 20)) || exit 1; done

# The catalogue, the helpers' projects and the seeded bugs with eight busy loops beside them: what a slow
# machine cannot show is discarded, and never a tick. Hours. ARGS=catalogue for a part.
slow: build
	scripts/install redis-server zookeeper java postgres pgbouncer python3 redis-py pytest junit5 node
	scripts/slow $(ARGS)

# For Linux and for darwin, which has no namespaces.
lint:
	GOOS=darwin $(GO) vet ./...
	$(GO) vet ./...
	scripts/lint

# The checker. ARGS=hunt: how long the hunt and the random nemesis take to find known bugs, an hour and
# more, with FLAGS="-targets redis-del,zk-lock -seeds 5 -arms guided,exhaustive,random,nemesis".
bench: build
ifeq ($(ARGS),hunt)
	$(GO) run ./scripts/bench-hunt $(FLAGS)
else
	$(GO) run ./scripts/bench
	$(GO) test -v -run Oracle -timeout 30m ./checker/model -rapid.checks=10000
endif

# Bugs that people reported in libraries: hunts the version that has each, and the fixed one. What is done
# in picklock-results/reported is not done again. IDS="R01 R13" names some; TIME is that of one search.
# FLAGS="-again -strategy random -out FOLDER" is more. Hours for all of them.
TIME ?= 10m
reported: build
	scripts/install redis-server zookeeper java python3 node npm maven jdk pip
	$(GO) run ./scripts/reported -time $(TIME) -ids "$(IDS)" $(FLAGS)

# Every seeded bug and its control through the whole catalogue and two runs: who finds what. The
# test of every day plays only the quickest means for each. ARGS=hunt: by the hunt alone, half an hour.
SEEDED ?= seeded.md
seeded: build
	scripts/install redis-server
ifeq ($(ARGS),hunt)
	scripts/hunt-seeded
else
	PICKLOCK_SEEDED=$(abspath $(SEEDED)) $(GO) test -count 1 -parallel 4 -timeout 5h -run TestSeededBugsWhole ./harness
endif

# Every parser for a moment each; FUZZTIME=10000000x for more.
fuzz:
	scripts/fuzz

# Which inverted comparisons of the checker does no test notice?
mutate:
	$(GO) run ./scripts/mutate

# What must hold every time, far more often than make test does it. ARGS="disk hold messages docker"
# names parts; all of them take hours.
soak: build
	scripts/soak $(ARGS)

# Campaigns with many workers. ARGS=image, swarm, soak, swarm-soak or scale; see scripts/fleet.
fleet: build
	scripts/fleet $(ARGS)

# The archives of a release, in bin/release: programs, pages of the manual, completion, checksums.
# Nothing is published. Then `go install ...@VERSION` from an empty module cache. 10 minutes the
# first time.
release:
	scripts/release
	scripts/go-install

# The site from docs/, into bin/site: a broken link or a page outside the navigation fails.
docs:
	scripts/install python3 venv
	scripts/docs

# Opens every page of that site in Chromium, at the width of a desk's screen and of a telephone's.
docs-pages: docs
	scripts/install chromium
	PICKLOCK_TEST_REQUIRE=chromium PICKLOCK_TEST_SITE=$(CURDIR)/bin/site $(GO) test -count=1 ./docs -run TestSiteInABrowser
