PYTHON ?= python3
BIN := .venv/bin
# The virtual environment is made anew when what it is made from has changed.
STAMP := .venv/.stamp

.PHONY: demo test check coverage bench format clean

demo: $(STAMP)
	$(BIN)/inspect eval inspect_clbench/clbench -T dataset=demo \
	  --model clbench_demo/student --model-role grader=clbench_demo/judge \
	  --epochs 3
	$(BIN)/clbench report logs
	$(BIN)/inspect score "$$(ls -t logs/*.eval | head -n 1)" --scorer inspect_clbench/error_types \
	  --action append --overwrite --model-role grader=clbench_demo/judge --display none
	$(BIN)/clbench errors logs

# Real sockets, processes and browsers on a shared machine: what fails once may have met
# a busy moment, what is broken fails twice.
test: $(STAMP)
	$(BIN)/pytest -n 4 --reruns 1

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/inspect-evals-lint --all

coverage: $(STAMP)
	$(BIN)/pytest -n 4 --cov=inspect_clbench --cov-branch --cov-report=term-missing:skip-covered

# What the README claims about speed and cost, on the real rows where they are.
DATA ?= ../shared/data/CL-bench.jsonl.xz
bench: $(STAMP)
	$(BIN)/python -m benchmarks.overhead $(DATA)
	$(BIN)/python -m benchmarks.cache_order
	$(BIN)/python -m benchmarks.faults $(DATA)

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@
