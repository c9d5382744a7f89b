# What a developer runs. Cargo does the work; this gives it short names and an order.

TARGET := $(or $(CARGO_TARGET_DIR),target)
CACHE = $${TRAINMASTER_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/trainmaster}

.DEFAULT_GOAL := help
.PHONY: help demo test bench fuzz chaos cluster control-plane clean-cache schemas crds manifests sdk kueue image truth takeover compare

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 24

demo: ## One TrainJob to Complete on a real control plane, gone afterwards; KEEP=1 leaves it running
	@cargo build --bin trainmaster --example demo
	@cargo run --quiet --example demo

test: ## Everything that must hold: format, lints, docs, tests, tests on a real control plane
	@mkdir -p $(TARGET) && rm -rf $(TARGET)/cluster-logs && : >$(TARGET)/results.txt
	$(call section,format,cargo fmt --check)
	$(call section,lints,cargo clippy --all-targets -- -D warnings && cargo clippy --test cluster --test live -- -D warnings)
	$(call section,library alone,cargo clippy --lib --no-default-features -- -D warnings)
	$(call section,documentation,RUSTDOCFLAGS='-D warnings' cargo doc --no-deps)
	$(call section,tests,cargo test)
	@cargo run --quiet --example demo -- --build
	$(call section,tests on a control plane,TRAINMASTER_LOGS=$(abspath $(TARGET))/cluster-logs cargo test --test cluster)
	$(call section,recorded cases on it,TRAINMASTER_LOGS=$(abspath $(TARGET))/cluster-logs cargo test --test live)
	@cat $(TARGET)/results.txt

schemas: ## Write src/schema/data again from the pinned modules
	@UPDATE_GOLDENS=1 cargo test --quiet --test schemas generated::schema_data

crds: ## Write charts/trainmaster/crds again from src/api/types.json
	@UPDATE_GOLDENS=1 cargo test --quiet --test schemas generated::crds

manifests: ## Write the roles of the chart and charts/kustomize again from code, policies and chart
	@UPDATE_GOLDENS=1 cargo test --quiet --test cli chart::
	@UPDATE_GOLDENS=1 cargo test --quiet --test cluster chart::plain_manifests

bench: ## How long things take, and what they allocate
	@cargo bench --no-default-features --bench time
	@cargo bench --no-default-features --bench allocations

sdk: ## The kubeflow Python SDK, unchanged, against the controller on a real control plane
	@python=$$(conformance/sdk/python) && \
	TRAINMASTER_SDK_PYTHON=$$python cargo test --quiet --test cluster -- sdk:: --nocapture

compare: ## What the controller costs beside upstream's, on one control plane; COMPARE_JOBS (1000), COMPARE_UNRELATED (4000)
	@cargo build --release --bin trainmaster
	@TRAINMASTER_PROGRAM=$(abspath $(TARGET))/release/trainmaster \
		cargo test --quiet --test cluster -- --ignored --nocapture --exact controller::compare::beside_upstream

fuzz: ## Each fuzz target for FUZZ_SECONDS (60), with a nightly compiler and cargo-fuzz; fuzz/README.md
	@fuzz/run $(FUZZ_TARGETS)

takeover: ## 50 TrainJobs from upstream's controller to this one and back
	@cargo test --quiet --test cluster -- --ignored --exact takeover::from_upstream_and_back --nocapture

chaos: ## 300 TrainJobs under 300 kills, a bad network and restarts of the API server; CHAOS=JOBS,KILLS for other numbers
	@TRAINMASTER_CHAOS=$${CHAOS:-300,300} cargo test --test cluster -- controller::chaos --nocapture --test-threads=1

kueue: ## TrainJobs in a queue of Kueue: quota, flavors, preemption, on a real control plane
	@cargo test --quiet --test cluster kueue -- --ignored --nocapture

truth: ## TrainJobs with the real frameworks, as root; conformance/truth/README.md. One of them: truth-torch, truth-mpi ...
	@cargo build --quiet --bin trainmaster
	@conformance/truth/run

truth-%:
	@cargo build --quiet --bin trainmaster
	@conformance/truth/run $*

cluster: ## Build the programs of the control plane that are not in the cache yet
	@cargo run --quiet --example demo -- --build

control-plane: ## Start a control plane with the CRDs, leave it running, say how to use and end it
	@cargo run --quiet --example demo -- --control-plane

image: ## A container image with a statically linked program: IMAGE=NAME, CONTAINER_TOOL=podman
	@CC_x86_64_unknown_linux_musl=$${CC_x86_64_unknown_linux_musl:-cc} \
		cargo build --release --target x86_64-unknown-linux-musl --bin trainmaster
	@$(or $(CONTAINER_TOOL),docker) build --file Containerfile --tag $(or $(IMAGE),trainmaster) .

clean-cache: ## Remove the built programs of the control plane, the Python SDK and the images with the frameworks
	@rm -rf "$(CACHE)"/sdk-* "$(CACHE)/truth"
	@for go_mod in conformance/testbed/*/go.mod; do \
		name=$${go_mod%/go.mod}; rm -rf "$(CACHE)/$${name##*/}"-v*; \
	done

# $(call section,TITLE,COMMAND): a line with the title and how long it took. What the command says is shown only if it
# fails; of tests, the lines that count them are kept for the end, and those that say what was skipped.
define section
@printf '%-28s' '$(1)'; start=$$(date +%s); \
if ($(2)) >$(TARGET)/section.txt 2>&1; then \
	printf 'ok %5s s\n' "$$(($$(date +%s) - start))"; \
	grep -E '^ +(Running|Doc-tests) |^test result:|^SKIPPED' $(TARGET)/section.txt >>$(TARGET)/results.txt || :; \
else \
	printf 'FAILED\n'; cat $(TARGET)/section.txt; exit 1; \
fi
endef
