# `make help` lists the targets. Needed: Go 1.26, Node 20, make; what else there is to have, they install.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS   += --no-print-directory

VERSION := $(shell node -p "require('./package.json').version" 2>/dev/null || echo 0.0.0)
LDFLAGS := -s -w -X main.version=$(VERSION)
LINT    := .cache/golangci-lint
VALE    := .cache/vale
NPM     := npm --no-fund --no-audit --no-update-notifier --loglevel=error
RACE    ?= -race
FUZZTIME ?= 30s
SOAK     ?= 30m
KILLS    ?= 200
CASES    ?= 2000
CHECKS   ?= 30
RACE_CHECKS ?= 10
ACTIONS  ?= 2000
CORRUPT  ?= 5000
REPOSITORY ?=
AGAINST  ?=
TARGETS  ?=

# What make generate writes.
GENERATED := extension/protocol.ts extension/report.ts extension/timeline.ts extension/regression.ts extension/sessiontree.ts extension/branches.ts extension/methods.ts host/internal/api/operations.go protocol/redaction-gitleaks.json

# The end-to-end tests run the program that was built.
export TIDEMARK_TEST_BINARY := $(CURDIR)/bin/tidemark

GO_FILES  := $(shell git ls-files -co --exclude-standard '*.go' '*.json' '*.html' '*.css' '*.js' '*.svg' ':!:node_modules' ':!:extension/*.json' 2>/dev/null)
EXTENSION := $(shell git ls-files -co --exclude-standard extension web package.json ':!:*.go' ':!:extension/dist' ':!:web/dashboard/dist' 2>/dev/null)

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: agents
agents: ## The agents that the end-to-end tests record, in .cache/agents (about 2 GB)
	@mkdir -p .cache/agents
	@$(NPM) install --prefix .cache/agents --ignore-scripts @anthropic-ai/claude-code@2.1.332 @openai/codex@0.169.0 @google/gemini-cli@0.61.0 opencode-ai@1.18.33 @github/copilot@1.0.102
	@$(NPM) install --prefix .cache/agents/sdk --ignore-scripts --omit=optional @anthropic-ai/claude-agent-sdk@0.3.332
	@node .cache/agents/node_modules/@anthropic-ai/claude-code/install.cjs
	@node .cache/agents/node_modules/opencode-ai/postinstall.mjs

.PHONY: build
build: bin/tidemark ## bin/tidemark, and the unpacked extension in extension/dist

.PHONY: run
run: chromium build ## A demo: a shop is broken in several ways, and Tidemark says what changed
	@bin/tidemark demo

# The packages that start goroutines, or import what shares something between them, in their tests or without. The race
# detector runs in these. The linters have already run go vet. Tests of the command line start it as programs of their
# own, whose races nobody would read: what they run has tests of its own.
GOROUTINES = $(shell git grep --untracked -lE '^\s*go [[:alnum:]_.]+|\.Go\b|t\.Parallel\b|^(import|)\s*"(sync|sync/atomic|testing/synctest)"$$' -- '*.go' ':!:host/e2e' ':!:host/cmd' ':!:.ci/dist' | xargs -n 1 dirname | sort -u | sed 's,^,./,')

# The packages of end-to-end tests but that of what is sensitive to time. Those that take long come first.
E2E      = $(filter-out timing,$(patsubst host/e2e/%/,%,$(sort $(dir $(shell git ls-files -co --exclude-standard 'host/e2e/*_test.go')))))
E2E_LONG := capture/reports capture/cases frameworks viewer hooks

# Those of them that take long, which come first.
LONG     := $(addprefix ./host/internal/,workspace workspace/tracked workspace/restore terminal)

# Tests of these packages that compute much in one goroutine: the race detector has nothing to find there.
COMPUTE  := ./host/internal/conversation ./host/internal/retention ./host/internal/sourcemap ./host/internal/store ./host/internal/terminal
COMPUTES := ^Test(ABufferIsFilledFromNotMuchMoreThanItHolds|AClockIsSavedWhenItStepsAndFromTimeToTime|AHostileMapCostsItsBytes|ALongSessionIsRecordedAsAWhole|ASecretAtTheBorderOfACutTextIsMasked|ManyLinesOfATranscriptAreReadInTime|NoPlantedSecretIsOnDisk|OverTheBudgetOnlyTheEndIsKept|SubagentsThatStartEachOther)$$

# The tests that take longest of those that need no browser. `make check` leaves them to `make test`.
SLOW     := ^Test(ABranchBecomesPlainFiles|ABranchIsThereWhileItBecomesPlainFiles|ADaemonStartsOnAFullDisk|ADamagedIndexOfAMountIsAnError|ADamagedPageOfAMountCostsWhatIsInIt|ADeepRenameIsApplied|ADirectoryInPlaceOfAFile|AFullDiskEndsNothing|AFullDiskLosesNothingThatWasAcknowledged|AKilledApplyIsBeforeOrAfter|AKilledCommitIsThereOrNot|AKillLeavesNoBranchOrAWholeOne|ALongSessionIsRecordedAsAWhole|AnAgentOutlivesTheDaemon|AnEditDuringTheRestoreIsNotLost|AProgramThatWritesMeanwhileIsNoticed|ASnapshotAfterADamageHasEveryIntactFile|AUsedBranchIsRemovedWithForce|AUsedBranchStaysMounted|BadInput|DirectoriesThatBecomeLinksAgainAndAgain|ManyChangesHideNoEdit|MountedViewsAndBranchesAreWhatTheWorkspaceWas|NoPasswordTypedIntoAProgramIsRecorded|NoPlantedSecretOfAWorkspaceIsShown|ProgramsOfDevelopersWorkInABranch|PruningAFullDiskFreesRoom|SnapshotsOfWhatAnotherProcessEdits|WhatACommandLeavesRunningEndsWithIt|WhateverIsKilledEveryAcknowledgedEventIsThere|WhatIsNotDeletedStays|WhatProgramsExpectOfAFilesystem)$$

# How long make has run.
BEGAN := $(shell date +%s)
since  = $$(($$(date +%s) - $(BEGAN))) s

.PHONY: test
test: export RAPID_CHECKS := $(CHECKS)
test: export RAPID_SEED ?= 1
test: chromium build lint ## Everything: linters, types, Go tests with -race, extension, end to end in Chromium
	@mkdir -p .cache; rm -f .cache/report .cache/vitest.json
	@echo "testing the extension, after $(since) …"
	@$(NPM) test -- --reporter=json --outputFile=$(CURDIR)/.cache/vitest.json >.cache/test.log 2>&1 || { [ -s .cache/vitest.json ] || { cat .cache/test.log; exit 1; }; }
	@REPORT=.cache/report go run ./.ci/report vitest .cache/vitest.json
	@# These wait for disks and programs more than they compute, too.
	@echo "testing what runs in several goroutines, with the race detector, after $(since) …"
	@{ RAPID_CHECKS=$(RACE_CHECKS) go test $(RACE) -p 3 -vet=off -timeout 20m -json -skip '$(COMPUTES)' $(LONG) $(filter-out $(LONG),$(GOROUTINES)) || true; } | REPORT=.cache/report go run ./.ci/report go
	@echo "testing the rest, after $(since) …"
	@{ go test -vet=off -timeout 20m -json -run '$(COMPUTES)' $(COMPUTE) || true; go test -vet=off -timeout 20m -json $$(go list ./... ./.ci/caps ./.ci/prose ./.ci/report | grep -v /host/e2e/ | grep -vxFf <(go list $(GOROUTINES))) || true; } | REPORT=.cache/report go run ./.ci/report go
	@echo "testing all together in Chromium, after $(since) …"
	@# The program under test has no race detector; one in the tests would only watch the library that drives the browser.
	@# These tests wait for timers of pages more than they compute: three packages at a time keep two cores busy. A machine that
	@# took long until here is slow or has other work, and pages of three would answer too late.
	@printf '%s\n' $(addprefix quiet/,$(filter capture/%,$(E2E))) $(addprefix debugger/,$(E2E_LONG) $(filter-out $(E2E_LONG),$(E2E))) | xargs -P $$((3 - ($$(date +%s) - $(BEGAN) > 1000))) -n 1 .ci/e2e
	@echo "testing what is sensitive to time, alone, after $(since) …"
	@.ci/e2e debugger/timing
	@REPORT=.cache/report go run ./.ci/report total

# What is tested as Windows programs: all that reads and writes a workspace, its timeline, settings and decisions, and recorded
# terminals.
WINDOWS := ./host/internal/workspace/... ./host/internal/timeline/... ./host/internal/filechanges ./host/internal/grants ./host/internal/project ./host/internal/home ./host/internal/store ./installer/safefile ./host/internal/recording ./host/internal/terminal

.PHONY: test-windows
test-windows: ## Tests of workspaces, the timeline, decisions, recorded terminals and the store as Windows programs, by Wine, which it installs where root may
	@mkdir -p .cache; rm -f .cache/report-windows
	@echo "testing as Windows programs, by Wine …"
	@.ci/wine -json -short $(WINDOWS) | REPORT=.cache/report-windows go run ./.ci/report go
	@REPORT=.cache/report-windows go run ./.ci/report total

.PHONY: test-zfs
test-zfs: ## Tests of snapshots on ZFS, by Debian's zfs-fuse, which it installs where root may, and which it starts and ends
	@mkdir -p .cache; rm -f .cache/report-zfs
	@echo "testing on ZFS …"
	@{ RAPID_CHECKS=$${RAPID_CHECKS:-5} .ci/zfs bash -c '\
	  go test -vet=off -timeout 20m -count=1 -json ./host/internal/workspace/{zfs,dataset}; \
	  go test -vet=off -timeout 20m -count=1 -json -p 1 -run ZFS ./host/internal/workspace ./host/internal/timeline/...; true'; } | REPORT=.cache/report-zfs go run ./.ci/report go
	@REPORT=.cache/report-zfs go run ./.ci/report total

# What is tested on NILFS2. Other packages than the first two have tests of it among others.
NILFS2 := ./host/internal/workspace/nilfs2 ./host/internal/workspace/nilfscp ./host/internal/workspace ./host/internal/timeline ./host/internal/timeline/moments ./host/internal/timeline/operations

.PHONY: test-nilfs2
test-nilfs2: ## Tests of snapshots on NILFS2, in a virtual machine with Debian's kernel. What it needs it installs where root may
	@mkdir -p .cache; rm -f .cache/report-nilfs2
	@echo "testing on NILFS2 …"
	@RAPID_CHECKS=$${RAPID_CHECKS:-5} .ci/nilfs2 tests $(NILFS2) | REPORT=.cache/report-nilfs2 go run ./.ci/report go || [ "$${PIPESTATUS[0]}" = 77 ]
	@[ ! -e .cache/report-nilfs2 ] || REPORT=.cache/report-nilfs2 go run ./.ci/report total

.PHONY: test-pathfs
test-pathfs: ## Tests of what mounts snapshots on Windows, on Linux by libfuse, whose headers it installs where root may
	@mkdir -p .cache/servepaths
	@[ -d /usr/include/fuse3 ] || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing libfuse3-dev …" && apt-get update -qq && apt-get install -y -qq --no-install-recommends libfuse3-dev gcc libc6-dev fuse3 >/dev/null; } || { echo "libfuse's headers are missing. Install Debian's libfuse3-dev." >&2; exit 1; }
	@echo "testing what mounts on Windows, by libfuse …"
	@CGO_ENABLED=1 go vet -tags cgofuse,fuse3 ./host/internal/workspace/pathfs ./host/testing/servepaths
	@CGO_ENABLED=1 go test -vet=off -tags cgofuse,fuse3 ./host/internal/workspace/pathfs
	@CGO_ENABLED=1 go build -tags cgofuse,fuse3 -o .cache/servepaths/servepaths ./host/testing/servepaths
	@for fold in "" 1; do \
	  TIDEMARK_TEST_FOLD=$$fold TIDEMARK_TEST_SERVEPATHS=$(CURDIR)/.cache/servepaths/servepaths go test -vet=off -count=1 -timeout 5m $(if $(SHORT),-short) -run '^TestWhatProgramsExpectOfAFilesystem$$/^(native|paths)$$|ByPaths$$' ./host/internal/workspace; \
	done

.PHONY: cross
cross: ## Builds everything for macOS and Windows, and has go vet read the tests for them. With SHORT=1 it builds the host alone
	@for system in darwin/arm64 windows/amd64; do \
	  export GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0; \
	  echo "building for $$system …"; \
	  $(if $(SHORT),go build -o /dev/null ./host/cmd/tidemark,go build ./... && go vet ./...) || exit 1; \
	done

.PHONY: check
check: build lint ## Before each commit: format, lint, types, sizes of packages, generated files, and the tests that do not take long
	@go test -short -vet=off -p 3 -skip '$(SLOW)' ./host/cmd/tidemark ./host/e2e/{faults,hooks,install} $(LONG) $$(go list ./... | grep -vE '/host/(e2e/|cmd/tidemark$$)' | grep -vxFf <(go list $(LONG))) ./.ci/caps ./.ci/prose ./.ci/report | { grep -v 'no test files' || true; }
	@NO_COLOR=1 .ci/once vitest $(NPM) test
	@grep -E '^ +Tests ' .cache/vitest.log

.PHONY: lint
lint: $(LINT) $(VALE) node_modules/.ready extension/dist/manifest.json ## Format, linters, types, import rules, sizes of packages, prose, generated files
	@echo "linting …"
	@go vet ./.ci/caps ./.ci/prose ./.ci/report
	@go mod tidy -diff || { echo "go.mod and go.sum are not current; run go mod tidy" >&2; exit 1; }
	@go run ./.ci/caps
	@$(LINT) run --allow-parallel-runners ./...
	@$(LINT) fmt --diff ./... | { ! grep . ; } || { echo "not formatted; make fmt" >&2; exit 1; }
	@go run ./.ci/prose
	@.ci/once check $(NPM) run check
	@mkdir -p .cache/generated; cp -p $(GENERATED) .cache/generated/
	@$(MAKE) generate >/dev/null
	@for file in $(GENERATED); do was=.cache/generated/$${file##*/}; if cmp -s $$was $$file; then touch -r $$was $$file; fi; done # else make builds anew
	@git diff --exit-code --stat -- $(GENERATED) || { echo "generated files were not current; they are now: commit them" >&2; exit 1; }

.PHONY: dist
dist: node_modules/.ready ## dist/: what a release consists of, for REPOSITORY (https://github.com/OWNER/NAME)
	@go -C .ci/dist run . -root $(CURDIR) -out $(CURDIR)/dist $(if $(REPOSITORY),-repository $(REPOSITORY))

.PHONY: dist-check
dist-check: $(LINT) node_modules/.ready ## A release in small (TARGETS=all: the whole): reproducible, installable, valid
	@echo "checking a release …"
	@cd .ci/dist && $(CURDIR)/$(LINT) run -c $(CURDIR)/.golangci.yml ./...
	@TIDEMARK_DIST=$(TARGETS) go -C .ci/dist test -count=1 -timeout 30m ./...

.PHONY: bench
bench: chromium build ## Every figure about browsers against its target, published in docs/bench.json and README.md; AGAINST=REV: beside an older commit
	@go run ./host/bench -only browsers $(if $(AGAINST),-against $(AGAINST),-publish)

.PHONY: bench-timetravel
bench-timetravel: chromium build ## The same for figures about workspaces, sessions, terminals and conversations
	@go run ./host/bench -only timetravel $(if $(AGAINST),-against $(AGAINST),-publish)
	@$(if $(AGAINST),true,.ci/zfs go run ./host/bench -only zfs -publish || [ "$$?" = 77 ])

.PHONY: screenshots
screenshots: chromium build ## docs/images: a picture of each view, light and dark
	@mkdir -p docs/images
	@TIDEMARK_SCREENSHOTS=$(CURDIR)/docs/images go test -count=1 -timeout 5m -run '^(TestScreenshots|TestMomentsInTheViewer|TestWhatBrokeInTheViewer|TestTheConversationInTheViewer)$$' ./host/e2e/viewer

.PHONY: soak
soak: chromium build ## Soak test: mixed load for SOAK (30m), a flood, KILLS (200) process kills; fails on lost events or memory growth
	@TIDEMARK_SOAK=$(SOAK) TIDEMARK_KILLS=$(KILLS) go test -p 1 -count=1 -timeout 3h -v -run 'TestSoak|Flood|Killed|OutlivesTheDaemon|NewerProgram' ./host/e2e/... | grep -v '^=== '

.PHONY: kill-workspace
kill-workspace: ## Snapshots, deletions, collections and restores of a workspace, what the timeline does, and branches, each killed KILLS (200) times
	@TIDEMARK_KILLS=$(KILLS) go test -p 1 -count=1 -timeout 2h -v -run 'Killed|AKill|ACrash' ./host/internal/workspace/... ./host/internal/timeline ./host/internal/branches | { grep -v '^=== \|no test files\|no tests to run' || true; }

.PHONY: corruptions
corruptions: build ## Damaged stores, CORRUPT (5000) of them, and a sixteenth as many damaged homes: the daemon explains each
	@TIDEMARK_CORRUPT=$(CORRUPT) go test -vet=off -count=1 -timeout 3h -v -run Corrupted ./host/e2e/faults | grep -v '^=== \|^    --- PASS'

.PHONY: fuzz-workspace
fuzz-workspace: ## Workspaces that another process edits, CASES (2000) of them for each: snapshots, deletions, restores, the timeline
	@for package in workspace workspace/tracked workspace/restore timeline; do \
	  go test ./host/internal/$$package -count=1 -timeout 6h -v -run 'AnotherProcess|EachSnapshotIs|ACopyBegins|NotDeletedStays|ARestoreIs|EachMomentIs' -rapid.checks=$(CASES) | { grep -v '^=== ' || true; }; \
	done

.PHONY: properties
properties: ## Properties of random values and histories, CASES (2000) of them for each; make test tries CHECKS (30)
	@RAPID_CHECKS=$(CASES) go test -vet=off -count=1 -timeout 6h $$(git grep -l '"pgregory.net/rapid"' -- '*_test.go' ':!:host/internal/workspace' ':!:host/internal/timeline' | xargs -n 1 dirname | sort -u | sed 's,^,./,')

.PHONY: conversations
conversations: build ## Real agents: sessions of 200 calls are recorded whole, and conversations of Codex are cut at 500 points
	@TIDEMARK_ROUNDS=50 TIDEMARK_CUTS=500 go test -vet=off -count=1 -timeout 2h -v -run 'RecordedWhole|CutAnywhere' ./host/e2e/agents | grep -v '^=== '

.PHONY: regressions
regressions: chromium build ## Regressions: 30 that an edit causes are found, 10 that none causes are not blamed on one; 60 breaking edits on three servers
	@TIDEMARK_REGRESSIONS=30 TIDEMARK_OUTAGES=10 TIDEMARK_BROKEN=20 go test -count=1 -timeout 1h -v -run 'TestTheEditThatBrokeThePageIsFound|TestAServerThatWentDownIsNoEdit|TestEachDevelopmentServersErrorsNameTheirEdit|TestErrorsOfSettingsNameNoOtherEdit|TestAnErrorThatOnlyReactRefreshShowsIsReportedOnce|TestNextNamesTheApplicationsCode|TestAServerThatWasStartedAgainHasNoHotUpdate|TestALineOfWhatWebpackEvaluatesIsOneOfTheFile|TestAHotUpdateOfOtherModulesLeavesAnErrorStanding|TestAPageThatIsStillBrokenIsNotClean|TestTwoFilesThatWereEditedAtOnce' ./host/e2e/hooks | grep -v '^=== '

.PHONY: dev-servers
dev-servers: chromium build ## Edits in the development servers of SERVERS (all), beside an independent record of the page
	@TIDEMARK_DEV_SERVERS=$(or $(SERVERS),all) go test -count=1 -timeout 1h -v -run TestEditsInDevelopmentServers ./host/e2e/devservers | grep -v '^=== '

.PHONY: components
components: chromium build ## Page snapshots of eleven components made by others, beside the browser's own tree: ACTIONS (2000) random actions
	@TIDEMARK_COMPONENT_ACTIONS=$(ACTIONS) go test -count=1 -timeout 2h -v -run TestComponentsOfOthers ./host/e2e/frameworks | grep -v '^=== '

.PHONY: fuzz
fuzz: ## Each fuzz target for FUZZTIME (30s)
	@for package in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
	  done; \
	done

.PHONY: fmt
fmt: $(LINT) node_modules/.ready ## Format everything
	@$(LINT) fmt ./...
	@$(NPM) run format

.PHONY: generate
generate: ## Write generated files anew
	@go test -count=1 ./protocol/table -update >/dev/null
	@go tool tygo generate --config protocol/tygo.yaml
	@go run ./host/internal/viewer/generate
	@go run ./host/internal/redact/generate

.PHONY: chromium
chromium:
	@.ci/chromium

.PHONY: clean
clean: ## Remove what was built
	@find extension/dist web/dashboard/dist -mindepth 1 ! -name .gitignore -delete 2>/dev/null || true
	@rm -rf bin dist .cache node_modules

bin/tidemark: $(GO_FILES) extension/dist/manifest.json go.mod go.sum
	@echo "building the host …"
	@mkdir -p bin
	@go build -ldflags '$(LDFLAGS)' -o $@ ./host/cmd/tidemark

extension/dist/manifest.json: node_modules/.ready $(EXTENSION)
	@echo "building the extension …"
	@mkdir -p .cache; $(NPM) run build >.cache/build.log 2>&1 || { cat .cache/build.log; exit 1; }
	@touch $@

node_modules/.ready: package.json package-lock.json
	@echo "installing npm packages …"
	@$(NPM) ci >/dev/null
	@touch $@

$(LINT): .ci/tools/go.mod .ci/tools/go.sum
	@echo "building the linter (once) …"
	@mkdir -p .cache
	@go -C .ci/tools build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

$(VALE): .ci/tools/vale/go.mod .ci/tools/vale/go.sum
	@echo "building the linter of prose (once) …"
	@mkdir -p .cache
	@go -C .ci/tools/vale build -o $(CURDIR)/$@ github.com/vale-cli/vale/v3/cmd/vale
	@touch $@
