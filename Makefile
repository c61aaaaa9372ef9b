PYTHON ?= python3
BIN := .venv/bin
# The virtual environment is made anew when what it is made from has changed.
STAMP := .venv/.stamp

.PHONY: demo test check format clean

demo: $(STAMP)
	$(BIN)/inspect eval inspect_clbench/clbench -T dataset=demo \
	  --model clbench_demo/student --model-role grader=clbench_demo/judge \
	  --epochs 3
	$(BIN)/clbench report logs

test: $(STAMP)
	$(BIN)/pytest -n auto

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

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
