"""The files of the original scripts: graded files become a log, logs become files for the leaderboard."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from logging import getLogger
from pathlib import Path
from typing import IO, Any

import pandas as pd
from inspect_ai import eval

from inspect_clbench.benchmarks import BENCHMARKS, GRADING_KEYS, NO_VERDICT, benchmark_of
from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import replacing, write_text
from inspect_clbench.results.answers import dataset_of, full_scores
from inspect_clbench.results.logs import SampleTexts, named, read_samples, readable
from inspect_clbench.text import redacted

logger = getLogger(__name__)

GRADED = "_graded"
_MOST_IDS = 3
_UNSAFE = re.compile(r"[^\w.+-]+", re.ASCII)


def import_files(
    files: Sequence[str],
    model: str,
    output: str = "logs",
    judge: str | None = None,
    dataset: str | None = None,
) -> str:
    """Turn graded files into one log, a run per file; nothing is judged anew.

    Args:
        files: Graded files of the original scripts or of `export_files`, one per run. Paths or
            URLs, also compressed (.gz, .xz, .zst).
        model: The name of the model, which graded files do not hold.
        output: Folder or URL where the log is written.
        judge: The name of the judge, which they do not hold either.
        dataset: What the rows are of, as the tasks name it; the benchmark if not given.

    Returns:
        The path of the log.

    Raises:
        ClbenchError: The files are no graded files of the same tasks.
    """
    try:
        # A real eval, with the scores in its log that a run would have. It calls no model.
        logs = eval(
            "inspect_clbench/clbench_graded",
            task_args={"files": list(files), "judge": judge or "not recorded", "dataset": dataset or ""},
            model=f"none/{model}",
            log_dir=output,
            log_header_only=True,
            log_realtime=False,
            display="rich" if sys.stdout.isatty() and sys.stderr.isatty() else "none",
        )
    except OSError as ex:
        raise ClbenchError(f"{output}: cannot be written ({ex}). Name another folder.") from ex
    if not logs:  # of an interrupted eval Inspect says no more
        raise KeyboardInterrupt
    log = logs[0]
    if log.status != "success":
        raise ClbenchError(f"{log.location}: {log.error.message if log.error else log.status}")
    return readable(log.location)


def export_files(answers: pd.DataFrame, folder: str | Path, org: str | None = None) -> list[Path]:
    """Write answers in the format of the original scripts, and the leaderboard's object.

    Of each run of a series an inference file and a graded file, each replaced as a whole, and of
    each series an object of rates. What a log does not hold is not written.

    Args:
        answers: Of `answers_df`.
        folder: The folder to write to.
        org: The organisation in the leaderboard's object.

    Returns:
        The files.

    Raises:
        ClbenchError: A run is not complete. What there is has been written.
    """
    dataset_of(answers)  # of one only
    answers = full_scores(answers)
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as ex:
        raise ClbenchError(f"{folder}: cannot be made ({ex.strerror or ex}). Name another folder.") from ex
    stems = _stems(answers["name"].unique())
    paths = _write_rows(answers, {name: place / stem for name, stem in stems.items()})
    for name, series in answers.groupby("name", sort=False):
        path = place / f"{stems[name]}_leaderboard.json"
        text = json.dumps(leaderboard(series, org or ""), ensure_ascii=False, indent=2)
        write_text(path, text + "\n")
        paths.append(path)
    if contradictions := int(answers["inconsistent"].sum()):
        logger.warning("Scores that contradict their status lists: %d. The score counts.", contradictions)
    if failures := int((answers["reason"] == "grader_failed").sum()):
        logger.warning(
            "Rows with score 0 because the judge failed: %d. Ask again: clbench regrade LOG", failures
        )
    problems = [problem for _, series in answers.groupby("name", sort=False) for problem in _missing(series)]
    if problems:
        raise ClbenchError(
            f"{folder}: written, but not complete enough to be handed in. {' '.join(problems)} If answers "
            "failed: inspect eval-retry LOG"
        )
    return paths


def leaderboard(series: pd.DataFrame, org: str) -> dict[str, Any]:
    """The leaderboard's object of a series: fractions to three decimals, a std of 0 for a single run."""
    rates = {"overall": series}
    for name, category in benchmark_of(series["category"].iloc[0]).categories.items():
        rates[category.leaderboard_key] = series[series["category"] == name]
    board: dict[str, Any] = {"model": series["model"].iloc[0], "org": org}
    for key, answers in rates.items():
        runs = answers.groupby("run")["solved"].mean().dropna()
        board[key] = round(runs.mean(), 3) if len(runs) else None
        board[f"{key}_std"] = (round(runs.std(), 3) if len(runs) > 1 else 0) if len(runs) else None
    return board


def _stems(names: Iterable[str]) -> dict[str, str]:
    """What the files of each series are called: its name as any file system takes it, none twice."""
    stems: dict[str, str] = {}
    for name in names:
        stem = _UNSAFE.sub("-", name).strip("-.")[:100] or "model"
        is_taken = stem.casefold() in {other.casefold() for other in stems.values()}
        stems[name] = f"{stem}-{len(stems) + 1}" if is_taken else stem
    return stems


def _write_rows(answers: pd.DataFrame, stems: Mapping[str, Path]) -> list[Path]:
    """Write the rows of all series, each sample read once."""
    files: dict[Path, IO[bytes]] = {}
    with ExitStack() as stack:

        def write(path: Path, row: Mapping[str, Any]) -> None:
            if path not in files:
                files[path] = stack.enter_context(replacing(path))
            # Half a character, which JSON can hold and UTF-8 cannot, stays an escape.
            files[path].write((json.dumps(row, ensure_ascii=False) + "\n").encode(errors="backslashreplace"))

        for index, sample in read_samples(answers):
            answer = answers.loc[index]
            stem = f"{stems[answer['name']]}_run{answer['run']}"
            with named(answer["log"]):
                row = _inference_row(str(answer["id"]), sample)
                grades = _grades(sample) if pd.notna(answer["solved"]) else {}
            if sample.stop_reason:  # or there is no answer
                write(Path(f"{stem}.jsonl"), row)
            if grades:
                write(Path(f"{stem}{GRADED}.jsonl"), row | grades)
    return sorted(files)


def _inference_row(task_id: str, sample: SampleTexts) -> dict[str, Any]:
    """The row that the original inference script writes for an answer."""
    category, sub_category = (sample.metadata.get(key) for key in ("context_category", "sub_category"))
    metadata = {"task_id": task_id, "context_category": category, "context_subcategory": sub_category}
    if benchmark_of(str(category)).has_contexts:  # the other one has a name of its own for sub-categories
        context_id = sample.metadata.get("context_id")
        metadata = {
            "task_id": task_id,
            "context_id": context_id,
            "context_category": category,
            "sub_category": sub_category,
        }
    return {
        "idx": task_id,
        "messages": [{"role": role, "content": text} for role, text in sample.messages],
        "model_output": sample.answer,
        "rubrics": sample.rubrics,
        "metadata": metadata,
    }


def _grades(sample: SampleTexts) -> dict[str, Any]:
    """What the original judging script adds to the row."""
    metadata = sample.score.get("metadata") or {}
    if grades := metadata.get("grades"):  # out of an imported file
        return {key: grades[key] for key in GRADING_KEYS if key in grades}
    solved = sample.score["value"] in ("C", 1)
    votes = metadata.get("votes") or []
    status = [_WORDS[letter] for letter in metadata.get("status") or ""]
    # Of a panel that of a judge who voted as the majority did.
    agreeing = [
        text for text, vote in zip(sample.rationales, votes, strict=False) if vote["solved"] is solved
    ]
    rationale = next(iter([*agreeing, *sample.rationales]), "")
    match sample.score.get("reason"):
        case "no_response":
            rationale = "The model gave no answer; the judge was not asked."
        case "grader_failed":
            rationale, status = NO_VERDICT + redacted(str(metadata.get("judge_error", ""))), []
    return dict(zip(GRADING_KEYS, (rationale, status, int(solved)), strict=True))


_WORDS = {"y": "yes", "n": "no", "?": "?"}


def _missing(series: pd.DataFrame) -> Iterator[str]:
    """What a complete set of runs would have and this one has not."""
    benchmark = BENCHMARKS.get(str(series["dataset"].iloc[0]))
    tasks = series["id"].unique()
    total = benchmark.tasks if benchmark else len(tasks)
    for run, answers in series.groupby("run"):
        graded = set(answers["id"][answers["solved"].notna()])
        if len(graded) >= total:
            continue
        ids = [str(task) for task in tasks if task not in graded]
        names = ", ".join(ids[:_MOST_IDS]) + " and others" * (len(ids) > _MOST_IDS)
        names = f" (without {names})" if ids else ""
        yield f"{series['name'].iloc[0]}, run {run}: {len(graded):,} graded rows of {total:,} tasks{names}."
