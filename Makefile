# Every target installs what it needs on Debian and Ubuntu (scripts/install).
GO ?= go
export CGO_ENABLED = 0

.PHONY: build demo catalogue matrix-docs catalogue-docker test check race lint lint-darwin slow bench docker-soak docker-soak-here disk-soak hold-soak late-messages seeded all-faults bench-hunt hunt-seeded hunt-sound skeletons release go-install image fleet-swarm fleet-swarm-soak fleet-soak fleet-scale docs clean

build:
	$(GO) build -trimpath -buildvcs=auto -ldflags='-s -w' -o bin/picklock ./cmd/picklock
	@echo "bin/picklock: $$(($$(wc -c < bin/picklock) / 1000000)) MB"

demo: build
	scripts/install redis-server zookeeper java
	bin/picklock demo

catalogue: build
	scripts/install redis-server zookeeper java postgres pgbouncer
	bin/picklock scenario run --all

# The catalogue again, for docs/results/matrix.md.
matrix-docs: build
	scripts/install redis-server zookeeper java postgres pgbouncer
	scripts/matrix-docs

# The same on a Docker engine, which is started where none answers, on images built from this
# machine's packages. On images of a registry: bin/picklock scenario run --all --runtime docker.
catalogue-docker: build
	scripts/engine run sh -c 'images=$$(scripts/images) && eval "$$images" && bin/picklock scenario run --all --runtime docker'

test:
	scripts/install redis-server zookeeper java chromium python3 redis-py kazoo curator pytest junit5 node postgres pgbouncer
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

# Locks that are right, under everything that clients and replicated servers can suffer:
# not one may be accused.
soundness: build
	scripts/install redis-server zookeeper java postgres
	scripts/soundness

# --faults all: what is known to break breaks, what is fenced holds. 40 minutes.
all-faults: build
	scripts/install redis-server zookeeper java postgres
	scripts/all-faults

# The catalogue, the helpers' projects and the seeded bugs with eight busy loops beside them: what a slow
# machine cannot show is discarded, and never a tick. Hours. ARGS=catalogue for a part.
slow: build
	scripts/install redis-server zookeeper java postgres pgbouncer python3 redis-py pytest junit5 node
	scripts/slow $(ARGS)

lint: lint-darwin
	$(GO) vet ./...
	scripts/lint

# That it still compiles where no namespaces are.
lint-darwin:
	GOOS=darwin $(GO) vet ./...

bench:
	$(GO) run ./scripts/bench
	$(GO) test -v -run Oracle -timeout 30m ./checker/model -rapid.checks=10000

# How long the hunt and the random nemesis take to find what is known to break: an hour
# and more. ARGS="-targets redis-del,zk-lock -seeds 5 -arms guided,exhaustive,random,nemesis"
bench-hunt: build
	$(GO) run ./scripts/bench-hunt $(ARGS)

# Locks that are right, fenced, hunted for five minutes each: whatever is found must be true
# of the lock. 45 minutes. TIME=1m LOCKS="etcd zookeeper"
hunt-sound: build
	scripts/install redis-server zookeeper java postgres
	scripts/hunt-sound

# One campaign alone, and again while workers and the NATS server are killed at random. Both must
# find the same, and no result may be lost. 15 minutes.
fleet-soak: build
	scripts/install redis-server
	$(GO) run ./scripts/fleet-soak $(ARGS)

# The same in containers of a Docker Swarm on this machine. 20 minutes.
fleet-swarm-soak: build
	scripts/install redis-server
	scripts/engine run sh -c 'scripts/images --again picklock && $(GO) run ./scripts/fleet-soak -swarm $(ARGS)'

# How many workers one queue can feed: a real JetStream, simulated workers. 6 minutes.
fleet-scale:
	$(GO) run ./scripts/fleet-scale $(ARGS)

# Which inverted comparisons of the checker does no test notice?
mutate:
	$(GO) run ./scripts/mutate

# Every seeded bug and its control through the whole catalogue and two runs: who finds
# what. The test of every day plays only the quickest means for each.
SEEDED ?= seeded.md
seeded:
	scripts/install redis-server
	PICKLOCK_SEEDED=$(abspath $(SEEDED)) $(GO) test -count 1 -parallel 4 -timeout 5h -run TestSeededBugsWhole ./harness

# The same by the hunt alone: half an hour.
hunt-seeded: build
	scripts/install redis-server
	scripts/hunt-seeded

# What lock init writes, in every language, through lock check, a run, the matrix and a hunt.
skeletons: build
	scripts/install redis-server
	scripts/skeletons

# Every parser for a moment each; FUZZTIME=10000000x for more.
fuzz:
	scripts/fuzz

# What servers acknowledge, through 50 losses of power each.
disk-soak:
	scripts/install redis-server zookeeper java postgres
	PICKLOCK_SOAK=50 $(GO) test -count 1 -timeout 60m -v -run 'TestDiskSoak/^(redis-aof-always|etcd|zookeeper|postgres)$$' ./compose/local

# 10,000 holds and delivers under load on each of four services.
hold-soak:
	scripts/install redis-server zookeeper java postgres
	PICKLOCK_SOAK=10000 $(GO) test -count 1 -timeout 60m -v -run TestHoldSoak ./compose/local

# The scenarios about late messages, 100 times on each of their locks, held and delivered
# and, to compare, with cuts: how often as expected, how long.
RUNS ?= 100
late-messages: build
	scripts/install redis-server zookeeper java postgres
	RUNS=$(RUNS) $(GO) run ./scripts/late-messages

# Runs in a row and two at once on the Docker engine, which must leave nothing.
docker-soak:
	scripts/engine run $(MAKE) docker-soak-here

docker-soak-here:
	PICKLOCK_SOAK=10 $(GO) test -count 1 -timeout 20m -v -run TestRunsLeaveNothing ./compose/docker
	PICKLOCK_SOAK=10 $(GO) test -count 1 -timeout 20m -v -run 'TestExperiments/docker|TestUnfencedEtcdLosesUpdates/docker|TestPostgresScenariosOnDocker' ./harness

# picklock itself with redis-server, for workers in containers (docs/guides/fleet.md).
image: build
	scripts/engine
	scripts/images --again picklock

# What a release hands out, in bin/release: programs, pages of the manual, completion,
# checksums. Nothing is published. 10 minutes the first time.
release:
	scripts/release

# That `go install ...@VERSION` works for somebody who has nothing of picklock.
go-install:
	scripts/go-install

# A campaign on a Swarm of this machine: a coordinator and four workers in containers.
fleet-swarm: build
	scripts/engine run sh -c 'scripts/images --again picklock && scripts/fleet-swarm'

# The site from docs/, into bin/site: a broken link or a page outside the navigation fails.
docs:
	scripts/install python3
	scripts/docs

clean:
	rm -rf bin
