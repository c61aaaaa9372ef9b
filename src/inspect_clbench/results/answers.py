"""Logs become one data frame: a row per sample, epoch and score.

Every table, picture and page starts from this frame. What one row of a table is about is a series:
answers of one model under the same circumstances, judged by one judge in the same way.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import product
from logging import getLogger
from math import isnan, nan
from os import PathLike, fspath
from typing import Annotated, Any, TypeVar

import pandas as pd
from inspect_ai.log import EvalLog, EvalPlanStep
from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from inspect_clbench.benchmarks import ERROR_TYPES
from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.logs import (
    Summary,
    each,
    find_logs,
    read_summaries,
    readable,
    verdict_scores,
    whole_samples,
)
from inspect_clbench.text import shortened

logger = getLogger(__name__)

CONTESTANT = ["dataset", "draw", "model", "solver", "settings"]
JUDGING = ["judge", "judge_effort", "judge_prompt", "judge_prompt_sha256", "version", "share"]
SERIES = [*CONTESTANT, *JUDGING, "again"]
"""The columns that say which answers belong together; `name` is short for all of them."""

# How a name says what tells the series of a model apart.
_WORDS = {"draw": "{}", "solver": "{}", "settings": "{}", "version": "version {}", "judge": "judge {}",
          "judge_effort": "judge effort {}", "judge_prompt": "prompt {}", "judge_prompt_sha256": "prompt {:.7}",
          "share": "share {:.3g}", "again": "judged again {}"}  # fmt: skip

_TOKENS = ("input_tokens", "output_tokens", "reasoning_tokens")
# What makes another contestant of a model. Not the seed: another seed gives a further run.
_SETTINGS = {"reasoning_effort", "reasoning_tokens", "effort", "verbosity", "temperature",
             "top_p", "top_k", "max_tokens", "system_message"}  # fmt: skip
_SOLVED = {"C": 1.0, "I": 0.0, "N": nan, 1: 1.0, 0: 0.0}  # numbers: scores edited by hand
Answer = dict[str, Any]
Choice = str | Iterable[str] | None
Usage = dict[str, dict[str, Any]]
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
Number = Annotated[float, BeforeValidator(lambda value: nan if value is None else value)]
M = TypeVar("M", bound=BaseModel)


class _Task(BaseModel, coerce_numbers_to_str=True):
    """What is read of a sample's metadata; a task of somebody else may hold none of it."""

    context_id: Text = ""
    category: Text = Field("", validation_alias="context_category")
    sub_category: Text = ""
    prompt_chars: Number = nan
    fingerprint: Text = ""


class _Verdict(BaseModel, coerce_numbers_to_str=True):
    """What is read of a score's metadata. Version 0.2.0 of the package wrote less."""

    judge: Text = ""
    judge_effort: Text = ""
    judge_prompt: Text = ""
    judge_prompt_sha256: Text = ""
    judge_error: Text = ""
    rubrics_met: Number = nan
    rubrics_total: Number = nan
    status: Text = ""
    inconsistent: bool = False
    stop_reason: Text = ""
    version: Text = Field("", validation_alias="task_version")
    share: float = 1.0
    cost: Number = nan
    votes: list[dict[str, Any]] | str | None = None
    answer_usage: Usage | None = None
    judge_usage: Usage = Field({}, validation_alias=AliasChoices("judge_usage", "usage_after_run"))


def answers_df(
    logs: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    model: Choice = None,
    judge: Choice = None,
    dataset: Choice = None,
    labels: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """The answers in log files, folders and URLs of logs.

    Args:
        logs: One or several paths or URLs; folders are searched for logs with verdicts.
        model: Only answers of this model, or of these. Models, judges and datasets are chosen by
            their names or by parts that no other name has.
        judge: Only verdicts of this judge, or of these.
        dataset: Only answers to tasks of this dataset, or of these.
        labels: What to call models, by their names.

    Returns:
        A row per sample, epoch and score. `solved` is 1 or 0, and missing where there is no answer;
        a judge without a verdict counts as 0. `run` counts the answers of a series to the same
        task: epochs, and logs after one another. `name` is the model, with what tells the series
        from others of the same model.
    """
    headers = find_logs([fspath(path) for path in ([logs] if isinstance(logs, str | PathLike) else logs)])
    contestants = pd.DataFrame([{"header": header, **_contestant(header)} for header in headers])
    contestants = _chosen(contestants, "dataset", dataset)
    contestants["name"] = _series_names(contestants, CONTESTANT)
    contestants = _chosen(contestants, "model", model, "name")
    rows = [row for part in each(_answers, contestants.to_dict("records"), "Reading logs") for row in part]
    if all(isnan(row["solved"]) for row in rows):
        raise ClbenchError(
            f"{contestants['log'].iloc[0]}: no answer with a verdict. Complete the run with inspect eval-retry, or "
            "have it judged: inspect score LOG --scorer inspect_clbench/rubric_judge --action append"
        )
    answers = _chosen(pd.DataFrame(rows), "judge", judge)
    answers["model"] = answers["model"].map(_labelled(answers["model"].unique(), labels or {}))
    _check_same_tasks(answers)
    answers = _complete_runs(_filled(answers)).reset_index(drop=True)
    answers["name"] = _series_names(answers, SERIES)
    return answers.drop(columns=["header", "origin", "planned", "scored"])


def dataset_of(answers: pd.DataFrame) -> str:
    """The dataset of the answers; an error where they are of several."""
    datasets = answers["dataset"].unique()
    if len(datasets) > 1:
        raise ClbenchError(f"These logs are of {' and '.join(datasets)}: choose one with --dataset.")
    return str(datasets[0])


def _contestant(header: EvalLog) -> Answer:
    """Who answered what, as a log's header says it."""
    spec, metadata = header.eval, header.eval.metadata or {}
    config = spec.model_generate_config.merge(header.plan.config)
    settings = config.model_dump(include=_SETTINGS, exclude_none=True)
    if "system_message" in settings:
        settings["system_message"] = sha256(settings["system_message"].encode()).hexdigest()[:7]
    # Of imported and of replayed answers (`--model none/NAME`), who gave them.
    model = metadata.get("model_name") or (spec.solver_args or {}).get("model_name") or spec.model
    model = str(model).removeprefix("none/")
    solvers = [step for step in header.plan.steps if step.solver != "generate"]
    draw = metadata.get("draw") or {}
    # Version 0.2.0 of the package drew otherwise, and wrote how many of each category.
    strata = draw.get("strata", {}).values()
    total = f" of {draw['of']}" if "of" in draw else ""
    contexts = draw.get("contexts") or sum(stratum["drawn_contexts"] for stratum in strata)
    return {
        "log": readable(header.location),
        "created": spec.created,
        "dataset": spec.dataset.name or spec.task,
        "source": spec.dataset.location or "",
        "draw": f"{contexts}{total} contexts, seed {draw['seed']}" if draw else "",
        "model": model,
        "solver": ", ".join(_solver(step, model) for step in solvers),
        "settings": ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in settings.items()),
        "effort": config.reasoning_effort or config.effort or "",
    }


def _solver(step: EvalPlanStep, model: str) -> str:
    # Other files with answers of the same model are further runs.
    arguments = {key: value for key, value in step.params_passed.items() if key != "files" or model == "none"}
    return step.solver + (f" {json.dumps(arguments)}" if arguments else "")


def _answers(contestant: Answer) -> list[Answer]:
    """A row for each verdict that each sample of a log has, or should have."""
    header, spec = contestant["header"], contestant["header"].eval
    samples = read_summaries(header.location)
    scorers = verdict_scores(name for sample in samples for name in sample.scores or ())
    if not scorers:
        logger.warning("%s: none of its answers has a verdict.", contestant["log"])
    reached = {(str(sample.id), sample.epoch) for sample in samples}
    planned = [str(id) for id in spec.dataset.sample_ids or ()]
    missing = {*product(planned, range(1, (spec.config.epochs or 1) + 1))} - reached
    samples += [Summary(id=id, epoch=epoch) for id, epoch in sorted(missing)]
    samples.sort(key=lambda sample: sample.epoch)
    rows: list[Answer] = []
    judges: list[str] = []
    for scorer in scorers:
        verdicts = [_row(header, sample, scorer) for sample in samples]
        # A sample that ended in an error names no judge, nor did empty answers in version 0.2.0.
        counts = Counter(tuple(row[key] for key in JUDGING) for row in verdicts if row["judge"])
        usual = dict(zip(JUDGING, counts.most_common(1)[0][0], strict=True)) if counts else {}
        for row in verdicts:
            row |= contestant | ({} if row["judge"] else usual)
            row |= {"again": str(judges.count(row["judge"])), "planned": len(planned)}
        judges.append(usual.get("judge", ""))
        # What lies outside a share was not to be scored, and is not missing.
        rows += [row for row in verdicts if row["scored"] or row["share"] == 1]
    return rows


def _row(header: EvalLog, sample: Summary, scorer: str) -> Answer:
    where = f"{readable(header.location)}, sample {sample.id}, epoch {sample.epoch}"
    score = (sample.scores or {}).get(scorer)
    task = _checked(_Task, sample.metadata, where)
    verdict = _checked(_Verdict, (score and score.metadata) or {}, f"{where}, {scorer}")
    value = score.value if score else "N"
    if not isinstance(value, str | int | float) or value not in _SOLVED:
        raise ClbenchError(f"{where}, {scorer}: {value!r:.60} is no verdict. It is C, I, N, 1 or 0.")
    if isinstance(verdict["votes"], str):  # of a panel of version 0.2.0, too long for a summary
        (whole_sample,) = whole_samples(header.location, [(str(sample.id), sample.epoch)])
        verdict["votes"] = whole_sample["scores"][scorer]["metadata"]["votes"]
    version = str(header.eval.task_version)
    if verdict["version"] not in ("", version):
        version = f"{verdict['version']} (task {version})"
    if verdict["answer_usage"] is None:  # no score, or one of version 0.2.0: Inspect counts by model
        panels = [str((score.metadata or {}).get("judge")) for score in (sample.scores or {}).values()]
        judges = {*", ".join(panels).split(", ")} - {header.eval.model}
        usages = sample.model_usage.items()
        verdict["answer_usage"] = {name: usage for name, usage in usages if name not in judges}
        judges &= {*verdict["judge"].split(", ")}
        verdict["judge_usage"] = verdict["judge_usage"] or {n: usage for n, usage in usages if n in judges}
    answer_usages = verdict["answer_usage"].values()
    labels = (sample.scores or {}).get("error_types")
    return {
        "scorer": scorer,
        "id": str(sample.id),
        "uuid": sample.uuid or where,
        "origin": _origin(header, sample.epoch),
        "epoch": sample.epoch,
        **task,
        "reached": bool(sample.uuid),
        "scored": score is not None,
        "solved": _SOLVED[value],
        "reason": (score and score.reason) or "",
        "error": sample.error or "",
        **verdict,
        "version": version,
        **{column: sum(usage.get(column) or 0 for usage in answer_usages) if answer_usages else nan
           for column in _TOKENS},
        "error_types": _error_types(labels.value) if labels else None,
        "error_types_judge": str((labels.metadata or {}).get("judge", "")) if labels else "",
    }  # fmt: skip


def _checked(kind: type[M], metadata: Mapping[str, Any], where: str) -> Answer:
    """What is read of metadata."""
    try:
        return dict(kind.model_validate(metadata))
    except ValidationError as ex:
        error = ex.errors(include_url=False)[0]
        value = shortened(repr(error["input"]), 60)
        raise ClbenchError(
            f"{where}: {error['loc'][0]} is {value} ({error['msg']}). The log is damaged, or other software wrote it."
        ) from None


def _origin(header: EvalLog, epoch: int) -> str:
    """What copies of a run have in common: a retry has the task id of its log, an import its file's hash."""
    imported = (header.eval.metadata or {}).get("imported_sha256") or ()
    shards = header.location.partition(".shards/")
    return imported[epoch - 1] if imported else f"{shards[0] if shards[1] else header.eval.task_id} {epoch}"


def _error_types(value: Any) -> list[str] | None:
    """The types that a judge named; none where an answer has no labels."""
    types = [] if value == "none" else str(value).split("+")
    return types if {*types} <= {*ERROR_TYPES} else None


def _filled(answers: pd.DataFrame) -> pd.DataFrame:
    """The answers, where those that were not reached have what is known of their tasks from other runs."""
    columns = [*_Task.model_fields]
    reached = answers[columns].where(answers["reached"])
    tasks = reached.groupby([answers["dataset"], answers["id"]]).transform("first")
    answers[columns] = tasks.where(tasks.notna(), answers[columns])
    answers["context_id"] = answers["context_id"].where(answers["context_id"] != "", answers["id"])
    return answers


def _chosen(rows: pd.DataFrame, column: str, choice: Choice, longer: str = "") -> pd.DataFrame:
    """The rows with the names that are meant; where none is meant by a part, longer names are looked at."""
    if choice is None:
        return rows
    is_chosen = pd.Series(False, rows.index)
    for part in [choice] if isinstance(choice, str) else choice:
        fits = any(part.casefold() in name.casefold() for name in rows[column])
        names = rows[column if fits or not longer else longer]
        is_chosen |= names == _meant(part, names, column)
    return rows[is_chosen].copy()


def _meant(part: str, names: Iterable[str], kind: str) -> str:
    """The name that somebody means by it, or by a part that no other name has."""
    names = sorted({*names})
    fits = [name for name in names if name == part]
    fits = fits or [name for name in names if name.rsplit("/", 1)[-1].casefold() == part.casefold()]
    fits = fits or [name for name in names if part.casefold() in name.casefold()]
    if len(fits) != 1:
        problem = f"several {kind}s have that in their names" if fits else f"no such {kind}"
        raise ClbenchError(f"{part}: {problem}. There are: {', '.join(fits or names)}.")
    return fits[0]


def _labelled(models: Iterable[str], labels: Mapping[str, str]) -> dict[str, str]:
    """What models are called, by their names."""
    names = {model: model for model in models}
    names |= {_meant(part, [*names], "model"): label for part, label in labels.items()}
    if len({*names.values()}) < len(names):
        raise ClbenchError("Two models would have the same name. Give each a label of its own.")
    return names


def _series_names(rows: pd.DataFrame, columns: list[str]) -> pd.Series:
    """A name for each series: the model, and what tells it from others of the same model."""
    series = rows[columns].drop_duplicates()
    words = [column for column in _WORDS if column in columns]
    differs = series.groupby(["dataset", "model"])[words].transform("nunique") > 1
    if "judge_prompt_sha256" in words:  # prompts of another name have another hash
        prompts = series.groupby(["dataset", "model", "judge_prompt"])
        differs["judge_prompt_sha256"] = prompts["judge_prompt_sha256"].transform("nunique") > 1
    names = []
    for place, row in series.iterrows():
        telling = [key for key in words if differs.at[place, key] and row[key] not in ("", "0", 1.0)]
        details = [_WORDS[key].format(row[key]) for key in telling]
        names.append(row["model"] + (f" ({', '.join(details)})" if details else ""))
    return rows[columns].merge(series.assign(name=names), "left", columns)["name"].set_axis(rows.index)


def _check_same_tasks(answers: pd.DataFrame) -> None:
    """An error where logs have other messages or rubrics for a task."""
    tasks = answers[answers["fingerprint"] != ""].drop_duplicates(["dataset", "id", "fingerprint"])
    differing = tasks[tasks.duplicated(["dataset", "id"], keep=False)]
    for task, rows in differing.groupby("id"):
        raise ClbenchError(
            f"{' and '.join(rows['log'])}: other messages or rubrics in one than in the other, as for "
            f"task {task}. Name logs of one version of the dataset."
        )


def _complete_runs(answers: pd.DataFrame) -> pd.DataFrame:
    """The runs of each series, without those that are of a part of its tasks only.

    Parts of a run (`--limit 1-12` and `13-24`) become one run, and logs of the same tasks further
    runs, the largest logs first. A trial of a few tasks is no run beside complete ones.
    """
    answers["origin"] = pd.factorize(answers["origin"])[0]  # by age
    answers = _without_copies(answers).sort_values(
        ["planned", "origin"], ascending=[False, True], kind="stable"
    )
    series = answers.groupby(SERIES, sort=False).ngroup()
    answers["run"] = answers.groupby([series, "id"], sort=False).cumcount() + 1
    # A share holds a part of each run, and takes the numbers of the answers that it judges.
    is_share = answers["share"] < 1
    runs = answers[~is_share].drop_duplicates("uuid").set_index("uuid")["run"]
    answers.loc[is_share, "run"] = answers["uuid"].map(runs).fillna(answers["epoch"]).astype(int)
    by_run = answers.groupby([series, "run"])
    tasks, answered = by_run["id"].transform("size"), by_run["solved"].transform("count")
    is_part = (tasks < tasks.groupby(series).transform("max")) & ~is_share
    for (model, log), rows in answers[is_part & (answered > 0)].groupby(["model", "log"]):
        number = rows["solved"].count()
        logger.warning(
            "%s: %d answers of %s are not counted: other runs are of more tasks.", log, number, model
        )
    return answers[~is_part & (answered > 0)].sort_index()


def _without_copies(answers: pd.DataFrame) -> pd.DataFrame:
    """Each sample once, whatever logs hold it: copies, merged logs, a log and its retries.

    A retry that dies may hold fewer answers than the log it goes on with, so that not the last log
    counts but the last answer. A log that was judged anew is the later one.
    """
    answers = answers.sort_values("solved", key=pd.Series.notna, kind="stable")
    for identity in ("uuid", "origin"):
        answers = answers.drop_duplicates([*SERIES, "id", identity], keep="last")
    return answers.sort_index()
