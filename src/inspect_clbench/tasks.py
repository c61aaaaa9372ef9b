"""The tasks: dataset, solver, scorer and limits put together."""

from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import GenerateConfig
from inspect_ai.solver import generate

from inspect_clbench.benchmarks import CLBENCH, CLBENCH_LIFE, DEMO_JUDGE, GRADER, TASK_VERSION, Benchmark
from inspect_clbench.data.selection import draw_samples, in_cache_order, load_samples
from inspect_clbench.data.sources import DEMO, dataset_name
from inspect_clbench.replay import replay
from inspect_clbench.scoring.explanation import viewer_config
from inspect_clbench.scoring.graded import graded_file, read_graded
from inspect_clbench.scoring.guard import Guard, check_models
from inspect_clbench.scoring.rubric_judge import rubric_judge
from inspect_clbench.text import public_url

# Inspect retries for ever, and a run must end. Nine retries wait about 25 minutes in all; what
# fails then is a sample error, which `inspect eval-retry` takes up again.
MODEL_LIMITS = GenerateConfig(max_retries=9)


@task
def clbench(
    dataset: str = CLBENCH.hub_id,
    category: str | list[str] | None = None,
    judge_prompt: str = "builtin",
    contexts: int | None = None,
    seed: int = 0,
    cache_order: int | None = None,
    budget: float | None = None,
) -> Task:
    """CL-bench: can a model learn something new from its context and use it?

    Args:
        dataset: The benchmark on the Hugging Face hub; or the path or URL of a .jsonl or .json file,
            also compressed (.gz, .xz, .zst), or of a .parquet file; or a folder that `datasets`
            saved; or another dataset of the hub, `org/name@revision`; or `demo`, the embedded rows.
        category: Categories and sub-categories to keep.
        judge_prompt: `builtin`; `upstream`, the original prompt, fetched and checked; or the path
            of a template or of a copy of the original eval.py.
        contexts: Draw so many contexts at random, from each category its share, for an estimate
            of the solving rate at a part of the price.
        seed: Which contexts are drawn; the same ones for the same seed.
        cache_order: Arrange tasks so that with so many connections siblings of a context find
            their common prefix in the provider's prompt cache. A --limit then counts in that order.
        budget: US dollars for the model and its judges. Once they are spent no further sample
            starts, those under way finish, and `inspect eval-retry` goes on with the same sum
            anew. Needs prices: INSPECT_EVAL_MODEL_COST_CONFIG=FILE.
    """
    return _task(CLBENCH, dataset, category, judge_prompt, contexts, seed, cache_order, budget)


@task
def clbench_life(
    dataset: str = CLBENCH_LIFE.hub_id,
    category: str | list[str] | None = None,
    judge_prompt: str = "builtin",
    contexts: int | None = None,
    seed: int = 0,
    cache_order: int | None = None,
    budget: float | None = None,
) -> Task:
    """CL-bench Life: can a model learn from the messy contexts of everyday life?

    The parameters are those of `clbench`, without the demo. Each task has a context of its own:
    `contexts` draws so many tasks, and `cache_order` changes nothing unless rows name the contexts
    they share.
    """
    return _task(CLBENCH_LIFE, dataset, category, judge_prompt, contexts, seed, cache_order, budget)


def _task(
    benchmark: Benchmark,
    dataset: str,
    category: str | list[str] | None,
    judge_prompt: str,
    contexts: int | None,
    seed: int,
    cache_order: int | None,
    budget: float | None,
) -> Task:
    dataset = str(dataset)  # a command line makes null, a number or a list of some values
    scorer = rubric_judge(judge_prompt=judge_prompt)
    is_demo = dataset == DEMO
    if not is_demo:  # its judge needs no key, and is bound below
        check_models(benchmark, budget)
    samples = load_samples(dataset, benchmark, category)
    metadata: dict[str, Any] = {}
    if contexts is not None:
        samples, metadata["draw"] = draw_samples(samples, contexts, seed)
    if cache_order is not None:
        samples = in_cache_order(samples, cache_order)
    name = dataset_name(dataset, benchmark)
    return Task(
        dataset=MemoryDataset(samples, name=name, location=public_url(dataset)),
        # No tools: a model that calls some all the same would be asked again for ever.
        solver=generate(tool_calls="none"),
        scorer=scorer,
        config=MODEL_LIMITS,
        # A failed generation must not end a run of hours: the sample is marked and `inspect
        # eval-retry` completes it.
        continue_on_fail=True,
        early_stopping=Guard(benchmark, budget),
        headline_metric=HeadlineMetric(scorer="rubric_judge", metric="solving_rate"),
        viewer=viewer_config(),
        version=TASK_VERSION,
        display_name=name if is_demo else None,
        model_roles={GRADER: DEMO_JUDGE} if is_demo else None,  # a role of the run comes before it
        metadata=metadata,
    )


@task
def clbench_graded(files: str | list[str], judge: str, dataset: str = "") -> Task:
    """Graded files of the original scripts as a log; nothing is judged anew.

    `clbench import` runs it, with `--model none/NAME`, the name of the model that gave the answers.

    Args:
        files: Graded files, one per run: the n-th file is epoch n.
        judge: The name of the judge, which graded files do not hold.
        dataset: What the rows are of, as the tasks name it; the benchmark if not given.
    """
    paths = [files] if isinstance(files, str) else files
    graded = read_graded(paths)
    return Task(
        dataset=MemoryDataset(graded.samples, name=dataset_name(dataset, graded.benchmark)),
        solver=replay(files=paths),
        scorer=graded_file(files=paths, judge=judge),
        epochs=len(paths),
        # A task that one of the files lacks is an error of its sample, not of the import.
        fail_on_error=False,
        headline_metric=HeadlineMetric(scorer="graded_file", metric="solving_rate"),
        viewer=viewer_config(),
        version=TASK_VERSION,
        # The same files make the same runs, however often they are imported.
        metadata={"imported_sha256": graded.sha256},
    )
