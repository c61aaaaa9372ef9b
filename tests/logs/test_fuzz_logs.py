"""A fuzzer of logs: whatever stands in a log, there are numbers or one clear message."""

import json
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.scorer import Score

from inspect_clbench.analysis import (
    agreement,
    answers_df,
    compare,
    costs,
    errors,
    near_misses,
    report,
    show_task,
)
from inspect_clbench.choices import By
from inspect_clbench.errors import ClbenchError
from inspect_clbench.exchange.export import export
from inspect_clbench.logs.series import load_series
from inspect_clbench.output import render
from inspect_clbench.output.how_run import how_run_tables
from inspect_clbench.output.plots import PAGE_KINDS, plotted_table, rate_figure
from inspect_clbench.output.tasks import task_text
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED, tasks

SEED = 20261118
MUTATIONS = 40
SECOND = "mockllm/second"
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 0.5, 1e308, 10**40, float("nan"), float("inf"), "", "C", "I",
    "CORRECT", "x\x00\x1b[31m\u202e", "[bold]", "9" * 400, [], [None], ["y"], [[[]]], {},
    {"a": {"b": [1]}}, {"judge": 1, "solved": "yes", "status": 5},
]  # fmt: skip
PRICES = {"input": 1, "output": 1, "input_cache_write": 1, "input_cache_read": 1}

Tool = Callable[[str], object]


def mutated(node: Any, draw: random.Random) -> Any:
    """The same JSON with one value, key or level somewhere in it changed."""
    if isinstance(node, dict | list) and node and draw.random() < 0.9:
        place = draw.choice(list(node)) if isinstance(node, dict) else draw.randrange(len(node))
        copy = node.copy()
        if draw.random() < 0.1:
            copy.pop(place)
        else:
            copy[place] = mutated(node[place], draw)
        return copy
    if draw.random() < 0.15:
        return draw.choice([[node], {"value": node}, str(node)])
    return draw.choice(VALUES)


def aimed(node: Any) -> Iterator[tuple[Any, str]]:
    """Where Inspect takes anything: metadata, arguments, values of scores."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("metadata", "task_args", "task_args_passed", "scores", "value", "epoch",
                       "model_usage", "config", "dataset"):  # fmt: skip
                yield node, key
            yield from aimed(value)
    for value in node if isinstance(node, list) else ():
        yield from aimed(value)


def write_mutated(log: Path, target: Path, draw: random.Random) -> str:
    """A copy of a log with some changes in one of its members; what was changed."""
    with zipfile.ZipFile(log) as whole, zipfile.ZipFile(target, "w") as copy:
        names = [name for name in whole.namelist() if name.endswith(".json")]
        member = draw.choice(
            [
                "header.json",
                "summaries.json",
                draw.choice([n for n in names if "samples/" in n]),
            ]
        )
        for name in whole.namelist():
            content = whole.read(name)
            if name == member:
                known = json.loads(content)
                aims = [*aimed(known)]
                if draw.random() < 0.7:  # at what only this package reads
                    place, key = draw.choice(aims)
                    place[key] = mutated(place[key], draw)
                else:
                    known = mutated(known, draw)
                content = json.dumps(known).encode(errors="surrogatepass")
            copy.writestr(name, content)
    return member


def add_labels(location: str) -> None:
    log = read_eval_log(location)
    for sample in log.samples or []:
        if sample.scores:
            told = {"epoch": sample.epoch, "max_failures": 2, "draw_rank": str(sample.id)}
            sample.scores["error_types"] = Score(value="format_error", metadata=told)
    write_eval_log(log, location)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tool]:
    folder = tmp_path_factory.mktemp("fuzz")
    good = make_log(
        folder / "good", tasks("a", "b", "c"), {"a": ["yyn"]}, model="good", judge="second"
    )
    prices = folder / "prices.json"
    names = ("mockllm/student", "mockllm/one", "mockllm/two", "mockllm/second")
    prices.write_text(json.dumps(dict.fromkeys(names, PRICES)))
    groups = [by.value for by in By]

    def pictures(log: str) -> None:
        series = load_series(log)
        how_run_tables(series)
        for kind in PAGE_KINDS:
            if kind != "consistency" or series[0].runs > 1:
                rate_figure(plotted_table(series, kind))

    return {
        "report": lambda log: render(report(log, ci=True, published=True), "json"),
        "groups": lambda log: render(report(log, by=groups, thresholds=True), "json"),
        "both": lambda log: render(report([log, good.location]), "terminal", 100),
        "compare": lambda log: render(compare(log, good.location, judge=SECOND), "json"),
        "agreement": lambda log: render(agreement(log), "json", list_tasks=True),
        "errors": lambda log: render(errors(log, by=["category"], published=True), "json"),
        "costs": lambda log: render(costs(log, prices), "json"),
        "show": lambda log: task_text(show_task(log, "a"), full=True),
        "near misses": lambda log: render(near_misses(log), "json"),
        "export": lambda log: export(log, folder / "out"),
        "pictures": pictures,
        "frame": answers_df,
    }


@pytest.mark.long
def test_nothing_but_numbers_or_a_message(tools: dict[str, Tool], tmp_path: Path) -> None:
    plan = {"a": ["yyn", EMPTY], "b": [GARBLED, "yyy"], "c": ["nnn", ERROR]}
    again = [("second", {task: ["yyy"] * 2 for task in plan})]
    log = make_log(tmp_path / "made", tasks(*plan), plan, judge=["one", "two"], again=again)
    add_labels(log.location)
    draw = random.Random(SEED)
    read = 0
    messages: set[str] = set()
    for done in range(MUTATIONS):
        path = tmp_path / "clbench.eval"
        member = write_mutated(Path(log.location), path, draw)
        for name, tool in tools.items():
            if name == "compare" and done % 10:
                continue  # its statistics take a second
            try:
                tool(str(path))
                read += 1
            except ClbenchError as ex:
                messages.add(str(ex))
            except Exception as ex:
                raise AssertionError(f"{name}, {member}, mutation {done}: {ex!r}") from ex
    assert not [message for message in messages if "\n" in message]
    assert read > MUTATIONS  # most changes do no harm
