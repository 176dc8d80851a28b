# Every target installs what it needs on Debian and Ubuntu (scripts/install).
GO ?= go
export CGO_ENABLED = 0

.PHONY: build demo catalogue test lint bench docker-soak clean

build:
	$(GO) build -trimpath -o bin/picklock ./cmd/picklock

demo: build
	scripts/install redis-server zookeeper java
	bin/picklock demo

catalogue: build
	scripts/install redis-server zookeeper java
	bin/picklock matrix

test:
	scripts/install redis-server zookeeper java chromium python3
	$(GO) test -p 1 -timeout 20m ./...

lint:
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	scripts/lint

bench:
	$(GO) run ./scripts/bench
	$(GO) test -run Oracle -rapid.checks=10000 -timeout 30m ./checker/model

# Which inverted comparisons of the checker does no test notice?
mutate:
	$(GO) run ./scripts/mutate

fuzz:
	$(GO) test -run '^$$' -fuzz FuzzRead -fuzztime 10s ./checker/model
	$(GO) test -run '^$$' -fuzz FuzzFastDecoder -fuzztime 10s ./history

# Runs in a row and two at once on the Docker engine, which must leave nothing.
docker-soak:
	PICKLOCK_SOAK=10 $(GO) test -count 1 -timeout 20m -v -run TestRunsLeaveNothing ./compose/docker

clean:
	rm -rf bin
