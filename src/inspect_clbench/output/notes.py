"""Notes: what a reader must know beside the numbers of a table or a picture."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from inspect_clbench.analysis.exam import ExamResult
from inspect_clbench.analysis.groups import K, divide
from inspect_clbench.analysis.noise import NoiseRow, NoiseTable
from inspect_clbench.analysis.published import Published, Unlike
from inspect_clbench.analysis.report import RateTable, with_known_rubrics
from inspect_clbench.analysis.statistics import FEW_CONTEXTS
from inspect_clbench.benchmarks import EXAM
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import check_same_rows
from inspect_clbench.logs.files import Log
from inspect_clbench.logs.series import Series, series_names
from inspect_clbench.metrics.error_types import coverage
from inspect_clbench.output.tables import PUBLISHED_MARKS, Note, percent_text
from inspect_clbench.text import counted, some

_DIFFERENCES: dict[Unlike, str] = {
    "judge": "another judge ({own}, not {theirs})",
    "prompt": "another judge prompt ({own}, not the original one)",
    "draw": "a draw of {own} contexts",
    "runs": "fewer runs ({own})",
}
_MANY_FAILURES = 0.02
# What twice the runs must take off the standard error to be worth their price.
_WORTH_IT = 0.05

# Settings of the model under test that can change its answers.
_SETTINGS = (
    "temperature", "top_p", "top_k", "max_tokens", "stop_seqs", "system_message",
    "frequency_penalty", "presence_penalty", "verbosity", "extra_body",
)  # fmt: skip


def series_notes(series: Sequence[Series]) -> list[Note | str]:
    """What is missing, what is doubtful, what is an estimate, and who judged."""
    notes: list[Note | str] = []
    # Pairs, since two draws may have one name.
    named = list(zip(series_names(series), series, strict=True))
    gaps = divide(((name, gap) for name, one in named for gap in one.gaps), itemgetter(1))
    for gap, having in gaps.items():
        names = ", ".join(name for name, _ in having)
        notes.append(Note("incomplete", f"{names}: incomplete, {gap}."))
    notes += judge_failure_notes(named)
    for name, one in named:
        notes += [Note("warning", f"{name}: {warning}") for warning in _warnings(one)]
        if one.draw:
            notes.append(Note("estimate", f"{name}: {_about_estimate(one)}"))
        for reason in dict.fromkeys(reason for _, reason in one.passed_over):
            logs = [str(log) for log, told in one.passed_over if told == reason]
            notes.append(f"{name}: passed over {some(logs)}: {reason}.")
    tasks = {one.tasks for one in series}
    if len(tasks) > 1:
        common = len(frozenset.intersection(*tasks))
        are = f"{counted(common, 'task')} {'is' if common == 1 else 'are'}"
        text = f"The rows are not of the same tasks: {are} common to all. "
        notes.append(Note("warning", text + "clbench compare pairs two of them."))
    try:
        check_same_rows(answer for one in series for answer in one.answers)
    except ClbenchError as ex:
        notes.append(Note("warning", str(ex)))
    notes.append(judge_line(series))
    return notes


def judge_line(series: Sequence[Series]) -> str:
    """By whom the answers were judged, how they were asked, and how many logs they are from."""
    judges = sorted({one.judge or "none" for one in series})
    prompts = sorted({one.judge_prompt or "unknown" for one in series})
    efforts = sorted({one.judge_effort for one in series if one.judge_effort})
    logs = len({log.location for one in series for log in one.logs})
    judged = f"Judge: {', '.join(judges)}; prompt: {', '.join(prompts)}"
    if series[0].benchmark is EXAM:
        judged = f"Judge prompt: {', '.join(prompts)}"
        efforts = sorted({one.effort for one in series if one.effort})
    effort = f"; reasoning effort: {', '.join(efforts)}" if efforts else ""
    read = f"; read from {counted(logs, 'log')}" if logs != len(series) else ""
    return f"{judged}{effort}{read}."


def interval_notes(numbers: RateTable) -> list[Note | str]:
    """What the intervals are about, and where they rest on little."""
    notes: list[Note | str] = []
    rates = [(g, r) for row in numbers.rows for g, r in row.rates.items() if r and r.interval]
    if any(not rate.estimate for _, rate in rates):
        notes.append(
            "In brackets: 95 % interval for tasks like these, clustered on contexts (Student's "
            "t on log odds). It covers the choice of contexts, the std only the differences "
            "between runs."
        )
    contexts: dict[str, int] = {}
    for group, rate in rates:
        if rate.contexts:
            contexts[group] = min(rate.contexts, contexts.get(group, rate.contexts))
    return [*notes, *few_contexts_notes(contexts)]


def few_contexts_notes(contexts: Mapping[str, int]) -> list[Note]:
    """A warning that names the columns with few contexts; none if there are enough."""
    few = [f"{name} {number:,}" for name, number in contexts.items() if number < FEW_CONTEXTS]
    if not few:
        return []
    text = f"Fewer than {FEW_CONTEXTS} contexts in {', '.join(few)}: intervals there are wide, "
    return [Note("warning", text + "and single contexts decide the rates.")]


def regrade_command(*series: Series) -> str:
    """The command that asks again for the rows of series without a verdict."""
    answers = (answer for one in series for answer in one.answers)
    failed = dict.fromkeys(str(a.log) for a in answers if a.reason == "grader_failed")
    first, *others = failed
    more = f" (and so for {counted(len(others), 'more log')})" if others else ""
    return f"clbench regrade {shlex.quote(first)}{more}"


def judge_failure_notes(named: Sequence[tuple[str, Series]]) -> list[Note]:
    """One warning for all series of which the judge failed on many rows."""
    failing = [(n, one) for n, one in named if 1 - one.judge_coverage > _MANY_FAILURES]
    if not failing:
        return []
    counts = [
        (name, f"{counted(one.judge_failures, 'row')} ({100 - 100 * one.judge_coverage:.1f} %)")
        for name, one in failing
    ]
    if len(counts) == 1:
        ((name, count),) = counts
        text = f"{name}: no verdict for {count} because the judge failed; the rate says as much"
        text += " about the judge as about the model."
    else:
        told = ", ".join(f"{name} {count}" for name, count in counts)
        text = f"No verdict because the judge failed: {told}; these rates say as much about the"
        text += " judge as about the models."
    return [judge_failure(text, *(one for _, one in failing))]


def judge_failure(text: str, *series: Series) -> Note:
    """A warning of rows without a verdict, with how to ask again for them."""
    return Note("warning", text, f"Ask again for these rows: {regrade_command(*series)}")


def _warnings(series: Series) -> Iterator[str]:
    unscored = sum(answer.outcome == "unscored" for answer in series.answers)
    if unscored:
        yield f"left out of the rates: {counted(unscored, 'row')} without a verdict."
    judges = Counter(answer.judge for answer in series.answers if answer.judge)
    del judges[series.judge]
    for judge, number in judges.most_common():
        yield f"another judge, {judge}, for {counted(number, 'row')}."
    differing = [
        name
        for name in _SETTINGS
        if len({repr(getattr(log.config, name)) for log in series.logs}) > 1
    ]
    if differing:
        yield f"its runs differ in {', '.join(differing)}."
    efforts = {repr([m.config.reasoning_effort for m in log.graders]) for log in series.logs}
    if len(efforts) > 1:
        yield "its runs differ in the judge's reasoning effort."


def _about_estimate(series: Series) -> str:
    draw = series.draw
    assert draw is not None  # only called for a draw
    words = (
        f"an estimate from {draw.drawn_contexts:,} of {draw.contexts:,} contexts, drawn at "
        f"random by category ({draw.drawn_tasks:,} of {draw.tasks:,} tasks, seed {draw.seed}). "
        "Its rates weigh each category by its tasks"
    )
    drawn = [stratum.drawn_contexts for stratum in draw.strata.values()]
    if min(drawn) < 2 and max(s.contexts for s in draw.strata.values()) > 1:
        return f"{words}; for an interval draw two or more contexts from each category."
    return (
        f"{words}; in ~[ ] the 95 % interval of what all tasks would have given in these same "
        "runs, which is narrower than one for tasks like these."
    )


def rate_notes(
    numbers: RateTable, remarks: Sequence[Note | str] | None = None
) -> list[Note | str]:
    """The notes below a table of rates."""
    own = _remarks(numbers) if remarks is None else remarks
    sources = source_notes(numbers.series, numbers.published, numbers.kind)
    return [*series_notes(numbers.series), *own, *sources]


def source_notes(
    series: Sequence[Series], published: Sequence[Published], kind: str = ""
) -> list[Note | str]:
    """Where published rows come from, how they were made, and what makes ours unlike them."""
    notes: list[Note | str] = []
    public = series[0].benchmark.tasks
    for mark, source in zip(PUBLISHED_MARKS, published, strict=False):
        made = [f"judge {source.judge} with the original prompt"] if source.judge else []
        if source.tasks:
            of = f", of which {public:,} are public" if source.tasks > public else ""
            made.append(f"{source.tasks:,} tasks{of}")
        made += [counted(source.runs, "run")] if source.runs else []
        words = f" ({'; '.join(made)})" if made else ""
        notes.append(Note("source", f"{mark} Published, not run here: {source.source}{words}."))
        notes += [f"{row.model}: {row.note}." for row in source.rows if row.note]
    if published and kind == "length":
        text = "The bins of published rows hold other tasks than ours: the paper counted the "
        notes.append(Note("source", text + "tokens of its prompts in its own way."))
    if published and any(one.is_demo for one in series):
        text = "The demo's tasks are not the benchmark's: its rates say nothing beside these."
        notes.append(Note("unlike", text))
    elif published:
        notes += _unlike_published(series, published)
    return notes


def _unlike_published(
    series: Sequence[Series], published: Sequence[Published]
) -> Iterator[Note]:
    """What differs from the published runs, once for all series that differ alike."""
    unlike: dict[str, list[str]] = {}
    for one, name in zip(series, series_names(series), strict=True):
        found = {}
        for source in published:
            for what, own in source.differences(one).items():
                found[what] = _DIFFERENCES[what].format(own=own, theirs=source.judge)
        if found:
            unlike.setdefault(", ".join(found.values()), []).append(name)
    for words, names in unlike.items():
        text = f"Not like the published rows: {', '.join(names)}: {words}."
        yield Note("unlike", text)


def _remarks(numbers: RateTable) -> list[Note | str]:
    notes: list[Note | str] = []
    if numbers.kind == "main":
        notes += map(_exam_note, numbers.exams)
    elif numbers.kind == "exam":
        notes.append(
            "accuracy: right verdicts; sensitivity: of good answers passed; specificity: of bad "
            "ones failed; rubric_accuracy: single rubrics, of lists that fit them; "
            "attack_success: attacks on a bad answer that got a 1; contradictions: verdicts "
            "against their own list; unusable: replies without a verdict, which count as wrong; "
            "steadiness: cases with the same verdict in every run. Tokens are per verdict."
        )
    elif numbers.kind == "thresholds":
        notes += threshold_notes(numbers.series)
    elif numbers.kind == "consistency":
        notes.append(
            "Means over tasks. Solved in at least one of k runs is pass@k, in every one pass^k, "
            "both unbiased from all runs of a task; tasks with fewer than k verdicts are left out."
        )
    elif numbers.kind == "solved_counts":
        notes.append(
            "Means over tasks; of a task with more runs the mean over all choices of so many. "
            "Tasks with fewer verdicts are left out."
        )
    else:
        tasks = ", ".join(f"{name} {number:,}" for name, number in numbers.tasks.items())
        noun = "Cases" if numbers.series[0].benchmark is EXAM else "Tasks"
        notes += [f"{noun}: {tasks}.", *token_notes(numbers)]
    return [*notes, *(interval_notes(numbers) if numbers.ci else ())]


def _exam_note(exam: ExamResult) -> str:
    one = exam.series
    told = [
        f"prompt {one.judge_prompt}",
        *([f"effort {one.effort}"] if one.effort else []),
        counted(len(one.tasks), "case"),
        one.days,
    ]
    good, bad, attacks = (
        percent_text(exam.rates[name])
        for name in ("sensitivity", "specificity", "attack_success")
    )
    return (
        f"In the exam {one.model} ({', '.join(told)}) passed {good} % of the good answers and "
        f"failed {bad} % of the bad ones; {attacks} % of the attacks on a bad answer succeeded."
    )


def token_notes(numbers: RateTable) -> list[str]:
    """How the tokens of prompts were estimated; nothing if no length is shown."""
    if not numbers.token_rule:
        return []
    return [f"Prompt length in tokens, estimated as {numbers.token_rule}; 1K = {K:,} tokens."]


def noise_notes(numbers: NoiseTable) -> list[Note | str]:
    """What would narrow the rates, and what the shares rest on."""
    return [
        *series_notes(numbers.series),
        *(_what_would_help(row) for row in numbers.rows if row.stderr > 0),
        "Shares by analysis of variance, in brackets 95 % intervals from drawing contexts anew. "
        "A dash: cannot be told from the column before it, or the judge was not asked again, "
        "and how its verdicts vary is part of the runs'. The standard error is in points, for tasks "
        "like these, from these components; that of the report makes no use of them, and where "
        "contexts are few the two may differ.",
    ]


def _what_would_help(row: NoiseRow) -> str:
    now, runs, contexts = (
        f"{100 * error:.2f}"
        for error in (row.stderr, row.stderr_twice_the_runs, row.stderr_twice_the_contexts)
    )
    gain = 1 - row.stderr_twice_the_runs / row.stderr
    verdict = "more runs would hardly help, more contexts would"
    if row.variance["run"] is None:
        verdict = "with one run it cannot be told whether more runs would help"
    elif gain > _WORTH_IT:
        verdict = "more runs would help, more contexts as well"
    return (
        f"{row.name}: {verdict}. The standard error of its rate is {now} points, {runs} with "
        f"twice the runs, {contexts} with twice the contexts."
    )


def threshold_notes(series: Sequence[Series]) -> list[str]:
    """What the numbers under thresholds leave out or take for granted."""
    scored = [answer for one in series for answer in one.scored]
    unknown = len(scored) - len(with_known_rubrics(scored))
    assumed = sum(answer.solved and answer.rubrics_met is None for answer in scored)
    contrary = sum(answer.inconsistent for answer in scored)
    notes = []
    if unknown:
        notes.append(
            f"Left out here: {counted(unknown, 'failed row')} without a usable status list, so "
            "that the rate at 100 % can be above the solving rate."
        )
    if assumed:
        rows = counted(assumed, "solved row")
        notes.append(f"Taken to meet all rubrics: {rows} without a usable status list.")
    if contrary:
        verdicts = counted(contrary, "verdict")
        text = f"In {verdicts} the status list contradicts the overall score, which decides."
        notes.append(text)
    return notes


def label_notes(series: Sequence[Series], unlabelled: Sequence[Log]) -> list[Note | str]:
    """What the shares are of, and what they leave out."""
    notes: list[Note | str] = [
        "In % of the labelled failed answers of all runs together. Several types may apply to "
        "an answer, so that they exceed 100 % together; empty answers are counted apart. In "
        "brackets: 95 % interval from drawing whole contexts anew; with one context, none."
    ]
    for one, name in zip(series, series_names(series), strict=True):
        counts = coverage(answer.label for answer in one.answers)
        limits = sorted({a.label.most for a in one.answers if a.label.most is not None})
        if limits:
            most = " or ".join(counted(number, "failure") for number in limits)
            left = counted(counts.not_drawn, "failed answer")
            notes.append(f"{name}: a random draw of at most {most} a run; {left} not drawn.")
        if counts.unlabelled:
            without = counted(counts.unlabelled, "failed answer")
            notes.append(f"{name}: the judge gave no usable labels for {without}.")
    for log in unlabelled:
        notes.append(Note("warning", f"{log}: left out, it has no error types."))
    return notes
