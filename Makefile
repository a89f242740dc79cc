# Everything is made in .venv, once: the stamp files remember what was installed from which pyproject.toml.
PYTHON ?= python3
LAKE ?=
VENV := .venv
ORACLE := .oracle
ICEBERG_ORACLE := .oracle-iceberg
REST_ORACLE := .oracle-rest
S3A_ORACLE := .oracle-s3a
HDFS_ORACLE := .oracle-hdfs
HDFS_ARTIFACT := org.apache.hadoop:hadoop-client-minicluster:3.5.0
HDFS_SHA256 := 06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c
MINIO := .minio
MINIO_VERSION := v0.0.0-20260212201848-7aac2a2c5b7c
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
PIP_INSTALL := $(RUN) pip install --quiet --disable-pip-version-check
HELM := .helm
HELM_VERSION := v4.3.2
SERVE_ARGS ?=
# Changes of these require another build of the package.
BUILT := $(wildcard $(addprefix gateway/http/console/,*.* src/* src/*/*) $(shell find engine/spark/java/src/main -name "*.java") deploy/*.py) engine/spark/java/src/main
SQL_TESTS := $(ORACLE)/spark-sql-tests.jar
SQL_TESTS_ARTIFACT := org.apache.spark:spark-sql_2.13:4.2.0:jar:tests
SQL_TESTS_SHA256 := 810bef6fd568e1626aad7354a1161e9e5ac629fbc55ba0a9a4e3cec8c06376eb
ICEBERG_RUNTIME := $(ICEBERG_ORACLE)/iceberg-spark-runtime.jar
ICEBERG_RUNTIME_ARTIFACT := org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0
ICEBERG_RUNTIME_SHA256 := 3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82
TEST_ARGS ?=
LOCK_ARGS ?=
PROCESSES ?= 2
TABLES ?= 100
SEED ?=
SUITES ?=
KINDS ?=
QUERIES ?= 500
MINUTES ?= 60
FIRST ?= 0
JUNIT ?=
CHAOS ?=
SOAK ?=
# Without bytecode files, each start of a server compiles all of its modules, which takes more than a second.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install serve chaos soak check test test-java test-rules test-slow test-clients fuzz-tables lint format lock conditions reference screenshots docs bench coverage mutation oracle clean java chromium helm minio

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(VENV)/.prepared ## make the environment: .venv with the package, and a JDK if it may be installed

serve: install ## serve LAKE=folder (a small sample lake if not given) to Thrift and HTTP clients
	@exec $(BIN)/delta-gateway serve $(if $(LAKE),"$(LAKE)") $(SERVE_ARGS)

check: $(VENV)/.installed-test ## style, types and the tests that need no Spark: the inner loop
	$(BIN)/ruff check -q
	$(BIN)/mypy
	@bash deploy/ensure-maven.sh
	$(RUN) tests.junit --quick
	HYPOTHESIS_PROFILE=quick $(RUN) pytest -q -m "not spark and not clients and not slow and not oracle and not bench" \
	    -n $(PROCESSES) --dist loadfile --no-loadscope-reorder tests/tidy tests/catalog tests/engine $(TEST_ARGS)

test: $(VENV)/.installed-test $(VENV)/.prepared chromium helm test-java ## run the tests, in PROCESSES=2 with a Spark each
	$(RUN) pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder --durations 15 --durations-min 5 $(TEST_ARGS)

test-java: $(VENV)/.installed-test ## run the tests of the Java classes with JUnit, JUNIT=options of its console launcher
	@bash deploy/ensure-maven.sh
	$(RUN) tests.junit $(JUNIT)

test-rules: $(VENV)/.installed-test $(VENV)/.prepared ## compare answers with the optimizer's rules on and off, QUERIES=number SEED=text MINUTES=limit FIRST=number
	$(RUN) tests.rules --seed "$(SEED)" --queries $(QUERIES) --minutes $(MINUTES) --first $(FIRST)

test-slow: $(VENV)/.installed-test $(addsuffix /.installed,$(S3A_ORACLE) .oracle-gcs .oracle-azure) $(HDFS_ORACLE)/minicluster.jar helm minio ## run the tests that take long
	$(RUN) pytest -m slow $(TEST_ARGS)

test-clients: $(VENV)/.installed-test $(VENV)/.prepared chromium minio ## run all tests with real clients, and clients' own suites of SUITES=folder
	@bash deploy/ensure-maven.sh
	$(RUN) tests.clients.all_clients $(if $(SUITES),"$(SUITES)") -- $(TEST_ARGS)

fuzz-tables: $(VENV)/.installed-test ## read random tables of other writers, TABLES=number SEED=text KINDS=all or some
	FUZZ_TABLES=$(TABLES) FUZZ_SEED=$(SEED) FUZZ_KINDS="$(KINDS)" $(RUN) pytest -m slow --timeout 0 \
	    tests/fuzz/test_foreign_tables.py $(TEST_ARGS)

lint: $(VENV)/.installed-test ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@bash deploy/ensure-maven.sh
	$(RUN) tests.java_format --check
	$(RUN) tests.error_prone

reference: $(VENV)/.installed-test ## write the SQL reference of the shell, and the generated pages of the documentation
	$(RUN) tests.tidy.sql_reference
	$(RUN) tests.docs.reference_pages
	$(RUN) tests.deploy.chart_readme

screenshots: $(VENV)/.installed-test ## take the pictures of the console for the documentation; needs Chromium
	$(RUN) tests.docs.screenshots

docs: $(VENV)/.installed-test ## build the documentation into build/site; a broken link or anchor is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lock: $(VENV)/.installed-test ## pin new dependencies in requirements.lock; LOCK_ARGS=--upgrade updates all of them
	$(RUN) uv pip compile pyproject.toml --all-extras --universal --python-version 3.11.5 --no-header --no-annotate \
	    --quiet --output-file requirements.lock $(LOCK_ARGS)

conditions: $(VENV)/.installed-test ## write the types of the errors in catalog/conditions.toml
	$(RUN) tests.tidy.condition_stubs

format: $(VENV)/.installed-test ## put the code into form
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	@bash deploy/ensure-maven.sh
	$(RUN) tests.java_format

bench: $(VENV)/.installed-test $(VENV)/.prepared ## measure beside other systems, BENCH=names for some of it
	$(RUN) tests.bench $(BENCH)

coverage: $(VENV)/.installed-test $(VENV)/.prepared chromium ## run the tests and report the covered branches, in build/coverage
	$(BIN)/coverage erase
	-$(BIN)/coverage run -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -q $(TEST_ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report --skip-covered | tail -n 1
	$(RUN) tests.junit --coverage

mutation: $(VENV)/.installed-test ## change the code and count the changes that no test notices, MUTATION="--packages commit --sample 50"
	$(RUN) tests.mutation $(MUTATION)

chaos: $(VENV)/.installed-test $(VENV)/.prepared ## kill and pause processes under load and compare the rows, CHAOS="--seed text --minutes 30 --kinds kill-gateway cut"
	$(RUN) tests.chaos $(CHAOS)

soak: $(VENV)/.installed-test $(VENV)/.prepared ## run a mixed load and measure what it leaves in the processes, SOAK="--case mixed --minutes 45 --seed text"
	$(RUN) tests.soak $(SOAK)

oracle: $(VENV)/.installed-test $(ORACLE)/.installed $(SQL_TESTS) $(ICEBERG_ORACLE)/.installed $(ICEBERG_RUNTIME) $(REST_ORACLE)/.installed $(S3A_ORACLE)/.installed ## compare with packages from Maven, such as delta-spark
	$(RUN) pytest -m oracle $(TEST_ARGS)

clean: ## remove the environment and everything made by tests
	rm -rf gateway/http/console/node_modules gateway/http/console/dist gateway/http/console/build engine/spark/java/build
	rm -rf $(VENV) $(ORACLE) $(ICEBERG_ORACLE) $(REST_ORACLE) $(S3A_ORACLE) .oracle-gcs .oracle-azure $(HDFS_ORACLE) $(MINIO) $(HELM) .clients .junit build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .bench .mutation
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

java:
	@bash deploy/ensure-java.sh

minio: # the tests with MinIO are left out without Go
	@if test ! -x $(MINIO)/minio && command -v go > /dev/null; then \
	    GOBIN=$(CURDIR)/$(MINIO) go install github.com/minio/minio@$(MINIO_VERSION); fi

helm: # the tests of the chart are left out without Go
	@if test ! -x $(HELM)/helm && command -v go > /dev/null; then \
	    GOBIN=$(CURDIR)/$(HELM) go install helm.sh/helm/v4/cmd/helm@$(HELM_VERSION) || \
	    echo "Helm could not be built: the tests of the chart are left out" >&2; fi

chromium: # the tests of the console need it, and are left out without
	@bash deploy/ensure-chromium.sh

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed; name one with: make install PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	    { rm -rf $(VENV); echo "On Debian, venv comes with: apt-get install python3-venv" >&2; exit 1; }

$(ORACLE)/.installed: Makefile
	@$(PYTHON) -m venv $(ORACLE)
	$(ORACLE)/bin/python -m pip install --quiet --disable-pip-version-check pyspark==4.2.1 # the newest Spark with a Delta
	@touch $@

$(SQL_TESTS): # Spark's own SQL tests
	@$(PYTHON) -m tests.maven $(SQL_TESTS_ARTIFACT) $@ $(SQL_TESTS_SHA256)

$(ICEBERG_ORACLE)/.installed: Makefile
	@$(PYTHON) -m venv $(ICEBERG_ORACLE)
	$(ICEBERG_ORACLE)/bin/python -m pip install --quiet --disable-pip-version-check pyspark==4.1.4 # the newest Spark with an Iceberg
	@touch $@

$(ICEBERG_RUNTIME):
	@$(PYTHON) -m tests.maven $(ICEBERG_RUNTIME_ARTIFACT) $@ $(ICEBERG_RUNTIME_SHA256)

$(REST_ORACLE)/.installed: tests/oracle/rest_server/pom.xml
	mvn --quiet --batch-mode --file $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(REST_ORACLE)
	@touch $@

$(S3A_ORACLE)/.installed: engine/spark/connectors.toml | $(VENV)/.installed-test
	@bash deploy/ensure-maven.sh
	@$(RUN) engine.spark.connectors s3 $(S3A_ORACLE)
	@touch $@

.oracle-gcs/.installed .oracle-azure/.installed: engine/spark/connectors.toml | $(VENV)/.installed-test
	@bash deploy/ensure-maven.sh
	@$(RUN) engine.spark.connectors $(patsubst .oracle-%/.installed,%,$@) $(@D)
	@touch $@

$(HDFS_ORACLE)/minicluster.jar: # a NameNode and a DataNode
	@bash deploy/ensure-maven.sh
	@$(PYTHON) -m tests.maven $(HDFS_ARTIFACT) $@ $(HDFS_SHA256)

$(VENV)/.build: pyproject.toml | $(BIN)/python # what the build requires, here and not in an environment for each build
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])' | \
	    xargs $(PIP_INSTALL)
	@touch $@

$(VENV)/.installed: pyproject.toml $(BUILT) $(VENV)/.build | java
	$(PIP_INSTALL) --no-build-isolation --constraint requirements.lock --editable '.[connect,flight,postgres]'
	@touch $@

$(VENV)/.prepared: $(VENV)/.installed
	@if $(BIN)/delta-gateway prepare; then touch $@; fi # without, starts are only slower

$(VENV)/.installed-test: pyproject.toml requirements.lock $(BUILT) $(VENV)/.build | java
	$(PIP_INSTALL) --no-build-isolation --constraint requirements.lock --editable '.[test]'
	@touch $@ $(VENV)/.installed
