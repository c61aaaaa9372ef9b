"""Which answers belong together: series, and the runs of each.

A series is what one row of a table is about: answers of one model under the same circumstances,
judged by one judge in the same way.
"""

from collections.abc import Iterable, Mapping
from logging import getLogger

import pandas as pd

from inspect_clbench.errors import ClbenchError

logger = getLogger(__name__)

CONTESTANT = ["dataset", "draw", "model", "solver", "settings"]
JUDGING = ["judge", "judge_effort", "judge_prompt", "judge_prompt_sha256", "version", "share"]
SERIES = [*CONTESTANT, *JUDGING, "again"]
"""The columns that say which answers belong together; `name` is short for all of them."""

# How a name says what tells the series of a model apart.
_WORDS = {"draw": "{}", "solver": "{}", "settings": "{}", "version": "version {}", "judge": "judge {}",
          "judge_effort": "judge effort {}", "judge_prompt": "prompt {}", "judge_prompt_sha256": "prompt {:.7}",
          "share": "share {:.3g}", "again": "judged again {}"}  # fmt: skip

Choice = str | Iterable[str] | None


def chosen(rows: pd.DataFrame, column: str, choice: Choice, longer: str = "") -> pd.DataFrame:
    """The rows with the names that are meant; where none is meant by a part, longer names are looked at."""
    if choice is None:
        return rows
    is_chosen = pd.Series(False, rows.index)
    for part in [choice] if isinstance(choice, str) else choice:
        fits = any(part.casefold() in name.casefold() for name in rows[column])
        names = rows[column if fits or not longer else longer]
        is_chosen |= names == meant(part, names, column)
    return rows[is_chosen].copy()


def meant(part: str, names: Iterable[str], kind: str) -> str:
    """The name that somebody means by it, or by a part that no other name has."""
    names = sorted({*names})
    fits = [name for name in names if name == part]
    fits = fits or [name for name in names if name.rsplit("/", 1)[-1].casefold() == part.casefold()]
    fits = fits or [name for name in names if part.casefold() in name.casefold()]
    if len(fits) != 1:
        problem = f"several {kind}s have that in their names" if fits else f"no such {kind}"
        raise ClbenchError(f"{part}: {problem}. There are: {', '.join(fits or names)}.")
    return fits[0]


def labelled(models: Iterable[str], labels: Mapping[str, str]) -> dict[str, str]:
    """What models are called, by their names."""
    names = {model: model for model in models}
    names |= {meant(part, [*names], "model"): label for part, label in labels.items()}
    if len({*names.values()}) < len(names):
        raise ClbenchError("Two models would have the same name. Give each a label of its own.")
    return names


def series_names(rows: pd.DataFrame, columns: list[str]) -> pd.Series:
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


def check_same_tasks(answers: pd.DataFrame) -> None:
    """An error where logs have other messages or rubrics for a task."""
    tasks = answers[answers["fingerprint"] != ""].drop_duplicates(["dataset", "id", "fingerprint"])
    differing = tasks[tasks.duplicated(["dataset", "id"], keep=False)]
    for task, rows in differing.groupby("id"):
        raise ClbenchError(
            f"{' and '.join(rows['log'])}: other messages or rubrics in one than in the other, as for "
            f"task {task}. Name logs of one version of the dataset."
        )


def complete_runs(answers: pd.DataFrame) -> pd.DataFrame:
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
