"""Logs become one data frame: a row per sample, epoch and score.

Every table, picture and page starts from this frame.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product
from logging import getLogger
from math import isnan, nan
from os import PathLike, fspath
from typing import Annotated, Any, TypeVar

import pandas as pd
from inspect_ai.log import EvalLog
from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError
from typing_extensions import TypedDict  # which pydantic takes before Python 3.12

from inspect_clbench.benchmarks import error_types_of
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
from inspect_clbench.results.series import (
    CONTESTANT,
    JUDGING,
    MODEL,
    SERIES,
    Choice,
    chosen,
    contestant_of,
    labelled,
    telling_names,
)
from inspect_clbench.text import shortened

logger = getLogger(__name__)

_TOKENS = ("input_tokens", "output_tokens", "reasoning_tokens")
_SOLVED = {"C": 1.0, "I": 0.0, "N": nan, 1: 1.0, 0: 0.0}  # numbers: scores edited by hand
Answer = dict[str, Any]
Usage = dict[str, dict[str, Any]]
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
Letters = Annotated[Text, Field(pattern="^[yn?]*$")]
Number = Annotated[float, BeforeValidator(lambda value: nan if value is None else value)]
M = TypeVar("M", bound=BaseModel)


class _Task(BaseModel, coerce_numbers_to_str=True):
    """What is read of a sample's metadata; a task of somebody else may hold none of it."""

    context_id: Text = ""
    category: Text = Field("", validation_alias="context_category")
    sub_category: Text = ""
    prompt_chars: Number = nan
    fingerprint: Text = ""


class _Vote(TypedDict):
    solved: bool | None
    status: Letters


class _Verdict(BaseModel, coerce_numbers_to_str=True):
    """What is read of a score's metadata. Version 0.2.0 of the package wrote less."""

    judge: Text = ""
    judge_effort: Text = ""
    judge_prompt: Text = ""
    judge_prompt_sha256: Text = ""
    judge_error: Text = ""
    rubrics_met: Number = nan
    rubrics_total: Number = nan
    status: Letters = ""
    inconsistent: bool = False
    stop_reason: Text = ""
    version: Text = Field("", validation_alias="task_version")
    share: float = 1.0
    cost: Number = nan
    votes: list[_Vote] | str | None = None
    answer_usage: Usage | None = None
    judge_usage: Usage = Field({}, validation_alias=AliasChoices("judge_usage", "usage_after_run"))
    stands_in_for: dict[str, Text] = {}


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
    contestants = pd.DataFrame([{"header": header, **contestant_of(header)} for header in headers])
    contestants = chosen(contestants, "dataset", dataset)
    contestants["name"] = telling_names(contestants, CONTESTANT, MODEL)
    contestants = chosen(contestants, "model", model, "name")
    rows = [row for part in each(_answers, contestants.to_dict("records"), "Reading logs") for row in part]
    if all(isnan(row["solved"]) for row in rows):
        raise ClbenchError(
            f"{contestants['log'].iloc[0]}: no answer with a verdict. Complete the run with inspect eval-retry, or "
            "have it judged: inspect score LOG --scorer inspect_clbench/rubric_judge --action append"
        )
    answers = chosen(pd.DataFrame(rows), "judge", judge)
    answers["model"] = answers["model"].map(labelled(answers["model"].unique(), labels or {}))
    _check_same_tasks(answers)
    answers = _complete_runs(_filled(answers)).reset_index(drop=True)
    answers["name"] = telling_names(answers, SERIES, MODEL)
    return answers.drop(columns=["header", "origin", "planned", "scored"])


def dataset_of(answers: pd.DataFrame) -> str:
    """The dataset of the answers; an error where they are of several."""
    datasets = answers["dataset"].unique()
    if len(datasets) > 1:
        raise ClbenchError(f"These logs are of {' and '.join(datasets)}: choose one with --dataset.")
    return str(datasets[0])


def full_scores(answers: pd.DataFrame) -> pd.DataFrame:
    """The answers without the scores of judges who saw a share of them: these give no rates."""
    counted = answers[answers["share"] == 1]
    if counted.empty:
        raise ClbenchError("Only scores of a share of the answers, which are for agreement and errors.")
    return counted


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
        # Error types are of what the first judge failed.
        verdicts = [_row(header, sample, scorer, has_types=scorer == scorers[0]) for sample in samples]
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


def _row(header: EvalLog, sample: Summary, scorer: str, has_types: bool) -> Answer:
    where = f"{readable(header.location)}, sample {sample.id}, epoch {sample.epoch}"
    score = (sample.scores or {}).get(scorer)
    task = _checked(_Task, sample.metadata, where)
    verdict = _checked(_Verdict, (score and score.metadata) or {}, f"{where}, {scorer}")
    # A verdict of `regrade --judge` belongs to the judge in whose place it was asked for.
    verdict["stand_in"] = verdict["judge"] if verdict["stands_in_for"] else ""
    verdict |= verdict.pop("stands_in_for")
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
    labels = (sample.scores or {}).get("error_types") if has_types else None
    labelling = _checked(_Verdict, (labels and labels.metadata) or {}, f"{where}, error_types")
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
        "error_types": error_types_of(labels.value) if labels else None,
        "error_types_judge": labelling["judge"],
        "error_types_usage": labelling["judge_usage"],
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


def _filled(answers: pd.DataFrame) -> pd.DataFrame:
    """The answers, where those that were not reached have what is known of their tasks from other runs."""
    columns = [*_Task.model_fields]
    reached = answers[columns].where(answers["reached"])
    tasks = reached.groupby([answers["dataset"], answers["id"]]).transform("first")
    answers[columns] = tasks.where(tasks.notna(), answers[columns])
    answers["context_id"] = answers["context_id"].where(answers["context_id"] != "", answers["id"])
    return answers


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
