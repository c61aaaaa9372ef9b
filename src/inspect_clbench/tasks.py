"""The tasks `clbench`, `clbench_life` and `judge_exam`: dataset, solver, scorer and limits put together."""

from typing import Any

import click
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.log import HeadlineMetric
from inspect_ai.scorer import Scorer
from inspect_ai.solver import generate

from inspect_clbench.benchmarks import (
    CLBENCH,
    CLBENCH_LIFE,
    DEMO_JUDGE,
    EXAM,
    EXAM_VERDICT,
    GRADER,
    Benchmark,
)
from inspect_clbench.data.dataset import (
    draw_samples,
    in_cache_order,
    load_samples,
    note_shared_chars,
)
from inspect_clbench.data.sources import DEMO
from inspect_clbench.exam.cases import exam_dataset, load_cases
from inspect_clbench.exam.sitting import ask_judge, exam_verdict
from inspect_clbench.judge.prompt import JudgePrompt, load_judge_prompt
from inspect_clbench.scoring.explanation import viewer_config
from inspect_clbench.scoring.graders import MODEL_LIMITS, Guard, check_start
from inspect_clbench.scoring.rubric_judge import rubric_judge
from inspect_clbench.scoring.scores import JudgeFailure
from inspect_clbench.solvers import generate_by_context

# Counts comparability: it changes when the same answers could get another score.
VERSION = 1
EXAM_VERSION = 1


@task
def clbench(
    dataset: str = CLBENCH.hub_id,
    category: str | list[str] | None = None,
    sub_category: str | list[str] | None = None,
    judge_prompt: str = "builtin",
    judge_failure: JudgeFailure = "zero",
    contexts: int | None = None,
    seed: int = 0,
    cache_order: int | None = None,
    budget: float | None = None,
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
        contexts: Draw so many whole contexts at random, from each category its share, for
            an estimate of the solving rate at a part of the price.
        seed: Which contexts are drawn; the same ones for the same seed.
        cache_order: Arrange tasks so that with so many connections siblings of a context
            find their common prefix in the provider's prompt cache. A --limit then
            counts in that order, not in the file's.
        budget: US dollars for the model and its judges. Once they are spent no further
            sample starts, those under way finish, and `inspect eval-retry` goes on with the
            same sum anew. Needs prices: --model-cost-config.
    """
    prompt = load_judge_prompt(judge_prompt)
    samples = load_samples(dataset, CLBENCH, category, sub_category)
    scorer = rubric_judge(judge_prompt=judge_prompt, judge_failure=judge_failure)
    return _benchmark_task(
        CLBENCH, samples, prompt, scorer, contexts, seed, cache_order, budget
    )


@task
def clbench_life(
    dataset: str = CLBENCH_LIFE.hub_id,
    category: str | list[str] | None = None,
    sub_category: str | list[str] | None = None,
    judge_prompt: str = "builtin",
    judge_failure: JudgeFailure = "zero",
    contexts: int | None = None,
    seed: int = 0,
    cache_order: int | None = None,
    budget: float | None = None,
) -> Task:
    """CL-bench Life: can a model learn from the messy contexts of everyday life?

    The parameters are those of `clbench`. Each task has a context of its own: `contexts`
    draws so many tasks, and `cache_order` changes nothing unless rows name the contexts
    they share.
    """
    prompt = load_judge_prompt(judge_prompt)
    samples = load_samples(dataset, CLBENCH_LIFE, category, sub_category)
    scorer = rubric_judge(judge_prompt=judge_prompt, judge_failure=judge_failure)
    return _benchmark_task(
        CLBENCH_LIFE, samples, prompt, scorer, contexts, seed, cache_order, budget
    )


@task
def judge_exam(judge_prompt: str = "builtin") -> Task:
    """The judge exam: does a judge find the truth about answers of which it is known?

    The model under test is the judge.

    Args:
        judge_prompt: `builtin`; `upstream`, the original prompt, fetched and
            checked; or the path of a template or of a copy of the original eval.py.
    """
    prompt = load_judge_prompt(judge_prompt)
    return Task(
        dataset=exam_dataset(load_cases(), prompt),
        solver=ask_judge(),
        scorer=exam_verdict(),
        # A request may fail without a word on the judge. One that always fails ends the run.
        fail_on_error=0.1,
        headline_metric=HeadlineMetric(scorer=EXAM_VERDICT, metric="accuracy"),
        viewer=viewer_config(exam=True),
        version=EXAM_VERSION,
        metadata={
            "benchmark": EXAM.title,
            "demo": False,
            "judge_prompt": prompt.name,
            "judge_prompt_sha256": prompt.sha256,
        },
    )


def _benchmark_task(
    benchmark: Benchmark,
    samples: MemoryDataset,
    prompt: JudgePrompt,
    scorer: Scorer,
    contexts: int | None,
    seed: int,
    cache_order: int | None,
    budget: float | None,
) -> Task:
    chosen, draw = draw_samples(samples, contexts, seed)
    is_demo = samples.location == DEMO
    dataset = _CheckedDataset(note_shared_chars(in_cache_order(chosen, cache_order)), budget)
    dataset.task = Task(
        dataset=dataset,
        # No tools: a model that calls some all the same would be asked again for ever.
        solver=generate(tool_calls="none") if cache_order is None else generate_by_context(),
        scorer=scorer,
        config=MODEL_LIMITS,
        # One failed generation must not end a run of hours: the sample is marked and
        # `inspect eval-retry` completes it.
        continue_on_fail=True,
        early_stopping=Guard(budget),
        headline_metric=HeadlineMetric(scorer="rubric_judge", metric="solving_rate"),
        viewer=viewer_config(),
        version=VERSION,
        display_name=samples.name if is_demo else None,
        # It needs no key, and a role of the run comes before one of the task.
        model_roles={GRADER: DEMO_JUDGE} if is_demo else None,
        metadata={
            "benchmark": benchmark.title,
            "demo": is_demo,
            "judge_prompt": prompt.name,
            "judge_prompt_sha256": prompt.sha256,
            **({"draw": draw.model_dump(mode="json")} if draw else {}),
        },
    )
    return dataset.task


class _CheckedDataset(MemoryDataset):
    """Refuses a run that cannot succeed when the command takes the samples for it.

    Inspect does that just before it begins a log, with the roles bound, and prints an error of
    that time as one message. Anything later is a log with a traceback; so are runs from Python,
    which `Guard` checks at their start.
    """

    task: Task

    def __init__(self, dataset: MemoryDataset, budget: float | None) -> None:
        super().__init__(list(dataset), dataset.name, dataset.location)
        self.budget = budget

    def __getitem__(self, index: Any) -> Any:
        chosen = super().__getitem__(index)
        command = click.get_current_context(silent=True)
        # A retry has its roles from the log, which cannot be seen here.
        if isinstance(index, slice) and command is not None and command.info_name == "eval":
            check_start(chosen, self.task.model_roles, self.budget)
        return chosen
