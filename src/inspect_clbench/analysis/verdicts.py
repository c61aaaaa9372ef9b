"""Who judged which answer how: the verdicts of each judge, from votes, scores and logs."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import Answer, answer_of, read_answers, read_many
from inspect_clbench.logs.files import Log, Paths, find_logs
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
class Judged:
    """The answers in some logs and all verdicts on them."""

    logs: tuple[Log, ...]
    uuids: Mapping[str, AnswerKey]
    judges: tuple[JudgeVerdicts, ...]
    empty: int
    """Answers without text, which no judge was asked about."""

    @cached_property
    def answers(self) -> set[AnswerKey]:
        """Those that a judge was asked about, whether it gave a verdict or not."""
        return {key for judge in self.judges for key in judge.votes}


def read_judged(path: Paths, *, panel_as_one: bool = False) -> Judged:
    """The verdicts of all judges in a log, or in the logs of a folder."""
    logs = find_logs(path)
    uuids: dict[str, AnswerKey] = {}
    judges: dict[tuple[JudgeKey, int], JudgeVerdicts] = {}
    empty: set[AnswerKey] = set()

    def read(log: Log) -> list[Answer]:
        answers = read_answers(log)
        cut = not panel_as_one and any(answer.votes_cut for answer in answers)
        return list(_whole_votes(log, answers)) if cut else answers

    for index, answers in enumerate(read_many(logs, read)):
        for answer in answers:
            key = AnswerKey(index, answer.task_id, answer.epoch)
            known = uuids.setdefault(answer.uuid, key) if answer.uuid else key
            if known != key:
                raise ClbenchError(
                    f"{logs[known.log]} and {logs[index]} hold the same answers (for instance "
                    f"to task {key.task_id}). Name one of the two, or both one after the other "
                    "to compare their judges."
                )
            if answer.reason == "no_response":
                empty.add(key)
        for found in _by_judge(index, answers, panel_as_one):
            name = (found.key, found.again)
            if name in judges:
                votes = {**judges[name].votes, **found.votes}
                others = judges[name].others + found.others
                found = replace(found, votes=votes, others=others)
            judges[name] = found
    return Judged(tuple(logs), uuids, tuple(judges.values()), len(empty))


def join(first: Judged, second: Judged) -> tuple[tuple[JudgeVerdicts, ...], list[str]]:
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
    shared = same_samples or _same_texts(first, second)
    here = {key: key for key in shared.values()}
    ours = [_only(judge, here) for judge in first.judges]
    theirs = [_only(judge, shared) for judge in second.judges]
    notes = []
    for name, judged in (("first", first), ("second", second)):
        if left := len(judged.answers) - len(shared):
            notes.append(f"Left out: answers that only the {name} log has ({left:,}).")
    known = [(judge.key, judge.solved, judge.statuses) for judge in ours]
    copied = [judge for judge in theirs if (judge.key, judge.solved, judge.statuses) in known]
    if same_samples and copied:
        names = ", ".join(dict.fromkeys(judge.key.judge for judge in copied))
        once = len(ours) + len(theirs) - len(copied) > 1
        notes.append(
            f"{names}: the same in both logs to the last rubric, so probably one score that "
            f"was copied along{'; it is taken once' if once else ''}."
        )
        theirs = [judge for judge in theirs if not once or judge not in copied]
    joined = list(ours)
    for judge in theirs:  # counted on where they are the first log's too
        joined.append(replace(judge, again=sum(j.key == judge.key for j in joined)))
    return tuple(joined), notes


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
    index: int, answers: Sequence[Answer], panel_as_one: bool
) -> Iterator[JudgeVerdicts]:
    """The verdicts under each name of a score, and for each place in a panel."""
    columns: defaultdict[tuple[str, int], list[tuple[JudgeKey, AnswerKey, Vote]]]
    columns = defaultdict(list)
    for answer in answers:
        if answer.outcome == "errored" or answer.reason == "no_response":
            continue
        key = AnswerKey(index, answer.task_id, answer.epoch)
        for place, vote in enumerate(_votes(answer, panel_as_one)):
            judge = str(vote.get("judge") or "unnamed judge")
            status = str(vote.get("status", ""))
            solved = vote.get("solved")
            column = columns[answer.scorer, place]
            column.append(
                (
                    JudgeKey(judge, answer.judge_prompt, answer.judge_prompt_sha256),
                    key,
                    Vote(
                        solved if isinstance(solved, bool) else None,
                        status if len(status) == answer.rubrics_total else "",
                    ),
                )
            )
    seen: Counter[JudgeKey] = Counter()
    for column in columns.values():
        most = Counter(judge for judge, _, _ in column).most_common(1)[0][0]
        own = {key: vote for judge, key, vote in column if judge == most}
        yield JudgeVerdicts(most, seen[most], own, others=len(column) - len(own))
        seen[most] += 1


def _votes(answer: Answer, panel_as_one: bool) -> Sequence[Mapping[str, Any]]:
    if answer.votes and not panel_as_one:
        return answer.votes
    undecided = answer.reason == "grader_failed" or answer.outcome == "unscored"
    solved = None if undecided else answer.solved
    return [{"judge": answer.judge, "status": answer.status, "solved": solved}]


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
