"""Judging again the answers of a log whose judge failed; all other scores stay as they are."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

from inspect_ai import score
from inspect_ai.log import EvalLog, EvalSample, recompute_metrics
from inspect_ai.model import ModelConfig, get_model
from rich.text import Text

from inspect_clbench.benchmarks import (
    DEFAULT_JUDGE,
    GRADER,
    RUBRIC_JUDGE,
    VERDICT_SCORERS,
    bound_graders,
)
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.rewriting import rewrite_log
from inspect_clbench.progress import inspect_display, tell
from inspect_clbench.scoring.graders import with_usage_of
from inspect_clbench.scoring.rubric_judge import rubric_judge
from inspect_clbench.text import counted, one_line, public_url, redacted

_ERROR_TYPES = "error_types"
_PROMPTS = ("builtin", "upstream")


@dataclass(frozen=True)
class Regraded:
    """What came of asking again."""

    location: str
    asked: int
    still_failed: int
    labelled_before: int = 0  # with a verdict now, and error types from before
    reasons: tuple[str, ...] = ()  # why the judge failed again, each once


def regrade(
    log_file: str,
    *,
    judge: str | None = None,
    output: str | None = None,
    trust_log: bool = False,
) -> Regraded:
    """Judge again the answers whose verdict failed; all other samples stay as they are.

    Whatever stops it, the verdicts that were given until then are written.

    Args:
        log_file: The log, which is replaced once everything is done.
        judge: The model to ask; the log's own judge when not given.
        output: A new file to write instead of replacing the log.
        trust_log: Ask the log's own judge even at an address or with model arguments that
            only the log names. Your API key is sent there.
    """
    again = _Again(log_file, judge, trust_log)
    location = rewrite_log(log_file, again, output=output)
    if again.stopped_by is not None:
        raise again.stopped_by
    return Regraded(
        location=location,
        asked=again.asked,
        still_failed=again.asked - len(again.judged),
        labelled_before=sum(_ERROR_TYPES in (sample.scores or {}) for sample in again.judged),
        reasons=tuple(dict.fromkeys(again.reasons)),
    )


class _Again:
    """Asks again for the rows of a log without a verdict."""

    def __init__(self, log_file: str, judge: str | None, trust_log: bool) -> None:
        self.log_file, self.judge, self.trust_log = log_file, judge, trust_log
        self.asked = 0
        self.judged: list[EvalSample] = []
        self.reasons: list[str] = []
        self.stopped_by: BaseException | None = None

    def __call__(self, log: EvalLog) -> bool:
        judge = LogJudge(self.log_file, self.judge, self.trust_log)
        judge.check(log)
        samples = log.samples or []
        places = [place for place, sample in enumerate(samples) if _failed(sample)]
        if not places:
            return False
        new = deepcopy([samples[place] for place in places])
        for sample in new:
            sample.scores = {}
        options = judge.options(log)
        for line in judge.described(log, options):
            tell(line)
        self.stopped_by = judge.ask(log, new, options)
        for place, sample in zip(places, new, strict=True):
            if sample.scores:  # else the judge did not come to it
                name = _failed(samples[place]) or RUBRIC_JUDGE
                given = sample.scores[RUBRIC_JUDGE]
                before = samples[place].scores or {}
                given = with_usage_of(given, before[name]) if name in before else given
                sample.scores = {**before, name: given}
                samples[place] = sample
                self.asked += 1
                if not _failed(sample):
                    self.judged.append(sample)
                else:
                    self.reasons.append(str((given.metadata or {}).get("judge_error", "")))
        if self.stopped_by is not None:
            if not self.asked:
                raise self.stopped_by
            tell(f"Stopped after {self.asked:,} of {counted(len(places), 'row')}.")
        recompute_metrics(log)
        return True


class LogJudge:
    """The judge of a log, or another one, to be asked about its answers."""

    def __init__(
        self, log_file: str, judge: str | None = None, trust_log: bool = False
    ) -> None:
        self.log_file, self.judge, self.trust_log = log_file, judge, trust_log

    def check(self, log: EvalLog) -> None:
        """Refuse a log of another benchmark."""
        if log.eval.task_registry_name is None or not log.eval.task.startswith(
            "inspect_clbench/clbench"
        ):
            raise ClbenchError(
                f"{self.log_file}: a log of {log.eval.task}, not of this benchmark."
            )

    def described(self, log: EvalLog, options: Mapping[str, Any]) -> list[str]:
        """Who will be asked, and whether that comes from the log."""
        return _described(self.judge, self._graders(log), options)

    def _graders(self, log: EvalLog) -> list[ModelConfig]:
        return [] if self.judge else bound_graders(log.eval.model_roles)

    def ask(
        self,
        log: EvalLog,
        samples: Sequence[EvalSample],
        options: Mapping[str, Any],
        action: Literal["append", "overwrite"] = "overwrite",
    ) -> BaseException | None:
        """Give the samples new scores, as far as that comes; returns what stopped it."""
        graders = self._graders(log)
        # Of the models that the header names, the judge's alone are needed: the others
        # would be built too, which can load or start something.
        roles = {GRADER: graders} if graders else None
        spec = log.eval.model_copy(update={"model_roles": roles})
        part = log.model_copy(update={"samples": list(samples), "eval": spec, "results": None})
        try:
            if not self.trust_log:
                self._check_address(graders)
            score(
                part,
                rubric_judge(**options),
                model="none/none",
                model_roles={GRADER: self.judge} if self.judge else None,
                action=action,
                display=inspect_display(),
                copy=False,  # what is judged before an error is there after it
            )
        except ClbenchError as ex:
            return ex
        except Exception as ex:
            # Inspect's own message about a missing key is rich markup.
            told = Text.from_markup(str(getattr(ex, "message", ex))).plain
            error = f"{self.log_file}: the judge cannot be asked ({one_line(redacted(told))})."
            return ClbenchError(f"{error} Name another one: --judge provider/model")
        except KeyboardInterrupt as ex:
            return ex
        return None

    def options(self, log: EvalLog) -> dict[str, Any]:
        """The options of the log's scorer; a path in them is not this user's."""
        scorers = log.eval.scorers or []
        found = next((s.options for s in scorers if s.name.endswith(RUBRIC_JUDGE)), None) or {}
        prompt = found.get("judge_prompt", _PROMPTS[0])
        if prompt not in _PROMPTS:
            raise ClbenchError(
                f"{self.log_file}: its judge was asked with a template of the user's own, "
                f"judge_prompt={one_line(str(prompt))}, and a path out of a log is not opened. "
                "Have the log judged with your copy: inspect score LOG --scorer "
                "inspect_clbench/rubric_judge -S judge_prompt=FILE --action append"
            )
        return dict(found)

    def _check_address(self, graders: list[ModelConfig]) -> None:
        """Refuse to send the user's key where only the log says so."""
        for one in graders:
            if not one.base_url and not one.args:
                continue
            own = get_model(
                one.model, memoize=False
            ).api.base_url  # inspect-evals-lint: ignore[get_model_location] -- asks for its address, not for an answer
            if one.args or one.base_url != own:
                raise ClbenchError(
                    f"{self.log_file}: the log names {_named(one)}, but your environment says "
                    f"{public_url(own) if own else 'nothing of an address'}. Your API key would be sent there. "
                    "Name a judge of your own with --judge provider/model, or say --yes if "
                    "you know that address and these arguments."
                )


def _described(
    judge: str | None, graders: list[ModelConfig], options: Mapping[str, Any]
) -> list[str]:
    if judge:
        lines = [f"Judge: {judge} (--judge)"]
    else:
        lines = [f"Judge, from the log: {_named(one)}" for one in graders]
    lines = lines or [f"Judge: {DEFAULT_JUDGE}, the default; the log names none"]
    told = ", ".join(f"{name}={value}" for name, value in options.items())
    return [*lines, f"Options of the judge, from the log: {told}"] if told else lines


def _named(judge: ModelConfig) -> str:
    settings = judge.config.model_dump(exclude_none=True)
    address = public_url(judge.base_url) if judge.base_url else None
    told = {"base_url": address, **judge.args, **settings}
    parts = [f"{name}={value}" for name, value in told.items() if value is not None]
    return redacted(f"{judge.model} ({', '.join(parts)})") if parts else judge.model


def _failed(sample: EvalSample) -> str | None:
    """The name of the score that has no verdict because its judge failed."""
    scores = sample.scores or {}
    own = next((name for name in VERDICT_SCORERS if name in scores), None)
    return own if own and scores[own].reason == "grader_failed" else None
