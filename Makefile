# Each target does its own set-up on a machine with Go, Node and apt. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help build run dev test test-daemons test-cases test-console shots soak fuzz bench lint release package need-test need-package

GO_FILES := $(shell git ls-files -co --exclude-standard '*.go' '*.sql' '*.json' 2>/dev/null) go.mod go.sum
VERSION  := $(shell git describe --always --dirty 2>/dev/null || echo unknown)

# Packages that measure, or start thousands of daemons: the race detector would change what they show.
SCALE    := ./test/scale/... ./test/hostile/... ./test/bombs/...
# Packages of many cases against whole servers, whose code the other suites run with the race detector.
MATRIX   := ./test/cli/... ./test/guard/... ./test/recipes/...
RACED     = $(shell go list ./... | grep -vE '/test/(scale|hostile|bombs|model|cli|guard|recipes)')
# Vet is part of lint, and debuggers need no symbols of these binaries: without both, forty of them link in half the
# time. Most suites wait for daemons, so more of them run at once than there are cores.
GO_TEST  := go test -vet=off -ldflags=-w
# SQLite is C that was translated to Go, arithmetic for TLS and passwords works on values of its own, and a command line is
# parsed in one goroutine: the race detector finds nothing of ours in them, and makes them ten times slower.
UNRACED  := modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory golang.org/x/crypto/argon2 golang.org/x/crypto/blake2b golang.org/x/crypto/scrypt \
            github.com/alecthomas/kong regexp regexp/syntax \
            $(addprefix crypto/internal/fips140/,mlkem sha3 bigmod nistec/... edwards25519/...)
RACE     := -race $(patsubst %,-gcflags=%=-race=false,$(UNRACED))
# The raced suites that take longest start first, so that none of them is left to run alone at the end.
LONG     := $(addprefix muster/,test/backup internal/store test/rollout test/contract test/spine test/identity test/writer)
# These start last, beside the suites that measure, which leave most of one core idle.
LAST     := $(addprefix muster/,internal/cli internal/httpapi internal/sandbox internal/syncthing internal/auth test/canary \
            test/owner test/api test/audit)
# Packages with properties: their number of cases is a flag that other packages do not know. Those of the store run on two
# real databases: they keep rapid's own number.
PROPERTY  = $(shell grep -rl 'pgregory.net/rapid' --include='*_test.go' . | xargs -r -n1 dirname | sort -u | grep -vE 'internal/store|test/model' | sed 's,^\.,muster,')

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

# The console is built with Node and embedded. What is built is not committed: without it Go builds a binary with the
# log-in pages only.
CONSOLE   := web/dist/console/index.html
WEB_FILES := $(shell git ls-files -co --exclude-standard web ':!web/embed.go' ':!web/test' 2>/dev/null)
API_FILES := $(shell git ls-files -co --exclude-standard api internal/httpapi cmd/openapi ':!*_test.go' 2>/dev/null)

build: bin/muster ## build the console and bin/muster

web/node_modules/.package-lock.json: web/package-lock.json
	@tools/need node=nodejs npm=npm
	cd web && npm ci --no-audit --no-fund --loglevel=error
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
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o $@ ./cmd/muster

run: build ## build everything and start Muster; further flags in ARGS
	exec bin/muster serve $(ARGS)

# The provider of single sign-on that tests log in with.
PROVIDER := test/signon/provider

$(PROVIDER)/node_modules/.package-lock.json: $(PROVIDER)/package-lock.json
	@tools/need node=nodejs npm=npm
	cd $(PROVIDER) && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

need-test: $(PROVIDER)/node_modules/.package-lock.json
	@tools/need gcc=gcc git=git syncthing=syncthing stdiscosrv=syncthing-discosrv sqlite3=sqlite3 ip=iproute2 '/usr/lib/postgresql/*/bin/initdb=postgresql' chromium=chromium /usr/sbin/haproxy=haproxy /usr/sbin/nginx=nginx /usr/lib/nginx/modules/ngx_stream_module.so=libnginx-mod-stream

# A commit runs the same 1,000 sequences of the model each time: with others it would be refused for what is wrong
# elsewhere. A soak runs others each time.
# Most raced suites wait for daemons, and those that measure use one core: the suites that only compute run beside them,
# and give way.
test: need-test build ## run every suite in its short form
	@$(MAKE) --no-print-directory -j 2 test-daemons test-cases

# What computes, and a browser against a server with simulated daemons.
test-console: need-test build
	cd web && npm run --silent test && npm run --silent test:browser

test-daemons:
	$(GO_TEST) $(RACE) -p 4 -parallel 4 -timeout 14m $(LONG) $(filter-out $(LONG) $(LAST) $(PROPERTY),$(RACED))
	$(GO_TEST) -p 1 -timeout 10m $(SCALE)

test-cases:
	nice -n 5 $(GO_TEST) -timeout 14m ./test/model -rapid.checks=1000 -rapid.seed=1
	nice -n 5 $(GO_TEST) $(RACE) -timeout 14m $(PROPERTY) ./test/model -rapid.checks=20
	nice -n 5 $(GO_TEST) -timeout 14m $(PROPERTY) -rapid.checks=1000
	nice -n 5 $(GO_TEST) -p 4 -parallel 4 -timeout 14m $(MATRIX)
	nice -n 5 $(MAKE) --no-print-directory test-console
	nice -n 10 $(GO_TEST) $(RACE) -p 2 -parallel 4 -timeout 14m $(LAST)

soak: need-test build ## run the same suites at full counts, without time limit
	MUSTER_SOAK=1 go test $(RACE) -timeout 0 -count 1 $(RACED)
	MUSTER_SOAK=1 go test -timeout 0 -count 1 $(MATRIX)
	MUSTER_SOAK=1 go test -timeout 0 -count 1 $(PROPERTY) -rapid.checks=10000
	MUSTER_SOAK=1 go test -timeout 0 -count 1 -run TestTheDaemonHasWhatTemplatesMakeOfWhatPeopleWant ./internal/plan -rapid.checks=50000
	MUSTER_SOAK=1 go test -p 1 -timeout 0 -count 1 $(SCALE)
	go test -timeout 0 -count 1 ./test/model -rapid.checks=50000
	go test $(RACE) -timeout 0 -count 1 ./test/model -rapid.checks=1000
	cd web && MEASURE_MINUTES=10 npm run --silent measure

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
	tools/release $(VERSION)

package: need-package $(CONSOLE) ## build programs, packages and images for all systems into dist/, and try them in throw-away roots
	tools/package $(VERSION)
	tools/package-check

# What checks the OpenAPI document: many packages, which neither the console nor a test needs.
tools/openapi/node_modules/.package-lock.json: tools/openapi/package-lock.json
	@tools/need node=nodejs npm=npm
	cd tools/openapi && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

lint: web/node_modules/.package-lock.json web/openapi.json tools/openapi/node_modules/.package-lock.json ## formatting, generated files, the linters, and that it builds for other systems
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go mod tidy -diff
	@tools/need promtool=prometheus
	promtool check rules deploy/prometheus/alerts.yml
	go tool -modfile=tools/go.mod golangci-lint run ./...
	cd web && npm run --silent types && npm run --silent lint
	cd tools/openapi && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npm run --silent lint
	@for system in darwin windows; do echo "building for $$system"; GOOS=$$system CGO_ENABLED=0 go build -o /dev/null ./cmd/muster || exit 1; done
