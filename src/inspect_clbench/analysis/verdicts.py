"""Who judged which answer how: verdicts and error types of each judge, from votes and scores."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

from inspect_clbench.benchmarks import ERROR_TYPES
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import (
    Answer,
    answer_of,
    check_same_rows,
    read_answers,
    read_labels,
    read_many,
)
from inspect_clbench.logs.files import Log, Paths, find_logs, read_summaries
from inspect_clbench.logs.samples import read_samples
from inspect_clbench.progress import progress


class AnswerKey(NamedTuple):
    """Which answer is meant: the log's number, the task and the epoch."""

    log: int
    task_id: str
    epoch: int


class JudgeKey(NamedTuple):
    """What makes two scores those of the same judge asked in the same way."""

    judge: str
    prompt: str
    prompt_sha256: str


class Vote(NamedTuple):
    """What a judge said of an answer: None if it gave no verdict, "" if it gave no usable list."""

    solved: bool | None
    status: str


@dataclass(frozen=True)
class JudgeVerdicts:
    """One judge's votes on the answers of a log, or of several."""

    key: JudgeKey
    again: int
    """Which of several verdicts of the same judge on the same answers: 0 is the first."""

    votes: Mapping[AnswerKey, Vote]
    others: int = 0
    """Scores among this judge's that another judge gave, left out."""

    @cached_property
    def solved(self) -> dict[AnswerKey, bool]:
        return {key: o.solved for key, o in self.votes.items() if o.solved is not None}

    @cached_property
    def statuses(self) -> dict[AnswerKey, str]:
        """A letter per rubric: y, n or ?, where there is a verdict."""
        return {k: o.status for k, o in self.votes.items() if o.status and k in self.solved}

    @property
    def failed(self) -> int:
        """How many answers it was asked about and gave no verdict on."""
        return len(self.votes) - len(self.solved)


@dataclass(frozen=True)
class Left:
    """What two logs do not have in common, or have twice."""

    first: int = 0
    """Answers that only the first log has."""

    second: int = 0
    copied: tuple[str, ...] = ()
    """Judges that say the same in both logs to the last rubric."""

    taken_once: bool = False
    """Whether these were taken from one log only."""


@dataclass(frozen=True)
class Judged:
    """The answers in some logs and all verdicts on them."""

    logs: tuple[Log, ...]
    uuids: Mapping[str, AnswerKey]
    contexts: Mapping[AnswerKey, str]
    judges: tuple[JudgeVerdicts, ...]
    labellers: tuple[JudgeVerdicts, ...] = ()
    """Who gave error types: a letter per type in the place of the status."""

    empty: int = 0
    """Answers without text, which no judge was asked about."""

    left: Left = field(default_factory=Left)
    rows: Mapping[str, Answer] = field(default_factory=dict)
    """An answer to each task, for what its row was."""

    @cached_property
    def answers(self) -> set[AnswerKey]:
        """Those that a judge was asked about, whether it gave a verdict or not."""
        return {key for judge in self.judges for key in judge.votes}


def read_judged(path: Paths, *, panel_as_one: bool = False) -> Judged:
    """The verdicts of all judges in a log, or in the logs of a folder."""
    logs = find_logs(path)
    uuids: dict[str, AnswerKey] = {}
    contexts: dict[AnswerKey, str] = {}
    judges: dict[tuple[JudgeKey, int], JudgeVerdicts] = {}
    labellers: dict[tuple[JudgeKey, int], JudgeVerdicts] = {}
    empty: set[AnswerKey] = set()
    rows: dict[str, Answer] = {}

    def read(log: Log) -> list[Answer]:
        summaries = read_summaries(log)
        answers = read_answers(log, summaries=summaries, people=True)
        if not panel_as_one and any(answer.votes_cut for answer in answers):
            answers = list(_whole_votes(log, answers))
        return [*answers, *read_labels(log, summaries=summaries, people=True)]

    for index, answers in enumerate(read_many(logs, read)):
        rows = check_same_rows([*rows.values(), *answers])
        for answer in answers:
            key = AnswerKey(index, answer.task_id, answer.epoch)
            contexts[key] = answer.context_id
            known = uuids.setdefault(answer.uuid, key) if answer.uuid else key
            if known != key:
                raise ClbenchError(
                    f"{logs[known.log]} and {logs[index]} hold the same answers (for instance "
                    f"to task {key.task_id}). Name one of the two, or both one after the other "
                    "to compare their judges."
                )
            if answer.reason == "no_response":
                empty.add(key)
        labels = [answer for answer in answers if answer.label.state != "not_run"]
        verdicts = [a for a in answers if a.label.state == "not_run" and a.outcome != "errored"]
        _add(judges, _by_judge(index, verdicts, partial(_votes, panel_as_one=panel_as_one)))
        _add(labellers, _by_judge(index, labels, _labels))
    return Judged(
        tuple(logs), uuids, contexts, tuple(judges.values()), tuple(labellers.values()),
        len(empty), rows=rows,
    )  # fmt: skip


def _add(
    known: dict[tuple[JudgeKey, int], JudgeVerdicts], more: Iterable[JudgeVerdicts]
) -> None:
    """Add the votes of another log to those of the same judges."""
    for found in more:
        name = (found.key, found.again)
        if name in known:
            votes = {**known[name].votes, **found.votes}
            found = replace(found, votes=votes, others=known[name].others + found.others)
        known[name] = found


def join(first: Judged, second: Judged) -> Judged:
    """The judges of two logs over the answers that both hold, and what was left out.

    Answers are the same if their samples have the same uuid, as in a log and a copy of
    it that was judged anew, or if the same task has the same text in the same epoch.
    """
    same_samples = {
        second.uuids[uuid]: key
        for uuid, key in first.uuids.items()
        if uuid in second.uuids
        if key in first.answers and second.uuids[uuid] in second.answers
    }
    check_same_rows([*first.rows.values(), *second.rows.values()])
    shared = same_samples or _same_texts(first, second)
    here = {key: key for key in shared.values()}

    def joined(
        ours: Sequence[JudgeVerdicts], theirs: Sequence[JudgeVerdicts]
    ) -> tuple[tuple[JudgeVerdicts, ...], list[str], bool]:
        found = [_only(judge, here) for judge in ours]
        more = [_only(judge, shared) for judge in theirs]
        known = [(judge.key, judge.solved, judge.statuses) for judge in found]
        same = [judge for judge in more if (judge.key, judge.solved, judge.statuses) in known]
        copied = same if same_samples else []
        once = bool(copied) and len(found) + len(more) - len(copied) > 1
        for judge in more:  # counted on where they are the first log's too
            if not once or judge not in copied:
                again = sum(known.key == judge.key for known in found)
                found.append(replace(judge, again=again))
        return tuple(found), [judge.key.judge for judge in copied], once

    judges, copied, once = joined(first.judges, second.judges)
    labellers, _, _ = joined(first.labellers, second.labellers)
    return replace(
        first,
        judges=judges,
        labellers=labellers,
        left=Left(
            len(first.answers) - len(shared),
            len(second.answers) - len(shared),
            tuple(dict.fromkeys(copied)),
            once,
        ),
    )


def _only(judge: JudgeVerdicts, keys: Mapping[AnswerKey, AnswerKey]) -> JudgeVerdicts:
    votes = {keys[key]: found for key, found in judge.votes.items() if key in keys}
    return replace(judge, votes=votes)


def _whole_votes(log: Log, answers: Sequence[Answer]) -> Iterator[Answer]:
    """The answers from the samples, which have the votes that are too long for summaries."""
    names = dict.fromkeys(answer.scorer for answer in answers)
    for sample in read_samples(log):
        for name in names:
            yield answer_of(log, sample, name, (sample.scores or {}).get(name))


def _by_judge(
    index: int, answers: Sequence[Answer], votes: Callable[[Answer], Iterable[tuple[str, Vote]]]
) -> Iterator[JudgeVerdicts]:
    """The verdicts under each name of a score, and for each place in a panel."""
    columns: defaultdict[tuple[str, int], list[tuple[JudgeKey, AnswerKey, Vote]]]
    columns = defaultdict(list)
    for answer in answers:
        key = AnswerKey(index, answer.task_id, answer.epoch)
        for place, (name, vote) in enumerate(votes(answer)):
            judge = JudgeKey(name, answer.judge_prompt, answer.judge_prompt_sha256)
            columns[answer.scorer, place].append((judge, key, vote))
    seen: Counter[JudgeKey] = Counter()
    for column in columns.values():
        most = Counter(judge for judge, _, _ in column).most_common(1)[0][0]
        own = {key: vote for judge, key, vote in column if judge == most}
        yield JudgeVerdicts(most, seen[most], own, others=len(column) - len(own))
        seen[most] += 1


def _votes(answer: Answer, panel_as_one: bool) -> Iterator[tuple[str, Vote]]:
    if answer.reason == "no_response":
        return
    undecided = answer.reason == "grader_failed" or answer.outcome == "unscored"
    solved = None if undecided else answer.solved
    alone = {"judge": answer.judge, "status": answer.status, "solved": solved}
    for vote in (alone,) if panel_as_one or not answer.votes else answer.votes:
        yield _vote(vote, answer.rubrics_total)


def _vote(vote: Mapping[str, Any], rubrics: int) -> tuple[str, Vote]:
    solved, status = vote.get("solved"), str(vote.get("status", ""))
    return str(vote.get("judge") or "unnamed judge"), Vote(
        solved if isinstance(solved, bool) else None, status if len(status) == rubrics else ""
    )


def _labels(answer: Answer) -> Iterator[tuple[str, Vote]]:
    label = answer.label
    if label.state in ("labelled", "unlabelled"):
        letters = "".join("y" if key in label.types else "n" for key in ERROR_TYPES)
        known = label.state == "labelled"
        yield answer.judge or "unnamed judge", Vote(known or None, letters if known else "")


def _same_texts(first: Judged, second: Judged) -> dict[AnswerKey, AnswerKey]:
    for judged in (first, second):
        if len(judged.logs) > 1:
            places = ", ".join(str(log) for log in judged.logs)
            raise ClbenchError(
                f"{len(judged.logs)} logs where one is needed to find the same answers in "
                f"another: {places}. Name one of them."
            )
    here, there = first.logs[0], second.logs[0]
    shared = first.answers & second.answers
    if not shared:
        raise ClbenchError(
            f"{here} and {there} have no task and run in common that was judged in both."
        )
    texts_here, texts_there = _digests(here), _digests(there)
    differing = sorted(key for key in shared if texts_here.get(key) != texts_there.get(key))
    if differing:
        example = differing[0]
        raise ClbenchError(
            f"{here} and {there} do not hold the same answers: "
            f"{len(differing):,} of {len(shared):,} differ (for instance task "
            f"{example.task_id}, run {example.epoch}). Judges can be compared on the same "
            "answers only. To have a log's answers judged again: inspect score LOG "
            "--scorer inspect_clbench/rubric_judge --action append --overwrite "
            "--model-role grader=JUDGE"
        )
    return {key: key for key in shared}


def _digests(log: Log) -> dict[AnswerKey, bytes]:
    digests = {}
    with progress("Reading answers", log.samples) as advance:
        for sample in read_samples(log):
            text = sample.output.completion.encode("utf-8", errors="surrogatepass")
            key = AnswerKey(0, str(sample.id), sample.epoch)
            digests[key] = hashlib.sha256(text).digest()
            advance(1)
    return digests
