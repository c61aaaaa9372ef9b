"""How series are told apart, and what a reader must know of them beside the numbers."""

from collections import Counter
from collections.abc import Iterator, Sequence

from inspect_clbench.analysis.reading.logs import Log
from inspect_clbench.analysis.reading.series import Series
from inspect_clbench.analysis.statistics.estimate import estimate_note
from inspect_clbench.analysis.text import counted

_LOUD_FAILURES = 0.02

# Settings of the model under test that can change its answers.
_SETTINGS = (
    "temperature", "top_p", "top_k", "max_tokens", "stop_seqs", "system_message",
    "frequency_penalty", "presence_penalty", "verbosity", "extra_body",
)  # fmt: skip


def telling_columns(series: Sequence[Series]) -> list[tuple[str, list[str]]]:
    """Titles and values of what tells series apart: only where they differ."""
    candidates = [
        ("Judge", [s.judge + (f" (again {s.again})" if s.again else "") for s in series]),
        ("Judge prompt", _prompts(series)),
        ("Effort", [s.effort or "default" for s in series]),
        ("Task version", [str(s.logs[0].header.eval.task_version) for s in series]),
    ]
    return [(title, values) for title, values in candidates if len(set(values)) > 1]


def labels(series: Sequence[Series]) -> list[str]:
    """A name for each series that no other has: the model's, and what tells it apart."""
    extra = telling_columns(series)
    shared = Counter(one.model for one in series)
    named = []
    for index, one in enumerate(series):
        words = [values[index] for _, values in extra] if shared[one.model] > 1 else []
        named.append(one.model + (f" ({', '.join(words)})" if words else ""))
    return named


def _prompts(series: Sequence[Series]) -> list[str]:
    hashes: dict[str, set[str]] = {}
    for one in series:
        hashes.setdefault(one.judge_prompt, set()).add(one.judge_prompt_sha256)
    return [
        f"{one.judge_prompt} ({one.judge_prompt_sha256[:7]})"
        if len(hashes[one.judge_prompt]) > 1
        else one.judge_prompt
        for one in series
    ]


def notes(series: Sequence[Series]) -> list[str]:
    """What a reader must know beside the numbers."""
    lines = []
    for one, label in zip(series, labels(series), strict=True):
        lines += [f"* {label}: incomplete, {gap}." for gap in one.gaps]
        lines += [f"! {label}: {warning}" for warning in _warnings(one)]
        if one.draw:
            lines.append(f"~ {label}: {estimate_note(one, one.draw)}")
    tasks = {one.tasks for one in series}
    if len(tasks) > 1:
        common = len(frozenset.intersection(*tasks))
        lines.append(
            f"! The rows are not of the same tasks: {common:,} tasks are common to all. "
            "clbench compare pairs two of them."
        )
    judges = sorted({one.judge or "none" for one in series})
    prompts = sorted({one.judge_prompt or "unknown" for one in series})
    lines.append(f"Judge: {', '.join(judges)}; prompt: {', '.join(prompts)}.")
    return lines


def _warnings(series: Series) -> Iterator[str]:
    share = 1 - series.judge_coverage
    if share > _LOUD_FAILURES:
        yield (
            f"no verdict for {counted(series.judge_failures, 'row')} ({100 * share:.1f} %) "
            "because the judge failed; the rate says as much about the judge as about the "
            "model. Ask again for these rows: clbench regrade LOG"
        )
    unscored = sum(record.outcome == "unscored" for record in series.records)
    if unscored:
        yield f"left out of the rates: {counted(unscored, 'row')} without a verdict."
    judges = Counter(record.judge for record in series.records if record.judge)
    del judges[series.judge]
    for judge, count in judges.most_common():
        yield f"another judge, {judge}, for {counted(count, 'row')}."
    differing = [
        name for name in _SETTINGS if len({_setting(g, name) for g in series.logs}) > 1
    ]
    if differing:
        yield f"its runs differ in {', '.join(differing)}."
    if len({_judge_effort(log) for log in series.logs}) > 1:
        yield "its runs differ in the judge's reasoning effort."


def _setting(log: Log, name: str) -> str:
    return repr(getattr(log.config, name))


def _judge_effort(log: Log) -> str:
    bound = (log.header.eval.model_roles or {}).get("grader")
    models = bound if isinstance(bound, list) else [bound] if bound else []
    return repr([model.config.reasoning_effort for model in models])
