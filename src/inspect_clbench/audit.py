"""Asking the judge of a log again about some of its answers, in the same way and in others.

All scores go into a copy of the log, so that the viewer shows them beside the first ones.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any

from inspect_ai.event import ModelEvent, ScoreEvent, SpanBeginEvent
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import ModelUsage, compute_model_cost

from inspect_clbench.analysis.audit import Audit, read_audit
from inspect_clbench.analysis.costs import UNDER_TEST, Prices, read_prices, usage_by_role
from inspect_clbench.benchmarks import (
    DEFAULT_JUDGE,
    PRICE_EXAMPLE,
    RUBRIC_JUDGE,
    VERDICT_SCORERS,
    bound_graders,
)
from inspect_clbench.data.selection import draw_evenly, seeded_rank
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.prompt import (
    JudgePrompt,
    graded_text,
    load_judge_prompt,
    numbered_rubrics,
)
from inspect_clbench.logs.answers import AUDITED, outcome_of
from inspect_clbench.logs.rewriting import rewrite_log
from inspect_clbench.progress import tell
from inspect_clbench.regrade import LogJudge
from inspect_clbench.text import counted

# So many requests at a time, where a budget must be kept: it is looked at in between.
_REQUESTS_AT_A_TIME = 10


def audit(
    log_file: str,
    output: str | None = None,
    *,
    samples: int = 100,
    judge: str | None = None,
    budget: float | None = None,
    prices: str | PathLike[str] | Prices | None = None,
    trust_log: bool = False,
) -> Audit:
    """Ask the judge again about some answers of a log, and say how steady it is.

    The judge is asked the same again, with the rubrics in another order, about each rubric
    alone, and with the other prompt; another judge is asked once. The answers are drawn
    evenly from the solved and the others. A log that holds an audit already keeps it: only
    what is missing is asked.

    Args:
        log_file: The log, which is not changed; without `output` one that holds an audit,
            which is read, and nothing is asked.
        output: The copy to write, a new file. Whatever stops the audit, it holds what was
            judged until then.
        samples: How many answers to draw.
        judge: Another judge to ask too.
        budget: US dollars; no further request is made that would go beyond them.
        prices: Inspect's `ModelCost` by model, or the file that holds them.
        trust_log: Ask the log's own judge even at an address or with model arguments that
            only the log names. Your API key is sent there.
    """
    if output is None:
        return read_audit(log_file)
    if samples < 2:
        raise ClbenchError(f"--samples {samples}: draw two answers at least.")
    known = prices if prices is None or isinstance(prices, Mapping) else read_prices(prices)
    if budget is not None and not budget > 0:
        raise ClbenchError(f"--budget {budget}: give US dollars, a number above 0.")
    asking = _Asking(log_file, samples, judge, budget, known or {}, trust_log)
    location = rewrite_log(log_file, asking, output=output)
    if asking.stopped_by is not None:
        raise asking.stopped_by
    return read_audit(location)


@dataclass(frozen=True)
class _Way:
    """One way of asking: the name of its scores, the scorer's options, and whom to ask."""

    name: str
    options: Mapping[str, Any]
    prompt: JudgePrompt
    judges: tuple[str, ...]
    other: str | None = None

    @property
    def single(self) -> bool:
        return self.options.get("asking") == "single"

    def texts(self, sample: EvalSample) -> list[str]:
        """What the judges are asked about a sample."""
        rubrics = sample.metadata["rubrics"]
        parts = [[text] for _, text in numbered_rubrics(rubrics)] if self.single else [rubrics]
        answer = graded_text(sample.output)
        return [self.prompt.render(part, answer) for part in parts for _ in self.judges]


@dataclass
class _Asking:
    """Draws answers of a log, says what asking will cost, and asks."""

    log_file: str
    samples: int
    judge: str | None
    budget: float | None
    prices: Prices
    trust_log: bool
    spent: float = 0.0
    judged: int = 0
    stopped_by: BaseException | None = None

    def __call__(self, log: EvalLog) -> bool:
        own = LogJudge(self.log_file, trust_log=self.trust_log)
        own.check(log)
        drawn = self._drawn(log)
        ways = list(self._ways(log, own))
        self._check_prices(ways)
        price = _Price(log, ways[0], self.prices)
        open_samples = {way.name: [s for s in drawn if _open(s, way.name)] for way in ways}
        for line in price.lines(ways, open_samples):
            tell(line)
        for way in ways:
            judge = LogJudge(self.log_file, way.other, self.trust_log) if way.other else own
            if not self._ask(log, way, open_samples[way.name], judge, price):
                break
        if self.stopped_by is not None:
            if not self.judged:
                raise self.stopped_by
            tell(f"Stopped after {counted(self.judged, 'verdict')}; the copy holds them.")
        return True

    def _drawn(self, log: EvalLog) -> list[EvalSample]:
        strata: dict[bool, list[EvalSample]] = {True: [], False: []}
        for sample in log.samples or []:
            scores = sample.scores or {}
            name = next((name for name in VERDICT_SCORERS if name in scores), None)
            if name and not scores[name].reason:
                where = f"{self.log_file}: task {sample.id}, epoch {sample.epoch}, {name}"
                outcome = outcome_of(scores[name].value, where)
                if outcome != "unscored":
                    strata[outcome == "solved"].append(sample)

        def rank(sample: EvalSample) -> str:
            return seeded_rank(0, sample.uuid or f"{sample.id} {sample.epoch}")

        drawn = [sample for _, sample in draw_evenly(strata, self.samples, rank)]
        if not drawn:
            raise ClbenchError(f"{self.log_file}: no answer in it has a verdict.")
        return drawn

    def _ways(self, log: EvalLog, own: LogJudge) -> Iterator[_Way]:
        options = own.options(log)
        prompt = load_judge_prompt(options.get("judge_prompt", "builtin"))
        bound = bound_graders(log.eval.model_roles)
        judges = tuple(one.model for one in bound) or (DEFAULT_JUDGE,)
        for line in own.described(log, options):
            tell(line)
        way = partial(_Way, prompt=prompt, judges=judges)
        yield way(f"{AUDITED}again", options)
        yield way(f"{AUDITED}order", {**options, "asking": "reordered"})
        yield way(f"{AUDITED}single", {**options, "asking": "single"})
        other = "builtin" if prompt.name == "upstream" else "upstream"
        try:
            found = load_judge_prompt(other)
        except ClbenchError:
            tell("Left out: the original prompt, which could not be fetched and checked.")
        else:
            changed = {**options, "judge_prompt": other}
            yield _Way(f"{AUDITED}prompt", changed, found, judges)
        if self.judge:
            name = AUDITED + re.sub(r"[^\w.-]+", "_", self.judge)
            yield _Way(name, options, prompt, (self.judge,), self.judge)

    def _check_prices(self, ways: Sequence[_Way]) -> None:
        if self.budget is None:
            return
        judges = dict.fromkeys(judge for way in ways for judge in way.judges)
        if unknown := [judge for judge in judges if judge not in self.prices]:
            raise ClbenchError(
                f"--budget: no price is known for {', '.join(unknown)}. Give US dollars per "
                "million tokens in a file: --model-cost-config FILE, with a line such as "
                f"{unknown[0]}: {PRICE_EXAMPLE}"
            )

    def _ask(
        self,
        log: EvalLog,
        way: _Way,
        samples: list[EvalSample],
        judge: LogJudge,
        price: "_Price",
    ) -> bool:
        """Ask in one way; says whether to go on with the next."""
        spent, asked = 0.0, 0
        while samples:
            some, rest = samples, samples[:0]
            if self.budget is not None:
                first = len(way.texts(samples[0]))
                number = max(1, _REQUESTS_AT_A_TIME // max(first, 1))
                some, rest = samples[:number], samples[number:]
                requests = sum(len(way.texts(sample)) for sample in some)
                expected = price.of(way, some).usd or 0.0
                if asked:  # what was really paid is the better guess
                    expected = spent / asked * requests
                if self.spent + expected > self.budget:
                    tell(
                        f"Budget: ${self.spent:,.2f} of ${self.budget:,.2f} are spent, and the "
                        f"next requests would go beyond it. {way.name}: "
                        f"{counted(len(samples), 'answer')} not asked about."
                    )
                    return False
                asked += requests
            stopped, paid = self._ask_some(log, way, some, judge)
            spent += paid
            self.spent += paid
            if stopped is not None:
                self.stopped_by = stopped
                return False
            samples = rest
        return True

    def _ask_some(
        self, log: EvalLog, way: _Way, samples: Sequence[EvalSample], judge: LogJudge
    ) -> tuple[BaseException | None, float]:
        before = [sample.scores or {} for sample in samples]
        known = {event.uuid for sample in samples for event in sample.events}
        for sample in samples:
            sample.scores = {}
        stopped = judge.ask(log, samples, way.options, action="append")
        paid = 0.0
        for sample, scores in zip(samples, before, strict=True):
            given = (sample.scores or {}).get(RUBRIC_JUDGE)
            sample.scores = {**scores, way.name: given} if given else scores
            self.judged += given is not None
            for event in sample.events:
                if event.uuid in known:
                    continue
                if isinstance(event, ScoreEvent):
                    event.scorer = way.name
                elif isinstance(event, SpanBeginEvent) and event.name == RUBRIC_JUDGE:
                    event.name = way.name
                elif isinstance(event, ModelEvent) and event.model in self.prices:
                    usage = event.output.usage or ModelUsage()
                    paid += compute_model_cost(self.prices[event.model], usage)
        return stopped, paid


def _open(sample: EvalSample, name: str) -> bool:
    """Whether a sample has no verdict under this name yet."""
    score = (sample.scores or {}).get(name)
    return score is None or score.reason == "grader_failed"


@dataclass(frozen=True)
class _Cost:
    requests: int
    input_tokens: float | None
    output_tokens: float | None
    usd: float | None


class _Price:
    """What asking costs, by the tokens that the log's judge used and the prices."""

    def __init__(self, log: EvalLog, way: _Way, prices: Prices) -> None:
        used = [usage for role, _, usage in usage_by_role(log) if role != UNDER_TEST]
        usage = sum(used, ModelUsage())
        characters = requests = 0
        for sample in log.samples or []:
            score = (sample.scores or {}).get(RUBRIC_JUDGE)
            attempts = int(((score.metadata if score else None) or {}).get("judge_attempts", 0))
            if attempts:
                texts = way.texts(sample)
                requests += attempts * len(texts)
                characters += attempts * sum(map(len, texts))
        read = usage.input_tokens + sum(
            part or 0
            for part in (usage.input_tokens_cache_read, usage.input_tokens_cache_write)
        )
        known = bool(usage.output_tokens and requests)
        self._per_character = read / characters if known else None
        self._per_request = usage.output_tokens / requests if known else None
        self._prices = prices

    def of(self, way: _Way, samples: Sequence[EvalSample]) -> _Cost:
        texts = [text for sample in samples for text in way.texts(sample)]
        if self._per_character is None or self._per_request is None:
            return _Cost(len(texts), None, None, None)
        read = self._per_character * sum(map(len, texts))
        written = self._per_request * len(texts)
        usd = None
        if all(judge in self._prices for judge in way.judges):
            share = len(way.judges)
            usage = ModelUsage(
                input_tokens=round(read / share), output_tokens=round(written / share)
            )
            usd = sum(compute_model_cost(self._prices[judge], usage) for judge in way.judges)
        return _Cost(len(texts), read, written, usd)

    def lines(
        self, ways: Sequence[_Way], samples: Mapping[str, Sequence[EvalSample]]
    ) -> Iterator[str]:
        costs = [(way.name, self.of(way, samples[way.name])) for way in ways]
        for name, cost in costs:
            yield f"{name}: {_told(cost)}"
        yield (
            "In all: "
            + _told(
                _Cost(
                    sum(cost.requests for _, cost in costs),
                    _sum(cost.input_tokens for _, cost in costs),
                    _sum(cost.output_tokens for _, cost in costs),
                    _sum(cost.usd for _, cost in costs),
                )
            )
        )
        if costs[0][1].input_tokens is None:
            yield "Tokens are not known: the log does not count those of its judge."
        else:
            yield (
                "Tokens by those of the log's judge; for single rubrics this is the most that is "
                "to be expected, as if each took as long a reply as a whole verdict."
            )


def _sum(values: Iterator[float | None]) -> float | None:
    found = list(values)
    return None if None in found else sum(value for value in found if value is not None)


def _told(cost: _Cost) -> str:
    words = [counted(cost.requests, "request")]
    if cost.input_tokens is not None and cost.output_tokens is not None:
        words.append(f"{cost.input_tokens:,.0f} tokens in, {cost.output_tokens:,.0f} out")
    words.append("price not known" if cost.usd is None else f"about ${cost.usd:,.2f}")
    return ", ".join(words)
