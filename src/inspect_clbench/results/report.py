"""Solving rates: of each model overall and by category, or of each group of tasks by model."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from inspect_clbench.benchmarks import BENCHMARKS, LENGTH_LIMITS
from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import dataset_of, full_scores
from inspect_clbench.results.estimates import all_of, any_of, solving_rate
from inspect_clbench.results.series import JUDGE
from inspect_clbench.results.table import Column, Table, count, interval, mean_std, percent, short_names

OVERALL = "Overall"
FIGURES = ("mean", "std", "stderr", "low", "high")
THRESHOLDS = range(60, 101, 5)
K = 1024  # nearer to the task counts of the paper's bins than 1,000
LENGTHS = {"0-4K": 0, "4-8K": 4 * K, "8-16K": 8 * K, "16-32K": 16 * K, "32K+": 32 * K}
CHARS_PER_TOKEN = 4
GROUPS = {  # the head of their column, and what the title says of them
    "sub_category": ("Sub-category", "by sub-category"),
    "length": ("Tokens", f"by tokens of the prompt (characters / {CHARS_PER_TOKEN})"),
    "threshold": ("Rubrics met", "if so many of the rubrics were enough"),
    "runs": ("Solved in", "in any and in all of k runs"),
}
PROBLEMS = {  # what they are called in the head of their column, and what follows
    "no_verdict": ("No verdict", "the judge gave none, and they count as not solved."),
    "missing": (
        "Missing",
        "after errors or a stopped run, in no rate. Complete them: inspect eval-retry LOG.",
    ),
    "cut_off": ("Cut off", "at a length limit, and judged as they are."),
}

ORDER = [name for b in BENCHMARKS.values() for name in (*b.categories, *b.sub_categories)]
REVISIONS = {b.hub_id: b.revision or "unknown" for b in BENCHMARKS.values()}
PUBLISHED = Path(__file__).with_name("published.json")

Groups = Iterator[tuple[str, pd.DataFrame]]


def report(answers: pd.DataFrame, by: str | None = None, ci: bool = False, published: bool = False) -> Table:
    """The table of the paper, a row per model, best first; or a row per group, a column per model.

    Args:
        answers: From `answers_df`, of one dataset.
        by: Groups of tasks: `sub_category`; `length` of the prompt; `threshold`, as if so many of
            the rubrics were enough; `runs`, solved in any and in all of k runs.
        ci: Whether to show 95 % intervals instead of the std over runs.
        published: Whether to add the rows of the benchmark's paper, to the main table only.
    """
    dataset = dataset_of(answers)
    if by is not None and published:
        raise ClbenchError("--published goes with the main table only: leave out --by.")
    counted = full_scores(answers)
    source = published_table(dataset, "main") if published else {}
    frame, columns = _main(counted, ci) if by is None else _by(counted, by, ci)
    frame = pd.concat([frame, pd.DataFrame(published_rows(source))], ignore_index=True)
    # What has no list of rubrics is in no threshold, and the exceptions say so.
    noted = counted[_has_list(counted) | counted["solved"].isna()] if by == "threshold" else counted
    notes = [*notes_of(noted, with_counts=by is not None), _exceptions(answers, by, source)]
    title = f"{dataset}: solving rate in %{_measure(counted, by, ci)}"
    return Table(title, frame, columns, [note for note in notes if note], methods_line(counted))


def methods_line(answers: pd.DataFrame) -> str:
    """How the figures of a table were made, ready for an appendix.

    Args:
        answers: Those that the table is made of, of one dataset.
    """
    dataset, series = dataset_of(answers), answers.dropna(subset="solved").groupby("name", sort=False)
    sources = dict.fromkeys(_source(source) for (source,) in _distinct(answers, "source"))
    telling = [source for source in sources if source not in dataset]  # not "demo" of "CL-bench demo"
    rows = dataset + (f" ({', '.join(telling)})" if telling else "")
    draws = [f"a draw of {draw}" for (draw,) in _distinct(answers, "draw") if draw]
    tasks = f"{_span(series['id'].nunique())} tasks in {_span(series['context_id'].nunique())} contexts"
    models = [
        f"{model} ({settings})" if (settings := ", ".join(filter(None, [solver, values]))) else model
        for model, solver, values in _distinct(answers, "model", "solver", "settings")
    ]
    judges = answers.groupby(JUDGE, sort=False)["model"].unique()
    judged = [
        f"{judge or 'unknown'}, effort {effort.strip(', ') or 'default'}, prompt {prompt} {sha256[:12]}".rstrip()
        + f" (of {', '.join(judged_models)})" * (len(judges) > 1)
        for (judge, effort, prompt, sha256), judged_models in judges.items()
    ]
    stand_ins = answers.loc[answers["stand_in"] != "", "stand_in"].value_counts()
    judged += [f"where it gave no verdict, {number:,} by {judge}" for judge, number in stand_ins.items()]
    versions = ", ".join(answers["version"].unique())
    return (
        f"Methods: {', '.join([rows, tasks, *draws])}; runs: {_span(series['run'].nunique())} of {', '.join(models)}; "
        f"judge: {'; '.join(judged)}; task version {versions}."
    )


def notes_of(answers: pd.DataFrame, with_counts: bool = True) -> list[str]:
    """What a reader must know of the answers to not be misled: two notes at the most.

    Args:
        answers: Those that the table is made of.
        with_counts: Whether to say how many they are; not below columns that do.
    """
    names, is_problem = short_names(answers["name"]), _problems(answers)
    sentences = {}
    for key, (head, consequence) in PROBLEMS.items():
        numbers = answers["name"][is_problem[key]].value_counts()
        counts = ", ".join(f"{number:,} of {names[name]}" for name, number in numbers.items())
        sentences[key] = f"{head}{f' ({counts})' * with_counts}: {consequence}" if counts else ""
    if sentences["no_verdict"]:
        failed = answers["name"][is_problem["no_verdict"]].unique()
        judged = answers[answers["name"].isin(failed) & ~is_problem["no_verdict"]]
        rates = [
            f"{names[name]} {percent(solving_rate(series).mean)}"
            for name, series in judged.groupby("name", sort=False)
        ]
        sentences["no_verdict"] += f" Rates without them: {', '.join(rates) or 'none'}."
        sentences["no_verdict"] += " Ask again: clbench regrade LOG."
    model = f"{sentences['missing']} {sentences['cut_off']}".strip()
    return [note for note in (sentences["no_verdict"], model) if note]


def ordered(names: pd.Series) -> list[str]:
    """Categories or sub-categories in the benchmark's order, others after them."""
    places = {name: place for place, name in enumerate(ORDER)}
    return sorted(set(names) - {""}, key=lambda name: (places.get(name, len(ORDER)), name))


def published_table(dataset: str, table: str) -> dict[str, Any]:
    """A table of the benchmark's paper: its source, and rows of [mean, std] in percent.

    Raises:
        ClbenchError: There is none for this dataset.
    """
    tables: dict[str, Any] = json.loads(PUBLISHED.read_text("utf-8"))
    if table not in tables.get(dataset, {}):
        raise ClbenchError(f"{dataset}: no such table is published. Leave out --published.")
    return dict(tables[dataset][table])


def published_rows(source: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a published table as those of a frame; none without a table."""
    for published in source.get("rows", []):
        row = {"name": f"{published['model']} †", "published": True}
        row |= {"runs": source["runs"]} if "runs" in source else {}
        for group, (mean, std) in published["rates"].items():
            row |= {f"{group} mean": mean / 100} | ({} if std is None else {f"{group} std": std / 100})
        yield row


def _main(answers: pd.DataFrame, ci: bool) -> tuple[pd.DataFrame, list[Column]]:
    """A row per model, best first, with what of its answers is wanting."""
    groups = [OVERALL, *ordered(answers["category"])]
    rows = []
    for _, series in answers.assign(**_problems(answers)).groupby("name", sort=False):
        row = {**series[["name", "model", *JUDGE, "version", "draw"]].iloc[0]}
        row |= {"runs": series["run"].nunique(), "answers": series["solved"].count()}
        row |= {key: series[key].sum() for key in PROBLEMS}
        for group in groups:
            row |= _rate(group, series if group == OVERALL else series[series["category"] == group])
        rows.append({**row, "published": False})
    frame = pd.DataFrame(rows).sort_values(
        f"{OVERALL} mean", ascending=False, kind="stable", ignore_index=True
    )
    columns = [
        Column("Model", ["name"], names=short_names(frame["name"])),
        *_rate_columns(groups, groups, ci),
    ]
    columns += [Column("Runs", ["runs"], count)] if frame["runs"].nunique() > 1 else []
    if problems := [key for key in PROBLEMS if frame[key].any()]:
        columns.append(Column(" / ".join(PROBLEMS[key][0] for key in problems), problems, _counts))
    return frame, columns


def _by(answers: pd.DataFrame, by: str, ci: bool) -> tuple[pd.DataFrame, list[Column]]:
    """A row per group of tasks, a column per model, the best model first."""
    names = short_names(answers["name"])
    overall = {name: solving_rate(series).mean for name, series in answers.groupby("name", sort=False)}
    models = sorted(names, key=lambda name: -overall[name])
    rows = []
    for group, tasks in _groups(answers, by):
        row = {by: group, "tasks": tasks["id"][tasks["solved"].notna()].nunique()}
        for name in models:
            row |= _rate(name, tasks[tasks["name"] == name])
        rows.append(row)
    if not rows:
        raise ClbenchError(f"--by {by}: these logs do not say it of their tasks.")
    columns = [Column(GROUPS[by][0], [by]), Column("Tasks", ["tasks"], count)]
    return pd.DataFrame(rows), [*columns, *_rate_columns(models, [names[name] for name in models], ci)]


def _groups(answers: pd.DataFrame, by: str) -> Groups:
    """Names of groups and their answers, with what counts as solved in them."""
    match by:
        case "sub_category":
            for name in ordered(answers["sub_category"]):
                yield name, answers[answers["sub_category"] == name]
        case "length":
            bins = [*LENGTHS.values(), np.inf]
            lengths = pd.cut(answers["prompt_chars"] / CHARS_PER_TOKEN, bins, right=False, labels=[*LENGTHS])
            yield from ((name, answers[lengths == name]) for name in LENGTHS if lengths.notna().any())
        case "threshold":
            yield from _thresholds(answers[_has_list(answers)])
        case "runs":
            yield from _runs(answers)
        case _:
            raise ClbenchError(f"--by {by}: there are {', '.join(GROUPS)}.")


def _has_list(answers: pd.DataFrame) -> pd.Series:
    """Whether it is known which rubrics are met. What failed without a list may have met any."""
    return answers["rubrics_met"].notna() | (answers["solved"] == 1)


def _thresholds(answers: pd.DataFrame) -> Groups:
    """As if a part of the rubrics were enough; at 100 % it is the solving rate.

    The judge's overall score decides where it contradicts its list: what is solved passes
    everywhere, and only that passes at 100.
    """
    solved, met = answers["solved"], answers["rubrics_met"] / answers["rubrics_total"]
    for threshold in THRESHOLDS:
        passes = (solved == 1) | ((100 * met >= threshold) & (threshold < 100))
        yield f"{threshold} %", answers.assign(solved=passes.astype(float).where(solved.notna()))
    yield "mean share met", answers.assign(solved=met.fillna(1).where(solved.notna()))


def _runs(answers: pd.DataFrame) -> Groups:
    """Solved in any and in all of k runs; tasks with fewer than k answers are left out."""
    scored = answers.dropna(subset="solved").groupby(["name", "context_id", "id"])["solved"]
    tasks = scored.agg(["sum", "size"]).reset_index().assign(run=1)
    yield "1 run", answers
    for k in range(2, int(tasks["size"].max()) + 1):
        enough = tasks[tasks["size"] >= k]
        for word, chance in {"any": any_of, "all": all_of}.items():
            solved = chance(k, enough["sum"].to_numpy(), enough["size"].to_numpy())
            yield f"{word} of {k} runs", enough.assign(solved=solved)


def _rate(name: str, answers: pd.DataFrame) -> dict[str, float]:
    estimate = solving_rate(answers)
    return {f"{name} {figure}": getattr(estimate, figure) for figure in FIGURES}


def _rate_columns(names: Iterable[str], heads: Iterable[str], ci: bool) -> list[Column]:
    figures, show = (("mean", "low", "high"), interval) if ci else (("mean", "std"), mean_std)
    return [Column(head, [f"{name} {figure}" for figure in figures], show)
            for name, head in zip(names, heads, strict=True)]  # fmt: skip


def _counts(*numbers: float) -> str:
    return "–" if pd.isna(numbers[0]) else " / ".join(map(count, numbers))


def _measure(answers: pd.DataFrame, by: str | None, ci: bool) -> str:
    """What the title says of the groups and of the figures."""
    groups = f" {GROUPS[by][1]}" if by else ""
    runs = answers.groupby("name")["run"].nunique()
    if ci:
        return f"{groups}, with 95 % intervals"
    if by == "runs":  # of all runs together there is no std over runs
        return groups
    return f"{groups}, one run" if max(runs) == 1 else f"{groups}, mean ± std over {_span(runs)} runs"


def _problems(answers: pd.DataFrame) -> dict[str, pd.Series]:
    """Which answers have no verdict, are missing, or were cut off at a length limit."""
    return {
        "no_verdict": answers["reason"] == "grader_failed",
        "missing": answers["solved"].isna(),
        "cut_off": answers["stop_reason"].isin(LENGTH_LIMITS) & answers["solved"].notna(),
    }


def _exceptions(answers: pd.DataFrame, by: str | None, source: dict[str, Any]) -> str:
    """What is left out of the table, and in what published rows are unlike the others."""
    sentences = []
    if len(shares := answers[answers["share"] < 1]):
        judges = ", ".join(f"{judge} ({share:.0%})" for judge, share in _distinct(shares, "judge", "share"))
        sentences.append(f"Left out: the scores of a share of the answers by {judges}.")
    without_list = (~_has_list(answers) & answers["solved"].notna()).sum()
    if by == "threshold" and without_list:
        sentences.append(f"Left out: {without_list:,} unsolved answers without a usable list of rubrics.")
    if source:
        unlike = f"{source['tasks']:,} tasks"
        if judge := source.get("judge"):
            unlike += f", judge {judge} with the original prompt"
        sentences.append(f"† Published, and made otherwise ({unlike}): {source['source']}.")
    return " ".join(sentences)


def _source(location: str) -> str:
    """Where rows are from; a benchmark's id on the hub stands for its pinned revision."""
    is_hub = location in REVISIONS
    return f"{location}, revision {REVISIONS[location][:12]}" if is_hub else Path(location).name


def _distinct(answers: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return list(answers[[*columns]].drop_duplicates().itertuples(index=False, name=None))


def _span(numbers: Iterable[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
