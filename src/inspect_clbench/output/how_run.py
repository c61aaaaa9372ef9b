"""How the runs of a series came about, as far as their logs tell."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from inspect_ai.model import GenerateConfig

from inspect_clbench.logs.files import Log
from inspect_clbench.logs.series import Series, series_names
from inspect_clbench.output.tables import Cell, Table, table
from inspect_clbench.text import counted, public_url

# Those that can change an answer and hold no secrets, as headers and bodies might.
_SETTINGS = (
    "temperature", "top_p", "top_k", "max_tokens", "stop_seqs", "frequency_penalty",
    "presence_penalty", "seed", "verbosity", "reasoning_effort", "reasoning_tokens",
)  # fmt: skip
# Of the eval's own options, those that decide which answers there are.
_OPTIONS = (
    "limit", "sample_id", "sample_shuffle", "message_limit", "token_limit", "time_limit",
)  # fmt: skip
# Arguments of tasks that hold paths, which are the machine's own; the dataset has a line.
_PATHS = ("dataset", "files")
_MODEL = "Model"


def how_run_tables(series: Sequence[Series]) -> list[Table]:
    """What all series have in common, and in what they differ."""
    told = [_told(one) for one in series]
    known = [title for title in told[0] if any(one[title] for one in told)]
    common = [title for title in known if len({one[title] for one in told}) == 1]
    differing = [title for title in known if title not in common and title != _MODEL]
    tables = []
    if differing:
        rows = [
            {_MODEL: name, **{title: one[title] or "–" for title in differing}}
            for one, name in zip(told, series_names(series), strict=True)
        ]
        tables.append(table("Where the runs differ", rows, left=len(rows[0])))
    name = "All runs" if len(series) > 1 else "The runs"
    cells = tuple((Cell(title), Cell(told[0][title])) for title in common)
    return [*tables, Table(name, ("", ""), cells, left=2)]


def _told(series: Series) -> dict[str, str]:
    logs = series.logs
    specs = [log.header.eval for log in logs]
    efforts = dict.fromkeys(a.judge_effort for a in series.answers if a.judge_effort)
    judge_settings = [f"reasoning_effort={effort}" for effort in efforts]
    judge_settings += [_settings(model.config) for log in logs for model in log.graders]
    names = ("inspect-clbench", "inspect_clbench")
    return {
        _MODEL: series.model,
        "Model's settings": _joined(_settings(log.config) for log in logs),
        "Judge": series.judge,
        "Judge's settings": _joined(judge_settings),
        "Judge prompt": series.judge_prompt,
        "SHA-256 of the judge prompt": series.judge_prompt_sha256,
        "Runs": str(series.runs),
        "Epochs per log": _joined(str(log.epochs) for log in logs),
        "Dataset": _joined(_dataset(log) for log in logs),
        "Task": _joined(spec.task for spec in specs),
        "Task version": _joined(str(spec.task_version) for spec in specs),
        "Task's flags": _joined(_task_flags(log) for log in logs),
        "Options": _joined(_options(log) for log in logs),
        "Date": _joined(str(spec.created)[:10] for spec in specs),
        "inspect_ai": _joined(spec.packages.get("inspect_ai", "") for spec in specs),
        "inspect_clbench": _joined(
            s.packages[n] for s in specs for n in names if n in s.packages
        ),
        "Logs": _joined(log.location.rsplit("/", 1)[-1] for log in logs),
    }


def _settings(config: GenerateConfig) -> str:
    chosen = {name: getattr(config, name) for name in _SETTINGS}
    return _assignments({**chosen, "system_message": "set" if config.system_message else None})


def _dataset(log: Log) -> str:
    spec = log.header.eval
    imported = (spec.metadata or {}).get("imported_from")
    if imported:
        return "graded files: " + ", ".join(_file_name(file) for file in imported)
    location = spec.dataset.location or spec.dataset.name or ""
    return f"{_file_name(location)}, {counted(len(log.task_ids), 'task')}"


def _file_name(location: Any) -> str:
    """A hub's id as it is; of a path its last part, since the rest is the machine's own."""
    text = public_url(str(location))
    is_path = text.startswith(("/", "~", ".")) or text.count("/") > 1 or "\\" in text
    return PurePath(text.replace("\\", "/")).name if is_path else text


def _task_flags(log: Log) -> str:
    given = log.header.eval.task_args_passed or {}
    return _assignments(
        {
            name: _file_name(value) if name == "judge_prompt" else value
            for name, value in given.items()
            if name not in _PATHS
        }
    )


def _options(log: Log) -> str:
    config = log.header.eval.config
    chosen = {name: getattr(config, name) for name in _OPTIONS}
    drawn = (log.header.eval.metadata or {}).get("draw")
    return _assignments({**chosen, "draw": "of contexts at random" if drawn else None})


def _assignments(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items() if value is not None)


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(text for text in texts if text))
