"""The log around imported samples: its header, its metrics, its file."""

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalPlan,
    EvalPlanStep,
    EvalSample,
    EvalSpec,
    EvalStats,
    HeadlineMetric,
    recompute_metrics,
    write_eval_log,
)

from inspect_clbench.analysis.progress import progress
from inspect_clbench.analysis.reading.logs import why
from inspect_clbench.analysis.reading.records import SCORER
from inspect_clbench.errors import ClbenchError
from inspect_clbench.taxonomy import CLBENCH, Benchmark
from inspect_clbench.viewer import viewer_config

_METRICS: list[dict[str, Any]] = [
    {"name": "inspect_clbench/solving", "options": {}},
    {"name": "inspect_clbench/judging", "options": {}},
    {
        "name": "inspect_clbench/solving_by",
        "options": {"group_key": "context_category", "metric": {"name": "Category"}},
    },
    {
        "name": "inspect_clbench/solving_by",
        "options": {
            "group_key": "sub_category",
            "std": False,
            "metric": {"name": "Sub-category"},
        },
    },
    {"name": "inspect_clbench/judge_agreement", "options": {}},
]
"""The metrics of a judged run as a log's header names them."""


def write_graded_log(
    samples: Sequence[EvalSample],
    task_ids: Sequence[str],
    *,
    runs: int,
    model: str,
    benchmark: Benchmark,
    is_demo: bool,
    files: Sequence[str],
    task_id: str,
    log_dir: str,
) -> str:
    """Write samples as the log of a finished run and return where it is.

    Args:
        samples: The samples of all runs, with their scores.
        task_ids: The benchmark's tasks among them, in their order.
        runs: How many runs there are.
        model: The model's name.
        benchmark: The benchmark.
        is_demo: Whether the rows are those of its demo.
        files: Where the samples come from.
        task_id: The id of the run. Logs of the same id are attempts at the same run,
            of which reports take one: the same data must have the same.
        log_dir: Folder or URL where the log is written.
    """
    title = f"{benchmark.title} demo" if is_demo else benchmark.title
    now = datetime.now(UTC).isoformat(timespec="seconds")
    name = "clbench" if benchmark is CLBENCH else "clbench_life"
    spec = EvalSpec.model_validate(
        {
            "run_id": task_id,
            "created": now,
            "task": f"inspect_clbench/{name}",
            "task_id": task_id,
            "task_version": 1,
            "task_display_name": name,
            "task_registry_name": f"inspect_clbench/{name}",
            "dataset": EvalDataset(
                name=benchmark.title,
                samples=len(task_ids),
                sample_ids=list(task_ids),
                shuffled=False,
            ),
            # The provider that calls nothing: `inspect score` can load the log.
            "model": f"none/{model}",
            "config": EvalConfig(epochs=runs),
            "packages": {name: version(name) for name in ("inspect_ai", "inspect-clbench")},
            "metadata": {
                "benchmark": title,
                "model_name": model,
                "imported_from": [str(file) for file in files],
            },
            "viewer": viewer_config(),
            "scorers": [{"name": SCORER, "options": {}, "metrics": _METRICS}],
            "headline_metric": HeadlineMetric(scorer=SCORER, metric="solving_rate"),
        }
    )
    log = EvalLog(
        status="success",
        eval=spec,
        plan=EvalPlan(
            name="import", steps=[EvalPlanStep(solver="import", params={"files": list(files)})]
        ),
        stats=EvalStats(started_at=now, completed_at=now),
        samples=list(samples),
    )
    stamp = now.replace(":", "-").replace("+", "-")
    location = f"{log_dir.rstrip('/')}/{stamp}_{name}_{task_id}.eval"
    with progress("Writing the log"):
        try:
            recompute_metrics(log)
            write_eval_log(log, location)
        except OSError as ex:
            raise ClbenchError(f"{location}: cannot be written ({why(ex)}).") from None
    return location
