"""How far judges agree: those of a panel, and those whose scores were appended to a log."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import dataset_of
from inspect_clbench.results.estimates import alpha, bootstrap, kappa
from inspect_clbench.results.logs import named
from inspect_clbench.results.report import methods_line
from inspect_clbench.results.series import JUDGE, telling_names
from inspect_clbench.results.table import Column, Table, count, interval, short_names

LETTERS = {"y": 1.0, "n": 0.0}  # of a judge's list of rubrics; others say neither
PAIR = ["both_yes", "only_first", "only_second", "both_no"]

METHODS = (
    "Agreement, Cohen's kappa and, for all judges, Krippendorff's alpha, with 95 % intervals from drawing "
    "contexts anew. Kappa and alpha are not defined where all say the same."
)


def agreement(answers: pd.DataFrame) -> Table:
    """How far the judges of the same answers agree, on verdicts and on single rubrics.

    Args:
        answers: From `answers_df`, of logs with a panel of judges or with appended scores.

    Returns:
        A row per level and pair of judges, and for three or more a row for all of them.
    """
    dataset = dataset_of(answers)
    votes = _votes(answers)
    judges = list(votes["judge"].unique())
    if len(judges) < 2:
        raise ClbenchError(
            f"Judged by {' and '.join(judges) or 'nobody'} only, and agreement takes two. Have the answers "
            "judged again: inspect score LOG --scorer inspect_clbench/rubric_judge --action append "
            "--model-role grader=JUDGE"
        )
    rows = []
    for level, part in {"verdicts": votes.assign(rubric=0), "rubrics": _votes_on_rubrics(votes)}.items():
        verdicts = _by_judge(part, judges)
        rows += [{"level": level, **_pair(verdicts, *pair)} for pair in combinations(judges, 2)]
        rows += [{"level": level, **_all(verdicts)}] if len(judges) > 2 else []
    frame = pd.DataFrame(rows).astype(dict.fromkeys(PAIR, "Int64"))  # a row of all judges has none
    title = f"{dataset}: agreement of {len(judges)} judges in %"
    columns = _columns(frame, short_names(judges))
    return Table(title, frame, columns, _notes(answers, votes), f"{methods_line(answers)} {METHODS}")


def _votes(answers: pd.DataFrame) -> pd.DataFrame:
    """What each judge said of each answer: `answer`, `context_id`, `judge`, `solved`, `status`.

    Without a verdict `solved` is nan, without a usable list `status` is empty. A judge that was
    asked in two ways, or twice, is two judges, each with what tells them apart in its name.
    """
    # An empty answer went to no judge; what has no score was not judged, or is of no share.
    judged = answers[answers["solved"].notna() & (answers["reason"] != "no_response")]
    judged = judged[judged["stand_in"] == ""]  # the verdict of a third judge
    columns = ["answer", "context_id", *JUDGE, "solved", "status"]
    votes = pd.DataFrame((vote for row in judged.itertuples() for vote in _votes_of(row)), columns=columns)
    votes["again"] = votes.groupby(["answer", *JUDGE]).cumcount().astype(str)
    votes["judge"] = telling_names(votes, [*JUDGE, "again"], ["judge"])
    return votes


def _votes_of(row: Any) -> Iterator[tuple[Any, ...]]:
    """The votes of a panel, in the order of its judges, or the verdict of one judge as one."""
    verdict = {"solved": None if row.reason == "grader_failed" else row.solved, "status": row.status}
    votes, judges, efforts = [verdict], [row.judge], [row.judge_effort]
    if isinstance(row.votes, list):
        votes, judges = row.votes, row.judge.split(", ")
        # Inspect's summaries strip texts: of "low, , " they keep "low, ,".
        efforts = [effort.strip() for effort in row.judge_effort.split(",")]
        efforts += [""] * (len(judges) - len(efforts))
    with named(row.log):
        panel = list(zip(judges, efforts, votes, strict=True))
    for judge, effort, vote in panel:
        solved = np.nan if vote["solved"] is None else float(vote["solved"])
        is_usable = len(vote["status"]) == row.rubrics_total and not np.isnan(solved)
        status = vote["status"] if is_usable else ""
        asked_as = judge, effort, row.judge_prompt, row.judge_prompt_sha256
        yield row.uuid, row.context_id, *asked_as, solved, status


def _votes_on_rubrics(votes: pd.DataFrame) -> pd.DataFrame:
    """The votes with a row per rubric; those without a usable list have none."""
    letters = votes.assign(solved=votes["status"].map(list)).explode("solved").dropna(subset="solved")
    letters["solved"] = letters["solved"].map(LETTERS)
    return letters.assign(rubric=letters.groupby(["answer", "judge"]).cumcount())


def _by_judge(votes: pd.DataFrame, judges: list[str]) -> pd.DataFrame:
    """A row per answer or rubric, a column per judge: 1, 0 or nan. The index begins with the context."""
    verdicts = votes.pivot(index=["context_id", "answer", "rubric"], columns="judge", values="solved")
    return verdicts.reindex(columns=judges)


def _pair(verdicts: pd.DataFrame, first: str, second: str) -> dict[str, Any]:
    counts = _counts(verdicts, first, second)
    return {
        "first": first,
        "second": second,
        **counts.sum().astype(int),
        "compared": int(counts.to_numpy().sum()),
        **bootstrap(counts, _alike).columns("agreement"),
        **bootstrap(counts, kappa, lowest=-1).columns("kappa"),
    }


def _all(verdicts: pd.DataFrame) -> dict[str, Any]:
    """The mean agreement of the pairs, and Krippendorff's alpha."""
    pairs = [_counts(verdicts, *pair) for pair in combinations(verdicts, 2)]
    counts = pd.concat(pairs, axis=1).fillna(0)
    judged = verdicts[verdicts.notna().sum(axis=1) > 1]
    yes, no = (judged == 1).sum(axis=1), (judged == 0).sum(axis=1)
    terms = pd.concat([yes * no / (yes + no - 1), yes, no], axis=1)
    return {
        "first": f"all {verdicts.shape[1]}",
        "compared": len(judged),
        **bootstrap(counts, _mean_alike).columns("agreement"),
        **bootstrap(terms.groupby("context_id").sum(), alpha, lowest=-1).columns("alpha"),
    }


def _counts(verdicts: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """How often both said yes, only one of them, and neither, in each context."""
    both = verdicts[[first, second]].dropna()
    a, b = both[first], both[second]
    cells = [a * b, a * (1 - b), (1 - a) * b, (1 - a) * (1 - b)]
    return pd.concat(cells, axis=1, keys=PAIR).groupby("context_id").sum()


def _alike(both_yes: Any, only_first: Any, only_second: Any, both_no: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return (both_yes + both_no) / (both_yes + only_first + only_second + both_no)


def _mean_alike(*counts: Any) -> Any:
    """The mean over pairs of judges that have answers in common."""
    shares = np.array([_alike(*counts[n : n + len(PAIR)]) for n in range(0, len(counts), len(PAIR))])
    with np.errstate(invalid="ignore"):
        return np.nansum(shares, axis=0) / np.sum(~np.isnan(shares), axis=0)


def _columns(frame: pd.DataFrame, names: Mapping[str, str]) -> list[Column]:
    beyond_chance = [name for name in ("kappa", "alpha") if name in frame]
    return [
        Column("On", ["level"], once="level"),
        Column("Judge", ["first"], names=names),
        Column("and judge", ["second"], names=names),
        Column("Compared", ["compared"], count),
        Column("Agree", ["agreement", "agreement_low", "agreement_high"], interval),
        Column(
            " or ".join(beyond_chance).capitalize(),
            [name + end for name in beyond_chance for end in ("", "_low", "_high")],
            _kappa_or_alpha,
        ),
    ]


def _kappa_or_alpha(*figures: float) -> str:
    """Kappa of a pair, or alpha of all judges, with its interval."""
    value, low, high = figures[-3:] if pd.isna(figures[0]) else figures[:3]
    if pd.isna(value):
        return "–"
    figure = f"{value:.2f}" if pd.isna(low) else f"{value:.2f}\n[{low:.2f}, {high:.2f}]"
    return figure.replace("-", "−")


def _notes(answers: pd.DataFrame, votes: pd.DataFrame) -> list[str]:
    failed, empty = votes["solved"].isna().sum(), (answers["reason"] == "no_response").sum()
    if not failed and not empty:
        return []
    return [
        f"Left out: verdicts that a judge failed to give ({failed}), and scores of answers without text, "
        f"which went to no judge ({empty})."
    ]
