"""How the runs of a series came about, as far as their logs tell."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import PurePath
from typing import Any

from inspect_ai.model import GenerateConfig

from inspect_clbench.analysis.reading.logs import Log
from inspect_clbench.analysis.reading.series import Series
from inspect_clbench.analysis.reporting.labels import labels
from inspect_clbench.analysis.tables import Cell, Table
from inspect_clbench.analysis.text import counted

# Those that can change an answer and hold no secrets, as headers and bodies might.
_SETTINGS = (
    "temperature", "top_p", "top_k", "max_tokens", "stop_seqs", "frequency_penalty",
    "presence_penalty", "seed", "verbosity", "reasoning_effort", "reasoning_tokens",
)  # fmt: skip
# Of the eval's own options, those that decide which answers there are.
_OPTIONS = (
    "limit",
    "sample_id",
    "sample_shuffle",
    "message_limit",
    "token_limit",
    "time_limit",
)
_NONE = "–"
_MODEL = "Model"


def how_run_tables(series: Sequence[Series]) -> list[Table]:
    """What all series have in common, and in what they differ."""
    told = [(title, [tell(one) for one in series]) for title, tell in _PROPERTIES]
    known = [(title, values) for title, values in told if set(values) != {_NONE}]
    common = [(title, values[0]) for title, values in known if len(set(values)) == 1]
    differing = [
        (title, values) for title, values in known if len(set(values)) > 1 and title != _MODEL
    ]
    tables = []
    if differing:
        rows = zip(labels(series), *(values for _, values in differing), strict=True)
        columns = (_MODEL, *(title for title, _ in differing))
        cells = tuple(tuple(Cell(text) for text in row) for row in rows)
        tables.append(Table("Where the runs differ", columns, cells, left=len(columns)))
    cells = tuple((Cell(title), Cell(text)) for title, text in common)
    name = "All runs" if len(series) > 1 else "The runs"
    tables.append(Table(name, ("", ""), cells, left=2))
    return tables


def package_version() -> str:
    """The version of this package."""
    return version("inspect-clbench")


def _judge_settings(series: Series) -> str:
    efforts = dict.fromkeys(r.judge_effort for r in series.records if r.judge_effort)
    texts = [f"reasoning_effort={effort}" for effort in efforts]
    for log in series.logs:
        bound = (log.header.eval.model_roles or {}).get("grader")
        models = bound if isinstance(bound, list) else [bound] if bound else []
        texts += [_settings(model.config) for model in models]
    return _joined(texts)


def _settings(config: GenerateConfig) -> str:
    chosen = {name: getattr(config, name) for name in _SETTINGS}
    if config.system_message:
        chosen["system_message"] = "set"
    return _assignments(chosen)


def _dataset(log: Log) -> str:
    spec = log.header.eval
    imported = (spec.metadata or {}).get("imported_from")
    if imported:
        return "graded files: " + ", ".join(_file_name(file) for file in imported)
    location = spec.dataset.location or spec.dataset.name or ""
    return f"{_file_name(location)}, {counted(log.rows, 'task')}"


def _file_name(location: Any) -> str:
    """A hub's id as it is; of a path its last part, since the rest is the machine's own."""
    text = str(location)
    is_path = text.startswith(("/", "~", ".")) or text.count("/") > 1 or "\\" in text
    return PurePath(text.replace("\\", "/")).name if is_path else text


def _task_flags(log: Log) -> str:
    given = dict(log.header.eval.task_args_passed or {})
    given.pop("dataset", None)
    return _assignments(given)


def _options(log: Log) -> str:
    config = log.header.eval.config
    chosen = {name: getattr(config, name) for name in _OPTIONS}
    drawn = (log.header.eval.metadata or {}).get("draw")
    return _assignments({**chosen, "draw": "of contexts at random" if drawn else None})


def _version_of(log: Log, *names: str) -> str:
    packages = log.header.eval.packages
    return next((packages[name] for name in names if name in packages), "")


def _assignments(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items() if value is not None)


def _joined(texts: Iterable[str]) -> str:
    """Different texts one after the other, a dash if there are none."""
    return "; ".join(dict.fromkeys(text for text in texts if text)) or _NONE


def _of_logs(tell: Callable[[Log], str]) -> Callable[[Series], str]:
    return lambda series: _joined(tell(log) for log in series.logs)


_PROPERTIES: tuple[tuple[str, Callable[[Series], str]], ...] = (
    (_MODEL, lambda series: series.model),
    (
        "Model's settings",
        _of_logs(lambda log: _settings(log.config)),
    ),
    ("Judge", lambda series: series.judge or _NONE),
    ("Judge's settings", _judge_settings),
    ("Judge prompt", lambda series: series.judge_prompt or _NONE),
    ("SHA-256 of the judge prompt", lambda series: series.judge_prompt_sha256 or _NONE),
    ("Runs", lambda series: str(series.runs)),
    ("Epochs per log", _of_logs(lambda log: str(log.epochs))),
    ("Dataset", _of_logs(_dataset)),
    ("Task", _of_logs(lambda log: log.header.eval.task)),
    ("Task version", _of_logs(lambda log: str(log.header.eval.task_version))),
    ("Task's flags", _of_logs(_task_flags)),
    ("Options", _of_logs(_options)),
    ("Date", _of_logs(lambda log: str(log.header.eval.created)[:10])),
    ("inspect_ai", _of_logs(lambda log: _version_of(log, "inspect_ai"))),
    (
        "inspect_clbench",
        _of_logs(lambda log: _version_of(log, "inspect-clbench", "inspect_clbench")),
    ),
    ("Logs", _of_logs(lambda log: log.location.rsplit("/", 1)[-1])),
)
