"""Logs become what the leaderboard takes: inference and graded files per run, and its object."""

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from inspect_clbench.analysis.originals.leaderboard import LEADERBOARD, leaderboard
from inspect_clbench.analysis.originals.original_rows import (
    grading,
    inference_row,
    json_line,
    some,
)
from inspect_clbench.analysis.progress import progress
from inspect_clbench.analysis.reading.logs import read_summaries
from inspect_clbench.analysis.reading.records import (
    SCORER,
    Log,
    Record,
    names_in,
    read_record,
    read_samples,
)
from inspect_clbench.analysis.reading.series import Series, load_series
from inspect_clbench.analysis.text import counted
from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import replacing, write_text
from inspect_clbench.taxonomy import BENCHMARKS

_NOT_NEEDED = ("attachments", "events", "messages", "store")
_LARGE_BYTES = 100 * 1000 * 1000  # what the common hosts of repositories accept
_UNSAFE = re.compile(r"[^\w.+-]+", re.ASCII)


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
    def dataset(self) -> str | None:
        """Where the logs say that their rows came from."""
        return self.series.logs[0].header.eval.dataset.location


def export(paths: Sequence[str], to: str | Path, *, org: str = "") -> list[Exported]:
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
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".clbench-export-", dir=folder) as spool:
            rows = _Rows(Path(spool))
            series = load_series(paths, read=rows.read)
            names = _names(series)
            return [
                _write_series(
                    one, rows, folder if len(series) == 1 else folder / name, name, org
                )
                for one, name in zip(series, names, strict=True)
            ]
    except OSError as ex:
        raise ClbenchError(f"{folder}: cannot be written ({ex}).") from None


@dataclass
class _Rows:
    """The rows of logs, set aside in files of a log, a scorer and an epoch each.

    Which run of which series a row belongs to is known only when all logs have been
    read. Reading them twice would take twice as long.
    """

    folder: Path
    files: defaultdict[str, dict[tuple[str, int], Path]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """By log, then by scorer and epoch. The scorer "" stands for the bare answers."""

    marks: defaultdict[str, dict[tuple[str, int], str]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """By log, scorer and epoch, a sample of theirs, to find their run by."""

    def read(self, log: Log) -> Iterator[Record]:
        benchmark = BENCHMARKS[log.benchmark.removesuffix(" demo")]
        files = self.files[log.location]
        scorers = names_in(log, read_summaries(log)) or [SCORER]
        with (
            ExitStack() as stack,
            progress("Reading answers", log.rows * log.epochs) as advance,
        ):
            opened: dict[tuple[str, int], IO[bytes]] = {}

            def write(scorer: str, epoch: int, row: dict[str, Any]) -> None:
                key = (scorer, epoch)
                if key not in opened:
                    files[key] = self.folder / f"{len(self.files)}-{len(files)}.jsonl"
                    opened[key] = stack.enter_context(files[key].open("wb"))
                opened[key].write(json_line(row))

            for sample in read_samples(log, without=_NOT_NEEDED):
                row = inference_row(sample, benchmark)
                if sample.output.choices:
                    write("", sample.epoch, row)
                for scorer in scorers:
                    score = (sample.scores or {}).get(scorer)
                    if score is not None:
                        write(scorer, sample.epoch, row | grading(score))
                    record = read_record(sample, scorer, score)
                    self.marks[log.location][scorer, sample.epoch] = record.uuid
                    yield record
                advance("")


def _names(series: Sequence[Series]) -> list[str]:
    """A name for each series that any file system takes, none twice."""
    names: list[str] = []
    for one in series:
        alike = [other for other in series if other.model == one.model]
        told = [one.model]
        told += [one.effort] if len({other.effort for other in alike}) > 1 else []
        told += [one.judge] if len({other.judge for other in alike}) > 1 else []
        base = _UNSAFE.sub("-", "_".join(told)).strip("-.")[:100] or "model"
        name, count = base, 1
        while name.casefold() in {taken.casefold() for taken in names}:
            count += 1
            name = f"{base}_{count}"
        names.append(name)
    return names


def _write_series(one: Series, rows: _Rows, folder: Path, name: str, org: str) -> Exported:
    run_of = {(record.uuid, record.scorer): record.run for record in one.records}
    parts: defaultdict[tuple[int, str], list[Path]] = defaultdict(list)
    for log in one.logs:
        for (scorer, epoch), uuid in rows.marks[log.location].items():
            run = run_of.get((uuid, scorer))
            for kind, key in (("", ""), ("_graded", scorer)):
                path = rows.files[log.location].get((key, epoch))
                if run is not None and path is not None:
                    parts[run, kind].append(path)
    written: dict[str, list[Path]] = {"": [], "_graded": []}
    for (run, kind), pieces in sorted(parts.items()):
        target = folder / f"{name}_run{run}{kind}.jsonl"
        with replacing(target) as file:
            for piece in pieces:
                with piece.open("rb") as source:
                    shutil.copyfileobj(source, file, 1 << 20)
        written[kind].append(target)
    board = leaderboard(one, org)
    write_text(folder / LEADERBOARD, json.dumps(board, ensure_ascii=False, indent=2) + "\n")
    files = [path for paths in written.values() for path in paths]
    return Exported(
        one,
        folder,
        tuple(written[""]),
        tuple(written["_graded"]),
        board,
        (*_missing(one), *_too_large(files), *_left_over(folder, name, files)),
    )


def _missing(series: Series) -> Iterator[str]:
    """What a complete set would have and this one has not."""
    yield from (f"incomplete: {gap}" for gap in series.gaps)
    if series.draw:
        held, known = len(series.tasks), series.draw.tasks
        yield f"incomplete: drawn for an estimate, {held:,} of {known:,} tasks"
    expected = {id for log in series.logs for id in log.task_ids} | series.tasks
    for run in sorted({record.run for record in series.records}):
        graded = {r.task_id for r in series.records if r.run == run and r.outcome != "errored"}
        if missing := sorted(expected - graded):
            number = counted(len(missing), "task")
            yield f"run {run}: no graded row for {number} ({some(missing)})"
    if series.judge_failures:
        yield (
            f"score 0 because the judge failed: {counted(series.judge_failures, 'row')}. Ask "
            "again before you hand in: clbench regrade LOG"
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


def _left_over(folder: Path, name: str, files: Sequence[Path]) -> Iterator[str]:
    ours = re.compile(rf"{re.escape(name)}_run\d+(_graded)?\.jsonl")
    old = sorted(p for p in folder.iterdir() if ours.fullmatch(p.name) and p not in files)
    if old:
        names = ", ".join(path.name for path in old)
        yield f"{folder}: files of an earlier export are still there, remove them: {names}"
