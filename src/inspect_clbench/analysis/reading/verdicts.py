"""Who judged which answer how: the verdicts of each judge, from votes, scores and logs."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from inspect_clbench.analysis.progress import progress
from inspect_clbench.analysis.reading.records import (
    Log,
    Record,
    find_logs,
    read_record,
    read_records,
    read_samples,
)
from inspect_clbench.errors import ClbenchError

# What a sample holds beside its scores and its answer.
NOT_NEEDED = ("events", "messages", "store", "attachments")


class Answer(NamedTuple):
    """A model's answer to a task in one run of one log."""

    log: int
    task_id: str
    run: int


class Identity(NamedTuple):
    """What makes two scores those of the same judge asked in the same way."""

    judge: str
    prompt: str
    prompt_sha256: str


@dataclass(frozen=True)
class JudgeVerdicts:
    """One judge's verdicts on the answers of a log, or of several."""

    identity: Identity
    again: int
    """Which of several verdicts of the same judge on the same answers: 0 is the first."""

    solved: dict[Answer, bool]
    statuses: dict[Answer, str]
    """A letter per rubric: y, n or ?. Lists of another length are not among them."""

    failed: frozenset[Answer]
    """Answers on which the judge was asked and gave no verdict."""

    others: int = 0
    """Scores among this judge's that another judge gave, left out."""

    def only(self, answers: dict[Answer, Answer]) -> "JudgeVerdicts":
        """The verdicts on some answers, under other keys."""
        return replace(
            self,
            solved={answers[k]: v for k, v in self.solved.items() if k in answers},
            statuses={answers[k]: v for k, v in self.statuses.items() if k in answers},
            failed=frozenset(answers[k] for k in self.failed if k in answers),
        )


@dataclass(frozen=True)
class Judged:
    """The answers in some logs and all verdicts on them."""

    logs: tuple[Log, ...]
    uuids: dict[str, Answer]
    judges: tuple[JudgeVerdicts, ...]
    empty: int
    """Answers without text, which no judge was asked about."""

    @property
    def answers(self) -> set[Answer]:
        """Those that a judge was asked about, whether it gave a verdict or not."""
        return {answer for judge in self.judges for answer in (*judge.solved, *judge.failed)}


def read_judged(path: str, *, panel_as_one: bool = False) -> Judged:
    """Read the verdicts of all judges in a log, or in the logs of a folder.

    Args:
        path: A log, a folder or a URL.
        panel_as_one: Whether to take a panel's decision for one judge's verdict
            instead of the votes of its judges.
    """
    logs = find_logs([path])
    uuids: dict[str, Answer] = {}
    judges: dict[tuple[Identity, int], JudgeVerdicts] = {}
    empty: set[Answer] = set()
    with progress("Reading logs", len(logs)) as advance:
        for index, log in enumerate(logs):
            records = _records(log, panel_as_one)
            for record in records:
                answer = Answer(index, record.task_id, record.run)
                _note_uuid(record.uuid, answer, uuids, logs)
                if record.reason == "no_response":
                    empty.add(answer)
            for column in _columns(index, records, panel_as_one):
                key = (column.identity, column.again)
                known = judges.get(key)
                judges[key] = _joined(known, column) if known else column
            advance(str(log))
    return Judged(tuple(logs), uuids, tuple(judges.values()), len(empty))


def _records(log: Log, panel_as_one: bool) -> list[Record]:
    records = list(read_records(log))
    if panel_as_one or not any(record.votes_cut for record in records):
        return records
    # Votes that are too long for the summaries stand in the samples.
    names = dict.fromkeys(record.scorer for record in records)
    return [
        read_record(sample, name, (sample.scores or {}).get(name))
        for sample in read_samples(log, without=NOT_NEEDED)
        for name in names
    ]


def _note_uuid(
    uuid: str, answer: Answer, uuids: dict[str, Answer], logs: Sequence[Log]
) -> None:
    known = uuids.setdefault(uuid, answer) if uuid else answer
    if known != answer:
        raise ClbenchError(
            f"{logs[known.log]} and {logs[answer.log]} hold the same "
            f"answers (for instance to task {answer.task_id}). Name one of the two, or both "
            "one after the other to compare their judges."
        )


class _Opinion(NamedTuple):
    answer: Answer
    identity: Identity
    solved: bool | None
    status: str
    rubrics: int


def _columns(
    index: int, records: Iterable[Record], panel_as_one: bool
) -> Iterator[JudgeVerdicts]:
    columns: defaultdict[tuple[str, int], list[_Opinion]] = defaultdict(list)
    for record in records:
        for position, opinion in enumerate(_opinions(index, record, panel_as_one)):
            columns[record.scorer, position].append(opinion)
    seen: Counter[Identity] = Counter()
    for opinions in columns.values():
        identity = Counter(opinion.identity for opinion in opinions).most_common(1)[0][0]
        yield _column(opinions, identity, seen[identity])
        seen[identity] += 1


def _opinions(index: int, record: Record, panel_as_one: bool) -> Iterator[_Opinion]:
    if record.outcome == "errored" or record.reason == "no_response":
        return
    answer = Answer(index, record.task_id, record.run)
    if record.votes and not panel_as_one:
        for vote in record.votes:
            solved = vote.get("solved")
            yield _opinion(answer, record, vote, solved if isinstance(solved, bool) else None)
        return
    undecided = record.reason == "grader_failed" or record.outcome == "unscored"
    vote = {"judge": record.judge, "status": record.status}
    yield _opinion(answer, record, vote, None if undecided else record.solved)


def _opinion(
    answer: Answer, record: Record, vote: dict[str, Any], solved: bool | None
) -> _Opinion:
    identity = Identity(
        str(vote.get("judge") or "unnamed judge"),
        record.judge_prompt,
        record.judge_prompt_sha256,
    )
    return _Opinion(answer, identity, solved, str(vote.get("status", "")), record.rubrics_total)


def _column(opinions: Sequence[_Opinion], identity: Identity, again: int) -> JudgeVerdicts:
    own = [opinion for opinion in opinions if opinion.identity == identity]
    given = [opinion for opinion in own if opinion.solved is not None]
    return JudgeVerdicts(
        identity=identity,
        again=again,
        solved={o.answer: o.solved for o in given if o.solved is not None},
        statuses={o.answer: o.status for o in given if len(o.status) == o.rubrics},
        failed=frozenset(o.answer for o in own if o.solved is None),
        others=len(opinions) - len(own),
    )


def _joined(first: JudgeVerdicts, second: JudgeVerdicts) -> JudgeVerdicts:
    return replace(
        first,
        solved={**first.solved, **second.solved},
        statuses={**first.statuses, **second.statuses},
        failed=first.failed | second.failed,
        others=first.others + second.others,
    )
