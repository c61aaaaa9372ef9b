"""The benchmark's tasks: wiring only."""

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.solver import generate

from inspect_clbench.dataset import DEMO, load_samples
from inspect_clbench.judge.prompt import load_judge_prompt
from inspect_clbench.scorers.graders import JudgeWatch
from inspect_clbench.scorers.rubric_judge import JudgeFailure, rubric_judge
from inspect_clbench.taxonomy import CLBENCH
from inspect_clbench.viewer import viewer_config

# Counts comparability: it changes when the same answers could get another score.
VERSION = 1


@task
def clbench(
    dataset: str = CLBENCH.hub_id,
    category: str | list[str] | None = None,
    sub_category: str | list[str] | None = None,
    judge_prompt: str = "builtin",
    judge_failure: JudgeFailure = "zero",
) -> Task:
    """CL-bench: can a model learn something new from its context and use it?

    Args:
        dataset: The hub dataset; or the path or URL of a .jsonl, .json or .parquet
            file, also compressed (.gz, .xz, .zst); or `demo`, the embedded rows.
        category: One or several categories to keep.
        sub_category: One or several sub-categories to keep.
        judge_prompt: `builtin`; `upstream`, the original prompt, fetched and
            checked; or the path of a template or of a copy of the original eval.py.
        judge_failure: What a row without a verdict counts as: `zero`, or `unscored`
            to leave it out of the rates.
    """
    prompt = load_judge_prompt(judge_prompt)
    return Task(
        dataset=load_samples(dataset, CLBENCH, category=category, sub_category=sub_category),
        solver=generate(),
        scorer=rubric_judge(judge_prompt=judge_prompt, judge_failure=judge_failure),
        # One failed generation must not end a run of hours: the sample is marked and
        # `inspect eval-retry` completes it.
        continue_on_fail=True,
        early_stopping=JudgeWatch(),
        headline_metric=HeadlineMetric(scorer="rubric_judge", metric="solving_rate"),
        viewer=viewer_config(),
        version=VERSION,
        metadata={
            "benchmark": f"{CLBENCH.title} demo" if dataset == DEMO else CLBENCH.title,
            "judge_prompt": prompt.name,
            "judge_prompt_sha256": prompt.sha256,
        },
    )
