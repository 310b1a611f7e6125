# Everything a stranger needs is Go and make. `make` alone lists the targets.
SHELL := /bin/sh
.DEFAULT_GOAL := help
export CGO_ENABLED ?= 0

BIN := bin/ablate

.PHONY: help build run report test race fuzz crash theory bench lint generate cross clean FORCE

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(BIN) ## build bin/ablate

$(BIN): FORCE
	@go build -trimpath -o $@ ./cmd/ablate

run: build ## train the depth ablation on Go's own source and write its report (a minute on two cores)
	@$(BIN) run depth

report: build ## redraw the report of runs/depth from its files
	@$(BIN) report runs/depth

test: ## run all tests and say how many ran
	@go vet ./...
	@go test -json ./... | go run ./cmd/testsum

race: ## run the tests of the concurrent packages under the race detector (needs a C compiler)
	@CGO_ENABLED=1 go test -race -short -json ./graph/... ./ops/... ./train/... ./experiments/sweep/... ./cmd/... | go run ./cmd/testsum

fuzz: ## fuzz every parser with a number of inputs each (FUZZ=20000x)
	@./.ci/fuzz $${FUZZ:-20000x}

crash: ## kill a run at random, resume it, compare its bytes with an undisturbed one (CRASH_TIME=2m)
	@CRASH_TIME=$${CRASH_TIME:-2m} go test ./cmd -run '^TestCrash$$' -count=1 -v -timeout 0

theory: ## measure what theory says of models at initialisation (two minutes; SEEDS=5; docs/theory.md has the result)
	@ABLATE_THEORY=$${SEEDS:-5} go test ./nn -run '^TestTheory$$' -count=1 -v -timeout 0

bench: build ## measure the speed of the training step
	@$(BIN) bench

lint: ## gofmt, go vet and staticcheck
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "not gofmt-ed:"; echo "$$out"; exit 1; fi
	@go vet ./...
	@go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

generate: ## regenerate the assembly of ops/kernel from its generator
	@cd ops/kernel/gen && go run .

cross: ## build for every platform that is promised
	@for t in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do \
		echo "$$t"; GOOS=$${t%/*} GOARCH=$${t#*/} go build -o /dev/null ./... || exit 1; done

clean: ## remove what was built; runs/ stays
	@rm -rf bin
