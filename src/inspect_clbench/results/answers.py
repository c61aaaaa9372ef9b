"""Logs become one data frame: a row per sample, epoch and score.

Every table, picture and page starts from this frame.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from logging import getLogger
from math import isnan, nan
from os import PathLike, fspath
from typing import Annotated, Any, TypeVar

import pandas as pd
from inspect_ai.log import EvalLog
from pydantic import BaseModel, BeforeValidator, Field, ValidationError
from typing_extensions import TypedDict  # which pydantic takes before Python 3.12

from inspect_clbench.benchmarks import error_types_of
from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.logs import (
    JUDGE_IT,
    ScoreSummary,
    Summary,
    each,
    find_logs,
    named,
    read_summaries,
    readable,
    verdict_scores,
)
from inspect_clbench.results.series import (
    CONTESTANT,
    JUDGING,
    MODEL,
    SERIES,
    Choice,
    chosen,
    contestant_of,
    is_in,
    labelled,
    telling_names,
)
from inspect_clbench.text import shortened

logger = getLogger(__name__)

_TOKENS = ("input_tokens", "output_tokens", "reasoning_tokens")
_SOLVED = {"C": 1.0, "I": 0.0, "N": nan, 1: 1.0, 0: 0.0}  # numbers: scores edited by hand
Answer = dict[str, Any]
Amount = Annotated[int | float, Field(ge=0, le=1e15)]  # of tokens, or of dollars
Usage = dict[str, dict[str, Amount | None]]
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
    votes: list[_Vote] | None = None
    answer_usage: Usage = {}
    judge_usage: Usage = {}
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
        labels: What to call models, by their names or by parts, as `model` takes them.

    Returns:
        A row per sample, epoch and score. `solved` is 1 or 0, and missing where there is no answer;
        a judge without a verdict counts as 0. `run` counts the answers of a series to the same
        task: epochs, and logs after one another. `name` is the model, with what tells the series
        from others of the same model.
    """
    headers = find_logs([fspath(path) for path in ([logs] if isinstance(logs, str | PathLike) else logs)])
    contestants = pd.DataFrame([contestant_of(header) for header in headers])
    contestants = chosen(contestants, "dataset", dataset)
    contestants["name"] = telling_names(contestants, CONTESTANT, MODEL)
    contestants = chosen(contestants, "model", model, "name")
    parts = list(each(_answers, contestants.to_dict("records"), "Reading logs"))
    rows = [row for part in parts for row in part]
    judged = {row["header"].eval.task_id for row in rows}
    for header in contestants["header"]:
        if header.eval.task_id not in judged:
            logger.warning("%s: none of its answers has a verdict.", readable(header.location))
    if all(isnan(row["solved"]) for row in rows):
        raise ClbenchError(
            f"{contestants['log'].iloc[0]}: no answer with a verdict. Complete the run with inspect eval-retry, or "
            f"have it judged: {JUDGE_IT}"
        )
    answers = chosen(pd.DataFrame(rows), "judge", judge)
    of_names = dict(labels or {})
    of_models = {part: of_names.pop(part) for part in labels or {} if is_in(part, answers["model"])}
    answers["model"] = labelled(answers["model"], of_models)
    _check_same_tasks(answers)
    answers = _complete_runs(_filled(answers)).reset_index(drop=True)
    answers["name"] = labelled(telling_names(answers, SERIES, MODEL), of_names)
    return answers.drop(columns=["header", "origin", "planned"])


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
    with named(header.location):
        samples = read_summaries(header.location)
        reached = {(str(sample.id), sample.epoch) for sample in samples}
        planned = [str(id) for id in spec.dataset.sample_ids or ()]
        missing = {*product(planned, range(1, (spec.config.epochs or 1) + 1))} - reached
        samples += [Summary(id=id, epoch=epoch) for id, epoch in sorted(missing)]
        samples.sort(key=lambda sample: sample.epoch)
        rows = _by_judge(header, samples)
        return [contestant | row | {"planned": len(planned)} for row in rows]


def _by_judge(header: EvalLog, samples: list[Summary]) -> Iterator[Answer]:
    """The verdicts of each judge, and their absence where a sample should have one.

    The name of a score does not tell whose it is. Inspect gives the next one that a sample has free:
    after a judge of a share of the answers, the next judge's scores have two names.
    """
    scored = [
        _row(header, sample, name) for sample in samples for name in verdict_scores(sample.scores or ())
    ]
    # Scores of empty answers named no judge in version 0.2.0.
    usual = {row["scorer"]: {key: row[key] for key in JUDGING} for row in scored if row["judge"]}
    passes: defaultdict[tuple[Any, ...], dict[tuple[str, int], Answer]] = defaultdict(dict)
    times: Counter[tuple[Any, ...]] = Counter()  # how often a judge has judged a sample
    for row in scored:
        row |= {} if row["judge"] else usual.get(row["scorer"], {})
        judging = [row[key] for key in JUDGING]
        row["again"] = str(times[row["uuid"], *judging])
        times[row["uuid"], *judging] += 1
        passes[row["again"], *judging][row["id"], row["epoch"]] = row
    for verdicts in passes.values():
        first = next(iter(verdicts.values()))
        for sample in samples:
            key = str(sample.id), sample.epoch
            if key in verdicts:
                yield verdicts[key]
            elif first["share"] == 1:  # what lies outside a share was not to be scored
                yield _row(header, sample) | {
                    column: first[column] for column in ("scorer", "again", *JUDGING)
                }


def _row(header: EvalLog, sample: Summary, scorer: str = "") -> Answer:
    where = f"{readable(header.location)}, sample {sample.id}, epoch {sample.epoch}"
    scores = sample.scores or {}
    score = scores.get(scorer)
    task = _checked(_Task, sample.metadata, where)
    verdict = _checked(_Verdict, (score and score.metadata) or {}, f"{where}, {scorer}")
    # A verdict of `regrade --judge` belongs to the judge in whose place it was asked for.
    verdict["stand_in"] = verdict["judge"] if verdict["stands_in_for"] else ""
    verdict |= verdict.pop("stands_in_for")
    value = score.value if score else "N"
    if not isinstance(value, str | int | float) or value not in _SOLVED:
        raise ClbenchError(f"{where}, {scorer}: {value!r:.60} is no verdict. It is C, I, N, 1 or 0.")
    version = str(header.eval.task_version)
    if verdict["version"] not in ("", version):
        version = f"{verdict['version']} (task {version})"
    answer_usages = verdict["answer_usage"].values()
    # Error types are of what the first judge failed.
    labels = _labels(scores) if scorer in verdict_scores(scores)[:1] else None
    labelling = _checked(_Verdict, (labels and labels.metadata) or {}, f"{where}, error_types")
    return {
        "scorer": scorer,
        "id": str(sample.id),
        "uuid": sample.uuid or where,
        "origin": _origin(header, sample.epoch),
        "epoch": sample.epoch,
        **task,
        "reached": bool(sample.uuid),
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


def _labels(scores: Mapping[str, ScoreSummary]) -> ScoreSummary | None:
    """The last labels that an answer got, before a reply without any."""
    labellings = [score for name, score in scores.items() if name.startswith("error_types")]
    usable = [score for score in labellings if error_types_of(score.value) is not None]
    return next(reversed(usable or labellings), None)


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
    runs, the largest logs first. A trial of a few tasks is no run beside complete ones, nor is one
    that was stopped before half of its tasks had an answer.
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
    is_part = (tasks < tasks.groupby(series).transform("max")) | (
        2 * answered < answered.groupby(series).transform("max")
    )
    left_out = (is_part & ~is_share) | (answered == 0)
    for (model, log), rows in answers[left_out].groupby(["model", "log"]):
        logger.warning(
            "%s: a part of a run of %s is left out, %d of %d samples with an answer: other runs have more.",
            log,
            model,
            rows["solved"].count(),
            len(rows),
        )
    return answers[~left_out].sort_index()


def _without_copies(answers: pd.DataFrame) -> pd.DataFrame:
    """Each sample once, whatever logs hold it: copies, merged logs, a log and its retries.

    A retry that dies may hold fewer answers than the log it goes on with, so that not the last log
    counts but the last answer. A log that was judged anew is the later one.
    """
    answers = answers.sort_values("solved", key=pd.Series.notna, kind="stable")
    for identity in ("uuid", "origin"):
        answers = answers.drop_duplicates([*SERIES, "id", identity], keep="last")
    return answers.sort_index()
