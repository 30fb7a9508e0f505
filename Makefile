# The two that matter: `make run` and `make test`. See README.md.

# What fails in front of a pipe has failed.
SHELL := bash
.SHELLFLAGS := -o pipefail -ec

CARGO ?= cargo
PYTHON ?= python3
CONFIG ?= config.yaml
# Kafka wants OpenSSL; where its headers (libssl-dev) are missing, it is built too.
FEATURES ?= $(shell pkg-config --exists openssl 2>/dev/null || echo --features openssl-vendored)
# How long `make fuzz` and `make soak` go on, in seconds.
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 3600

VENV := .venv
export TAILWATER_VENV := $(CURDIR)/$(VENV)

.PHONY: run build test lint fuzz bench compare compat compat-kafka dashboards fleet soak clean venv

# Starts the daemon: OTLP on localhost:4317 (gRPC) and localhost:4318 (HTTP), kept traces to the console.
run:
	$(CARGO) run --release --locked $(FEATURES) -- --config $(CONFIG)

build:
	$(CARGO) build --release --locked $(FEATURES)

# Installs what the tests need, then runs every check; the last line says `N passed, N failed`.
test: venv
	tests/run

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings

# The fuzz targets (`make test` gives them a minute), and the property tests on many more random cases.
fuzz:
	tests/run-fuzz $(FUZZ_SECONDS)
	tests/run-properties $(FUZZ_SECONDS)

bench:
	$(CARGO) bench --locked

# Against the real Collector, built from Go modules: the recorded cases, and random ones, and topics of Kafka both ways.
# Needs Go; about half an hour.
compat: compat-kafka
	tests/compat/peer/compare 2>&1 | tee tests/compat/last-run.txt

# Of these the topics alone: some minutes.
compat-kafka:
	tests/compat/peer/kafka 2>&1 | tee tests/compat/kafka-last-run.txt

# Beside the real Collector, on one machine and one load. Needs Go; quiet cores make it worth reading.
compare:
	peers=$$(tests/compat/peer/build) && TAILWATER_COLLECTOR=$${peers%%$$'\n'*} $(CARGO) bench --locked --bench compare

# Every panel of the dashboards against a real Prometheus, and the alerts with promtool. Needs Go; some minutes at first.
dashboards:
	programs=$$(dashboards/peer/build) && TAILWATER_PROMETHEUS=$$programs \
	  $(CARGO) test --locked --test dashboards -- --ignored --nocapture every_panel 2>&1 | tee dashboards/last-run.txt

# A fleet over a log in Kafka through the failure matrix, one test at a time. Needs Java and Maven; about ten minutes.
fleet:
	$(CARGO) test --locked --test kafka_log -- --test-threads 1

# The end-to-end tests again and again, for as long as SOAK_SECONDS says.
soak: venv
	tests/run-soak $(SOAK_SECONDS)

clean:
	$(CARGO) clean
	rm -rf $(VENV)

venv: $(VENV)/installed

# Real OpenTelemetry SDKs for the end-to-end tests. Made anew when the requirements change.
$(VENV)/installed: tests/python/requirements.txt
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	touch $@
