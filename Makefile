# Every target installs what it needs on Debian and Ubuntu (scripts/install).
GO ?= go
export CGO_ENABLED = 0

.PHONY: build demo catalogue catalogue-docker test lint bench docker-soak clean

build:
	$(GO) build -trimpath -buildvcs=auto -o bin/picklock ./cmd/picklock

demo: build
	scripts/install redis-server zookeeper java
	bin/picklock demo

catalogue: build
	scripts/install redis-server zookeeper java postgres pgbouncer
	bin/picklock matrix

# The same on a Docker engine, on images built from this machine's packages. On
# images of a registry: bin/picklock matrix --runtime docker.
catalogue-docker: build
	images=$$(scripts/images) && eval "$$images" && bin/picklock matrix --runtime docker

test:
	scripts/install redis-server zookeeper java chromium python3 redis-py kazoo curator postgres pgbouncer
	$(GO) test -p 1 -parallel 4 -timeout 20m ./... # they mostly wait: for leases, elections, timeouts

lint:
	$(GO) vet ./...
	scripts/lint

# That it still compiles where no namespaces are.
lint-darwin:
	GOOS=darwin $(GO) vet ./...

bench:
	$(GO) run ./scripts/bench
	$(GO) test -v -run Oracle -timeout 30m ./checker/model -rapid.checks=10000

# Which inverted comparisons of the checker does no test notice?
mutate:
	$(GO) run ./scripts/mutate

# Every parser for a moment each; FUZZTIME=10000000x for more.
fuzz:
	scripts/fuzz

# Runs in a row and two at once on the Docker engine, which must leave nothing.
docker-soak:
	PICKLOCK_SOAK=10 $(GO) test -count 1 -timeout 20m -v -run TestRunsLeaveNothing ./compose/docker
	PICKLOCK_SOAK=10 $(GO) test -count 1 -timeout 20m -v -run 'TestExperiments/docker|TestUnfencedEtcdLosesUpdates/docker|TestPostgresScenariosOnDocker' ./harness

clean:
	rm -rf bin
