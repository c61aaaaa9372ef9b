"""The numbers of every command on fixed logs, as JSON: a change of code must not change them."""

import json
import random
from pathlib import Path

import pytest
from inspect_ai import score
from inspect_ai.log import read_eval_log, write_eval_log

from inspect_clbench import error_types
from tests.support.builders import SUB_CATEGORIES, row
from tests.support.command import clbench
from tests.support.error_types import Labeller, labels_reply
from tests.support.golden import check_golden
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED

GOLDEN = Path(__file__).parent / "golden_numbers"
ROWS = [
    row(
        f"task-{number:02d}",
        context=f"context-{number // 2}",
        sub_category=SUB_CATEGORIES[number // 2],
        rubrics=[f"Rubric {rubric}." for rubric in range(3 + number % 5)],
        question="word " * (2000 * (number % 4)) + f"TASK=task-{number:02d}",
    )
    for number in range(24)
]
COMMANDS = {
    "report": "report A B --ci",
    "report-published": "report A --published --leaderboard",
    "report-groups": "report A B --by sub_category --by length --by turns --by rubric_count",
    "report-thresholds": "report A B --thresholds --published",
    "report-draw": "report DRAW --ci",
    "compare": "compare A B --tasks",
    "agreement": "agreement PANEL --tasks",
    "errors": "errors A --published --by category --by sub_category",
    "costs": "costs A PANEL",
    "near-misses": "show A --near-misses --limit 0",
}


def plan(seed: int) -> dict[str, list[str]]:
    """The outcome of each task in each of two epochs."""
    draw = random.Random(seed)
    outcomes = {}
    for one in ROWS:
        rubrics = len(one["rubrics"])
        usual = ["y" * rubrics, "y" * (rubrics - 1) + "n", "n" * rubrics, "y" * rubrics + "!"]
        odd = [EMPTY, GARBLED, ERROR, "y" * (rubrics - 1) + "?"]
        outcomes[one["metadata"]["task_id"]] = [
            draw.choice(odd if draw.random() < 0.15 else usual) for _ in range(2)
        ]
    return outcomes


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("numbers")
    places = {
        "A": make_log(folder / "a", ROWS, plan(1), model="a", epochs=2).location,
        "B": make_log(folder / "b", ROWS, plan(2), model="b", epochs=2).location,
        "PANEL": make_log(folder / "p", ROWS, plan(3), judge=["one", "two"], epochs=2).location,
        "DRAW": make_log(
            folder / "d", ROWS, plan(4), task_args={"contexts": 8, "seed": 1}, epochs=2
        ).location,
    }
    types = ("context_ignored", "format_error")

    def says(prompt: str) -> str:
        return labels_reply(**{types[len(prompt) % 2]: [1]})

    labelled = score(
        read_eval_log(places["A"]),
        error_types(),
        model_roles={"grader": Labeller(says).model()},
        action="append",
        display="none",
    )
    write_eval_log(labelled, places["A"])
    return places


@pytest.mark.parametrize("name", COMMANDS)
def test_numbers_stay_as_they_are(name: str, logs: dict[str, str]) -> None:
    words = [logs.get(word, word) for word in COMMANDS[name].split()]
    done = clbench(*words, "--format", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    text = done.stdout
    for place, path in logs.items():
        text = text.replace(path, place)
    json.loads(text)
    check_golden(GOLDEN / f"{name}.json", text)
