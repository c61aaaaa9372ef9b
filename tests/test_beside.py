"""CL-bench beside other tasks: one eval set, one table of both."""

from contextvars import copy_context
from pathlib import Path

import pandas as pd
from inspect_ai import Task, eval_set, task
from inspect_ai.analysis import evals_df
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import accuracy, match, stderr

from inspect_clbench import clbench


@task
def echo() -> Task:
    """A task as others have them: a built-in scorer with built-in metrics."""
    samples = [Sample(input="Say yes.", target="yes"), Sample(input="Say no.", target="no")]
    return Task(dataset=samples, scorer=match(), metrics=[accuracy(), stderr()])


def test_an_eval_set_of_clbench_and_another_task_is_one_table(tmp_path: Path) -> None:
    # Inspect leaves the set's model bound in the context, where tasks of other tests are built.
    success, logs = copy_context().run(
        eval_set,
        [clbench(dataset="demo"), echo()],
        log_dir=str(tmp_path),
        model=get_model("clbench_demo/student", memoize=False),
        limit=6,
        display="none",
    )
    assert success
    assert {log.status for log in logs} == {"success"}
    table: pd.DataFrame = evals_df(str(tmp_path)).set_index("task_name")
    assert sorted(table.index) == ["clbench", "echo"]
    rate = table.loc["clbench"]
    assert rate["score_headline_metric"] == "solving_rate"
    assert 0 < rate["score_headline_value"] < 1
    assert rate["score_headline_stderr"] > 0
