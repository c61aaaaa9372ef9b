PYTHON ?= python3
BIN := .venv/bin
# The virtual environment is made anew when what it is made from has changed.
STAMP := .venv/.stamp

.PHONY: demo test check lint docs lowest bench format clean

# A third process works while another one waits for a program or a browser. Tests stay in
# their order, so that those of a file share its fixtures, until a process has nothing to do.
PARALLEL := -n 3 --dist worksteal

# What shows whether other versions of Python or of what we depend on will do.
ACROSS := $(PARALLEL) tests/test_prompt.py tests/test_verdict.py tests/test_demo.py \
  tests/test_metrics.py tests/test_sources.py tests/results/test_estimates.py tests/results/test_table.py

# uv is faster than pip; pip knows more ways to reach an index.
define install
$(1) -m venv $(2)
$(2)/bin/python -m pip install --quiet -c constraints.txt uv
$(2)/bin/uv pip install --quiet --compile-bytecode --python $(2)/bin/python -c $(3) -e '.[dev]' \
  || $(2)/bin/python -m pip install --quiet -c $(3) -e '.[dev]'
endef

demo: $(STAMP)
	$(BIN)/inspect eval inspect_clbench/clbench -T dataset=demo \
	  --model clbench_demo/student --epochs 3 --log-dir demo-logs
	$(BIN)/clbench report demo-logs
	$(BIN)/inspect score "$$(ls -t demo-logs/*.eval | head -n 1)" --scorer inspect_clbench/error_types \
	  --action append --overwrite --display none
	$(BIN)/clbench errors demo-logs
	$(BIN)/clbench explore demo-logs --output demo-logs/explorer.html
	@echo
	@echo "Next: .venv/bin/inspect view --log-dir demo-logs   or open demo-logs/explorer.html in a browser."

# All tests, and how much of the package they cover.
test: $(STAMP)
	$(BIN)/pytest $(PARALLEL) --cov

check: lint docs

# The documentation site, in site/: strict about links and about a complete reference.
docs: $(STAMP)
	PATH="$(CURDIR)/$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 mkdocs build --quiet

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/inspect-evals-lint --all

# The lowest versions that pyproject.toml allows, and another Python: make python3.13.
lowest:
	$(call install,$(PYTHON),.venv-lowest,constraints-lowest.txt)
	.venv-lowest/bin/pytest $(ACROSS)

python3.%:
	$(call install,$@,.venv-$@,constraints.txt)
	.venv-$@/bin/pytest $(ACROSS)

# What the pages say about speed and cost, on the real rows where they are.
DATA ?= ../shared/data/CL-bench.jsonl.xz
bench: $(STAMP)
	$(BIN)/python -m benchmarks.overhead $(DATA)
	$(BIN)/python -m benchmarks.cache_order
	$(BIN)/python -m benchmarks.faults $(DATA)
	$(BIN)/python -m benchmarks.reading
	$(BIN)/python -m benchmarks.intervals
	$(BIN)/python -m benchmarks.explorer

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .venv-* build dist site

$(STAMP): pyproject.toml constraints.txt
	$(call install,$(PYTHON),.venv,constraints.txt)
	touch $@
