# Every target installs what it needs on Debian and Ubuntu (scripts/install).
GO ?= go
export CGO_ENABLED = 0

.PHONY: build demo test lint bench clean

build:
	$(GO) build -trimpath -o bin/picklock ./cmd/picklock

demo: build
	scripts/install redis-server zookeeper java
	bin/picklock demo

test:
	scripts/install redis-server zookeeper java chromium python3
	$(GO) test -p 1 -timeout 20m ./...

lint:
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	scripts/lint

bench:
	$(GO) test -run '^$$' -bench . -benchtime 1x ./checker

clean:
	rm -rf bin
