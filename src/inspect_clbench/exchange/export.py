"""Export of logs as the leaderboard takes them: two files per run, and an object of rates."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import IO, Any

from inspect_clbench.benchmarks import Benchmark
from inspect_clbench.errors import ClbenchError
from inspect_clbench.exchange.rows import grading, inference_row, json_line
from inspect_clbench.files import make_folder, replacing, write_text
from inspect_clbench.logs.files import Log, Paths
from inspect_clbench.logs.samples import read_samples
from inspect_clbench.logs.series import Series, load_series
from inspect_clbench.metrics.solving import Trial, mean_rate, run_rates, std_over_runs
from inspect_clbench.output.notes import regrade_command
from inspect_clbench.progress import progress
from inspect_clbench.text import counted, some

LEADERBOARD = "leaderboard.json"
GRADED = "_graded"
_LARGE_BYTES = 100 * 1000 * 1000  # what the common hosts of repositories accept
_UNSAFE = re.compile(r"[^\w.+-]+", re.ASCII)

# The files of a series by their kind ("" for answers, or graded) and run.
_Files = dict[tuple[str, int], Path]


@dataclass(frozen=True)
class Exported:
    """The files of one series."""

    series: Series
    folder: Path
    answers: tuple[Path, ...]
    """The inference files, a run each."""

    graded: tuple[Path, ...]
    leaderboard: dict[str, Any]
    notes: tuple[str, ...]
    """What is missing or needs a look before it is handed in."""

    @property
    def files(self) -> tuple[Path, ...]:
        return (*self.answers, *self.graded, self.folder / LEADERBOARD)

    @property
    def summary(self) -> str:
        """The result in one line."""
        runs, rows = counted(len(self.graded), "run"), counted(len(self.series.scored), "row")
        result = "Not ready to hand in, see above" if self.notes else "OK"
        files = counted(len(self.files), "file")
        return f"{result}: {self.series.model}, {runs}, {rows}, {files} in {self.folder}"

    @property
    def dataset(self) -> str | None:
        """Where the logs say that their rows came from."""
        return self.series.logs[0].header.eval.dataset.location


def export(paths: Paths, to: str | Path, *, org: str = "") -> list[Exported]:
    """Write the runs of logs in the format of the original scripts.

    Per run an inference file and a graded file, each replaced as a whole, and the
    leaderboard's object. Several series get a folder each. What a log does not hold
    cannot be written: the notes name it.

    Args:
        paths: Log files, folders or URLs.
        to: The folder to write to.
        org: The organisation in the leaderboard's object.
    """
    if "://" in str(to):
        raise ClbenchError(f"{to}: export writes to a local folder; copy it from there.")
    folder = Path(to)
    series = load_series(paths)
    names = _names(series)
    stems = [folder / name if len(series) == 1 else folder / name / name for name in names]
    for path in dict.fromkeys((folder, *(stem.parent for stem in stems))):
        make_folder(path)
    for one, stem in zip(series, stems, strict=True):
        _check_board(stem.parent / LEADERBOARD, one.model)
    written = _write_rows(series, stems)
    return [_exported(*one, org) for one in zip(series, stems, written, strict=True)]


def _check_board(path: Path, model: str) -> None:
    """Refuse a folder that holds another model's files."""
    if not path.exists():
        return
    try:
        theirs = json.loads(path.read_bytes())["model"]
    except (OSError, ValueError, TypeError, KeyError):
        raise ClbenchError(
            f"{path}: not a leaderboard's object. Remove it, or name another folder."
        ) from None
    if theirs != model:
        raise ClbenchError(
            f"{path}: is of the model {theirs}, not of {model}. Name another folder."
        )


def _write_rows(series: Sequence[Series], stems: Sequence[Path]) -> list[_Files]:
    """Read each log once and write its rows to the files of all series that it belongs to."""
    logs: dict[str, Log] = {log.location: log for one in series for log in one.logs}
    places = [
        {(a.log.location, a.epoch): (a.run, a.scorer) for a in one.answers} for one in series
    ]
    written: list[_Files] = [{} for _ in series]
    opened: dict[Path, IO[bytes]] = {}
    with (
        ExitStack() as stack,
        progress("Writing rows", sum(log.samples for log in logs.values())) as advance,
    ):

        def write(index: int, kind: str, run: int, row: dict[str, Any]) -> None:
            path = Path(f"{stems[index]}_run{run}{kind}.jsonl")
            if path not in opened:
                opened[path] = stack.enter_context(replacing(path))
                written[index][kind, run] = path
            opened[path].write(json_line(row))

        for location, log in logs.items():
            for sample in read_samples(log):
                row = inference_row(sample, log.benchmark)
                for index, place in enumerate(places):
                    run, scorer = place.get((location, sample.epoch), (None, ""))
                    if run is None:
                        continue
                    if sample.output.choices:
                        write(index, "", run, row)
                    score = (sample.scores or {}).get(scorer)
                    if score is not None:
                        write(
                            index, GRADED, run, row | grading(score, f"{log}: task {sample.id}")
                        )
                advance(1)
    return written


def _exported(series: Series, stem: Path, written: _Files, org: str) -> Exported:
    board = leaderboard(series, org)
    text = json.dumps(board, ensure_ascii=False, indent=2) + "\n"
    write_text(stem.parent / LEADERBOARD, text)
    files = sorted(written.items())
    paths = [path for _, path in files]
    return Exported(
        series=series,
        folder=stem.parent,
        answers=tuple(path for (kind, _), path in files if kind != GRADED),
        graded=tuple(path for (kind, _), path in files if kind == GRADED),
        leaderboard=board,
        notes=(*_missing(series), *_too_large(paths), *_left_over(stem, paths)),
    )


def leaderboard(series: Series, org: str = "") -> dict[str, Any]:
    """The leaderboard's object of a series."""
    # A row without a verdict is a zero here, even where the log leaves it out of its
    # rates: the object must follow from the graded files.
    graded = (answer for answer in series.answers if answer.outcome != "errored")
    outcomes = [(a.category, Trial(a.run, a.context_id, a.solved, a.weight)) for a in graded]
    return board_of(outcomes, series.benchmark, model=series.model, org=org)


def board_of(
    outcomes: Sequence[tuple[str, Trial]], benchmark: Benchmark, *, model: str, org: str
) -> dict[str, Any]:
    """The leaderboard's object: fractions to three decimals, a std of 0 for a single run."""
    board: dict[str, Any] = {"model": model, "org": org}
    board |= _rates("overall", (trial for _, trial in outcomes))
    for category, key in benchmark.leaderboard_keys.items():
        board |= _rates(key, (trial for name, trial in outcomes if name == category))
    return board


def _rates(key: str, trials: Iterable[Trial]) -> dict[str, float | None]:
    rates = run_rates(trials)
    if not rates:
        return {key: None, f"{key}_std": None}
    std = round(std_over_runs(rates), 3) if len(rates) > 1 else 0
    return {key: round(mean_rate(rates), 3), f"{key}_std": std}


def _names(series: Sequence[Series]) -> list[str]:
    """A name for each series that any file system takes, none twice."""
    names: list[str] = []
    for one in series:
        alike = [other for other in series if other.model == one.model]
        told = [one.model]
        told += [one.dataset_name] if len({s.dataset_name for s in alike}) > 1 else []
        told += [one.effort] if len({other.effort for other in alike}) > 1 else []
        told += [one.judge] if len({other.judge for other in alike}) > 1 else []
        base = _UNSAFE.sub("-", "_".join(told)).strip("-.")[:100] or "model"
        taken = {name.casefold() for name in names}
        candidates = chain([base], (f"{base}_{number}" for number in count(2)))
        names.append(next(name for name in candidates if name.casefold() not in taken))
    return names


def _missing(series: Series) -> Iterator[str]:
    """What a complete set would have and this one has not."""
    yield from (f"incomplete: {gap}" for gap in series.gaps)
    if series.draw:
        held, known = len(series.tasks), series.draw.tasks
        yield f"incomplete: drawn for an estimate, {held:,} of {known:,} tasks"
    expected = {id for log in series.logs for id in log.task_ids} | series.tasks
    for run in sorted({answer.run for answer in series.answers}):
        graded = {a.task_id for a in series.answers if a.run == run and a.outcome != "errored"}
        if missing := sorted(expected - graded):
            number = counted(len(missing), "task")
            yield f"run {run}: no graded row for {number} ({some(missing)})"
    if series.judge_failures:
        yield (
            f"score 0 because the judge failed: {counted(series.judge_failures, 'row')}. Ask "
            f"again before you hand in: {regrade_command(series)}"
        )


def _too_large(files: Iterable[Path]) -> Iterator[str]:
    sizes = {path: path.stat().st_size for path in files}
    large = [path.name for path, size in sizes.items() if size > _LARGE_BYTES]
    if large:
        yield (
            f"some hosts take no file over 100 MB, and these are (up to "
            f"{max(sizes.values()) / 1e6:.0f} MB): {some(large)}. Compress them (gzip, xz) or "
            "use the host's storage for large files"
        )


def _left_over(stem: Path, files: Sequence[Path]) -> Iterator[str]:
    ours = re.compile(rf"{re.escape(stem.name)}_run\d+({GRADED})?\.jsonl")
    present = stem.parent.iterdir()
    old = sorted(p.name for p in present if ours.fullmatch(p.name) and p not in files)
    if old:
        words = "files of an earlier export are still there, remove them"
        yield f"{stem.parent}: {words}: {', '.join(old)}"
