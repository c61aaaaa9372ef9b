"""Asking judges again for rows without a verdict; all other scores of a log stay as they are."""

import os
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai import score
from inspect_ai.log import EvalLog, EvalSample, read_eval_log, recompute_metrics, write_eval_log
from inspect_ai.model import GenerateConfig, Model, ModelConfig, ModelUsage, get_model
from inspect_ai.scorer import Score

from inspect_clbench.benchmarks import GRADER, TASK_VERSION
from inspect_clbench.errors import ClbenchError, message_of
from inspect_clbench.files import replacing
from inspect_clbench.judge.prompt import load_judge_prompt
from inspect_clbench.results.logs import find_logs, named, readable, verdict_scores
from inspect_clbench.scoring.rubric_judge import rubric_judge
from inspect_clbench.scoring.scores import dumped_usage

# How a verdict was asked for, in the metadata of its score.
_SETTINGS = ("judge", "judge_effort", "judge_prompt", "judge_prompt_sha256", "share", "task_version")


class Row(NamedTuple):
    """A score without a verdict: its sample and its name."""

    sample: EvalSample
    name: str

    @property
    def score(self) -> Score:
        return (self.sample.scores or {})[self.name]

    @property
    def metadata(self) -> dict[str, Any]:
        return self.score.metadata or {}


def regrade(logs: Sequence[str], judge: str | None = None) -> list[str]:
    """Ask again for the rows of logs whose judge gave no verdict, and write the logs in place.

    Each row is asked for as its score says: the same judge, prompt and settings. Whatever stops
    it, the verdicts that were given until then are written.

    Args:
        logs: Log files, folders or URLs.
        judge: Another model to ask; its verdicts are named after it.

    Returns:
        What came of it, a text for each log.
    """
    return [_regrade(readable(header.location), judge) for header in find_logs(logs)]


def _regrade(path: str, judge: str | None) -> str:
    before = _state(path)
    groups: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    with named(path):
        log = read_eval_log(path)
        rows = [
            Row(sample, name)
            for sample in log.samples or []
            for name in verdict_scores(sample.scores or {})
            if (sample.scores or {})[name].reason == "grader_failed"
        ]
        for row in rows:
            groups[tuple(row.metadata.get(key) for key in _SETTINGS)].append(row)
    if not rows:
        return f"{path}: no row is without a verdict."
    judges = [_judges(path, log, group[0].metadata, judge) for group in groups.values()]
    _recompute(path, log)  # what would go wrong at the end is found before anything is paid
    try:
        for group, models in zip(groups.values(), judges, strict=True):
            _ask(log, group, models)
    finally:
        _recompute(path, log)
        _write(path, log, before)
    errors = [str(row.metadata["judge_error"]) for row in rows if row.score.reason == "grader_failed"]
    judged = len(rows) - len(errors)
    text = f"{path}: {len(rows):,} rows had no verdict, {judged:,} of them have one now."
    return "\n".join(dict.fromkeys([text, *errors]))


def _judges(path: str, log: EvalLog, metadata: dict[str, Any], judge: str | None) -> list[Model]:
    """The models to ask, once it is sure that they can be asked the same as before.

    Templates, addresses and arguments of models are the user's, never the log's: a log comes from
    anywhere, and could have a file's content or the user's key sent where it says.
    """
    version, prompt = metadata.get("task_version", 1), metadata.get("judge_prompt")
    if version != TASK_VERSION:
        raise ClbenchError(
            f"{path}: judged with version {version} of the task, and verdicts of two versions do "
            "not mix. Ask again with the release of inspect-clbench that made the log."
        )
    is_ours = prompt in ("builtin", "upstream")
    if not is_ours or load_judge_prompt(str(prompt)).sha256 != metadata.get("judge_prompt_sha256"):
        raise ClbenchError(
            f"{path}: its judge was asked with a prompt that is none of this package's ({prompt}). Have the "
            "log judged with your copy: inspect score LOG --scorer inspect_clbench/rubric_judge "
            "-S judge_prompt=FILE --action append"
        )
    try:
        if judge:
            return [_model(judge, GenerateConfig())]
        return [_logged_judge(config) for config in _judge_configs(log, metadata)]
    except Exception as ex:
        raise ClbenchError(
            f"{path}: the judge cannot be asked: {message_of(ex)} Or name another one: --judge provider/model"
        ) from None


def _judge_configs(log: EvalLog, metadata: dict[str, Any]) -> list[ModelConfig]:
    """The judges of a score with their settings, which the log has of models bound to the role."""
    bound = (log.eval.model_roles or {}).get(GRADER, [])
    logged = {config.model: config for config in (bound if isinstance(bound, list) else [bound])}
    names, effort = metadata["judge"].split(", "), metadata.get("judge_effort")
    efforts = effort.split(", ") if effort else [None] * len(names)
    return [
        logged.get(name)
        or ModelConfig.model_validate({"model": name, "config": {"reasoning_effort": effort or None}})
        for name, effort in zip(names, efforts, strict=True)
    ]


def _logged_judge(config: ModelConfig) -> Model:
    model = _model(config.model, config.config)
    if config.args or (config.base_url and config.base_url != model.api.base_url):
        raise ClbenchError(
            f"the log names an address or arguments of {config.model} that your environment does not: "
            f"{config.base_url or 'no address'}, {config.args or 'no arguments'}. Set the address as you did for "
            "the run."
        )
    return model


def _model(name: str, config: GenerateConfig) -> Model:
    # Not memoized: its connections would outlive the event loop of one call of `score`.
    return get_model(
        name, config=config, memoize=False
    )  # inspect-evals-lint: ignore[get_model_location] -- a command, not a task: there is no run that could bind models


def _ask(log: EvalLog, rows: Sequence[Row], judges: list[Model]) -> None:
    """Give rows new scores, as far as that comes."""
    # No model that the log names is built but the judge, and of a sample's scores none is in the way.
    spec = log.eval.model_copy(update={"model_roles": None})
    samples = [row.sample.model_copy(update={"scores": {}}) for row in rows]
    part = log.model_copy(update={"samples": samples, "eval": spec, "results": None})
    metadata = rows[0].metadata
    scorer = rubric_judge(judge_prompt=metadata["judge_prompt"], share=metadata.get("share", 1.0))
    try:
        score(
            part, scorer, model="none/none", model_roles={GRADER: judges}, action="append", copy=False
        )  # not a copy: what is judged before an error is there after it
    finally:
        for row, sample in zip(rows, samples, strict=True):
            for new in (sample.scores or {}).values():
                _add_usage(new, row.score)
                _name_original(new, row.metadata)
                row.sample.scores = {**(row.sample.scores or {}), row.name: new}
                row.sample.events = sample.events


def _name_original(new: Score, before: dict[str, Any]) -> None:
    """Say for which judge another one stands in, so that tables keep the row among the others of its run."""
    metadata = new.metadata or {}
    original = before.get("stands_in_for") or {key: before[key] for key in ("judge", "judge_effort")}
    if any(metadata[key] != name for key, name in original.items()):
        metadata["stands_in_for"] = original


def _add_usage(new: Score, earlier: Score) -> None:
    """Add what the earlier asks of a row used and cost to its new score."""
    metadata, before = new.metadata or {}, earlier.metadata or {}
    asks = (before.get("judge_usage", {}), metadata["judge_usage"])
    usages = [(judge, ModelUsage(**usage)) for ask in asks for judge, usage in ask.items()]
    metadata["judge_usage"] = dumped_usage(usages)
    costs = [usage.get("total_cost") or 0.0 for usage in before.get("judge_usage", {}).values()]
    is_known = metadata["cost"] is not None and before.get("cost") is not None
    metadata["cost"] = metadata["cost"] + sum(costs) if is_known else None


def _recompute(path: str, log: EvalLog) -> None:
    """Compute the metrics anew, without running the file of a task that the log names."""
    spec = log.eval
    log.eval = spec.model_copy(update={"task_file": None})
    try:
        recompute_metrics(log)
    except Exception as ex:
        raise ClbenchError(
            f"{path}: its metrics cannot be computed here ({ex}). They may be another release's: have the log "
            "judged anew, with inspect score LOG --scorer inspect_clbench/rubric_judge --action overwrite"
        ) from None
    finally:
        log.eval = spec


def _write(path: str, log: EvalLog, before: tuple[int, int, int] | None) -> None:
    """Replace a log, unless somebody else wrote to it meanwhile."""
    try:
        if before is None:
            write_eval_log(log, path, if_match_etag=log.etag)
            return
        with replacing(path) as file:
            write_eval_log(log, file.name, "json" if path.endswith(".json") else "eval")
            if _state(path) != before:
                raise ClbenchError("somebody else wrote to it meanwhile")
    except Exception as ex:  # of a disk or a server
        handle, kept = tempfile.mkstemp(Path(path).suffix, f"{Path(path).stem}-regraded-")
        os.close(handle)
        with replacing(kept) as file:
            write_eval_log(log, file.name, "json" if kept.endswith(".json") else "eval")
        raise ClbenchError(f"{path}: left as it is ({ex}). The log with the new verdicts: {kept}") from None


def _state(path: str) -> tuple[int, int, int] | None:
    """What changes when a local file is written to; None where the path is a URL."""
    if "://" in path:
        return None
    stat = Path(path).stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
