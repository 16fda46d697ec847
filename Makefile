# Each target does its own set-up on a machine with Go, Node and apt. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help fmt build run dev quick test test-console sizes shots soak fuzz bench lint release package need-test need-package

GO_FILES := $(shell git ls-files -co --exclude-standard '*.go' '*.sql' '*.json' 2>/dev/null) go.mod go.sum
COMMIT   := $(shell git describe --always --dirty --exclude '*' 2>/dev/null)

# Suites say themselves what they need, and the runner orders them (test/runner).
RUN_TESTS := go run ./test/runner

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

# The console is built with Node and embedded. What is built is not committed: without it Go builds a binary with the
# log-in pages only.
CONSOLE   := web/dist/console/index.html
WEB_FILES := $(shell git ls-files -co --exclude-standard web ':!web/embed.go' ':!web/test' 2>/dev/null)
API_FILES := $(shell git ls-files -co --exclude-standard api internal/edge/httpapi internal/edge/openapi cmd/openapi ':!*_test.go' 2>/dev/null)

build: bin/muster ## build the console and bin/muster

web/node_modules/.package-lock.json: web/package-lock.json
	@tools/need node=nodejs npm=npm
	cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# The document is replaced only when it differs, so that a change of a handler does not build the console anew.
web/.openapi: $(API_FILES)
	go run ./cmd/openapi >web/openapi.new
	@cmp -s web/openapi.new web/openapi.json && rm web/openapi.new || mv web/openapi.new web/openapi.json
	@touch $@

web/openapi.json: web/.openapi
	@test -e $@ || { go run ./cmd/openapi >web/openapi.new && mv web/openapi.new $@; }

$(CONSOLE): web/node_modules/.package-lock.json web/openapi.json $(WEB_FILES)
	cd web && npm run --silent build

dev: web/node_modules/.package-lock.json web/openapi.json bin/muster ## Muster with ten simulated daemons, and the console with hot reload
	cd web && npm run --silent types
	@trap 'kill 0' EXIT; bin/muster serve --demo 10 $(ARGS) & cd web && npm run --silent dev

shots: bin/muster ## screenshots of every page of the console, into web/shots
	cd web && npm run --silent shots

bin/muster: $(GO_FILES) $(CONSOLE)
	go build -trimpath -ldflags '-X main.commit=$(COMMIT)' -o $@ ./cmd/muster

run: build ## build everything and start Muster; further flags in ARGS
	exec bin/muster serve $(ARGS)

# The provider of single sign-on that tests log in with.
PROVIDER := test/signon/provider

$(PROVIDER)/node_modules/.package-lock.json: $(PROVIDER)/package-lock.json
	@tools/need node=nodejs npm=npm
	cd $(PROVIDER) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

need-test: $(PROVIDER)/node_modules/.package-lock.json
	@tools/need gcc=gcc git=git syncthing=syncthing stdiscosrv=syncthing-discosrv sqlite3=sqlite3 ip=iproute2 '/usr/lib/postgresql/*/bin/initdb=postgresql' chromium=chromium /usr/sbin/haproxy=haproxy /usr/sbin/nginx=nginx /usr/lib/nginx/modules/ngx_stream_module.so=libnginx-mod-stream

quick: ## the units of the rooms: no daemon, no PostgreSQL, no browser, no race detector; a minute
	$(RUN_TESTS) quick

test: need-test build ## run every suite in its short form
	$(RUN_TESTS) test

soak: need-test build ## run the same suites at full counts, without time limit
	$(RUN_TESTS) soak

# The units of the console, and a browser against a server with simulated daemons.
test-console: need-test build
	cd web && npm run --silent test && npm run --silent test:browser

sizes: ## lines of code of each room; BEFORE=DIRECTORY compares with another checkout
	@cd tools && go run ./sizes -tree .. $(if $(BEFORE),-before $(abspath $(BEFORE)))

fuzz: ## run every fuzz target for a minute
	@for dir in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
	  for name in $$(grep -hoE '^func Fuzz[A-Za-z0-9]+' $$dir/*_test.go | cut -c6-); do \
	    echo "$$dir $$name"; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $${FUZZTIME:-60s} $$dir; \
	  done; done

bench: need-test build ## print ratios against yardsticks measured in the same run
	go test -run '^$$' -bench . -benchtime 1x -timeout 0 ./test/bench/...
	cd web && npm run --silent measure

# What builds packages and images, and what tries them.
need-package:
	@tools/need buildah=buildah rpm=rpm dpkg-deb=dpkg start-stop-daemon=dpkg systemd-analyze=systemd ip=iproute2 ssh-keygen=openssh-client

release: need-package ## check dependencies and history, and build dist/ reproducibly, signed with the key in SIGN_KEY; takes minutes
	tools/release

package: need-package $(CONSOLE) ## build programs, packages and images for all systems into dist/, and try them in throw-away roots
	tools/package
	tools/package-check

# What checks the OpenAPI document: many packages, which neither the console nor a test needs.
tools/openapi/node_modules/.package-lock.json: tools/openapi/package-lock.json
	@tools/need node=nodejs npm=npm
	cd tools/openapi && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

fmt: ## bring Go files into the form that lint asks for: line length, order of imports
	go tool -modfile=tools/go.mod golangci-lint fmt ./...

lint: web/node_modules/.package-lock.json web/openapi.json tools/openapi/node_modules/.package-lock.json ## formatting, generated files, the linters, words that may only become fewer, and that it builds for other systems
	go mod tidy -diff
	@tools/need promtool=prometheus
	promtool check rules deploy/prometheus/alerts.yml
	go tool -modfile=tools/go.mod golangci-lint run ./...
	cd tools && go vet ./words ./sizes && go run ./words -tree ..
	cd web && npm run --silent types && npm run --silent lint
	cd tools/openapi && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npm run --silent lint
	@for system in darwin windows; do echo "building for $$system"; GOOS=$$system CGO_ENABLED=0 go build -o /dev/null ./cmd/muster || exit 1; done
